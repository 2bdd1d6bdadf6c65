// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "core/support/text.hpp"
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
  explicit DotWriter(const Plan& plan) : plan_(plan) {
    for (const CutTensor& cut : plan.cuts) cuts_.emplace(cut.value, &cut);
  }

  std::string run() {
    out_ = cat("digraph ", text_of(plan_.model_name), " {\n  rankdir=TB; ranksep=0.35; labeljust=l; fontname=\"Helvetica\"; newrank=true;\n",
               "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10];\n  edge [color=\"#6b7280\", arrowsize=0.6];\n");
    for (size_t s = 0; s < plan_.subgraphs.size(); ++s) cluster(s);
    for (size_t t = 0; t < plan_.tensors.size(); ++t) tensor(t);
    return out_ + "}\n";
  }

 private:
  void cluster(size_t s) {
    const Subgraph& subgraph = plan_.subgraphs[s];
    const Look look = look_of(subgraph.device);
    out_ += cat("  subgraph cluster_", s, " {\n    label=", text_of(cat("subgraph ", s, " on ", plan_.devices[subgraph.device].name, " (", look.letter, ")")),
                "; style=\"rounded,filled\"; color=\"", look.colour, "\"; fillcolor=\"", tint(look.colour, 0.1), "\"; penwidth=2;\n");
    for (uint32_t n : subgraph.nodes)
      out_ += cat("    n", n, " [label=", two_lines(plan_.nodes[n].op_type, plan_.nodes[n].name), ", tooltip=", text_of(plan_.nodes[n].sentence), ", fillcolor=\"",
                  tint(look.colour, 0.45), "\"];\n");
    out_ += "  }\n";
  }

  void tensor(size_t t) {
    const PlanTensor& tensor = plan_.tensors[t];
    const auto cut = cuts_.find(tensor.value);
    const bool own = !tensor.from || tensor.output || cut != cuts_.end();  // drawn as a node
    if (own)
      out_ += cat("  t", t, " [shape=box, style=\"rounded,filled\", fillcolor=\"", tint(kTensorColour, 0.35), "\", label=", two_lines(tensor.name, size_text(tensor)), "];\n");
    if (own && tensor.from) out_ += cat("  n", *tensor.from, " -> t", t, ";\n");
    for (uint32_t n : tensor.to) {
      const bool over = !tensor.from || (cut != cuts_.end() && std::binary_search(cut->second->to.begin(), cut->second->to.end(), plan_.nodes[n].subgraph));
      out_ += over ? cat("  t", t, " -> n", n, " [penwidth=1.8];\n") : cat("  n", *tensor.from, " -> n", n, ";\n");
    }
  }

  const Plan& plan_;
  std::map<uint32_t, const CutTensor*> cuts_;  // by value
  std::string out_;
};

}  // namespace

std::string to_dot(const Plan& plan) { return DotWriter(plan).run(); }

}  // namespace optima::view
