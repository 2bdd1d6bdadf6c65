// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/inspect_shapes.hpp"

#include <algorithm>

#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima::host {
namespace {

struct Shape {
  int64_t size;  // -1: open
  std::string symbol;
};

bool is_open(const std::vector<Shape>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](const Shape& d) { return d.size < 0; });
}

// "width: 32 to 960 in steps of 32, 320 most"; "any" where nobody said anything.
std::string said_of(const std::string& symbol, const SizeRanges& ranges) {
  const auto at = ranges.find(symbol);
  if (at == ranges.end()) return cat(symbol, ": any");
  const int64_t opt = at->second.opt;
  return cat(symbol, ": ", range_words(at->second), opt == SizeRange::kNotSaid ? "" : cat(", ", opt, " most"));
}

// Rows of one table, text and JSON side by side.
class Tensors {
 public:
  explicit Tensors(const SizeRanges& ranges) : ranges_(ranges) {}

  void add(const std::string& name, const std::string& role, const std::string& dtype, bool unranked, const std::vector<Shape>& dims) {
    std::vector<std::string> shape, said;
    Json json = unranked ? Json(nullptr) : Json::array();
    for (const Shape& d : dims) {
      shape.push_back(d.size >= 0 ? std::to_string(d.size) : d.symbol.empty() ? "?" : d.symbol);
      json.push_back(d.size >= 0 ? Json(d.size) : d.symbol.empty() ? Json(nullptr) : Json(d.symbol));
      if (d.size < 0 && role == "input" && !d.symbol.empty()) said.push_back(said_of(d.symbol, ranges_));
    }
    rows_.push_back({plain_line(name), role, dtype, unranked ? "of any shape" : plain_line(cat("[", join(shape, ","), "]")), plain_line(join(said, "; "))});
    json_.push_back({{"name", name}, {"role", role}, {"dtype", dtype}, {"shape", std::move(json)}});
  }

  ShapesFound found() const {
    Json sizes = Json::object();
    for (const auto& [symbol, r] : ranges_) {
      sizes[symbol] = r.listed.empty() ? Json{{"min", r.min}, {"max", r.max}, {"step", r.step}} : Json{{"values", r.listed}};
      if (r.opt != SizeRange::kNotSaid) sizes[symbol]["opt"] = r.opt;
    }
    return {table(rows_), {{"tensors", json_}, {"sizes", std::move(sizes)}}};
  }

 private:
  const SizeRanges& ranges_;
  std::vector<std::vector<std::string>> rows_ = {{"tensor", "role", "type", "shape", "sizes"}};
  Json json_ = Json::array();
};

std::vector<Shape> dims_of(const PackageTensor& t) {
  std::vector<Shape> out;
  for (size_t d = 0; d < t.shape.size(); ++d) out.push_back({t.shape[d], d < t.symbols.size() ? t.symbols[d] : ""});
  return out;
}

// Whether a tensor that the subgraph reads or writes has sizes that only a run tells.
bool sizes_come(const Package& package, const PackageSubgraph& s) {
  for (const auto* names : {&s.inputs, &s.outputs})
    for (const std::string& name : *names)
      if (const PackageTensor* t = package.find_tensor(name); t && (t->unranked || is_open(dims_of(*t)))) return true;
  return false;
}

}  // namespace

ShapesFound shapes_of(const Graph& graph) {
  Tensors out(graph.sizes);
  const auto add = [&](const std::vector<uint32_t>& values, const std::string& role) {
    for (const uint32_t v : values) {
      const image::Value& value = graph.main().values[v];
      std::vector<Shape> dims;
      if (value.dims)
        for (const image::Dim& d : *value.dims) dims.push_back({d.value, d.symbol});
      out.add(value.name, role, std::string(dtype_name(value.dtype)), !value.dims, dims);
    }
  };
  add(graph.main().inputs, "input");
  add(graph.main().outputs, "output");
  return out.found();
}

ShapesFound shapes_of(const Package& package) {
  Tensors tensors(package.sizes);
  const auto add = [&](const PackageTensor& t, const std::string& role) { tensors.add(t.name, role, std::string(dtype_name(t.dtype)), t.unranked, dims_of(t)); };
  for (const std::string& name : package.inputs) add(*package.find_tensor(name), "input");
  for (const std::string& name : package.outputs) add(*package.find_tensor(name), "output");
  for (const PackageTensor& t : package.tensors)
    if (t.attr == "intermediate") add(t, "cut");
  ShapesFound out = tensors.found();
  std::vector<std::vector<std::string>> rows = {{"subgraph", "device", "format", "sizes"}};
  out.json["subgraphs"] = Json::array();
  const PackageVariant& variant = package.variants[0];
  for (uint32_t i = 0; i < variant.main; ++i) {
    const PackageSubgraph& s = variant.subgraphs[i];
    const bool come = sizes_come(package, s);
    rows.push_back({cat(s.index), s.device, s.format_id, come ? "come with the run, which plans them" : "known when compiled"});
    out.json["subgraphs"].push_back({{"index", s.index}, {"device", s.device}, {"format", s.format_id}, {"planned_at_run_time", come}});
  }
  out.text += table(rows);
  return out;
}

}  // namespace optima::host
