// SPDX-License-Identifier: Apache-2.0
// core/passes: string tensors become tensors of codes. Values that one operator reads and gives share a table, so what is asked first is which
// values meet: sets of them, by union-find over the values of all graphs.
#include "core/passes/code_texts.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/attributes.hpp"
#include "core/passes/constant_values.hpp"
#include "core/passes/drop_dead_nodes.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "core/support/utf8.hpp"

namespace optima::passes {
namespace {

bool moves_elements(const std::string& op) {
  static const std::unordered_set<std::string_view> kOps = {
      "Compress", "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "OneHot", "Reshape", "ReverseSequence", "Scatter",
      "ScatterElements", "ScatterND", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where"};
  return kOps.count(op) != 0;
}

bool has_texts(const Graph& graph) {
  return std::any_of(graph.contents.graphs.begin(), graph.contents.graphs.end(), [](const image::Graph& g) {
    return std::any_of(g.values.begin(), g.values.end(), [](const image::Value& v) { return v.dtype == OPTIMA_STRING; });
  });
}

// The seam's form: uint64_t end[n], then the text.
std::vector<std::string> texts_in(const Graph& graph, const image::Constant& c) {
  const Blob& blob = graph.blobs[c.blob];
  int64_t count = 1;
  for (const int64_t d : c.dims) count *= d;
  const auto* text = reinterpret_cast<const char*>(blob.data) + count * 8;
  std::vector<std::string> out;
  for (uint64_t k = 0, begin = 0, end = 0; k < static_cast<uint64_t>(count); ++k, begin = end) {
    std::memcpy(&end, blob.data + k * 8, 8);
    out.emplace_back(text + begin, text + end);
  }
  return out;
}

/// The texts of one set of values, in the order in which they were met.
struct Table {
  TextTable texts;
  std::unordered_map<std::string, int64_t> codes;
  std::string why;  // not empty: its values stay strings

  int64_t code_of(const std::string& text) {
    const auto [at, is_new] = codes.try_emplace(text, static_cast<int64_t>(texts.size()));
    if (is_new) texts.push_back(text);
    return at->second;
  }
};

class Coder {
 public:
  explicit Coder(Graph& graph) : graph_(graph) {
    size_t values = 0;
    for (const image::Graph& g : graph.contents.graphs) first_.push_back(values), values += g.values.size();
    parent_.resize(values);
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    open_.resize(graph.main().values.size());
  }

  void run() {
    for (uint32_t g = 0; g < graph_.contents.graphs.size(); ++g)
      for (const image::Node& node : graph_.contents.graphs[g].nodes) meet(g, node);
    look_at_kinds();
    follow_inputs();
    read_constants();
    code_constants();
    code_nodes();
    code_values();
    for (const auto& [set, t] : tables_)
      if (!t.why.empty()) log(LogLevel::Warn, "passes", cat("texts stay, which no device may take: ", t.why));
  }

 private:
  bool is_text(uint32_t g, uint32_t v) const { return v != OPTIMA_NONE && graph_.contents.graphs[g].values[v].dtype == OPTIMA_STRING; }
  std::vector<uint32_t> texts_of(uint32_t g, const std::vector<uint32_t>& values) const {
    std::vector<uint32_t> out;
    std::copy_if(values.begin(), values.end(), std::back_inserter(out), [&](uint32_t v) { return is_text(g, v); });
    return out;
  }

  size_t set_of(uint32_t g, uint32_t v) {
    size_t at = first_[g] + v;
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  Table& table(uint32_t g, uint32_t v) { return tables_[set_of(g, v)]; }
  void join(uint32_t g, const std::vector<uint32_t>& values) {
    for (const uint32_t v : values) join(g, v, g, values[0]);
  }
  void join(uint32_t g, uint32_t v, uint32_t h, uint32_t w) {
    const size_t gone = set_of(g, v), stays = set_of(h, w);
    if (gone == stays) return;
    parent_[gone] = stays;
    if (const auto at = tables_.find(gone); at != tables_.end()) {
      if (tables_[stays].why.empty()) tables_[stays].why = at->second.why;
      tables_.erase(gone);
    }
  }

  void keep(uint32_t g, const std::vector<uint32_t>& values, const std::string& why) {
    for (const uint32_t v : values)
      if (Table& t = table(g, v); t.why.empty()) t.why = why;
  }
  void stay(uint32_t g, const image::Node& node, const std::vector<uint32_t>& values, const std::string& why) {
    keep(g, values, cat("node ", quote(node.name), " (", node.op_type, ") ", why));
  }

  void meet(uint32_t g, const image::Node& node) {
    std::vector<uint32_t> all = texts_of(g, node.inputs);
    const size_t read = all.size();
    const std::vector<uint32_t> made = texts_of(g, node.outputs);
    all.insert(all.end(), made.begin(), made.end());
    for_each_body(node, [&](uint32_t body) { meet_body(g, body, all); });
    if (all.empty()) return;
    const std::string& op = node.op_type;
    if (!node.domain.empty()) return stay(g, node, all, "is no operator of ONNX's own domain");
    if (op == "Shape" || op == "Size") return;
    const bool casts = op == "Cast" && read == 1 && !made.empty();
    const bool asks = op == "Equal" || op == "TfIdfVectorizer" || op == "If" || op == "Loop" || op == "Scan";
    if (!moves_elements(op) && !casts && !asks)
      return stay(g, node, all, op == "Cast" ? "turns numbers into texts, or texts into numbers" : "works on the texts themselves");
    if (moves_elements(op) && made.empty()) return stay(g, node, all, "gives values of unknown type");
    join(g, all);
    if (op == "TfIdfVectorizer")
      if (const image::Attr* pool = find_attr(node, "pool_strings")) pools_.push_back({g, all[0], pool});
  }

  // What goes through the door of a body, or is captured, is the same text on both sides.
  void meet_body(uint32_t g, uint32_t body, std::vector<uint32_t>& around) {
    const image::Graph& inner = graph_.contents.graphs[body];
    for (const image::Capture& c : inner.captures)
      if (is_text(g, c.outer)) join(g, c.outer, body, c.inner), around.push_back(c.outer);
    std::vector<uint32_t> ends = texts_of(body, inner.inputs);
    const std::vector<uint32_t> made = texts_of(body, inner.outputs);
    ends.insert(ends.end(), made.begin(), made.end());
    join(body, ends);
    if (!ends.empty() && !around.empty()) join(body, ends[0], g, around[0]);
  }

  void look_at_kinds() {
    for (uint32_t g = 0; g < graph_.contents.graphs.size(); ++g)
      for (uint32_t v = 0; v < graph_.contents.graphs[g].values.size(); ++v)
        if (const image::Value& value = graph_.contents.graphs[g].values[v]; is_text(g, v) && value.kind != OPTIMA_KIND_TENSOR && value.kind != OPTIMA_KIND_UNKNOWN)
          keep(g, {v}, cat("value ", quote(value.name), " is a sequence or an optional"));
  }

  // Texts of inputs may be any: they can be looked for among known ones, but not be given back, nor compared with each other.
  void follow_inputs() {
    for (const uint32_t v : graph_.main().inputs) open_[v] = is_text(0, v);
    for (const image::Node& node : graph_.main().nodes) follow(node);
    for (const uint32_t v : graph_.main().outputs)
      if (open_[v]) keep(0, {v}, cat("output ", quote(graph_.main().values[v].name), " gives back texts of an input, which may be any"));
  }

  void follow(const image::Node& node) {
    bool captured = false;
    for_each_body(node, [&](uint32_t body) {
      for (const image::Capture& c : graph_.contents.graphs[body].captures) captured |= open_[c.outer];
    });
    std::vector<uint32_t> open;
    std::copy_if(node.inputs.begin(), node.inputs.end(), std::back_inserter(open), [&](uint32_t v) { return v != OPTIMA_NONE && open_[v]; });
    bool bodies = false;
    for_each_body(node, [&](uint32_t) { bodies = true; });
    if (captured || (bodies && !open.empty())) {
      for_each_body(node, [&](uint32_t body) {
        for (const image::Capture& c : graph_.contents.graphs[body].captures)
          if (open_[c.outer]) open.push_back(c.outer);
      });
      return stay(0, node, open, "reads texts of an input inside a body");
    }
    if (open.empty()) return;
    if (node.op_type == "Equal" && open.size() == 2) return stay(0, node, open, "compares texts of inputs with each other");
    for (const uint32_t v : texts_of(0, node.outputs)) open_[v] = true;
  }

  void read_constants() {
    for (uint32_t g = 0; g < graph_.contents.graphs.size(); ++g)
      for (uint32_t v = 0; v < graph_.contents.graphs[g].values.size(); ++v)
        if (is_text(g, v) && graph_.contents.graphs[g].values[v].constant != OPTIMA_NONE) add(table(g, v), texts_in(graph_, constant(g, v)));
    for (const Pool& pool : pools_) add(table(pool.graph, pool.value), pool.words->strings);
  }
  const image::Constant& constant(uint32_t g, uint32_t v) const { return graph_.contents.constants[graph_.contents.graphs[g].values[v].constant]; }
  static void add(Table& table, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      table.code_of(text);
      if (!is_utf8(text) || text.find('\0') != std::string::npos) table.why = cat("text ", quote(text), " is no UTF-8 without NUL");
    }
  }

  bool is_coded(uint32_t g, uint32_t v) { return is_text(g, v) && table(g, v).why.empty(); }

  // Tables are whole by now: whatever is looked up is there.
  std::vector<int64_t> codes(Table& table, const std::vector<std::string>& texts) {
    std::vector<int64_t> out;
    for (const std::string& text : texts) out.push_back(table.code_of(text));
    return out;
  }

  // Of one constant that several values have, each gets its own codes: they may be in different tables.
  void code_constants() {
    for (uint32_t g = 0; g < graph_.contents.graphs.size(); ++g)
      for (uint32_t v = 0; v < graph_.contents.graphs[g].values.size(); ++v) {
        if (!is_coded(g, v) || graph_.contents.graphs[g].values[v].constant == OPTIMA_NONE) continue;
        const image::Constant texts = constant(g, v);
        const std::vector<int64_t> numbers = codes(table(g, v), texts_in(graph_, texts));
        coded_.emplace_back(g, v);
        made_.push_back({texts.dims, Blob::copy(numbers.data(), numbers.size() * sizeof(int64_t))});
      }
  }

  void code_nodes() {
    for (uint32_t g = 0; g < graph_.contents.graphs.size(); ++g)
      for (image::Node& node : graph_.contents.graphs[g].nodes) {
        if (!node.domain.empty() || node.inputs.empty() || !is_text(g, node.inputs[0]) || !is_coded(g, node.inputs[0])) continue;
        if (node.op_type == "Cast") node.op_type = "Identity", node.attrs.clear();
        if (node.op_type == "TfIdfVectorizer") code_pool(node, table(g, node.inputs[0]));
      }
  }
  void code_pool(image::Node& node, Table& table) {
    for (image::Attr& a : node.attrs)
      if (a.name == "pool_strings") a = ints_attribute("pool_int64s", codes(table, a.strings));
  }

  void code_values() {
    std::vector<std::pair<uint32_t, uint32_t>> all;
    for (uint32_t g = 0; g < graph_.contents.graphs.size(); ++g)
      for (uint32_t v = 0; v < graph_.contents.graphs[g].values.size(); ++v)
        if (is_coded(g, v)) all.emplace_back(g, v);
    for (const auto* ends : {&graph_.main().inputs, &graph_.main().outputs})
      for (const uint32_t v : *ends)
        if (is_coded(0, v)) graph_.texts[graph_.main().values[v].name] = table(0, v).texts;
    for (const auto& [g, v] : all) graph_.contents.graphs[g].values[v].dtype = OPTIMA_I64;
    for (size_t k = 0; k < coded_.size(); ++k) make_constant(graph_, coded_[k].first, coded_[k].second, OPTIMA_I64, made_[k].first, made_[k].second);
  }

  struct Pool {
    uint32_t graph, value;
    const image::Attr* words;
  };

  Graph& graph_;
  std::vector<size_t> first_;    // by graph: the number of its first value among all
  std::vector<size_t> parent_;   // by number of a value: union-find
  std::map<size_t, Table> tables_;  // by the value that stands for its set
  std::vector<bool> open_;       // by value of the main graph: may have texts that the model does not know
  std::vector<Pool> pools_;
  std::vector<std::pair<uint32_t, uint32_t>> coded_;
  std::vector<std::pair<std::vector<int64_t>, Blob>> made_;  // of coded_: dims and codes
};

}  // namespace

Status code_texts(Graph& graph, const OwnOperators& own) {
  if (!has_texts(graph)) return {};
  OPTIMA_RETURN_IF_ERROR(drop_dead_nodes(graph, own));  // what nobody reads decides nothing
  Coder(graph).run();
  return {};
}

}  // namespace optima::passes
