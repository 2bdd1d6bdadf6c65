// SPDX-License-Identifier: Apache-2.0
#include "core/loader/plugin_memory.hpp"

#include "core/loader/seam.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

optima_tensor no_tensor(uint64_t bytes) {
  optima_tensor out{};
  out.struct_size = sizeof out;
  out.dtype = OPTIMA_U8;
  out.size = bytes;
  out.fd = -1;
  return out;
}

template <class F>
Status call(const std::string& plugin, std::string_view what, F&& f) {
  seam::CallStatus status;
  const int32_t code = seam::call(plugin, what, status, [&] { return f(status.raw()); });
  return code == OPTIMA_OK ? Status() : status.as_status(plugin, what, code);
}

}  // namespace

class PluginMemory::Held final : public DeviceMemory {
 public:
  Held(PluginMemory& memory, uint64_t bytes) : memory_(memory) { tensor_ = no_tensor(bytes); }
  ~Held() override {
    if (is_held_) seam::call_end(memory_.plugin_, "free", [&] { memory_.table_.free(memory_.instance_, &tensor_); });
  }
  /// f(tensor, status) fills the tensor in.
  template <class F>
  Status take(std::string_view what, F&& f) {
    OPTIMA_RETURN_IF_ERROR(call(memory_.plugin_, what, [&](optima_status* s) { return f(tensor_, s); }));
    is_held_ = true;
    return {};
  }
  void resize(uint64_t bytes) { tensor_.size = bytes; }
  optima_tensor& raw() { return tensor_; }

 private:
  PluginMemory& memory_;
  bool is_held_ = false;
};

Result<std::unique_ptr<DeviceMemory>> PluginMemory::allocate(uint32_t ordinal, uint64_t bytes, uint32_t alignment) {
  auto out = std::make_unique<Held>(*this, bytes);
  out->raw().mem_kind = OPTIMA_MEM_DEVICE;
  out->raw().mem_ordinal = ordinal;
  OPTIMA_RETURN_IF_ERROR(out->take("alloc", [&](optima_tensor& tensor, optima_status* s) { return table_.alloc(instance_, &tensor, alignment, s); }));
  if (out->tensor().size < bytes)
    return plugin_error(cat("plugin ", quote(plugin_), ": alloc: it gave ", out->tensor().size, " bytes, wanted ", bytes));
  out->resize(bytes);
  return std::unique_ptr<DeviceMemory>(std::move(out));
}

Result<std::unique_ptr<DeviceMemory>> PluginMemory::import(const optima_tensor& foreign) {
  if (!table_.import) return plugin_error(cat("plugin ", quote(plugin_), ": import: not offered"));
  auto out = std::make_unique<Held>(*this, foreign.size);
  OPTIMA_RETURN_IF_ERROR(out->take("import", [&](optima_tensor& tensor, optima_status* s) { return table_.import(instance_, &foreign, &tensor, s); }));
  out->resize(foreign.size);
  return std::unique_ptr<DeviceMemory>(std::move(out));
}

Status PluginMemory::copy(const optima_tensor& from, const optima_tensor& to) {
  optima_tensor target = to;
  return call(plugin_, "copy", [&](optima_status* s) { return table_.copy(instance_, &from, &target, s); });
}

}  // namespace optima
