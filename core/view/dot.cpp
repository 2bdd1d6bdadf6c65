// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/support/text.hpp"
#include "core/view/errors.hpp"
#include "core/view/flat.hpp"
#include "core/view/palette.hpp"
#include "core/view/view.hpp"

namespace optima::view {
namespace {

// A DOT string: quotes and backslashes escaped, so that no name is an escape sequence; control bytes replaced.
std::string text_of(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return out + "\"";
}

std::string two_lines(std::string_view first, std::string_view second) {
  std::string out = text_of(first);
  out.pop_back();
  return out + "\\n" + text_of(second).substr(1);
}

std::string size_text(const PlanTensor& tensor) { return cat(tensor.type, tensor.bytes ? cat(", ", human_bytes(tensor.bytes)) : ""); }

class DotWriter {
 public:
  DotWriter(const Plan& plan, const std::vector<LayerFigures>& layers)
      : flat_(flatten(plan)), plan_(flat_.plan), wiring_(plan_), looks_(looks_of(plan_)), errors_(errors_of(layers)) {}

  std::string run() {
    out_ = cat("digraph ", text_of(plan_.model_name), " {\n  rankdir=TB; ranksep=0.35; labeljust=l; fontname=\"Helvetica\"; newrank=true; ",
               "compound=true;\n  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10];\n",
               "  edge [color=\"#6b7280\", arrowsize=0.6];\n");
    part(0, "  ");
    for (uint32_t t = 0; t < plan_.tensors.size(); ++t) edges(t);
    for (uint32_t p = 1; p < flat_.parts.size(); ++p) enter(p);
    return out_ + "}\n";
  }

 private:
  static std::string name_of_node(uint32_t n, uint32_t subgraph, bool home) { return home ? cat("n", n) : cat("c", subgraph, "_", n); }
  std::string name_of_node(uint32_t n, uint32_t subgraph) const { return name_of_node(n, subgraph, plan_.nodes[n].subgraph == subgraph); }
  // Inputs, outputs and what crosses are drawn as nodes.
  bool own(uint32_t t) const { return !plan_.tensors[t].from || plan_.tensors[t].output || wiring_.crosses(t); }

  void part(uint32_t p, const std::string& inset) {
    const Part& part = flat_.parts[p];
    for (uint32_t s = part.first_subgraph; s < part.end_subgraph; ++s) cluster(s, inset);
    for (uint32_t t = part.first_tensor; t < part.end_tensor; ++t)
      if (own(t))
        out_ += cat(inset, "t", t, " [shape=box, style=\"rounded,filled\", fillcolor=\"", tint(kTensorColour, 0.35),
                    "\", label=", two_lines(plan_.tensors[t].name, size_text(plan_.tensors[t])), "];\n");
  }

  void cluster(uint32_t s, const std::string& inset) {
    const Subgraph& subgraph = plan_.subgraphs[s];
    const Look& look = looks_[subgraph.device];
    out_ += cat(inset, "subgraph cluster_", s, " {\n", inset, "  label=",
                text_of(cat("subgraph ", s, " on ", plan_.devices[subgraph.device].name, " (", look.letter, ")")),
                "; style=\"rounded,filled\"; color=\"", look.colour, "\"; fillcolor=\"", tint(look.colour, 0.1), "\"; penwidth=2;\n");
    for (uint32_t n : subgraph.nodes) node(n, s, plan_.nodes[n].sentence, inset);
    for (const Clone& clone : subgraph.clones) node(clone.node, s, clone.sentence, inset);
    for (uint32_t p = 1; p < flat_.parts.size(); ++p)
      if (plan_.nodes[flat_.parts[p].holder].subgraph == s) body(p, inset + "  ");
    out_ += inset + "}\n";
  }

  void node(uint32_t n, uint32_t s, const std::string& why, const std::string& inset) {
    const PlacedNode& node = plan_.nodes[n];
    const bool home = node.subgraph == s;
    const auto at = errors_.find(node.name);
    const LayerFigures* error = at == errors_.end() ? nullptr : at->second;
    const std::string_view colour = error ? error_colour(*error) : looks_[plan_.subgraphs[s].device].colour;
    const std::string op = error ? cat(node.op_type, "  ", decibels_text(error->accumulated.snr_db)) : node.op_type;
    const std::string tip = error ? cat(why, "; error: ", error_text(*error)) : why;
    out_ += cat(inset, "  ", name_of_node(n, s, home), " [label=", two_lines(op, home ? node.name : cat("clone of ", node.name)), ", tooltip=", text_of(tip),
                ", fillcolor=\"", tint(colour, home ? 0.45 : 0.2), home ? "\"" : "\", style=\"filled,dashed\"", "];\n");
  }

  void body(uint32_t p, const std::string& inset) {
    const Part& part = flat_.parts[p];
    out_ += cat(inset, "subgraph cluster_body_", p, " {\n", inset, "  label=",
                text_of(cat("body ", part.path, part.trips.empty() ? "" : cat(", ", part.trips))),
                "; style=\"rounded,dashed,filled\"; color=\"#6b7280\"; fillcolor=\"#ffffff\"; penwidth=1.5;\n");
    this->part(p, inset + "  ");
    out_ += inset + "}\n";
  }

  void edges(uint32_t t) {
    const PlanTensor& tensor = plan_.tensors[t];
    if (own(t) && tensor.from) out_ += cat("  n", *tensor.from, " -> t", t, ";\n");
    wiring_.each_reader(t, [&](uint32_t made_in, uint32_t reader, uint32_t at) {
      const std::string to = name_of_node(reader, at);
      const bool over = made_in == UINT32_MAX;
      out_ += over ? cat("  t", t, " -> ", to, " [penwidth=1.8];\n") : cat("  ", name_of_node(*tensor.from, made_in), " -> ", to, ";\n");
    });
  }

  // From the node to the body that it holds.
  void enter(uint32_t p) {
    const Part& part = flat_.parts[p];
    const bool has_inputs = part.first_tensor < part.end_tensor && !plan_.tensors[part.first_tensor].from;
    if (!has_inputs && part.first_node == part.end_node) return;
    const std::string first = has_inputs ? cat("t", part.first_tensor) : cat("n", part.first_node);
    out_ += cat("  n", part.holder, " -> ", first, " [style=dotted, arrowhead=odot, lhead=cluster_body_", p, "];\n");
  }

  const Flat flat_;
  const Plan& plan_;
  const Wiring wiring_;
  const std::vector<Look> looks_;
  const std::map<std::string_view, const LayerFigures*> errors_;
  std::string out_;
};

}  // namespace

std::string to_dot(const Plan& plan, const std::vector<LayerFigures>& layers) { return DotWriter(plan, layers).run(); }

}  // namespace optima::view
