// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: names and order of a model's values and nodes.
#include "core/onnx_io/structure.hpp"

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_set>

#include "core/graph/names.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace {

constexpr int kInput = -1;  // maker of a value that no node makes
using Makers = std::unordered_map<std::string_view, int>;

std::string maker_text(const onnx::GraphProto& g, int maker) {
  return maker == kInput ? "an input or initializer" : node_text(g.node(maker));
}

class Structure {
 public:
  // `outer`: the makers of the graphs around this one, innermost last.
  Status check(onnx::GraphProto& g, std::vector<const Makers*>& outer) {
    Makers makers;
    OPTIMA_RETURN_IF_ERROR(collect(g, makers));
    OPTIMA_RETURN_IF_ERROR(collect_reads(g, makers, outer));
    for (const auto& output : g.output())
      if (!makers.count(output.name()) && !known(outer, output.name()))
        return invalid_input(cat("graph output ", quote(output.name()), " is made by no node", hint(makers, output.name())));
    outer.push_back(&makers);
    for (auto& node : *g.mutable_node()) {
      Status status;
      for_each_body(node, [&](onnx::GraphProto& body, const std::string& attr, int) {
        if (status.ok()) status = check(body, outer).within(cat(node_text(node), ", ", attr));
      });
      OPTIMA_RETURN_IF_ERROR(status);
    }
    outer.pop_back();
    return sort(g, makers);
  }

 private:
  static bool known(const std::vector<const Makers*>& outer, const std::string& name) {
    return std::any_of(outer.begin(), outer.end(), [&](const Makers* m) { return m->count(name) > 0; });
  }
  static std::string hint(const Makers& makers, const std::string& wanted) {
    std::vector<std::string> names;
    for (const auto& [name, maker] : makers) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return nearest_hint(wanted, names);
  }

  static Status collect(const onnx::GraphProto& g, Makers& makers) {
    std::unordered_set<std::string_view> inputs;
    for (const auto& input : g.input()) {
      if (!inputs.insert(input.name()).second) return invalid_input(cat("value ", quote(input.name()), " is an input twice"));
      makers[input.name()] = kInput;
    }
    std::unordered_set<std::string_view> initializers;
    auto initializer = [&](const std::string& name) {
      makers[name] = kInput;
      return initializers.insert(name).second ? Status() : invalid_input(cat("initializer ", quote(name), " is there twice"));
    };
    for (const auto& t : g.initializer()) OPTIMA_RETURN_IF_ERROR(initializer(t.name()));
    for (const auto& t : g.sparse_initializer()) OPTIMA_RETURN_IF_ERROR(initializer(t.values().name()));
    for (int n = 0; n < g.node_size(); ++n)
      for (const std::string& out : g.node(n).output()) {
        if (out.empty()) continue;
        const auto [it, fresh] = makers.try_emplace(out, n);
        if (!fresh) return invalid_input(cat("value ", quote(out), " is made twice, by ", maker_text(g, it->second), " and by ", node_text(g.node(n))));
      }
    return {};
  }

  // Names of outer graphs that a body reads.
  void free_names(const onnx::GraphProto& body, std::vector<std::string_view>& out) {
    std::unordered_set<std::string_view> own;
    for (const auto& input : body.input()) own.insert(input.name());
    for (const auto& t : body.initializer()) own.insert(t.name());
    for (const auto& t : body.sparse_initializer()) own.insert(t.values().name());
    for (const auto& node : body.node()) own.insert(node.output().begin(), node.output().end());
    std::vector<std::string_view> reads;
    for (const auto& node : body.node()) node_reads(node, reads);
    for (const auto& output : body.output()) reads.push_back(output.name());
    for (std::string_view name : reads)
      if (!own.count(name)) out.push_back(name);
  }
  void node_reads(const onnx::NodeProto& node, std::vector<std::string_view>& out) {
    for (const std::string& in : node.input())
      if (!in.empty()) out.push_back(in);
    for (const auto& a : node.attribute()) {
      if (a.has_g()) free_names(a.g(), out);
      for (const auto& body : a.graphs()) free_names(body, out);
    }
  }

  // Fills waits_: per node the nodes it reads from.
  Status collect_reads(const onnx::GraphProto& g, const Makers& makers, const std::vector<const Makers*>& outer) {
    std::vector<std::vector<int>> waits(static_cast<size_t>(g.node_size()));
    std::vector<std::string_view> reads;
    for (int n = 0; n < g.node_size(); ++n) {
      reads.clear();
      node_reads(g.node(n), reads);
      for (std::string_view name : reads) {
        const auto it = makers.find(name);
        if (it != makers.end() && it->second != kInput) waits[static_cast<size_t>(n)].push_back(it->second);
        if (it == makers.end() && !known(outer, std::string(name)))
          return invalid_input(cat(node_text(g.node(n)), " reads ", quote(name), ", which nothing makes", hint(makers, std::string(name))));
      }
    }
    waits_.push_back(std::move(waits));
    return {};
  }

  Status sort(onnx::GraphProto& g, const Makers&) {
    const std::vector<std::vector<int>> waits = std::move(waits_.back());
    waits_.pop_back();
    const int count = g.node_size();
    bool sorted = true;
    for (int n = 0; n < count; ++n)
      for (int w : waits[static_cast<size_t>(n)]) sorted &= w < n;
    if (sorted) return {};
    std::vector<int> open(static_cast<size_t>(count));
    std::vector<std::vector<int>> readers(static_cast<size_t>(count));
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int n = 0; n < count; ++n) {
      open[static_cast<size_t>(n)] = static_cast<int>(waits[static_cast<size_t>(n)].size());
      for (int w : waits[static_cast<size_t>(n)]) readers[static_cast<size_t>(w)].push_back(n);
      if (open[static_cast<size_t>(n)] == 0) ready.push(n);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (int r : readers[static_cast<size_t>(order.back())])
        if (--open[static_cast<size_t>(r)] == 0) ready.push(r);
    }
    if (static_cast<int>(order.size()) != count) return cycle(g, waits, open);
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Reserve(count);
    for (int n : order) nodes.Add()->Swap(g.mutable_node(n));
    g.mutable_node()->Swap(&nodes);
    return {};
  }

  // Walks back from a node that never became ready until a node comes again.
  static Status cycle(const onnx::GraphProto& g, const std::vector<std::vector<int>>& waits, const std::vector<int>& open) {
    int at = static_cast<int>(std::find_if(open.begin(), open.end(), [](int o) { return o > 0; }) - open.begin());
    std::vector<int> path;
    while (std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      const auto& w = waits[static_cast<size_t>(at)];
      at = *std::find_if(w.begin(), w.end(), [&](int n) { return open[static_cast<size_t>(n)] > 0; });
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    std::reverse(path.begin(), path.end());
    std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
    std::vector<std::string> names;
    for (size_t k = 0; k < path.size() && k < 8; ++k) names.push_back(node_text(g.node(path[k])));
    if (path.size() > names.size()) names.push_back(cat(path.size() - names.size(), " more"));
    return invalid_input(cat("the graph has a cycle: ", join(names, " -> "), " -> ", names[0]));
  }

  std::vector<std::vector<std::vector<int>>> waits_;  // by nesting
};

template <class F>
void for_each_node(onnx::GraphProto& g, F&& f) {
  for (auto& node : *g.mutable_node()) {
    f(node);
    for_each_body(node, [&](onnx::GraphProto& body, const std::string&, int) { for_each_node(body, f); });
  }
}

void name_graph(onnx::GraphProto& g, const std::string& prefix, int64_t opset, SourceNames& out) {
  std::vector<NamedOp> ops;
  for (const auto& node : g.node()) ops.push_back({node.name(), node.op_type()});
  const std::vector<std::string> names = stable_names(ops);
  for (int n = 0; n < g.node_size(); ++n) {
    auto& node = *g.mutable_node(n);
    // A model that we wrote has the whole path in its names already.
    const std::string& own = names[static_cast<size_t>(n)];
    const std::string name = own.rfind(prefix, 0) == 0 ? own : prefix + own;
    out.by_name[name] = {node.name(), opset};
    for (const std::string& value : node.output())
      if (!value.empty()) out.by_value.try_emplace(value, name);
    node.set_name(name);
    for_each_body(node, [&](onnx::GraphProto& body, const std::string& attr, int k) {
      name_graph(body, cat(name, "/", attr, k < 0 ? "" : cat("_", k), "/"), opset, out);
    });
  }
}

}  // namespace

std::string node_text(const onnx::NodeProto& node) {
  if (!node.name().empty()) return cat("node ", quote(node.name()), " (", node.op_type(), ")");
  return node.output_size() > 0 ? cat("the ", node.op_type(), " node that makes ", quote(node.output(0))) : cat("a ", node.op_type(), " node");
}

Status check_and_sort(onnx::GraphProto& graph) {
  std::vector<const Makers*> outer;
  return Structure().check(graph, outer);
}

void give_names(onnx::GraphProto& graph, int64_t opset, SourceNames& names) { name_graph(graph, "", opset, names); }

void restore_names(onnx::GraphProto& graph, const SourceNames& names) {
  std::unordered_set<std::string> taken;
  for_each_node(graph, [&](onnx::NodeProto& node) {
    if (!node.name().empty() && !taken.insert(node.name()).second) node.clear_name();
  });
  std::unordered_set<std::string> used = taken;
  for (const auto& [name, origin] : names.by_name) used.insert(name);
  for_each_node(graph, [&](onnx::NodeProto& node) {
    if (!node.name().empty()) return;
    const auto source = node.output_size() > 0 ? names.by_value.find(node.output(0)) : names.by_value.end();
    const bool free = source != names.by_value.end() && taken.insert(source->second).second;
    node.set_name(free ? source->second : fresh_name(node.op_type(), used));
  });
}

}  // namespace optima::onnx_io
