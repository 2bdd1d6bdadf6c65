// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace openvino_plugin {
namespace {

constexpr std::pair<int32_t, ov::element::Type_t> kTypes[] = {
    {OPTIMA_F32, ov::element::f32}, {OPTIMA_F16, ov::element::f16}, {OPTIMA_BF16, ov::element::bf16}, {OPTIMA_U8, ov::element::u8},
    {OPTIMA_I8, ov::element::i8},   {OPTIMA_U16, ov::element::u16}, {OPTIMA_I16, ov::element::i16},   {OPTIMA_I32, ov::element::i32},
    {OPTIMA_I64, ov::element::i64}, {OPTIMA_BOOL, ov::element::boolean}};

/// A kind of ours, and OpenVINO's name of it.
struct Kind {
  const char *ours, *theirs;
  uint32_t device_class;
};
constexpr Kind kKinds[] = {{"X64", "CPU", OPTIMA_CLASS_CPU}, {"INTELGPU", "GPU", OPTIMA_CLASS_GPU}, {"NPU", "NPU", OPTIMA_CLASS_NPU}};

/// Of a name like "GPU" or "GPU.1"; null for the composites.
const Kind* kind_of(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (name.substr(0, name.find('.')) == kind.theirs) return &kind;
  return nullptr;
}

uint32_t ordinal_of(std::string_view name) {
  const size_t dot = name.find('.');
  uint32_t n = 0;
  if (dot != std::string_view::npos) std::from_chars(name.data() + dot + 1, name.data() + name.size(), n);
  return n;
}

/// Why OpenVINO lists no such device: its own reason where it fails to load that part of itself.
std::string why_absent(ov::Core& core, const char* theirs) {
  try {
    const std::vector<std::string> ids = core.get_property(theirs, ov::available_devices);
    return "OpenVINO finds " + std::to_string(ids.size()) + " of its device " + theirs + (ids.empty() ? ": no such hardware, or no driver for it" : "");
  } catch (const std::exception& e) {
    return one_line(e.what());
  }
}

}  // namespace

std::string version() { return ov::get_openvino_version().buildNumber; }

int32_t dtype_of(ov::element::Type type) {
  for (const auto& [dtype, theirs] : kTypes)
    if (theirs == type) return dtype;
  return OPTIMA_UNDEFINED;
}

std::optional<ov::element::Type> type_of(int32_t dtype) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == dtype) return ov::element::Type(theirs);
  return std::nullopt;
}

ov::Core& Engine::core() {
  std::call_once(once_, [&] { core_ = guarded(OPTIMA_DEPENDENCY, "OpenVINO cannot start", [] { return std::make_unique<ov::Core>(); }); });
  return *core_;
}

std::vector<std::string> Engine::available() {
  return guarded(OPTIMA_DEPENDENCY, "OpenVINO cannot list its devices", [&] { return core().get_available_devices(); });
}

std::vector<sdk::PresentDevice> Engine::devices() {
  std::vector<sdk::PresentDevice> out;
  std::set<std::string_view> seen;
  for (const std::string& name : available()) {
    const Kind* kind = kind_of(name);
    if (!kind) continue;
    sdk::PresentDevice d;
    d.device_class = kind->device_class;
    d.kind = kind->ours;
    d.ordinal = ordinal_of(name);
    d.id = name;
    d.arch = guarded(OPTIMA_DEVICE, name, [&] { return core().get_property(name, ov::device::full_name); });
    d.driver = "OpenVINO " + version();
    out.push_back(std::move(d));
    seen.insert(kind->ours);
  }
  for (const Kind& kind : kKinds)
    if (!seen.count(kind.ours)) out.push_back(sdk::PresentDevice::refused(kind.ours, kind.device_class, why_absent(core(), kind.theirs)));
  out.push_back(sdk::PresentDevice::refused("MYRIAD", OPTIMA_CLASS_NPU, "OpenVINO supported it up to 2022.3, this is " + version()));
  return out;
}

std::string Engine::device_name(const sdk::Device& device) {
  for (const Kind& kind : kKinds) {
    if (device.kind() != kind.ours) continue;
    if (std::string_view(kind.theirs) == "CPU") return "CPU";
    for (const std::string& name : available())
      if (kind_of(name) == &kind && ordinal_of(name) == device.ordinal()) return name;
    throw sdk::Error(OPTIMA_DEPENDENCY, std::string(device.kind()) + ":" + std::to_string(device.ordinal()) + " is not on this machine: " + why_absent(core(), kind.theirs));
  }
  throw sdk::Error(OPTIMA_DEPENDENCY, "OpenVINO has no " + std::string(device.kind()));
}

}  // namespace openvino_plugin
