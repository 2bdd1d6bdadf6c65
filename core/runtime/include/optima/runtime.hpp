// SPDX-License-Identifier: Apache-2.0
//
// optima/runtime.hpp: C++17 over optima/runtime.h; header only, nothing C++ crosses into the library. Failures throw
// optima::runtime::Error. Class and member names are those of the API that users of the predecessor know.
// Threads: as the C functions say; objects are not synchronised beyond that. Handles are move-only and keep what they need
// alive: a Model its Context, an InferRequest its Model.
#ifndef OPTIMA_RUNTIME_HPP
#define OPTIMA_RUNTIME_HPP

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optima/runtime.h"

namespace optima::runtime {

/// Kinds of the field. `Other`: a kind that a plugin brought; DeviceInfo::kind_name has its name.
enum class DeviceKind { Other, X86, X64, ARM, ARM64, NVIDIA, AMDGPU, INTELGPU, MALI, ADRENO, HEXAGON, MYRIAD, ARA1, TPU, CV22 };

enum class ElementType : int32_t {
  Undefined = OPTIMA_RT_UNDEFINED, Float32 = OPTIMA_RT_FLOAT32, UInt8 = OPTIMA_RT_UINT8, Int8 = OPTIMA_RT_INT8, UInt16 = OPTIMA_RT_UINT16,
  Int16 = OPTIMA_RT_INT16, Int32 = OPTIMA_RT_INT32, Int64 = OPTIMA_RT_INT64, String = OPTIMA_RT_STRING, Bool = OPTIMA_RT_BOOL,
  Float16 = OPTIMA_RT_FLOAT16, Float64 = OPTIMA_RT_FLOAT64, UInt32 = OPTIMA_RT_UINT32, UInt64 = OPTIMA_RT_UINT64,
  Complex64 = OPTIMA_RT_COMPLEX64, Complex128 = OPTIMA_RT_COMPLEX128, BFloat16 = OPTIMA_RT_BFLOAT16, Float8E4M3FN = OPTIMA_RT_FLOAT8E4M3FN,
  Float8E4M3FNUZ = OPTIMA_RT_FLOAT8E4M3FNUZ, Float8E5M2 = OPTIMA_RT_FLOAT8E5M2, Float8E5M2FNUZ = OPTIMA_RT_FLOAT8E5M2FNUZ,
  UInt4 = OPTIMA_RT_UINT4, Int4 = OPTIMA_RT_INT4, Float4E2M1 = OPTIMA_RT_FLOAT4E2M1, Float8E8M0 = OPTIMA_RT_FLOAT8E8M0,
  UInt2 = OPTIMA_RT_UINT2, Int2 = OPTIMA_RT_INT2
};

enum class LogLevel : int32_t { Trace, Debug, Info, Warn, Error };

enum class ProfileKind : uint32_t {
  ModelInit, SubgraphInit, RequestInit, LayerExecute, Wait, BufferCopy, ModelExecute, SubgraphExecute, FlowExecute
};

/// What the library said, with its code.
class Error : public std::runtime_error {
 public:
  Error(int32_t code, const char* text) : std::runtime_error(text), code_(code) {}
  /// OPTIMA_RT_USAGE, OPTIMA_RT_INVALID_INPUT, ...
  int32_t code() const { return code_; }

 private:
  int32_t code_;
};

namespace detail {

/// An error struct ready to be filled; check() throws what came back.
struct Status {
  optima_rt_error error{};
  Status() { error.struct_size = sizeof error; }
  void check(int32_t code) const {
    if (code != OPTIMA_RT_OK) throw Error(code, error.text);
  }
};

template <class F>
void call(F&& f) {
  Status s;
  s.check(f(&s.error));
}

inline DeviceKind kind_of(const std::string& name) {
  static const std::array<const char*, 15> names = {"", "X86", "X64", "ARM", "ARM64", "NVIDIA", "AMDGPU", "INTELGPU",
                                                    "MALI", "ADRENO", "HEXAGON", "MYRIAD", "ARA1", "TPU", "CV22"};
  for (size_t i = 1; i < names.size(); ++i)
    if (name == names[i]) return static_cast<DeviceKind>(i);
  return DeviceKind::Other;
}

/// Bits per element as stored; 0 for strings.
inline uint64_t bits_of(ElementType type) {
  static const std::array<uint8_t, 27> bits = {0, 32, 8, 8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64, 64, 128, 16, 8, 8, 8, 8, 4, 4, 4, 8, 2, 2};
  const auto n = static_cast<size_t>(type);
  return n < bits.size() ? bits[n] : 0;
}

struct AlignedDelete {
  void operator()(unsigned char* p) const { ::operator delete(p, std::align_val_t{64}); }
};

}  // namespace detail

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> shape;                     ///< -1 = known when running
  std::vector<std::string> symbols;               ///< per dimension, "" = none
  bool unranked = false;
  bool is_text = false;                           ///< the model has texts here; the elements are their codes, of type Int64
  std::vector<std::string> texts;                 ///< the text of each code from 0; in an input, their number is the code of any other text
};

struct DeviceInfo {
  DeviceKind kind = DeviceKind::Other;
  std::string kind_name, plugin, id, arch, driver;
  uint32_t ordinal = 0;
};

struct SubgraphInfo {
  uint32_t index = 0;
  std::string device, plugin, note;               ///< note: why compiling again would be better, "" = it would not
};

struct ProfileEvent {
  ProfileKind kind = ProfileKind::ModelInit;
  std::string name;
  std::chrono::nanoseconds start{}, duration{};   ///< start: CLOCK_MONOTONIC
  uint32_t index = 0, track = 0;
};

/// A dense row-major tensor in host memory: its own bytes (64-byte aligned) or somebody else's. Move-only.
class Tensor {
 public:
  Tensor() = default;
  /// Owned and zeroed. Throws Error for strings and negative or absurd dims.
  Tensor(ElementType type, std::vector<int64_t> shape) : type_(type), shape_(std::move(shape)), size_(byte_size(type_, shape_)) {
    own_.reset(static_cast<unsigned char*>(::operator new(size_ ? size_ : 1, std::align_val_t{64})));
    data_ = own_.get();
    std::memset(data_, 0, size_);
  }
  /// Borrowed: `data` has size() bytes and must outlive the tensor and every request it was given to.
  Tensor(ElementType type, std::vector<int64_t> shape, void* data)
      : type_(type), shape_(std::move(shape)), size_(byte_size(type_, shape_)), data_(data) {}

  ElementType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  /// Bytes.
  uint64_t size() const { return size_; }
  void* getBuffer() { return data_; }
  const void* getBuffer() const { return data_; }
  template <class T>
  T* data() { return static_cast<T*>(data_); }
  template <class T>
  const T* data() const { return static_cast<const T*>(data_); }

  /// Exactly size() bytes in or out; throws Error when `bytes` is another number.
  void copyFrom(const void* from, uint64_t bytes) { check_size(bytes), std::memcpy(data_, from, bytes); }
  void copyTo(void* to, uint64_t bytes) const { check_size(bytes), std::memcpy(to, data_, bytes); }

 private:
  static uint64_t byte_size(ElementType type, const std::vector<int64_t>& shape) {
    uint64_t bits = detail::bits_of(type);
    if (bits == 0) throw Error(OPTIMA_RT_INVALID_INPUT, "a tensor of this element type has no size");
    for (const int64_t d : shape) {
      if (d < 0 || (d > 0 && bits > (uint64_t{1} << 62) / static_cast<uint64_t>(d))) throw Error(OPTIMA_RT_INVALID_INPUT, "a tensor of this shape has no size");
      bits *= static_cast<uint64_t>(d);
    }
    return (bits + 7) / 8;
  }
  void check_size(uint64_t bytes) const {
    if (bytes == size_) return;
    throw Error(OPTIMA_RT_INVALID_INPUT, ("found " + std::to_string(bytes) + " bytes, wanted " + std::to_string(size_)).c_str());
  }

  ElementType type_ = ElementType::Undefined;
  std::vector<int64_t> shape_;
  uint64_t size_ = 0;
  void* data_ = nullptr;
  std::unique_ptr<unsigned char, detail::AlignedDelete> own_;
};

namespace detail {

using ContextHandle = std::shared_ptr<optima_rt_context>;
using ModelHandle = std::shared_ptr<optima_rt_model>;

inline std::vector<ProfileEvent>* events_to(void* data) { return static_cast<std::vector<ProfileEvent>*>(data); }
inline void add_event(void* data, const optima_rt_event* e) {
  events_to(data)->push_back({static_cast<ProfileKind>(e->kind), e->name, std::chrono::nanoseconds(e->start_ns), std::chrono::nanoseconds(e->duration_ns),
                              e->index, e->track});
}

inline TensorInfo info_from(const optima_rt_tensor_info& i) {
  TensorInfo out{i.name, static_cast<ElementType>(i.dtype), {}, {}, i.rank < 0, false, {}};
  for (int32_t d = 0; d < i.rank; ++d) out.shape.push_back(i.shape[d]), out.symbols.emplace_back(i.symbols[d]);
  out.is_text = i.texts != nullptr;
  if (out.is_text) out.texts.assign(i.texts, i.texts + i.text_count);
  return out;
}

}  // namespace detail

/// One execution state of a model. While a run is under way only wait() and cancel() may be called.
class InferRequest {
 public:
  explicit InferRequest(detail::ModelHandle model) : state_(std::make_unique<State>()) {
    state_->model = std::move(model);
    detail::call([&](optima_rt_error* e) { return optima_rt_request_create(state_->model.get(), &state_->request, e); });
  }

  /// Later runs read the tensor in place where its alignment allows; it must outlive them.
  void setInputTensor(const std::string& name, const Tensor& tensor) { setInputTensor(input(name), tensor); }
  void setInputTensor(uint32_t index, const Tensor& tensor) {
    optima_rt_tensor t{};
    t.struct_size = sizeof t;
    t.dtype = static_cast<int32_t>(tensor.type());
    t.shape = tensor.shape().data();
    t.rank = static_cast<int32_t>(tensor.shape().size());
    t.data = const_cast<void*>(tensor.getBuffer());
    t.size = tensor.size();
    detail::call([&](optima_rt_error* e) { return optima_rt_request_set_input(get(), index, &t, e); });
  }
  /// Later runs write the output into the tensor, which must outlive them.
  void setOutputTensor(const std::string& name, Tensor& tensor) { setOutputTensor(output(name), tensor); }
  void setOutputTensor(uint32_t index, Tensor& tensor) {
    detail::call([&](optima_rt_error* e) { return optima_rt_request_bind_output(get(), index, tensor.getBuffer(), tensor.size(), e); });
  }
  /// The output of the last run, borrowed: valid until the next run or setOutputTensor().
  Tensor getOutputTensor(const std::string& name) { return getOutputTensor(output(name)); }
  Tensor getOutputTensor(uint32_t index) {
    optima_rt_tensor t{};
    t.struct_size = sizeof t;
    detail::call([&](optima_rt_error* e) { return optima_rt_request_output(get(), index, &t, e); });
    return Tensor(static_cast<ElementType>(t.dtype), std::vector<int64_t>(t.shape, t.shape + t.rank), t.data);
  }

  /// Texts of an input that has them, row-major, for later runs; UTF-8. Throws Error when it has none, or `shape` is another number of them.
  void setInputTexts(const std::string& name, const std::vector<std::string>& texts, std::vector<int64_t> shape) { setInputTexts(input(name), texts, std::move(shape)); }
  void setInputTexts(uint32_t index, const std::vector<std::string>& texts, std::vector<int64_t> shape) {
    const TensorInfo info = info_of(index, optima_rt_model_input);
    Tensor codes(ElementType::Int64, std::move(shape));
    if (codes.size() != texts.size() * sizeof(int64_t))
      throw Error(OPTIMA_RT_INVALID_INPUT, ("input '" + info.name + "': found " + std::to_string(texts.size()) + " texts, wanted what the shape says").c_str());
    std::unordered_map<std::string, int64_t> known;
    for (const std::string& text : info.texts) known.emplace(text, static_cast<int64_t>(known.size()));
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto at = known.find(texts[i]);
      codes.data<int64_t>()[i] = at == known.end() ? static_cast<int64_t>(info.texts.size()) : at->second;
    }
    setInputTensor(index, codes);
    state_->codes[index] = std::move(codes);
  }
  /// The texts of an output of the last run that has them, row-major; its shape is getOutputTensor()'s. Throws Error when it has none.
  std::vector<std::string> getOutputTexts(const std::string& name) { return getOutputTexts(output(name)); }
  std::vector<std::string> getOutputTexts(uint32_t index) {
    const TensorInfo info = info_of(index, optima_rt_model_output);
    const Tensor codes = getOutputTensor(index);
    std::vector<std::string> out;
    for (size_t i = 0; i < codes.size() / sizeof(int64_t); ++i) {
      const int64_t code = codes.data<int64_t>()[i];
      if (code < 0 || static_cast<uint64_t>(code) >= info.texts.size())
        throw Error(OPTIMA_RT_INVALID_INPUT, ("output '" + info.name + "': found code " + std::to_string(code) + " of " + std::to_string(info.texts.size()) + " texts").c_str());
      out.push_back(info.texts[static_cast<size_t>(code)]);
    }
    return out;
  }

  /// Starts a run and returns; wait() has the outcome.
  void infer() {
    detail::call([&](optima_rt_error* e) { return optima_rt_request_start(get(), e); });
  }
  /// Runs in the calling thread.
  void run() {
    detail::call([&](optima_rt_error* e) { return optima_rt_request_run(get(), e); });
  }
  /// False when the run is still going on after the time; throws what the run failed with. Negative = no limit.
  bool wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1)) {
    detail::Status s;
    const int32_t code = optima_rt_request_wait(get(), timeout.count(), &s.error);
    if (code == OPTIMA_RT_TIMEOUT) return false;
    s.check(code);
    return true;
  }
  void cancel() { optima_rt_request_cancel(get()); }
  /// Later runs that take longer end with Error OPTIMA_RT_DEADLINE; zero or less = no limit.
  void setDeadline(std::chrono::milliseconds limit) {
    optima_rt_request_set_deadline(get(), limit.count() > 0 ? static_cast<uint64_t>(limit.count()) : 0);
  }
  /// Called on a thread of the context after each infer(), with nothing or the failure; must not throw, wait or destroy the request.
  void setCallback(std::function<void(const std::optional<Error>&)> callback) {
    state_->callback = std::move(callback);
    optima_rt_request_set_callback(get(), state_->callback ? &State::finished : nullptr, state_.get());
  }

  /// From now on each run finds in `input` what the run before left in `output`; it starts from what was last set, else from zeros.
  void tieOutput(const std::string& output_name, const std::string& input_name) { tieOutput(output(output_name), input(input_name)); }
  void tieOutput(uint32_t output, uint32_t input) {
    detail::call([&](optima_rt_error* e) { return optima_rt_request_tie(get(), output, input, e); });
  }
  /// The next run is as the first: tied inputs start again, plugins forget what runs left in them.
  void reset() {
    detail::call([&](optima_rt_error* e) { return optima_rt_request_reset(get(), e); });
  }

  void setProfiling(bool on) { optima_rt_request_set_profiling(get(), on); }
  /// Events since the last call, oldest first.
  std::vector<ProfileEvent> getProfileData() {
    std::vector<ProfileEvent> events;
    optima_rt_request_profile(get(), detail::add_event, &events);
    return events;
  }

 private:
  struct State {  // at one address for its whole life: the callback points to it
    detail::ModelHandle model;
    optima_rt_request* request = nullptr;
    std::unordered_map<uint32_t, Tensor> codes;  // of inputs that were set to texts
    std::function<void(const std::optional<Error>&)> callback;
    ~State() { optima_rt_request_destroy(request); }
    static void finished(void* data, int32_t code, const optima_rt_error* error) {
      const auto* self = static_cast<State*>(data);
      self->callback(code == OPTIMA_RT_OK ? std::nullopt : std::optional<Error>(std::in_place, code, error->text));
    }
  };
  optima_rt_request* get() const { return state_->request; }
  TensorInfo info_of(uint32_t index, int32_t (*getter)(const optima_rt_model*, uint32_t, optima_rt_tensor_info*, optima_rt_error*)) const {
    optima_rt_tensor_info info{};
    info.struct_size = sizeof info;
    detail::call([&](optima_rt_error* e) { return getter(state_->model.get(), index, &info, e); });
    if (!info.texts) throw Error(OPTIMA_RT_USAGE, ("'" + std::string(info.name) + "' has no texts, wanted tensors").c_str());
    return detail::info_from(info);
  }
  uint32_t input(const std::string& name) const {
    uint32_t index = 0;
    detail::call([&](optima_rt_error* e) { return optima_rt_model_find_input(state_->model.get(), name.c_str(), &index, e); });
    return index;
  }
  uint32_t output(const std::string& name) const {
    uint32_t index = 0;
    detail::call([&](optima_rt_error* e) { return optima_rt_model_find_output(state_->model.get(), name.c_str(), &index, e); });
    return index;
  }
  std::unique_ptr<State> state_;
};

/// A loaded package. Copies share it.
class Model {
 public:
  explicit Model(detail::ModelHandle handle) : handle_(std::move(handle)) {}

  std::vector<TensorInfo> getInputInfos() const {
    return infos(optima_rt_model_input_count(handle_.get()), optima_rt_model_input);
  }
  std::vector<TensorInfo> getOutputInfos() const {
    return infos(optima_rt_model_output_count(handle_.get()), optima_rt_model_output);
  }
  /// In run order.
  std::vector<SubgraphInfo> getSubgraphInfos() const {
    std::vector<SubgraphInfo> out;
    for (uint32_t i = 0; i < optima_rt_model_subgraph_count(handle_.get()); ++i) {
      optima_rt_subgraph_info info{};
      info.struct_size = sizeof info;
      detail::call([&](optima_rt_error* e) { return optima_rt_model_subgraph(handle_.get(), i, &info, e); });
      out.push_back({info.index, info.device, info.plugin, info.note});
    }
    return out;
  }
  InferRequest createRequest() const { return InferRequest(handle_); }
  /// ModelInit and SubgraphInit.
  std::vector<ProfileEvent> getProfileData() const {
    std::vector<ProfileEvent> events;
    optima_rt_model_profile(handle_.get(), detail::add_event, &events);
    return events;
  }

 private:
  using Getter = int32_t (*)(const optima_rt_model*, uint32_t, optima_rt_tensor_info*, optima_rt_error*);
  std::vector<TensorInfo> infos(uint32_t count, Getter getter) const {
    std::vector<TensorInfo> out;
    for (uint32_t i = 0; i < count; ++i) {
      optima_rt_tensor_info info{};
      info.struct_size = sizeof info;
      detail::call([&](optima_rt_error* e) { return getter(handle_.get(), i, &info, e); });
      out.push_back(detail::info_from(info));
    }
    return out;
  }
  detail::ModelHandle handle_;
};

struct ContextOptions {
  std::vector<std::string> plugin_folders;
  std::vector<std::pair<std::string, std::string>> settings;  ///< "plugin.key", value
  uint32_t workers = 0;                                       ///< threads for infer(); 0 = one per processor, at most 8
  int64_t threads = 0;                                        ///< most threads of one subgraph; 0 = all
  bool allow_writable = false;                                ///< load plugin files that others may change, too
  /// Lines of the library and its plugins, from any thread, one at a time; must not throw. The log belongs to the process: the last context
  /// made with one decides, and it is kept until the process ends.
  std::function<void(LogLevel level, const char* component, const char* text)> log = {};
  LogLevel log_level = LogLevel::Warn;                        ///< least level wanted
};

/// Plugins and threads. Copies share them.
class Context {
 public:
  explicit Context(const ContextOptions& options = {}) : threads_(options.threads) {
    std::vector<const char*> folders;
    std::vector<optima_rt_setting> settings;
    for (const std::string& f : options.plugin_folders) folders.push_back(f.c_str());
    for (const auto& [name, value] : options.settings) settings.push_back({sizeof(optima_rt_setting), 0, name.c_str(), value.c_str()});
    optima_rt_context_options o{};
    o.struct_size = sizeof o;
    o.workers = options.workers;
    if (options.allow_writable) o.flags |= OPTIMA_RT_ALLOW_WRITABLE;
    o.plugin_folders = folders.data();
    o.plugin_folder_count = static_cast<uint32_t>(folders.size());
    o.settings = settings.data();
    o.setting_count = static_cast<uint32_t>(settings.size());
    if (options.log) {
      using Log = decltype(options.log);
      o.log = [](void* data, int32_t level, const char* component, const char* text) { (*static_cast<Log*>(data))(static_cast<LogLevel>(level), component, text); };
      o.log_data = new Log(options.log);  // never freed: lines may come until the process ends
      o.log_level = static_cast<int32_t>(options.log_level);
    }
    optima_rt_context* context = nullptr;
    detail::call([&](optima_rt_error* e) { return optima_rt_context_create(&o, &context, e); });
    handle_ = detail::ContextHandle(context, optima_rt_context_destroy);
  }

  /// How much is loaded, 0..1, and what is being done; false = stop, and the load throws Error OPTIMA_RT_CANCELLED. Any thread, one call at a
  /// time; must not throw.
  using LoadProgress = std::function<bool(double fraction, const char* stage)>;
  /// Loads the package in a folder.
  Model loadModel(const std::string& path, const LoadProgress& progress = {}) {
    optima_rt_load_options o{};
    o.struct_size = sizeof o;
    o.threads = threads_;
    if (progress) o.progress = [](void* data, double fraction, const char* stage) -> int32_t { return !(*static_cast<const LoadProgress*>(data))(fraction, stage); };
    o.progress_data = const_cast<LoadProgress*>(&progress);
    optima_rt_model* model = nullptr;
    detail::call([&](optima_rt_error* e) { return optima_rt_model_load(handle_.get(), path.c_str(), &o, &model, e); });
    // The model's deleter holds the context, so that it goes last.
    return Model(detail::ModelHandle(model, [context = handle_](optima_rt_model* m) { optima_rt_model_destroy(m); }));
  }
  /// One more folder of plugins.
  void loadExtension(const std::string& folder) {
    detail::call([&](optima_rt_error* e) { return optima_rt_context_add_plugins(handle_.get(), folder.c_str(), e); });
  }
  std::vector<DeviceInfo> getAvailableDevices() const {
    std::vector<DeviceInfo> out;
    const auto add = [](void* data, const optima_rt_device* d) {
      static_cast<std::vector<DeviceInfo>*>(data)->push_back({detail::kind_of(d->kind), d->kind, d->plugin, d->id, d->arch, d->driver, d->ordinal});
    };
    detail::call([&](optima_rt_error* e) { return optima_rt_context_devices(handle_.get(), add, &out, e); });
    return out;
  }

 private:
  detail::ContextHandle handle_;
  int64_t threads_ = 0;
};

}  // namespace optima::runtime

#endif  // OPTIMA_RUNTIME_HPP
