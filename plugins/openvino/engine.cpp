// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <algorithm>

#include "layers.hpp"

namespace openvino_plugin {
namespace {

constexpr std::pair<int32_t, ov::element::Type_t> kTypes[] = {
    {OPTIMA_F32, ov::element::f32}, {OPTIMA_F16, ov::element::f16}, {OPTIMA_BF16, ov::element::bf16}, {OPTIMA_U8, ov::element::u8},
    {OPTIMA_I8, ov::element::i8},   {OPTIMA_U16, ov::element::u16}, {OPTIMA_I16, ov::element::i16},   {OPTIMA_I32, ov::element::i32},
    {OPTIMA_I64, ov::element::i64}, {OPTIMA_BOOL, ov::element::boolean}};

bool is_noise(std::string_view line) {
  return line.empty() || line.rfind("Exception from ", 0) == 0 || line.rfind("Check '", 0) == 0 || line.rfind("FrontEnd API failed", 0) == 0 ||
         line.rfind("Summary:", 0) == 0 || line.rfind("To facilitate", 0) == 0 || line.rfind("While validating", 0) == 0;
}

}  // namespace

bool is_out_of_memory(std::string_view what) {
  for (const char* sign : {"bad_alloc", "out_of_memory", "out of memory", "Cannot allocate memory", "could not allocate", "Failed to allocate"})
    if (what.find(sign) != std::string_view::npos) return true;
  return false;
}

std::string one_line(const std::string& said) {
  const std::string what = unmarked(said);
  std::string out;
  for (size_t at = 0; at < what.size();) {
    const size_t end = std::min(what.find('\n', at), what.size());
    std::string_view line(what.data() + at, end - at);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '.' || line.back() == '\r')) line.remove_suffix(1);
    if (!is_noise(line)) (out += out.empty() ? "" : ", ").append(line);
    at = end + 1;
  }
  if (out.empty()) out = "OpenVINO gave no reason";
  return out.size() > 400 ? out.substr(0, 400) + "..." : out;
}

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

std::vector<sdk::PresentDevice> Engine::devices() {
  std::vector<sdk::PresentDevice> out;
  for (const std::string& name : guarded(OPTIMA_DEPENDENCY, "OpenVINO cannot list its devices", [&] { return core().get_available_devices(); })) {
    const bool cpu = name == "CPU", gpu = name == "GPU" || name.rfind("GPU.", 0) == 0;
    if (!cpu && !gpu) continue;
    sdk::PresentDevice d;
    d.device_class = cpu ? uint32_t{OPTIMA_CLASS_CPU} : uint32_t{OPTIMA_CLASS_GPU};
    d.kind = cpu ? "X64" : "INTELGPU";
    d.ordinal = cpu || name.size() < 5 ? 0 : static_cast<uint32_t>(std::stoul(name.substr(4)));
    d.id = name;
    d.arch = guarded(OPTIMA_DEVICE, name, [&] { return core().get_property(name, ov::device::full_name); });
    d.driver = "OpenVINO " + version();
    out.push_back(std::move(d));
  }
  return out;
}

std::string Engine::device_name(const sdk::Device& device) {
  if (device.kind() == "X64") return "CPU";
  const std::string wanted = "GPU." + std::to_string(device.ordinal());
  const std::vector<std::string> found = guarded(OPTIMA_DEPENDENCY, "OpenVINO cannot list its devices", [&] { return core().get_available_devices(); });
  for (const std::string& name : found)
    if (name == wanted || (name == "GPU" && device.ordinal() == 0)) return name;
  throw sdk::Error(OPTIMA_DEPENDENCY, std::string(device.kind()) + ":" + std::to_string(device.ordinal()) +
                                          " is not on this machine or has no driver, OpenVINO compiles for a GPU only where it is");
}

}  // namespace openvino_plugin
