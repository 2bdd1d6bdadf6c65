// SPDX-License-Identifier: Apache-2.0
#include "core/session/quantize_model.hpp"

#include <algorithm>
#include <set>

#include "core/compile/ask.hpp"
#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/session/fall_back.hpp"
#include "core/session/layers.hpp"
#include "core/session/observe_model.hpp"
#include "core/session/qdq.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr uint64_t kEnoughToHoldOut = 16;  // samples, of which the last quarter then judges a bound
constexpr uint64_t kMostJudged = 32;
constexpr std::string_view kWhyWide = "8 bits leave attention and normalization nothing where everything is codes";

/// Operators that bring codes of their own.
bool is_quantized(const Graph& graph) {
  const std::set<std::string_view> quantizers = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"};
  return std::any_of(graph.main().nodes.begin(), graph.main().nodes.end(), [&](const image::Node& node) { return quantizers.count(node.op_type) > 0; });
}

Status no_data(const ChosenPrecision& wanted, const std::string& device) {
  return invalid_input(cat(name_of(wanted.precision), " wanted", device.empty() ? "" : " on " + device, " by ", wanted.source,
                           ", no representative data: give --calib (50 to 100 samples), --encodings, or a quantized model; w8, w4 and dynamic need none"));
}

/// The steps of the header's story.
class Story {
 public:
  Story(const PlanRequest& request, Planned& loaded, const QuantizeSettings& settings, Registry& registry)
      : request_(request), loaded_(loaded), settings_(settings), registry_(registry) {
    request_.rewrite = {};
  }

  Result<Encodings> run() {
    OPTIMA_RETURN_IF_ERROR(offer_data());
    OPTIMA_RETURN_IF_ERROR(choose());
    const bool any = std::any_of(chosen_.begin(), chosen_.end(), [](const auto& entry) { return !entry.second.source.empty(); });
    if (!any) return Encodings();
    if (!changes_anything()) return as_it_is();
    OPTIMA_RETURN_IF_ERROR(check_data());
    OPTIMA_RETURN_IF_ERROR(find_fill());
    OPTIMA_RETURN_IF_ERROR(set_options());
    OPTIMA_RETURN_IF_ERROR(observe());
    OPTIMA_RETURN_IF_ERROR(settings_.bound ? quantize_bounded() : quantize());
    if (settings_.on_devices) OPTIMA_RETURN_IF_ERROR(leave_to_float());
    return finish();
  }

 private:
  void note(const std::string& text) const {
    if (settings_.note) settings_.note(text);
  }
  void tell(double fraction, std::string_view stage) const {
    if (settings_.progress) settings_.progress(fraction, stage);
  }
  bool has_data() const { return !settings_.calib.empty() || !settings_.encodings.empty(); }

  // ---- data for backends that quantize themselves, whatever is quantized here

  Status offer_data() const {
    if (!settings_.calibration) return {};
    CalibrationSource& out = *settings_.calibration;
    if (!settings_.encodings.empty()) {
      OPTIMA_ASSIGN(out.encodings, read_encodings(settings_.encodings));
    }
    if (settings_.calib.empty()) return {};
    OPTIMA_ASSIGN(const Samples samples, Samples::open(settings_.calib, input_infos(loaded_.graph), settings_.samples));
    out.samples = static_cast<uint32_t>(std::min<uint64_t>(samples.count(), UINT32_MAX));
    out.inputs = [samples](uint32_t sample) { return samples.read(sample); };
    out.compute = [graph = loaded_.graph, registry = &registry_, flag = settings_.cancelled](
                      const std::vector<Tensor>& inputs, const std::set<std::string>& values) -> Result<std::vector<Tensor>> {
      std::set<std::string> known;
      for (const image::Value& value : graph.main().values)
        if (values.count(value.name) && value.constant == OPTIMA_NONE) known.insert(value.name);
      if (known.empty()) return std::vector<Tensor>();
      return run_reference(graph, inputs, evaluate_by_plugins(*registry), known, flag);
    };
    return {};
  }

  // ---- which precision each node is wanted in

  Status choose() {
    OPTIMA_ASSIGN(const Resolved wishes, resolve_precisions());
    by_device_ = std::any_of(settings_.precisions.begin(), settings_.precisions.end(), [](const PrecisionOption& option) { return option.device.has_value(); });
    if (by_device_) OPTIMA_RETURN_IF_ERROR(plan_in_float());
    chosen_ = choose_precisions(loaded_.graph, wishes, settings_.precisions, by_device_ ? &*in_float_ : nullptr);
    if (by_device_) notes_ = idle_options(settings_.precisions, *in_float_);
    return {};
  }

  Result<Resolved> resolve_precisions() const {
    if (request_.plan.empty()) return resolve_wishes(request_, loaded_.graph, registry_);
    return Resolved();  // a plan says devices only
  }

  Status plan_in_float() {
    if (in_float_) return {};
    Planned copy = loaded_;
    copy.answers = std::make_shared<PluginAnswers>();
    OPTIMA_ASSIGN(Planned planned, plan_loaded(request_, std::move(copy), registry_));
    in_float_ = std::move(planned.plan);
    return {};
  }

  bool changes_anything() const {
    const bool other = std::any_of(chosen_.begin(), chosen_.end(), [](const auto& entry) { return entry.second.precision != Precision::F32; });
    return other && (has_data() || !is_quantized(loaded_.graph));
  }

  Result<Encodings> as_it_is() {
    if (is_quantized(loaded_.graph)) {
      loaded_.rewriting.notes.push_back("the model is quantized already: it keeps its own encodings, as neither --calib nor --encodings is given");
      return Encodings();
    }
    say_precisions({});
    return Encodings();
  }

  Status check_data() {
    if (has_data()) return {};
    for (const image::Node& node : loaded_.graph.main().nodes) {
      const ChosenPrecision& wanted = chosen_.at(node.id);
      if (!needs_data(wanted.precision)) continue;
      if (!settings_.on_devices) return no_data(wanted, "");
      OPTIMA_RETURN_IF_ERROR(plan_in_float());
      for (const PlacedNode& placed : in_float_->nodes)
        if (placed.node_id == node.id) return no_data(wanted, in_float_->devices[placed.device].name);
    }
    return {};
  }

  // Devices that want codes everywhere can be told only once it is known what is on them.
  Status find_fill() {
    if (!settings_.on_devices && !by_device_) return {};
    std::vector<Backend*> compilers = registry_.compilers();
    for (const auto& support : loaded_.supports) compilers.push_back(support.get());
    const auto wants_all = [](const DeviceKind& kind) { return kind.quantizes_all; };
    const auto some = [&](const Backend* b) { return std::any_of(b->manifest().devices.begin(), b->manifest().devices.end(), wants_all); };
    if (std::none_of(compilers.begin(), compilers.end(), some)) return {};
    OPTIMA_RETURN_IF_ERROR(plan_in_float());
    const auto note_of = [&](const std::string& plugin) -> const Manifest* {
      const auto found = std::find_if(compilers.begin(), compilers.end(), [&](const Backend* b) { return b->manifest().id == plugin; });
      return found == compilers.end() ? nullptr : &(*found)->manifest();
    };
    options_.fill = nodes_to_fill(chosen_, *in_float_, note_of);
    say_fill();
    if (wants_wide_activations(loaded_.graph)) widen(nodes_to_widen(options_.fill, *in_float_, note_of));
    return {};
  }

  void widen(const std::set<uint32_t>& able) {
    for (const uint32_t id : able)
      if (chosen_.at(id).precision == Precision::Int8) wide_.insert(id);
    if (!wide_.empty()) notes_.push_back(cat(wide_.size(), wide_.size() == 1 ? " of them has" : " of them have", " 16-bit activations: ", kWhyWide));
  }

  void say_fill() {
    std::map<std::string, size_t> count;
    for (const PlacedNode& node : in_float_->nodes)
      if (options_.fill.count(node.node_id)) ++count[in_float_->devices[node.device].name];
    for (const auto& [device, nodes] : count)
      notes_.push_back(cat(nodes, nodes == 1 ? " node on " : " nodes on ", device, " with codes everywhere, as the note of its plugin wants it"));
  }

  // ---- encodings

  Status set_options() {
    options_.precision = Precision::F32;
    for (const auto& [id, wanted] : chosen_) {
      options_.by_node[id] = wanted.precision;
      if (!wanted.source.empty()) options_.precision_why[id] = wanted.source;
    }
    for (const uint32_t id : wide_) options_.by_node[id] = Precision::A16W8, options_.precision_why[id] = cat("int8 by ", chosen_.at(id).source, "; ", kWhyWide);
    options_.scheme = settings_.scheme;
    options_.range = settings_.range;
    options_.smooth = settings_.smooth;
    if (!settings_.encodings.empty()) {
      OPTIMA_ASSIGN(options_.given, read_encodings(settings_.encodings));
    }
    OPTIMA_ASSIGN(plan_, plan_quantization(loaded_.graph, options_));
    return {};
  }

  Status observe() {
    seen_ = Observations(plan_.taps);
    if (settings_.calib.empty()) return {};
    OPTIMA_RETURN_IF_ERROR(open_samples());
    if (plan_.taps.empty()) return {};
    ObserveRequest request;
    request.plan = request_;
    request.memory = settings_.memory;
    request.threads = settings_.threads;
    request.cancelled = settings_.cancelled;
    OPTIMA_ASSIGN(seen_, observe_model(plan_.graph, plan_.taps, *samples_, request, registry_,
                                       [&](double fraction, std::string_view stage) { tell(0.6 * fraction, stage); }, settings_.note));
    return {};
  }

  // With a bound the last samples are held out where there are enough: a model is not judged by what it was made from.
  Status open_samples() {
    const std::vector<TensorInfo> infos = input_infos(plan_.graph);
    OPTIMA_ASSIGN(Samples all, Samples::open(settings_.calib, infos, settings_.samples));
    samples_ = std::move(all);
    if (!settings_.bound) return {};
    judged_ = samples_;
    for (uint64_t s = 0; s < std::min(judged_->count(), kMostJudged); ++s) numbers_.push_back(s);
    if (judged_->count() < kEnoughToHoldOut) {
      notes_.push_back(cat("--bound ", settings_.bound->text(), " is judged on the samples that ranges come from: found ", judged_->count(),
                           ", wanted ", kEnoughToHoldOut, " or more"));
      return {};
    }
    SampleOptions fewer = settings_.samples;
    fewer.most = judged_->count() - std::min(judged_->count() / 4, kMostJudged);
    for (uint64_t& number : numbers_) number += fewer.most;
    std::erase_if(numbers_, [&](uint64_t number) { return number >= judged_->count(); });
    OPTIMA_ASSIGN(samples_, Samples::open(settings_.calib, infos, fewer));
    return {};
  }

  Status quantize() {
    tell(0.6, "quantizing");
    OPTIMA_ASSIGN(quantized_, quantize_graph(plan_, seen_, options_, [&](double f) { tell(0.6 + 0.4 * f, "quantizing"); }, settings_.cancelled));
    return {};
  }

  Status quantize_bounded() {
    if (!judged_) return usage_error(cat("--bound ", settings_.bound->text(), " wants --calib: samples to judge on"));
    const RunnerSettings runner{request_, settings_.threads, settings_.cancelled, settings_.note};
    tell(0.6, "running the float model");
    OPTIMA_ASSIGN(Judge judge, Judge::make(plan_.graph, *judged_, numbers_, runner, registry_));
    OPTIMA_ASSIGN(const std::set<uint32_t> wide, units_that_may_be_wide());
    OPTIMA_ASSIGN(BoundedQuantization found,
                  quantize_within(*settings_.bound, plan_, seen_, options_, wide, judge, settings_.progress, settings_.cancelled));
    notes_.push_back(cat("--bound ", settings_.bound->text(), " is kept: ", found.agreement.text(), " on ", numbers_.size(), " samples",
                         found.left.empty() ? ", with every unit quantized" : ""));
    for (const SpentUnit& unit : found.left) {
      options_.by_node[unit.node_id] = unit.instead;
      options_.precision_why[unit.node_id] = cat("--bound ", settings_.bound->text(), ": ", unit.alone.text(), " when it alone is quantized");
      notes_.push_back(cat("node ", quote(unit.node), unit.instead == Precision::F32 ? " stays float" : " has 16-bit activations", " for --bound ",
                           settings_.bound->text(), ": ", unit.alone.text(), " when it alone is quantized"));
    }
    quantized_ = std::move(found.quantized);
    return {};
  }

  // Units of 8 bits whose device takes them with 16-bit activations: all are made so and the devices are asked.
  Result<std::set<uint32_t>> units_that_may_be_wide() {
    QuantizeOptions wide = options_;
    std::set<uint32_t> changed;
    for (auto& [id, precision] : wide.by_node)
      if (precision == Precision::Int8 || precision == Precision::Auto) precision = Precision::A16W8, changed.insert(id);
    if (changed.empty()) return changed;
    if (const Status planned = plan_in_float(); !planned.ok()) {
      if (planned.kind() == StatusKind::Cancelled) return planned;
      return std::set<uint32_t>();  // where the model is to be compiled, the plan that follows says what is wrong
    }
    OPTIMA_ASSIGN(const Quantized made, quantize_graph(plan_, seen_, wide, {}, settings_.cancelled));
    OPTIMA_ASSIGN(const AskedDevices asked, ask_quantized(made.graph));
    std::set<uint32_t> out;
    const std::map<uint32_t, std::string> refused = detail::refused_units(*in_float_, asked, made.graph, changed);
    for (const uint32_t id : quantized_units(made.graph))
      if (changed.contains(id) && !refused.contains(id)) out.insert(id);
    return out;
  }

  // ---- devices

  // Units in precision auto that their device refuses as codes.
  Status leave_to_float() {
    constexpr int kMostRounds = 8;
    for (int round = 0; round < kMostRounds; ++round) {
      std::set<uint32_t> free;
      for (const auto& [id, wanted] : chosen_)
        if (wanted.precision == Precision::Auto && options_.by_node[id] == Precision::Auto) free.insert(id);
      if (free.empty()) return {};
      OPTIMA_RETURN_IF_ERROR(plan_in_float());
      OPTIMA_ASSIGN(const AskedDevices asked, ask_quantized(quantized_.graph));
      std::map<uint32_t, std::string> refused = detail::refused_units(*in_float_, asked, quantized_.graph, free);
      if (refused.empty()) refused = detail::stranded_units(asked, quantized_.graph, free);
      if (refused.empty()) return {};
      for (const auto& [id, why] : refused) options_.by_node[id] = Precision::F32, options_.precision_why[id] = why;
      OPTIMA_RETURN_IF_ERROR(quantize());
    }
    return {};
  }

  // Also where nobody takes some node, so that there is no plan.
  Result<AskedDevices> ask_quantized(const Graph& graph) const {
    Planned copy;
    copy.supports = loaded_.supports;
    copy.graph = graph;
    copy.rewriting.wishes = wishes_by_device();
    return ask_loaded(request_, std::move(copy), registry_);
  }

  // Every node rather on the device that it was given a precision for.
  std::map<uint32_t, Wish> wishes_by_device() const {
    std::map<uint32_t, Wish> out;
    if (!by_device_ && options_.fill.empty()) return out;
    for (const PlacedNode& node : in_float_->nodes) {
      if (is_host(in_float_->devices[node.device])) continue;
      Wish wish;
      wish.source = "the plan in float";
      const auto add = [&](const PlanDevice& device) {
        if (const Result<DeviceName> name = parse_device(device.full_name); name.ok()) wish.devices.push_back(*name);
      };
      add(in_float_->devices[node.device]);
      for (uint32_t d = 0; d < in_float_->devices.size(); ++d)
        if (d != node.device && !is_host(in_float_->devices[d]) && !in_float_->devices[d].only_named) add(in_float_->devices[d]);
      out.emplace(node.node_id, std::move(wish));
    }
    return out;
  }

  // ---- what is said of it

  std::set<uint32_t> computed_as_wanted() const {
    std::set<uint32_t> out;
    if (quantized_.graph.contents.graphs.empty()) return out;
    const Uses uses = uses_of(quantized_.graph);
    for (uint32_t n = 0; n < quantized_.graph.main().nodes.size(); ++n)
      if (detail::computes_on_codes(quantized_.graph, uses, n) || reads_wanted_half(quantized_.graph.main().nodes[n])) out.insert(quantized_.graph.main().nodes[n].id);
    return out;
  }
  bool reads_wanted_half(const image::Node& node) const {
    const auto wanted = chosen_.find(node.id);
    if (wanted == chosen_.end() || node.inputs.empty() || node.inputs[0] == OPTIMA_NONE) return false;
    const int32_t type = quantized_.graph.main().values[node.inputs[0]].dtype;
    return (wanted->second.precision == Precision::F16 && type == OPTIMA_F16) || (wanted->second.precision == Precision::BF16 && type == OPTIMA_BF16);
  }

  void say_precisions(const std::map<std::string, std::string>& left_float) {
    const std::set<uint32_t> as_wanted = computed_as_wanted();
    std::set<std::string> folded;
    for (const Folded& node : quantized_.graph.folded) folded.insert(node.name);
    const auto say = [&](const image::Node& node) {
      const auto wanted = chosen_.find(node.id);
      if (wanted == chosen_.end()) return NodePrecision{"f32", "nodes inside bodies stay float"};
      if (const auto changed = options_.precision_why.find(node.id); options_.by_node.count(node.id) && options_.by_node.at(node.id) != wanted->second.precision)
        return NodePrecision{std::string(name_of(options_.by_node.at(node.id))), changed->second};
      if (const auto left = left_float.find(node.name); left != left_float.end()) return NodePrecision{"f32", left->second};
      if (wanted->second.source.empty()) return NodePrecision{"f32", "nobody asked for another"};
      if (wanted->second.precision != Precision::F32 && !as_wanted.count(node.id)) return NodePrecision{"f32", cat(node.op_type, " is computed in float here")};
      const Precision precision = wanted->second.precision == Precision::Auto ? Precision::Int8 : wanted->second.precision;
      return NodePrecision{std::string(name_of(precision)), cat(name_of(wanted->second.precision), " by ", wanted->second.source)};
    };
    for (const image::Graph& graph : loaded_.graph.contents.graphs)
      for (const image::Node& node : graph.nodes)
        if (!folded.count(node.name)) loaded_.rewriting.precisions.emplace(node.id, say(node));
  }

  Result<Encodings> finish() {
    std::map<std::string, std::string> left_float;
    for (const LeftFloat& left : quantized_.encodings.left_float) left_float.emplace(left.node, left.why);
    say_precisions(left_float);
    Encodings& encodings = quantized_.encodings;
    encodings.model_hash = loaded_.graph.model_hash;
    if (samples_) {
      encodings.samples = samples_->count();
      OPTIMA_ASSIGN(encodings.data_hash, samples_->hash());
    }
    for (std::vector<std::string>* notes : {&notes_, &quantized_.notes})
      loaded_.rewriting.notes.insert(loaded_.rewriting.notes.end(), notes->begin(), notes->end());
    loaded_.rewriting.wishes = wishes_by_device();
    if (settings_.calibration) settings_.calibration->encodings = encodings;
    loaded_.rewriting.files["encodings.json"] = to_text(to_json(encodings));
    loaded_.graph = std::move(quantized_.graph);
    tell(1, "quantized");
    return std::move(encodings);
  }

  PlanRequest request_;
  Planned& loaded_;
  const QuantizeSettings& settings_;
  Registry& registry_;
  bool by_device_ = false;
  std::set<uint32_t> wide_;  // ids of nodes with 16-bit activations where int8 was asked for
  std::optional<Plan> in_float_;
  std::map<uint32_t, ChosenPrecision> chosen_;
  QuantizeOptions options_;
  QuantizePlan plan_;
  std::optional<Samples> samples_, judged_;
  std::vector<uint64_t> numbers_;  // of judged_
  Observations seen_;
  Quantized quantized_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<Encodings> quantize_model(const PlanRequest& request, Planned& loaded, const QuantizeSettings& settings, Registry& registry) {
  return Story(request, loaded, settings, registry).run();
}

}  // namespace optima
