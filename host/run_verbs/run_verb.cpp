// SPDX-License-Identifier: Apache-2.0
#include "host/run_verbs/run_verb.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/save.hpp"
#include "core/tensor_io/text_array.hpp"
#include "host/run_verbs/run_inputs.hpp"

namespace optima {
namespace {

struct Range {
  double low = INFINITY, high = -INFINITY;
  uint64_t strange = 0;  // NaN and infinite
};

Range range_of(const Tensor& t) {
  Range r;
  for (uint64_t i = 0, n = element_count(t.shape).value_or(0); i < n; ++i) {
    const double v = element_as_double(t, i);
    if (!std::isfinite(v)) ++r.strange;
    else r.low = std::min(r.low, v), r.high = std::max(r.high, v);
  }
  return r;
}

std::string range_text(const Range& r) {
  if (r.low > r.high) return r.strange ? cat(r.strange, " not finite") : "empty";
  return cat(r.low, " to ", r.high, r.strange ? cat(", ", r.strange, " not finite") : "");
}

// "'setosa', 'virginica', ... (150)".
std::string first_texts(const std::vector<std::string>& texts) {
  constexpr size_t kMostShown = 4;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kMostShown, texts.size()); ++i) shown.push_back(quote(texts[i]));
  return texts.empty() ? "empty" : cat(join(shown), texts.size() > kMostShown ? cat(", ... (", texts.size(), ")") : "");
}

// JSON has no infinity: an empty tensor's range is null.
Json number_or_null(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::vector<std::string> out;
  if (path.empty()) return out;
  OPTIMA_ASSIGN(const std::string text, read_file(expand_home(path), 64 << 20));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    out.push_back(std::move(line));
    at = end + 1;
  }
  return out;
}

struct Ranked {
  uint64_t index;
  double value;
};

// The K largest, ties by index; NaN last.
std::vector<Ranked> largest(const Tensor& t, int64_t k) {
  const uint64_t n = element_count(t.shape).value_or(0);
  std::vector<Ranked> all(n);
  for (uint64_t i = 0; i < n; ++i) all[i] = {i, element_as_double(t, i)};
  const auto before = [](const Ranked& a, const Ranked& b) {
    if (std::isnan(a.value) != std::isnan(b.value)) return std::isnan(b.value);
    return a.value != b.value && !std::isnan(a.value) ? a.value > b.value : a.index < b.index;
  };
  const auto count = static_cast<std::ptrdiff_t>(std::min<uint64_t>(n, static_cast<uint64_t>(k)));
  std::partial_sort(all.begin(), all.begin() + count, all.end(), before);
  all.resize(static_cast<size_t>(count));
  return all;
}

struct Outcome {
  std::vector<Tensor> outputs;
  std::vector<std::optional<std::vector<std::string>>> texts;  // of outputs that are codes of texts
  std::vector<double> times;  // ms
};

Json outputs_json(const Outcome& o, const RunOptions& options, const std::vector<std::string>& labels) {
  Json list = Json::array();
  for (size_t i = 0; i < o.outputs.size(); ++i) {
    const Tensor& t = o.outputs[i];
    if (o.texts[i]) {
      list.push_back({{"name", t.name}, {"dtype", dtype_name(OPTIMA_STRING)}, {"shape", t.shape}, {"texts", *o.texts[i]}});
      continue;
    }
    const Range r = range_of(t);
    Json entry = {{"name", t.name}, {"dtype", dtype_name(t.dtype)}, {"shape", t.shape}, {"low", number_or_null(r.low)}, {"high", number_or_null(r.high)}, {"not_finite", r.strange}};
    if (options.top > 0) {
      Json top = Json::array();
      for (const Ranked& k : largest(t, options.top)) {
        Json row = {{"index", k.index}, {"value", number_or_null(k.value)}};
        if (k.index < labels.size()) row["label"] = labels[k.index];
        top.push_back(std::move(row));
      }
      entry["top"] = std::move(top);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void print_outputs(const Outcome& o, const RunOptions& options, const std::vector<std::string>& labels, const RunPrinter& printer) {
  std::vector<std::vector<std::string>> rows = {{"output", "type", "shape", "range"}};
  for (size_t i = 0; i < o.outputs.size(); ++i) {
    const Tensor& t = o.outputs[i];
    rows.push_back({t.name, std::string(dtype_name(o.texts[i] ? OPTIMA_STRING : t.dtype)), shape_text(t.shape), o.texts[i] ? first_texts(*o.texts[i]) : range_text(range_of(t))});
  }
  print_table(printer, rows);
  if (options.top <= 0) return;
  for (size_t i = 0; i < o.outputs.size(); ++i) {
    if (o.texts[i]) continue;
    const Tensor& t = o.outputs[i];
    std::vector<std::vector<std::string>> top = {{cat("top of ", t.name), "index", "value"}};
    for (const Ranked& k : largest(t, options.top)) top.push_back({k.index < labels.size() ? labels[k.index] : "", std::to_string(k.index), cat(k.value)});
    print_table(printer, top);
  }
}

void print_times(const Outcome& o, const RunPrinter& printer) {
  if (o.times.size() < 2) return;
  printer.line(cat(o.times.size(), " runs: p50 ", milliseconds(quantile(o.times, 0.5)), "  p90 ", milliseconds(quantile(o.times, 0.9)), "  p99 ",
                   milliseconds(quantile(o.times, 0.99))));
}

OutputFacts facts_of(const LoadedModel& model, const RunOptions& options) {
  OutputFacts facts;
  facts.package = model.package().model_name;
  facts.package_hash = model.package().hash;
  facts.versions = model.package().tools;
  for (const TensorInfo& info : model.outputs())
    if (info.texts) facts.texts[info.name] = info.texts;
  for (const PackageVariant& v : model.package().variants)
    for (const PackageSubgraph& s : v.subgraphs)
      if (s.flow.empty()) facts.versions[s.plugin] = s.plugin_version;
  const auto add = [&](const std::string& word) {
    for (const TensorInfo& info : model.inputs())
      if (word.compare(0, info.name.size() + 1, info.name + "=") == 0) return void(facts.inputs[info.name] = word.substr(info.name.size() + 1));
    for (const TensorInfo& info : model.inputs()) facts.inputs.emplace(info.name, word);
  };
  for (const std::string& word : options.images) add(word);
  for (const std::string& word : options.inputs) add(word);
  return facts;
}

Result<Outcome> run_repeatedly(Request& request, const RunOptions& options) {
  Outcome o;
  const int64_t runs = std::max<int64_t>(options.repeat, 1);
  for (int64_t i = 0; i < runs; ++i) {
    if (options.cancelled && *options.cancelled) return cancelled();
    request.set_profiling(!options.trace.empty() && i + 1 == runs);
    const uint64_t start = now_ns();
    OPTIMA_RETURN_IF_ERROR(request.run());
    o.times.push_back(static_cast<double>(now_ns() - start) / 1e6);
  }
  for (size_t i = 0; i < request.model().outputs().size(); ++i) {
    OPTIMA_ASSIGN(Tensor t, request.output(i));
    o.texts.emplace_back();
    if (const TextTable* table = request.model().outputs()[i].texts) {
      OPTIMA_ASSIGN(o.texts.back(), text_elements(t, *table));
    }
    o.outputs.push_back(std::move(t));
  }
  return o;
}

Status write_trace(const LoadedModel& model, Request& request, const std::string& path) {
  std::vector<ProfileEvent> events = model.events();
  const std::vector<ProfileEvent> own = request.take_events();
  events.insert(events.end(), own.begin(), own.end());
  return write_output(path, chrome_trace(events));
}

}  // namespace

Status run_package(RuntimeContext& context, const RunOptions& options, const RunPrinter& printer) {
  OPTIMA_ASSIGN(const std::vector<std::string> labels, read_labels(options.labels));
  OPTIMA_ASSIGN(const std::unique_ptr<LoadedModel> model, load_for(context, options));
  OPTIMA_ASSIGN(const std::vector<Tensor> inputs, inputs_for(*model, options, false, printer));
  OPTIMA_ASSIGN(const std::unique_ptr<Request> request, request_for(*model, inputs));
  OPTIMA_ASSIGN(const Outcome outcome, run_repeatedly(*request, options));
  if (!options.trace.empty()) OPTIMA_RETURN_IF_ERROR(write_trace(*model, *request, options.trace));
  if (!options.output_folder.empty())
    OPTIMA_RETURN_IF_ERROR(save_outputs(expand_home(options.output_folder), outcome.outputs, facts_of(*model, options)));
  if (printer.line) {
    print_outputs(outcome, options, labels, printer);
    print_times(outcome, printer);
  }
  if (printer.document)
    printer.document({{"package", model->package().model_name}, {"package_sha256", model->package().hash},
                      {"inputs", inputs_json(inputs)}, {"outputs", outputs_json(outcome, options, labels)}, {"milliseconds", outcome.times}});
  return {};
}

}  // namespace optima
