// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "blob.hpp"
#include "request.hpp"

namespace openvino_plugin {
namespace {

/// What OpenVINO made of the options, from the model itself: "hint LATENCY, streams 1, threads 2, precision f32". A device that has no
/// such property is silent about it.
std::string settings_of(const ov::CompiledModel& model) {
  const std::vector<ov::PropertyName> has = model.get_property(ov::supported_properties);
  std::string all;
  for (const auto& [ours, theirs] : {std::pair("hint", ov::hint::performance_mode.name()), std::pair("streams", ov::num_streams.name()),
                                     std::pair("threads", ov::inference_num_threads.name()), std::pair("precision", ov::hint::inference_precision.name())})
    if (std::find(has.begin(), has.end(), theirs) != has.end()) all += (all.empty() ? "" : ", ") + std::string(ours) + " " + model.get_property(theirs).as<std::string>();
  return all;
}

class Imported : public sdk::Program {
 public:
  /// The bytes must outlive the models: OpenVINO reads constants where they lie.
  Imported(Engine& engine, const sdk::Host& host, std::string device, ov::AnyMap properties, Meta meta, sdk::KeptBlob kept)
      : engine_(engine), host_(host), device_(std::move(device)), properties_(std::move(properties)), meta_(std::move(meta)), kept_(std::move(kept)), bytes_(kept_.blob()) {
    model_ = import(false);
    if (model_.inputs().size() != meta_.inputs.size() || model_.outputs().size() != meta_.outputs.size())
      throw sdk::Error(OPTIMA_CORRUPT, "blob has " + std::to_string(model_.inputs().size()) + " inputs and " + std::to_string(model_.outputs().size()) + " outputs, the meta file says otherwise");
    for (size_t k = 0; k < meta_.inputs.size(); ++k) same_type(model_.input(k), meta_.inputs[k]);
    for (size_t k = 0; k < meta_.outputs.size(); ++k) same_type(model_.output(k), meta_.outputs[k]);
    guarded(OPTIMA_DEVICE, "OpenVINO does not tell its settings", [&] { tell_settings(); });
  }

  void bindings(const sdk::BindingSink& add) const override {
    const auto binding = [](const Port& p) {
      sdk::Binding b{p.name, p.dtype, {p.dims.data(), p.dims.size()}};
      b.unranked = !p.ranked;
      return b;
    };
    for (const Port& p : meta_.inputs) add.input(binding(p));
    for (const Port& p : meta_.outputs) add.output(binding(p));
  }

  std::unique_ptr<sdk::Context> context() override {
    return guarded(OPTIMA_DEVICE, "OpenVINO makes no request", [&] {
      return std::make_unique<Request>(Making{meta_, host_.extension<optima_fence_host>(OPTIMA_EXT_FENCE), host_.raw()->self,
                                              [this](bool timed) { return infer_request(timed); }, age_, [this] { age_models(); }});
    });
  }

 private:
  ov::CompiledModel import(bool timed) {
    ov::AnyMap properties = properties_;
    if (timed) properties[ov::enable_profiling.name()] = true;
    auto* data = const_cast<uint8_t*>(bytes_.data());
    return guarded(OPTIMA_DEVICE, "OpenVINO does not take the blob", [&] {
      return engine_.core().import_model(ov::Tensor(ov::element::u8, {bytes_.size()}, data), device_, properties);
    });
  }

  /// The timed model is the same blob with OpenVINO's clocks on, made at the first use: they cost time in every layer.
  ov::InferRequest infer_request(bool timed) {
    const std::lock_guard lock(models_mutex_);
    ov::CompiledModel& model = timed ? timed_ : model_;
    if (!model) model = import(timed);
    return model.create_infer_request();
  }

  /// After a failed run of sizes that only runs know. Layers of OpenVINO 2026.4 that refuse a run's sizes (pooling of no pictures) go on to refuse
  /// those they had before, in every request of the model: the next run of each takes the blob in once more.
  void age_models() {
    const bool fixed = std::all_of(meta_.inputs.begin(), meta_.inputs.end(),
                                   [](const Port& p) { return p.ranked && std::none_of(p.dims.begin(), p.dims.end(), [](int64_t d) { return d < 0; }); });
    if (fixed) return;
    const std::lock_guard lock(models_mutex_);
    model_ = timed_ = {};
    ++age_;
  }

  /// In the log: what the options came to, and whether the device computes in another type than was asked for.
  void tell_settings() const {
    const sdk::Log log(host_, "openvino");
    const std::string told = settings_of(model_), asked = properties_.at(ov::hint::inference_precision.name()).as<ov::element::Type>().get_type_name();
    log.debug("loaded on " + device_ + ": " + told);
    const size_t at = told.find("precision ");
    if (at != told.npos && told.substr(at) != "precision " + asked) log.warn("precision " + asked + " is asked for, OpenVINO computes in " + told.substr(at + 10) + " on this device");
  }

  static void same_type(const ov::Output<const ov::Node>& port, const Port& p) {
    if (dtype_of(port.get_element_type()) != p.dtype)
      throw sdk::Error(OPTIMA_CORRUPT, "blob has '" + p.name + "' as " + port.get_element_type().get_type_name() + ", the meta file says " + sdk::dtype_name(p.dtype));
  }

  Engine& engine_;
  sdk::Host host_;
  std::string device_;
  ov::AnyMap properties_;
  Meta meta_;
  sdk::KeptBlob kept_;
  sdk::Elements<uint8_t> bytes_;
  std::mutex models_mutex_;
  ov::CompiledModel model_, timed_;  // empty: to be taken in
  std::atomic<uint64_t> age_{0};
};

/// Whether the subgraphs of a package are computed in one queue, on the thread that asks, as HETERO has its submodels computed: no thread
/// hands over to another between them. OpenVINO then takes all processors whatever is asked for, and one request at a time.
bool one_queue(const std::string& device, int64_t threads, const sdk::Options& options) {
  const std::string_view asked = options.string("openvino.queue", "auto");
  if (device != "CPU" || asked != "auto") return device == "CPU" && asked == "shared";
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const bool all = threads == 0 || (::sched_getaffinity(0, sizeof usable, &usable) == 0 && threads >= CPU_COUNT(&usable));
  return all && options.integer("openvino.streams", 0) <= 1 && options.string("openvino.hint", "latency") == "latency";
}

ov::AnyMap properties_of(const std::string& device, const Record& record, const sdk::Options& options) {
  ov::AnyMap p = coding_of(device);
  p[ov::hint::inference_precision.name()] = ov::element::Type(record.precision);
  p[ov::hint::performance_mode.name()] = options.string("openvino.hint", "latency") == "throughput" ? ov::hint::PerformanceMode::THROUGHPUT : ov::hint::PerformanceMode::LATENCY;
  if (const int64_t n = options.integer("openvino.streams", 0)) p[ov::num_streams.name()] = ov::streams::Num(static_cast<int32_t>(n));
  int64_t threads = options.integer("openvino.threads", 0);
  if (threads == 0) threads = options.integer(OPTIMA_OPTION_THREADS, 0);
  if (threads > 0) p[ov::inference_num_threads.name()] = static_cast<int32_t>(threads);
  if (one_queue(device, threads, options)) p["EXCLUSIVE_ASYNC_REQUESTS"] = true;  // ov::internal::exclusive_async_requests, in no header of the wheel
  return p;
}

}  // namespace

std::unique_ptr<sdk::Program> import_program(Engine& engine, const sdk::Host& host, const sdk::Artifact& artifact, const Record& record,
                                             const std::string& device, const sdk::Options& options) {
  const std::string stem(artifact.stem());
  const sdk::Elements<char> text(*artifact.file(stem + ".meta"));
  Meta meta = Meta::read({text.data(), text.size()});
  return std::make_unique<Imported>(engine, host, device, properties_of(device, record, options), std::move(meta), host.keep(*artifact.file(stem + ".blob")));
}

}  // namespace openvino_plugin
