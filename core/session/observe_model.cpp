// SPDX-License-Identifier: Apache-2.0
#include "core/session/observe_model.hpp"

#include <algorithm>
#include <atomic>
#include <map>

#include "core/session/run_cancellable.hpp"
#include "core/session/tap_runner.hpp"
#include "core/session/tapped_graph.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

using Note = std::function<void(const std::string&)>;
using Shapes = std::vector<std::vector<int64_t>>;

/// Samples of the same sizes, in their order.
struct OneSize {
  Shapes shapes;
  std::vector<uint64_t> samples;
};

std::string text_of(const Shapes& shapes) {
  std::vector<std::string> out;
  for (const auto& shape : shapes) out.push_back(shape_text(shape));
  return join(out, " and ");
}

/// In the order of their first samples.
Result<std::vector<OneSize>> by_size(const Samples& samples, bool any_open) {
  if (!any_open) {
    std::vector<OneSize> all(1);
    for (uint64_t s = 0; s < samples.count(); ++s) all[0].samples.push_back(s);
    return all;
  }
  std::vector<OneSize> out;
  std::map<Shapes, size_t> known;
  for (uint64_t s = 0; s < samples.count(); ++s) {
    OPTIMA_ASSIGN(Shapes shapes, samples.shapes(s));
    const auto [at, is_new] = known.try_emplace(shapes, out.size());
    if (is_new) out.push_back({std::move(shapes), {}});
    out[at->second].samples.push_back(s);
  }
  return out;
}

class Watch {
 public:
  Watch(const Graph& graph, const std::vector<Tap>& taps, const Samples& samples, const ObserveRequest& request, Registry& registry,
        const ProgressReport& progress, const Note& note)
      : taps_(taps), samples_(samples), request_(request), registry_(registry), progress_(progress), note_(note),
        graphs_(graph, registry), seen_(taps) {}

  Result<Observations> run(const Graph& graph) {
    OPTIMA_ASSIGN(places_, place_taps(graph, taps_));
    OPTIMA_ASSIGN(const std::vector<OneSize> sizes, by_size(samples_, graphs_.any_open()));
    if (note_ && sizes.size() > 1)
      note_(cat("the samples have ", sizes.size(), " sizes (", text_of(sizes[0].shapes), ", ", text_of(sizes[1].shapes),
                sizes.size() > 2 ? ", ..." : "", "): the model is compiled once for each"));
    std::vector<uint64_t> place;
    for (const OneSize& size : sizes) {
      OPTIMA_RETURN_IF_ERROR(watch(size));
      place.insert(place.end(), size.samples.begin(), size.samples.end());
    }
    tell(1, "all samples seen");
    seen_.reorder(place);
    seen_.samples = samples_.count();
    return std::move(seen_);
  }

 private:
  Status watch(const OneSize& size) {
    OPTIMA_ASSIGN(const Graph graph, graphs_.with_shapes(size.shapes));
    std::vector<std::vector<TapIndex>> groups = groups_of(graph, taps_, places_.computed, request_.memory);
    if (groups.empty()) groups.emplace_back();  // only inputs are watched
    for (size_t g = 0; g < groups.size(); ++g) {
      part_ = groups.size() > 1 ? cat(", values ", g + 1, " of ", groups.size()) : "";
      OPTIMA_RETURN_IF_ERROR(watch_group(graph, groups[g], g == 0, size, static_cast<double>(g) / static_cast<double>(groups.size()),
                                         static_cast<double>(groups.size())));
    }
    done_ += size.samples.size();
    return {};
  }

  /// One compile and one pass over the samples; the first one looks at the model's inputs, too.
  Status watch_group(const Graph& graph, const std::vector<TapIndex>& group, bool inputs_too, const OneSize& size, double begin, double parts) {
    const auto fraction = [&](size_t s) {
      const auto of_size = static_cast<double>(size.samples.size());
      return (static_cast<double>(done_) + of_size * begin + static_cast<double>(s) / parts) / static_cast<double>(samples_.count());
    };
    std::unique_ptr<TapRunner> runner;
    if (!group.empty()) {
      tell(fraction(0), cat("compiling with ", group.size(), " values watched", part_));
      OPTIMA_ASSIGN(runner, TapRunner::make(with_outputs(graph, taps_, group), request_, registry_, {}, note_));
    }
    for (size_t s = 0; s < size.samples.size(); ++s) {
      if (is_set(request_.cancelled)) return cancelled();
      tell(fraction(s), cat("sample ", size.samples[s] + 1, " of ", samples_.count(), part_));
      OPTIMA_RETURN_IF_ERROR(watch_sample(size.samples[s], runner.get(), group, inputs_too));
    }
    return {};
  }

  Status watch_sample(uint64_t sample, TapRunner* runner, const std::vector<TapIndex>& group, bool inputs_too) {
    OPTIMA_ASSIGN(const std::vector<Tensor> inputs, samples_.read(sample));
    const std::string name = samples_.name(sample);
    if (inputs_too)
      for (const TapIndex t : places_.of_inputs)
        for (const Tensor& input : inputs)
          if (input.name == taps_[t].value) OPTIMA_RETURN_IF_ERROR(seen_.add(t, input, name));
    if (!runner) return {};
    Result<std::vector<Tensor>> values = runner->run(inputs);
    if (!values.ok()) return values.status().kind() == StatusKind::Cancelled ? values.status() : values.status().within(cat("sample ", quote(name)));
    return add(group, *values, name);
  }

  /// Each value by one thread: what it sees then does not depend on how many there are.
  Status add(const std::vector<TapIndex>& group, const std::vector<Tensor>& values, const std::string& name) {
    std::atomic<size_t> next = 0;
    return run_on_threads(request_.threads > 0 ? request_.threads : allowed_threads(), [&]() -> Status {
      for (size_t i; (i = next++) < group.size();) OPTIMA_RETURN_IF_ERROR(seen_.add(group[i], values[i], name));
      return {};
    });
  }

  void tell(double fraction, const std::string& stage) const {
    if (progress_) progress_(fraction, stage);
  }

  const std::vector<Tap>& taps_;
  const Samples& samples_;
  const ObserveRequest& request_;
  Registry& registry_;
  const ProgressReport& progress_;
  const Note& note_;
  SizedGraphs graphs_;
  Observations seen_;
  TapPlaces places_;
  uint64_t done_ = 0;  // samples of the sizes before
  std::string part_;
};

}  // namespace

Result<Observations> observe_model(const Graph& graph, const std::vector<Tap>& taps, const Samples& samples, const ObserveRequest& request,
                                   Registry& registry, const ProgressReport& progress, const std::function<void(const std::string&)>& note) {
  return Watch(graph, taps, samples, request, registry, progress, note).run(graph);
}

}  // namespace optima
