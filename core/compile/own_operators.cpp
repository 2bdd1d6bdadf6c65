// SPDX-License-Identifier: Apache-2.0
#include "core/compile/own_operators.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "core/backend/refused.hpp"
#include "core/graph/graph.hpp"
#include "core/loader/seam.hpp"
#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

std::string_view text_of(const optima_graph& graph, const optima_text& t) { return sdk::view(optima_string(graph.image, &t)); }

std::string full_name(const optima_graph& graph, const optima_node& node) {
  return cat(text_of(graph, node.domain), "::", text_of(graph, node.op_type));
}

uint32_t index_of(const optima_graph& graph, const optima_node& node) {
  const auto* first = static_cast<const char*>(optima_at(graph.image, &graph.image->nodes, 0));
  return static_cast<uint32_t>((reinterpret_cast<const char*>(&node) - first) / graph.image->nodes.stride);
}

bool brings(const Manifest& m, std::string_view domain) { return std::find(m.domains.begin(), m.domains.end(), domain) != m.domains.end(); }

/// Compilers that bring the domain, in the registry's order.
std::vector<Backend*> claimants(const Registry& registry, std::string_view domain) {
  std::vector<Backend*> out = registry.compilers();
  std::erase_if(out, [&](Backend* p) { return !brings(p->manifest(), domain); });
  return out;
}

/// Files that would bring it.
std::vector<const PluginFile*> refused_claimants(const Registry& registry, std::string_view domain) {
  std::vector<const PluginFile*> out = refused_files(registry.files(), &Manifest::compiler);
  std::erase_if(out, [&](const PluginFile* f) { return !brings(f->manifest, domain); });
  return out;
}

bool is_stateful(const Backend& plugin, std::string_view domain, std::string_view op) {
  const auto& rows = plugin.manifest().operators;
  return std::any_of(rows.begin(), rows.end(), [&](const OperatorRow& row) { return row.stateful && row.domain == domain && row.op == op; });
}

optima_tensor lend(const reference::Tensor& t) {
  optima_tensor out{};
  out.struct_size = sizeof out;
  out.fd = -1;
  out.dtype = t.dtype;
  out.rank = static_cast<int32_t>(t.dims.size());
  out.shape = t.dims.data();
  out.data = const_cast<void*>(t.data);
  out.size = t.size;
  return out;
}

/// What an evaluator makes: the array that crosses, and what alloc() made for each element of it. Not movable: both sides point here.
class Outputs {
 public:
  Outputs(const optima_graph& graph, const optima_node& node) : raw_(node.outputs.count), made_(node.outputs.count) {
    for (uint32_t k = 0; k < node.outputs.count; ++k) {
      raw_[k].struct_size = sizeof raw_[k];
      raw_[k].fd = -1;
      raw_[k].rank = -1;
      const uint32_t value = optima_output(graph.image, &node, k);
      if (value == OPTIMA_NONE) continue;
      raw_[k].name = optima_string(graph.image, &optima_get_value(graph.image, value)->name);
      raw_[k].dtype = optima_get_value(graph.image, value)->dtype;
      raw_[k].host_data = &made_[k];
      raw_[k].alloc = alloc;
      made_[k].raw = &raw_[k];
      made_[k].one_at_a_time = &mutex_;
    }
  }
  Outputs(const Outputs&) = delete;

  std::span<optima_tensor> raw() { return raw_; }
  /// What the evaluator did that it must not; empty when nothing.
  std::string misdeed() const {
    for (size_t k = 0; k < made_.size(); ++k) {
      if (!made_[k].raw) continue;
      if (!made_[k].misdeed.empty()) return cat("for output ", k, " it ", made_[k].misdeed);
      if (!made_[k].called) return cat("it made no output ", k);
    }
    return {};
  }
  std::vector<reference::Tensor> take() {
    std::vector<reference::Tensor> out;
    for (Made& m : made_) out.push_back(std::move(m.tensor));
    return out;
  }

 private:
  struct Made {
    optima_tensor* raw = nullptr;
    std::mutex* one_at_a_time = nullptr;  // callbacks may come from any thread
    reference::Tensor tensor;
    bool called = false;
    std::string misdeed;
  };

  static int32_t alloc(void* self, const int64_t* dims, int32_t rank) {
    return seam::guarded([&]() -> int32_t {
      Made& made = *static_cast<Made*>(self);
      const std::lock_guard lock(*made.one_at_a_time);
      const auto broken = [&](std::string what) { return made.misdeed = std::move(what), OPTIMA_INVALID_ARGUMENT; };
      if (made.called) return broken("called alloc twice");
      made.called = true;
      if (rank < 0 || rank > kMostDims || (rank > 0 && !dims)) return broken(cat("wants rank ", rank, ", wanted 0..", kMostDims));
      if (optima_dtype_bits(made.raw->dtype) == 0) return broken(cat("makes elements of dtype ", made.raw->dtype, ", wanted a type of fixed width"));
      void* data = nullptr;
      try {
        made.tensor = reference::Tensor::make(made.raw->dtype, {dims, dims + rank}, &data);
      } catch (const Error& e) {
        return broken(cat("wants an impossible shape: ", e.text));
      }
      made.raw->data = data;
      made.raw->size = made.tensor.size;
      made.raw->shape = made.tensor.dims.data();
      made.raw->rank = rank;
      return OPTIMA_OK;
    });
  }

  std::mutex mutex_;
  std::vector<optima_tensor> raw_;
  std::vector<Made> made_;
};

[[noreturn]] void failed(const Status& why) { throw reference::ForeignError(OPTIMA_INTERNAL, why.message()); }

/// A reference::Foreign over the registry. A copy knows which function bodies it is inside of.
class Evaluator {
 public:
  Evaluator(const Registry& registry, bool stateful_too) : registry_(&registry), stateful_too_(stateful_too) {}

  std::vector<reference::Tensor> operator()(const optima_graph& graph, const optima_node& node, const std::vector<reference::Tensor>& inputs) const {
    const std::string_view domain = text_of(graph, node.domain), op = text_of(graph, node.op_type);
    const std::vector<Backend*> plugins = claimants(*registry_, domain);
    for (Backend* plugin : plugins) {
      if (!stateful_too_ && is_stateful(*plugin, domain, op)) nobody(graph, node, cat("it is stateful, says plugin ", quote(plugin->manifest().id)));
      if (auto made = by_evaluator(*plugin, graph, node, inputs)) return std::move(*made);
      if (auto made = by_function(*plugin, graph, node, inputs)) return std::move(*made);
    }
    if (plugins.empty()) nobody(graph, node, cat("no plugin brings domain ", domain, refused_hint(refused_claimants(*registry_, domain), "brings it")));
    std::vector<std::string> names;
    for (const Backend* p : plugins) names.push_back(quote(p->manifest().id));
    nobody(graph, node, cat("plugin ", join(names), " gives neither a function body nor an evaluator for it"));
  }

 private:
  using Tensors = std::vector<reference::Tensor>;

  [[noreturn]] static void nobody(const optima_graph& graph, const optima_node& node, const std::string& why) {
    throw reference::ForeignError(OPTIMA_UNSUPPORTED, cat("operator ", full_name(graph, node), " has no reference evaluator: ", why));
  }

  static std::optional<Tensors> by_evaluator(Backend& plugin, const optima_graph& graph, const optima_node& node, const Tensors& inputs) {
    std::vector<optima_tensor> lent;
    for (const reference::Tensor& t : inputs) lent.push_back(lend(t));
    Outputs outputs(graph, node);
    const Result<bool> computed = plugin.evaluate(graph, index_of(graph, node), lent, outputs.raw());
    if (computed.ok() && !*computed) return std::nullopt;
    // What the host's own callback refused is why the plugin failed, so it goes first.
    const std::string misdeed = outputs.misdeed();
    if (!computed.ok() && (misdeed.empty() || misdeed.starts_with("it made no"))) failed(computed.status());
    if (!misdeed.empty()) failed(plugin_error(cat("plugin ", quote(plugin.manifest().id), ": evaluate: ", misdeed)));
    return outputs.take();
  }

  std::optional<Tensors> by_function(Backend& plugin, const optima_graph& graph, const optima_node& node, const Tensors& inputs) const {
    const Result<std::string> text = plugin.function_body(graph, index_of(graph, node));
    if (!text.ok()) failed(text.status());
    if (text->empty()) return std::nullopt;
    const std::string who = cat("plugin ", quote(plugin.manifest().id), ": function body of ", full_name(graph, node));
    Evaluator inside = *this;
    inside.bodies_.push_back(full_name(graph, node));
    if (std::find(bodies_.begin(), bodies_.end(), inside.bodies_.back()) != bodies_.end()) failed(plugin_error(cat(who, ": it comes back to itself: ", join(inside.bodies_, " > "))));
    const Result<Graph> body = onnx_io::expand_function(graph, index_of(graph, node), *text, types_of(inputs), infer_by_plugins(*registry_));
    if (!body.ok()) failed(body.status().within(who));
    return inside.run(*body, graph, node, inputs, who);
  }

  /// The body's graph has inputs and outputs for the node's present ones.
  Tensors run(const Graph& body, const optima_graph& graph, const optima_node& node, const Tensors& inputs, const std::string& who) const {
    Tensors given, out(node.outputs.count);
    for (const reference::Tensor& t : inputs)
      if (t.dtype != OPTIMA_UNDEFINED) given.push_back(t);
    const PackedGraph packed = pack(body);
    try {
      const Tensors made = reference::run(packed.raw, given, {}, *this);
      size_t next = 0;
      for (uint32_t k = 0; k < node.outputs.count; ++k)
        if (optima_output(graph.image, &node, k) != OPTIMA_NONE) out[k] = owned(made.at(next++));
    } catch (const Error& e) {
      throw reference::ForeignError(e.code, cat(who, ": ", e.text));
    }
    return out;
  }

  /// A result may be one of the body's constants, whose bytes end with the body.
  static reference::Tensor owned(const reference::Tensor& t) {
    if (t.keeper || t.size == 0) return t;
    const Blob copy = Blob::copy(t.data, t.size);
    return {t.dtype, t.dims, copy.keeper, copy.data, copy.size};
  }

  static std::vector<image::Value> types_of(const Tensors& inputs) {
    std::vector<image::Value> out;
    for (const reference::Tensor& t : inputs) {
      image::Value& v = out.emplace_back();
      v.dtype = t.dtype;
      v.kind = t.dtype == OPTIMA_UNDEFINED ? OPTIMA_KIND_UNKNOWN : OPTIMA_KIND_TENSOR;
      v.dims.emplace();
      for (const int64_t d : t.dims) v.dims->push_back({d, ""});
    }
    return out;
  }

  const Registry* registry_;
  bool stateful_too_;
  std::vector<std::string> bodies_;  // from the outermost in
};

}  // namespace

onnx_io::InferForeign infer_by_plugins(const Registry& registry) {
  return [&registry](const optima_graph& graph, uint32_t node_index) -> Result<std::vector<image::Value>> {
    for (Backend* plugin : claimants(registry, text_of(graph, optima_get_node(graph.image, node_index)->domain)))
      if (plugin->has_schema()) return plugin->infer(graph, node_index);
    return std::vector<image::Value>();
  };
}

reference::Foreign evaluate_by_plugins(const Registry& registry) { return Evaluator(registry, true); }

passes::OwnOperators own_operators(const Registry& registry) { return {infer_by_plugins(registry), Evaluator(registry, false)}; }

}  // namespace optima
