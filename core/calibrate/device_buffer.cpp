// SPDX-License-Identifier: Apache-2.0
#include "core/registry/device_buffer.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "core/registry/seam.hpp"
#include "core/support/text.hpp"
#include "optima/ext/memory.h"

namespace optima {
namespace {

constexpr uint32_t kAlignment = 64;

optima_tensor plain_tensor(uint64_t bytes) {
  optima_tensor out{};
  out.struct_size = sizeof out;
  out.dtype = OPTIMA_U8;
  out.size = bytes;
  out.fd = -1;
  return out;
}

struct Memory {  // a plugin's table; empty when it has none
  optima_memory table{};
  optima_plugin* instance = nullptr;
  std::string plugin;

  explicit Memory(Plugin& p) : plugin(p.manifest().id) {
    const auto* offered = static_cast<const optima_memory*>(p.extension(OPTIMA_EXT_MEMORY, &instance));
    if (seam::sane(offered, offsetof(optima_memory, alloc))) table = seam::known(offered);
  }
  bool offered() const { return table.alloc && table.free && table.copy; }
  template <class F>
  Status call(std::string_view what, F&& f) const {
    seam::CallStatus status;
    const int32_t code = seam::call(plugin, what, status, [&] { return f(status.raw()); });
    return code == OPTIMA_OK ? Status() : status.as_status(plugin, what, code);
  }
  void free(optima_tensor& tensor) const {
    seam::call_end(plugin, "free", [&] { table.free(instance, &tensor); });
  }
};

}  // namespace

struct DeviceBuffer::State {
  Memory memory;
  optima_tensor tensor;
  std::optional<Memory> importer;  // who sees this memory as `seen`
  optima_tensor seen{};
  std::vector<std::byte> staging;  // host memory on the way to a plugin that cannot import

  State(Plugin& plugin, uint64_t bytes) : memory(plugin), tensor(plain_tensor(bytes)) {}
  ~State() {
    if (importer) importer->free(seen);
    if (!memory.offered()) std::free(tensor.data);
    else if (made_) memory.free(tensor);
  }

  Status make(uint32_t ordinal) {
    if (!memory.offered()) {
      tensor.data = std::aligned_alloc(kAlignment, (tensor.size + kAlignment - 1) / kAlignment * kAlignment);
      if (!tensor.data) return io_error("out of memory");
      std::memset(tensor.data, 0, tensor.size);
      return {};
    }
    tensor.mem_kind = OPTIMA_MEM_DEVICE;
    tensor.mem_ordinal = ordinal;
    const uint64_t bytes = tensor.size;
    OPTIMA_RETURN_IF_ERROR(memory.call("alloc", [&](optima_status* s) { return memory.table.alloc(memory.instance, &tensor, kAlignment, s); }));
    made_ = true;
    if (tensor.size < bytes) return plugin_error(cat("plugin ", quote(memory.plugin), ": alloc: it gave ", tensor.size, " bytes, wanted ", bytes));
    tensor.size = bytes;
    return {};
  }

  static Status copy(const Memory& by, const optima_tensor& from, optima_tensor& to) {
    return by.call("copy", [&](optima_status* s) { return by.table.copy(by.instance, &from, &to, s); });
  }

  // This memory as `by` sees it; null when it cannot.
  const optima_tensor* as_seen_by(const Memory& by) {
    if (!memory.offered() || by.instance == memory.instance) return &tensor;
    if (importer && importer->instance == by.instance) return &seen;
    optima_tensor imported = plain_tensor(tensor.size);
    if (!by.table.import || !by.call("import", [&](optima_status* s) { return by.table.import(by.instance, &tensor, &imported, s); }).ok())
      return nullptr;
    if (importer) importer->free(seen);
    importer = by;
    seen = imported;
    seen.size = tensor.size;
    return &seen;
  }

 private:
  bool made_ = false;
};

DeviceBuffer::DeviceBuffer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept = default;
DeviceBuffer::~DeviceBuffer() = default;
bool DeviceBuffer::has_own_memory(Plugin& plugin) { return Memory(plugin).offered(); }

Result<DeviceBuffer> DeviceBuffer::make(Plugin& plugin, uint32_t ordinal, uint64_t bytes) {
  auto state = std::make_unique<State>(plugin, bytes);
  OPTIMA_RETURN_IF_ERROR(state->make(ordinal));
  return DeviceBuffer(std::move(state));
}

Status DeviceBuffer::copy_to(DeviceBuffer& to) {
  State &from = *state_, &target = *to.state_;
  if (!from.memory.offered() && !target.memory.offered()) return {};
  if (!target.memory.offered()) return State::copy(from.memory, from.tensor, target.tensor);
  if (const optima_tensor* seen = from.as_seen_by(target.memory)) return State::copy(target.memory, *seen, target.tensor);
  from.staging.resize(from.tensor.size);
  optima_tensor host = plain_tensor(from.tensor.size);
  host.data = from.staging.data();
  OPTIMA_RETURN_IF_ERROR(State::copy(from.memory, from.tensor, host));
  return State::copy(target.memory, host, target.tensor);
}

}  // namespace optima
