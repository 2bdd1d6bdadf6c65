// SPDX-License-Identifier: Apache-2.0
#include "snpe_api.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "artifact.hpp"
#include "snpe_functions.hpp"

namespace snpe_plugin {
namespace {

using snpe::Functions;

/// One line of what the library said last, with where it was said.
[[noreturn]] void fail(const Functions& f, int32_t code, const std::string& what) {
  const char* said = f.Snpe_ErrorCode_GetLastErrorString();
  std::string line = said ? said : "";
  std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  if (line.size() > 400) line.resize(400);
  throw sdk::Error(code, "SNPE " + what + (line.empty() ? "" : ": " + line));
}

/// A handle of the library with the function that ends it.
class Handle {
 public:
  Handle() = default;
  Handle(void* raw, int (*end)(void*)) : raw_(raw), end_(end) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)), end_(other.end_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_), std::swap(end_, other.end_);
    return *this;
  }
  ~Handle() {
    if (raw_) end_(raw_);
  }
  explicit operator bool() const { return raw_ != nullptr; }
  void* get() const { return raw_; }

 private:
  void* raw_ = nullptr;
  int (*end_)(void*) = nullptr;
};

/// How elements of a user buffer are coded.
struct Coding {
  int type = snpe::kFloat;
  uint8_t bits = 32;
  uint64_t step_of_0 = 0;  // of kTf8, kTf16
  float step = 0;
};

Coding coding_of(const Port& port) {
  switch (port.dtype) {
    case OPTIMA_F32: return {snpe::kFloat, 32};
    case OPTIMA_F16: return {snpe::kFloat16, 16};
    case OPTIMA_U8: return {snpe::kUint8, 8};
    case OPTIMA_U16: return {snpe::kUint16, 16};
    case OPTIMA_U32: return {snpe::kUint32, 32};
    case OPTIMA_U64: return {snpe::kUint64, 64};
    case OPTIMA_I8: return {snpe::kInt8, 8};
    case OPTIMA_I16: return {snpe::kInt16, 16};
    case OPTIMA_I32: return {snpe::kInt32, 32};
    case OPTIMA_I64: return {snpe::kInt64, 64};
    case OPTIMA_BOOL: return {snpe::kBool, 8};
    default: throw sdk::Error(OPTIMA_UNSUPPORTED, "tensor '" + port.name + "' is " + sdk::dtype_name(port.dtype) + ", which SNPE has no buffers for");
  }
}

void* make_encoding(const Functions& f, const Coding& c) {
  switch (c.type) {
    case snpe::kFloat: return f.Snpe_UserBufferEncodingFloat_Create();
    case snpe::kFloat16: return f.Snpe_UserBufferEncodingFloatN_Create(c.bits);
    case snpe::kTf8:
    case snpe::kTf16: return f.Snpe_UserBufferEncodingTfN_Create(c.step_of_0, c.step, c.bits);
    case snpe::kInt8:
    case snpe::kInt16:
    case snpe::kInt32:
    case snpe::kInt64: return f.Snpe_UserBufferEncodingIntN_Create(c.bits);
    case snpe::kBool: return f.Snpe_UserBufferEncodingBool_Create(c.bits);
    default: return f.Snpe_UserBufferEncodingUintN_Create(c.bits);
  }
}

/// What the network says of one of its tensors.
struct Told {
  std::vector<size_t> dims;
  Coding coding;
};

uint8_t bits_of(int type) {
  switch (type) {
    case snpe::kTf8: case snpe::kInt8: case snpe::kUint8: case snpe::kBool: return 8;
    case snpe::kFloat16: case snpe::kTf16: case snpe::kInt16: case snpe::kUint16: return 16;
    case snpe::kInt64: case snpe::kUint64: return 64;
    default: return 32;
  }
}

Told told_of(const Functions& f, void* network, const std::string& name) {
  const Handle attributes(f.Snpe_SNPE_GetInputOutputBufferAttributes(network, name.c_str()), f.Snpe_IBufferAttributes_Delete);
  if (!attributes) fail(f, OPTIMA_CORRUPT, "says nothing of tensor '" + name + "'");
  const Handle shape(f.Snpe_IBufferAttributes_GetDims(attributes.get()), f.Snpe_TensorShape_Delete);
  if (!shape) fail(f, OPTIMA_CORRUPT, "has no dims of tensor '" + name + "'");
  const size_t* dims = f.Snpe_TensorShape_GetDimensions(shape.get());
  Told t{{dims, dims + f.Snpe_TensorShape_Rank(shape.get())}, {}};
  t.coding.type = f.Snpe_IBufferAttributes_GetEncodingType(attributes.get());
  t.coding.bits = bits_of(t.coding.type);
  void* encoding = f.Snpe_IBufferAttributes_GetEncoding_Ref(attributes.get());
  if (encoding && (t.coding.type == snpe::kTf8 || t.coding.type == snpe::kTf16)) {
    t.coding.step_of_0 = f.Snpe_UserBufferEncodingTfN_GetStepExactly0(encoding);
    t.coding.step = f.Snpe_UserBufferEncodingTfN_GetQuantizedStepSize(encoding);
  }
  return t;
}

size_t elements(const std::vector<size_t>& dims) { return std::accumulate(dims.begin(), dims.end(), size_t{1}, std::multiplies<>()); }

std::string show(const std::vector<size_t>& dims) {
  std::string s = "[";
  for (size_t k = 0; k < dims.size(); ++k) (s += k ? ", " : "") += std::to_string(dims[k]);
  return s + "]";
}

bool channels_last(const Port& port) { return !port.layout.empty() && port.layout.back() == 'C'; }

/// The port's dims as they lie in the network: of channels last, dim 1 behind all others.
std::vector<size_t> dims_there(const Port& port) {
  std::vector<size_t> dims(port.dims.begin(), port.dims.end());
  if (channels_last(port)) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

/// Matrices of `rows` x `columns` elements of `size` bytes, one after the other, each transposed.
void transpose(const char* from, char* to, size_t count, size_t rows, size_t columns, size_t size) {
  for (size_t k = 0; k < count; ++k, from += rows * columns * size, to += rows * columns * size)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) std::memcpy(to + (c * rows + r) * size, from + (r * columns + c) * size, size);
}

/// Where a tensor lies, by its name in the files: the caller's buffer, or memory of ours where it is between two networks or lies otherwise.
struct Place {
  const Port* port = nullptr;  // null: between two networks
  bool is_output = false;      // of the artifact
  Coding coding;
  std::vector<size_t> dims;    // as the networks have them; empty before the first of them was seen
  bool seen = false;
  std::vector<char> own;
  std::vector<void*> buffers;  // the user buffers on it, of all networks

  size_t bytes() const { return elements(dims) * coding.bits / 8; }
};

/// One DLC that is ready to run.
struct Network {
  Handle container, snpe;
  std::vector<Handle> buffers;
  Handle inputs, outputs;  // maps; gone before the buffers in them
};

int runtime_of(const std::string& kind) { return kind == "HEXAGON" ? snpe::kDsp : kind == "ADRENO" ? snpe::kGpu : snpe::kCpu; }

bool has_runtime(const Functions& f, int runtime) {
  return runtime == snpe::kDsp ? f.Snpe_Util_IsRuntimeAvailableCheckOption(runtime, snpe::kUnsignedPd) != 0 : f.Snpe_Util_IsRuntimeAvailable(runtime) != 0;
}

std::string version_of(const Functions& f) {
  const Handle version(f.Snpe_Util_GetLibraryVersion(), f.Snpe_DlVersion_Delete);
  const char* text = version ? f.Snpe_DlVersion_ToString(version.get()) : nullptr;
  return text ? text : "of no version";
}

/// Snpe_PerformanceProfile_t, by the words of snpe-net-run's --perf_profile.
int profile_of(const std::string& word) {
  constexpr std::string_view words[] = {"balanced", "high_performance", "power_saver", "system_settings", "sustained_high_performance",
                                        "burst", "low_power_saver", "high_power_saver", "low_balanced", "extreme_power_saver"};
  const auto at = std::find(std::begin(words), std::end(words), word);
  if (at == std::end(words)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "SNPE has no performance profile '" + word + "'");
  return static_cast<int>(at - std::begin(words));
}

/// What a SDK prepared for the SoC is a DLC too, and has no wrapper beside it; a context binary of the wheels' has, and is nothing to SNPE.
std::vector<std::string> dlcs_of(const Loadable& what) {
  if (!what.context.empty() && what.wrapper.empty()) return {what.context};
  if (what.dlcs.empty()) throw sdk::Error(OPTIMA_CORRUPT, "artifact has no DLC, which SNPE runs");
  return what.dlcs;
}

class SnpeSession : public Session {
 public:
  SnpeSession(const Functions& f, const Loadable& what) : f_(f) {
    inputs_ = *what.inputs, outputs_ = *what.outputs;
    for (const Port& p : inputs_) add_port(p, false);
    for (const Port& p : outputs_) add_port(p, true);
    const std::vector<int> runtimes = runtimes_for(what);
    const std::vector<std::string> dlcs = dlcs_of(what);
    for (const std::string& dlc : dlcs) networks_.push_back(open(dlc, what, runtimes, dlcs.size() == 1));
    for (const auto& [name, place] : places_)
      if (!place.seen) throw sdk::Error(OPTIMA_CORRUPT, "SNPE's network has no tensor '" + name + "', which the meta file has");
  }

  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* stop) override {
    if (stop) stop->check();
    for (size_t k = 0; k < inputs_.size(); ++k) give(at(inputs_[k]), const_cast<char*>(in[k].data<char>()));
    for (size_t k = 0; k < outputs_.size(); ++k) give(at(outputs_[k]), out[k].data<char>());
    for (const Network& n : networks_) {
      if (f_.Snpe_SNPE_ExecuteUserBuffers(n.snpe.get(), n.inputs.get(), n.outputs.get()) != 0) fail(f_, OPTIMA_DEVICE, "cannot run the network");
      if (stop) stop->check();
    }
    for (size_t k = 0; k < outputs_.size(); ++k) take(at(outputs_[k]), out[k].data<char>());
  }

  void profile(bool) override {}
  std::vector<Event> events() override { return {}; }

 private:
  static const std::string& name_there(const Port& p) { return p.file_name.empty() ? p.name : p.file_name; }
  Place& at(const Port& p) { return places_.at(name_there(p)); }

  void add_port(const Port& p, bool is_output) {
    Place& place = places_[name_there(p)];
    if (place.port) throw sdk::Error(OPTIMA_CORRUPT, "meta file has two tensors '" + name_there(p) + "'");
    place.port = &p, place.is_output = is_output, place.coding = coding_of(p), place.dims = dims_there(p);
    if (channels_last(p)) place.own.resize(place.bytes());
  }

  std::vector<int> runtimes_for(const Loadable& what) const {
    const int wanted = runtime_of(what.kind);
    if (has_runtime(f_, wanted)) return what.fallback && wanted != snpe::kCpu ? std::vector<int>{wanted, snpe::kCpu} : std::vector<int>{wanted};
    if (what.fallback) return {snpe::kCpu};
    throw sdk::Error(OPTIMA_WRONG_DEVICE, "SNPE " + version_of(f_) + " finds no " + what.kind + " here; snpe.fallback=true lets its CPU runtime stand in");
  }

  Network open(const std::string& dlc, const Loadable& what, const std::vector<int>& runtimes, bool alone) {
    Network n;
    n.container = Handle(f_.Snpe_DlContainer_Open(dlc.c_str()), f_.Snpe_DlContainer_Delete);
    if (!n.container) fail(f_, OPTIMA_CORRUPT, "cannot open '" + dlc + "'");
    n.snpe = build(n.container, what, runtimes, alone);
    n.inputs = map_of(n, f_.Snpe_SNPE_GetInputTensorNames(n.snpe.get()), false);
    n.outputs = map_of(n, f_.Snpe_SNPE_GetOutputTensorNames(n.snpe.get()), true);
    return n;
  }

  /// Of several DLCs only the files know which outputs each has.
  Handle build(const Handle& container, const Loadable& what, const std::vector<int>& runtimes, bool names_outputs) {
    const Handle builder(f_.Snpe_SNPEBuilder_Create(container.get()), f_.Snpe_SNPEBuilder_Delete);
    if (!builder) fail(f_, OPTIMA_DEVICE, "makes no builder");
    const Handle order(f_.Snpe_RuntimeList_Create(), f_.Snpe_RuntimeList_Delete);
    const Handle names(f_.Snpe_StringList_Create(), f_.Snpe_StringList_Delete);
    if (!order || !names) fail(f_, OPTIMA_MEMORY, "makes no list");
    for (int r : runtimes) require(f_.Snpe_RuntimeList_Add(order.get(), r), "does not take runtime " + std::to_string(r));
    for (const Port& p : outputs_) require(f_.Snpe_StringList_Append(names.get(), name_there(p).c_str()), "does not take an output's name");
    require(f_.Snpe_SNPEBuilder_SetRuntimeProcessorOrder(builder.get(), order.get()), "does not take the runtime");
    require(f_.Snpe_SNPEBuilder_SetUseUserSuppliedBuffers(builder.get(), 1), "does not take buffers of ours");
    require(f_.Snpe_SNPEBuilder_SetPerformanceProfile(builder.get(), profile_of(what.performance)), "does not take performance profile " + what.performance);
    if (names_outputs && f_.Snpe_SNPEBuilder_SetOutputTensors(builder.get(), names.get()) != 0) fail(f_, OPTIMA_CORRUPT, "does not take the outputs");
    Handle built(f_.Snpe_SNPEBuilder_Build(builder.get()), f_.Snpe_SNPE_Delete);
    if (!built) fail(f_, OPTIMA_DEVICE, "cannot load the network");
    return built;
  }

  void require(int code, const std::string& what) const {
    if (code != 0) fail(f_, OPTIMA_DEVICE, what);
  }

  /// A user buffer for each of these tensors, on its place.
  Handle map_of(Network& n, void* names, bool outputs) {
    const Handle list(names, f_.Snpe_StringList_Delete);
    Handle map(f_.Snpe_UserBufferMap_Create(), f_.Snpe_UserBufferMap_Delete);
    if (!list || !map) fail(f_, OPTIMA_DEVICE, "does not tell the network's tensors");
    for (size_t k = 0; k < f_.Snpe_StringList_Size(list.get()); ++k) {
      const std::string name = f_.Snpe_StringList_At(list.get(), k);
      Place& place = place_of(n, name, outputs);
      n.buffers.push_back(buffer_on(place, name));
      place.buffers.push_back(n.buffers.back().get());
      require(f_.Snpe_UserBufferMap_Add(map.get(), name.c_str(), n.buffers.back().get()), "does not take a buffer for '" + name + "'");
    }
    return map;
  }

  Place& place_of(const Network& n, const std::string& name, bool outputs) {
    const bool known = places_.count(name) > 0;
    if (!known && !outputs) throw sdk::Error(OPTIMA_CORRUPT, "SNPE's network wants tensor '" + name + "', which no port and no earlier DLC gives");
    const Told told = told_of(f_, n.snpe.get(), name);
    Place& place = places_[name];
    if (!known) place.coding = told.coding, place.dims = told.dims, place.own.resize(place.bytes());
    const bool same = elements(place.dims) == elements(told.dims) && (place.dims.size() != told.dims.size() || place.dims == told.dims);
    if (!same) throw sdk::Error(OPTIMA_CORRUPT, "SNPE's network has '" + name + "' of shape " + show(told.dims) + ", the meta file has " + show(place.dims));
    const bool codes = told.coding.type == snpe::kTf8 || told.coding.type == snpe::kTf16;
    const bool unsigned_port = place.coding.type == snpe::kUint8 || place.coding.type == snpe::kUint16;
    if (codes && unsigned_port && place.coding.bits == told.coding.bits) place.coding = told.coding;
    place.seen = true;
    return place;
  }

  Handle buffer_on(const Place& place, const std::string& name) const {
    std::vector<size_t> strides(place.dims.size());
    size_t stride = place.coding.bits / 8;
    for (size_t d = strides.size(); d-- > 0; stride *= place.dims[d]) strides[d] = stride;
    const Handle shape(f_.Snpe_TensorShape_CreateDimsSize(strides.data(), strides.size()), f_.Snpe_TensorShape_Delete);
    const Handle encoding(make_encoding(f_, place.coding), f_.Snpe_UserBufferEncoding_Delete);
    if (!shape || !encoding) fail(f_, OPTIMA_DEVICE, "has no coding for '" + name + "'");
    void* data = place.own.empty() ? nullptr : const_cast<char*>(place.own.data());
    Handle buffer(f_.Snpe_Util_CreateUserBuffer(data, place.bytes(), shape.get(), encoding.get()), f_.Snpe_IUserBuffer_Delete);
    if (!buffer) fail(f_, OPTIMA_DEVICE, "makes no buffer for '" + name + "'");
    return buffer;
  }

  /// Before a run.
  void give(Place& place, char* data) const {
    if (!place.own.empty()) {
      if (!place.is_output) across(place, data, place.own.data(), true);
      return;
    }
    for (void* buffer : place.buffers)
      if (f_.Snpe_IUserBuffer_SetBufferAddress(buffer, data) == 0) fail(f_, OPTIMA_DEVICE, "does not take a buffer's address");
  }

  /// After it.
  void take(Place& place, char* data) const {
    if (!place.own.empty()) across(place, place.own.data(), data, false);
  }

  /// [N, C, rest] to [N, rest, C], or back.
  static void across(const Place& place, const char* from, char* to, bool there) {
    const std::vector<int64_t>& dims = place.port->dims;
    const auto channels = static_cast<size_t>(dims[1]), count = static_cast<size_t>(dims[0]);
    const size_t all = elements(place.dims), rest = all == 0 ? 0 : all / count / channels;
    transpose(from, to, count, there ? channels : rest, there ? rest : channels, place.coding.bits / 8);
  }

  const Functions& f_;
  std::vector<Port> inputs_, outputs_;
  std::map<std::string, Place> places_;
  std::vector<Network> networks_;
};

}  // namespace

std::unique_ptr<Session> open_snpe(const std::string& library, const Loadable& what, const Bounds& bounds) {
  if (bounds.cancelled && bounds.cancelled()) throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
  return std::make_unique<SnpeSession>(snpe::functions_of(library), what);
}

std::string snpe_version(const std::string& library) { return version_of(snpe::functions_of(library)); }

bool snpe_has(const std::string& library, const std::string& kind) { return has_runtime(snpe::functions_of(library), runtime_of(kind)); }

}  // namespace snpe_plugin
