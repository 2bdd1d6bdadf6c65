// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>

#include "core/report/report.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/view/errors.hpp"
#include "core/view/flat.hpp"
#include "core/view/palette.hpp"
#include "core/view/scene.hpp"
#include "core/view/view.hpp"
#include "page.hpp"

namespace optima::view {
namespace {

// Sentences repeat: each is stored once.
class Texts {
 public:
  size_t number(const std::string& text) {
    const auto [it, fresh] = numbers_.try_emplace(text, all_.size());
    if (fresh) all_.push_back(text);
    return it->second;
  }
  const Json& all() const { return all_; }

 private:
  std::map<std::string, size_t> numbers_;
  Json all_ = Json::array();
};

// The document that page/data.js reads; keys are short because a big model has many of them.
class PageData {
 public:
  PageData(const Plan& plan, const std::vector<TraceEvent>& trace, const WhatIfReport* what_if, const std::vector<LayerFigures>& layers)
      : whole_(plan), flat_(flatten(plan)), plan_(flat_.plan), trace_(trace), what_if_(what_if), errors_(errors_of(layers)) {}

  Json make() {
    Json out = {{"model", plan_.model_name}, {"hash", plan_.model_hash},        {"summary", placement_summary(whole_)}, {"bytes", plan_.bytes},
                {"exact", plan_.exact},      {"bound", plan_.lower_bound}, {"tensorColour", kTensorColour},       {"notes", plan_.notes}};
    out["devices"] = devices();
    out["subgraphs"] = subgraphs();
    out["parts"] = parts();
    out["nodes"] = nodes();
    out["tensors"] = tensors();
    add_scene(out);
    add_time(out);
    if (what_if_) out["whatIf"] = what_if_json(whole_, *what_if_);
    out["trace"] = trace();
    out["texts"] = texts_.all();
    return out;
  }

 private:
  Json devices() const {
    Json out = Json::array();
    const std::vector<Look> looks = looks_of(plan_);
    for (uint32_t d = 0; d < plan_.devices.size(); ++d) {
      const PlanDevice& device = plan_.devices[d];
      const Look& look = looks[d];
      out.push_back({{"name", device.name}, {"full", device.full_name}, {"plugin", device.plugin}, {"rule", device.rule},
                     {"colour", look.colour}, {"pattern", look.pattern}, {"letter", look.letter}});
    }
    return out;
  }

  Json subgraphs() const {
    Json out = Json::array();
    for (const Subgraph& s : plan_.subgraphs) {
      Json clones = Json::array();
      for (const Clone& clone : s.clones) clones.push_back({clone.node, clone.sentence});
      out.push_back({{"device", s.device}, {"nodes", s.nodes.size()}, {"reads", s.input_names}, {"writes", s.output_names},
                     {"clones", std::move(clones)}});
    }
    return out;
  }

  // The main graph, then bodies: [path, node that holds it, trips, first subgraph, the one behind its last].
  Json parts() const {
    Json out = Json::array();
    for (const Part& part : flat_.parts)
      out.push_back({part.path, part.path.empty() ? Json() : Json(part.holder), part.trips, part.first_subgraph, part.end_subgraph});
    return out;
  }

  Json answer(const DeviceAnswer& a) {
    Json out = {a.yes ? 1 : 0, texts_.number(a.reason), texts_.number(a.text)};
    if (a.microseconds >= 0) out.push_back(a.microseconds), out.push_back(texts_.number(a.cost_source));
    return out;
  }

  Json nodes() {
    Json out = Json::array();
    for (const PlacedNode& node : plan_.nodes) {
      Json answers = Json::array();
      for (const DeviceAnswer& a : node.answers) answers.push_back(answer(a));
      out.push_back({{"n", node.name}, {"o", texts_.number(node.op_type)}, {"d", node.device}, {"s", node.subgraph},
                     {"w", texts_.number(std::string(name_of(node.why)))}, {"t", texts_.number(node.sentence)},
                     {"q", texts_.number(node.asked)}, {"a", std::move(answers)}});
      if (!node.precision.empty()) out.back()["p"] = texts_.number(cat(node.precision, " (", node.precision_why, ")"));
      if (const auto error = errors_.find(node.name); error != errors_.end())
        out.back()["e"] = {decibels_text(error->second->accumulated.snr_db), error_colour(*error->second), texts_.number(error_text(*error->second))};
    }
    return out;
  }

  Json tensors() {
    std::map<uint32_t, const CutTensor*> cuts;
    for (const CutTensor& cut : plan_.cuts) cuts.emplace(cut.value, &cut);
    Json out = Json::array();
    for (const PlanTensor& tensor : plan_.tensors) {
      Json one = {{"n", tensor.name}, {"t", texts_.number(tensor.type)}, {"b", tensor.bytes}};
      if (tensor.from) one["f"] = *tensor.from;
      one["r"] = tensor.to;
      if (tensor.output) one["o"] = 1;
      if (const auto cut = cuts.find(tensor.value); cut != cuts.end()) one["c"] = cut->second->to;
      out.push_back(std::move(one));
    }
    return out;
  }

  static int64_t whole(double pixels) { return std::llround(pixels); }

  void add_scene(Json& out) const {
    const Scene scene = make_scene(flat_);
    out["size"] = {whole(scene.width), whole(scene.height), kNodeWidth, kNodeHeight, kTensorHeight};
    Json& items = out["items"] = Json::array();
    for (const Scene::Item& i : scene.items) {
      items.push_back({static_cast<uint32_t>(i.kind), i.index, whole(i.centre.x), whole(i.centre.y)});
      if (i.kind == Scene::Kind::Clone) items.back().push_back(i.subgraph);
    }
    Json& pieces = out["pieces"] = Json::array();
    for (const Scene::Box& b : scene.boxes)
      pieces.push_back({b.subgraph == Scene::Box::kInputs ? Json() : Json(b.subgraph), b.piece.first ? 1 : 0, whole(b.piece.x), whole(b.piece.y),
                        whole(b.piece.width), whole(b.piece.height), b.part});
    Json& frames = out["frames"] = Json::array();
    for (const Scene::Frame& f : scene.frames) frames.push_back({f.part, whole(f.x), whole(f.y), whole(f.width), whole(f.height)});
    Json& lines = out["lines"] = Json::array();
    for (const Scene::Line& line : scene.lines) {
      Json one = {line.from, line.to, line.tensor};
      for (const Point& p : line.bends) one.push_back(whole(p.x)), one.push_back(whole(p.y));
      lines.push_back(std::move(one));
    }
  }

  // Estimated microseconds of the plan, and by device what it spends in the main graph, what one start takes, and a run of all there.
  void add_time(Json& out) const {
    if (!whole_.estimate) return;
    const PlanEstimate& e = *whole_.estimate;
    Json devices = Json::array();
    for (size_t d = 0; d < whole_.devices.size(); ++d) {
      const DeviceTime& time = e.devices[d];
      devices.push_back({time.compute + time.launch + time.transfer, time.each_launch, time.alone ? Json(*time.alone) : Json()});
    }
    for (size_t d = whole_.devices.size(); d < plan_.devices.size(); ++d) devices.push_back({0, 0, nullptr});
    out["time"] = {{"total", e.total()}, {"bound", e.bound}, {"compute", e.compute}, {"launch", e.launch}, {"transfer", e.transfer},
                   {"devices", std::move(devices)}};
  }

  Json trace() {
    Json out = Json::array();
    for (const TraceEvent& e : trace_)
      out.push_back({texts_.number(e.kind), texts_.number(e.name), e.start_us, e.duration_us, e.index, e.track});
    return out;
  }

  const Plan& whole_;
  const Flat flat_;
  const Plan& plan_;  // flat
  const std::vector<TraceEvent>& trace_;
  const WhatIfReport* what_if_;
  const std::map<std::string_view, const LayerFigures*> errors_;
  Texts texts_;
};

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else out += c;
  }
  return out;
}

// No name may end the script element that holds the data: JSON can say '<' without one.
std::string escaped_json(const Json& json) {
  std::string out;
  for (const char c : to_line(json)) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out;
}

}  // namespace

Result<std::string> to_html(const Plan& plan, const std::vector<TraceEvent>& trace, const WhatIfReport* what_if, const std::vector<LayerFigures>& layers) {
  if (plan.tensors.empty() && !plan.nodes.empty())
    return invalid_input(cat("the plan of ", quote(plan.model_name),
                             " lists no tensors, it was written by an older version; write it again with 'plan -o'"));
  const std::map<std::string_view, std::string> parts = {{"TITLE", escaped_html(plan.model_name)},
                                                         {"STYLE", std::string(kStyle)},
                                                         {"DATA", escaped_json(PageData(plan, trace, what_if, layers).make())},
                                                         {"SCRIPT", std::string(kScript)}};
  std::string out;
  std::string_view rest = kPage;
  for (size_t at; (at = rest.find("{{")) != std::string_view::npos;) {
    const size_t end = rest.find("}}", at);
    out += rest.substr(0, at);
    out += parts.at(rest.substr(at + 2, end - at - 2));
    rest.remove_prefix(end + 2);
  }
  return out + std::string(rest);
}

}  // namespace optima::view
