// SPDX-License-Identifier: Apache-2.0
// Losses over class scores [image][class][place] and class numbers [image][place]: an invocation for each number, then their sum or mean.
#include <cmath>

#include "lines.hpp"

namespace spirv_plugin {
namespace of_loss {

constexpr uint32_t kLocal = 64;

bool is_entropy(const sdk::Node& node) { return node.op() == "SoftmaxCrossEntropyLoss"; }
std::string_view reduction_of(const sdk::Node& node) { return node.string("reduction", "mean"); }
int64_t inner_of(const sdk::Node& node) {
  const Dims x = node.input(0).shape();
  return elements_of({x.begin() + 2, x.end()});
}

/// Statements that leave in `w` the weight of class number `i`, 0 of one that does not count, as those that are no class.
void write_weight(Shader& s, const sdk::Node& node, int targets, int weights) {
  const std::string counts = "uint(t)<" + text(node.input(0).dim(1)) + "u" + (node.has("ignore_index") ? "&&t!=" + literal(node.integer("ignore_index", 0)) : "");
  s.line("int t=" + s.load(targets, "i") + ";bool counts=" + counts + ";float w=0.0;if(counts)w=" + (weights < 0 ? "1.0" : s.load(weights, "t")) + ";");
}

/// Statements that leave in `l` the loss of number `i`.
void write_loss(Shader& s, const sdk::Node& node, int x) {
  const std::string classes = text(node.input(0).dim(1)), inner = text(inner_of(node));
  s.line("int base=i/" + inner + "*" + text(node.input(0).dim(1) * inner_of(node)) + "+i%" + inner + ";float l=0.0;if(counts){float p=" + s.load(x, "base+t*" + inner) + ";");
  if (is_entropy(node)) {
    const std::string each = "for(int k=0;k<" + classes + ";++k)", v = s.load(x, "base+k*" + inner);
    s.line("float m=" + literal(-HUGE_VAL) + ",q=0.0;" + each + "m=max_(m," + v + ");" + each + "q+=exp(" + v + "-m);p=p-m-log(q);");
  }
  s.line("l=-w*p;}");
}

/// The loss of each class number.
void write_losses(Lowering& to, const Group& group, const Tensor& losses) {
  const sdk::Node& node = group.root;
  const int64_t n = losses.elements();
  Shader s(kLocal);
  const int x = s.in(to.read(node.input(0))), targets = s.in(to.read(node.input(1))), weights = node.input(2) ? s.in(to.read(node.input(2))) : -1, out = s.out(losses);
  const Grid g = grid(n, kLocal);
  s.line("int i=" + g.id + ";if(i>=" + text(n) + ")return;");
  write_weight(s, node, targets, weights);
  write_loss(s, node, x);
  s.line(s.store(out, "i", "l"));
  const auto read = static_cast<uint64_t>(node.input(0).elements());
  to.step(group, std::move(s), g.groups, {is_entropy(node) ? 12 * read : static_cast<uint64_t>(n), 4 * read});
}

/// Their sum, or that by the sum of their weights.
void write_whole(Lowering& to, const Group& group, const Tensor& losses, const Tensor& whole) {
  const sdk::Node& node = group.root;
  const Walk walk(lines_along({losses.elements()}, 0));
  const bool mean = reduction_of(node) == "mean";
  Shader s(walk.local());
  const int l = s.in(losses), targets = mean ? s.in(to.read(node.input(1))) : -1, weights = mean && node.input(2) ? s.in(to.read(node.input(2))) : -1, out = s.out(whole);
  walk.fold(s, "sum", "float", "a+b");
  s.line(walk.begin() + "float v=0.0,all=0.0;" + walk.each() + "{int i=k;v+=" + s.load(l, "i") + ";");
  if (mean) write_weight(s, node, targets, weights), s.line("all+=w;");
  s.line("}v=sum(v);" + std::string(mean ? "all=sum(all);v/=all;" : "") + walk.once() + "{" + s.store(out, "row", "v") + "}");
  to.step(group, std::move(s), walk.groups(), {2 * static_cast<uint64_t>(losses.elements()), 8 * static_cast<uint64_t>(losses.elements())});
}

/// Output 1 of SoftmaxCrossEntropyLoss.
void write_log_softmax(Lowering& to, const Group& group, const Tensor& made) {
  const sdk::Node& node = group.root;
  const Walk walk(lines_along(made.dims, 1));
  Shader s(walk.local());
  const int x = s.in(to.read(node.input(0))), out = s.out(made);
  const std::string v = s.load(x, walk.at());
  walk.fold(s, "largest", "float", "max_(a,b)"), walk.fold(s, "sum", "float", "a+b");
  s.line(walk.begin() + "float m=" + literal(-HUGE_VAL) + ",q=0.0;" + walk.each() + "m=max_(m," + v + ");m=largest(m);" + walk.each() + "q+=exp(" + v + "-m);q=log(sum(q));");
  s.line(walk.each() + "{int o=" + walk.at() + ";" + s.store(out, "o", s.load(x, "o") + "-m-q") + "}");
  to.step(group, std::move(s), walk.groups(), {12 * static_cast<uint64_t>(made.elements()), 8 * static_cast<uint64_t>(made.elements())});
}

void lower_loss(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Tensor y = to.made(node.output(0));
  const bool single = reduction_of(node) == "none";
  const Tensor losses = single ? y : to.scratch(node, y.element, node.input(1).shape());
  if (losses.elements() != 0) {
    write_losses(to, group, losses);
    if (!single) write_whole(to, group, losses, y);
  }
  if (!node.output(1)) return;
  const Tensor made = to.made(node.output(1));
  if (made.elements() != 0) write_log_softmax(to, group, made);
}

std::string no_loss(const sdk::Node& node) {
  const sdk::Value x = node.input(0);
  if (!node.output(0)) return "output 0 is not wanted";
  if (x.rank() < 2) return "input 0 of rank " + text(x.rank()) + ", wanted 2 or more";
  Dims targets = x.shape();
  targets.erase(targets.begin() + 1);
  if (node.input(1).shape() != targets) return "class numbers of other dims than the scores want";
  if (node.input(2) && node.input(2).shape() != Dims{x.dim(1)}) return "weights are not one for each class";
  const std::string_view how = reduction_of(node);
  if (how != "none" && how != "sum" && how != "mean") return "reduction is " + std::string(how) + ", wanted none, sum or mean";
  if (how == "none" ? node.output(0).shape() != targets : node.output(0).elements() != 1) return "output 0 of other dims than the reduction leaves";
  if (node.output(1) && node.output(1).shape() != x.shape()) return "output 1 of other dims than the scores";
  return how != "none" && elements_of(targets) == 0 ? "a sum of no losses" : "";
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_loss, r.refuse = no_loss;
  return r;
}
constexpr sdk::Types F = kFloats, X = sdk::types(OPTIMA_I64, OPTIMA_I32);
constexpr Row kRows[] = {row(op("NegativeLogLikelihoodLoss", 12, 22, {F, X, F}, {F})), row(op("SoftmaxCrossEntropyLoss", 12, 13, {F, X, F}, {F}))};

}  // namespace of_loss

Family loss_family() { return of_loss::kRows; }

}  // namespace spirv_plugin
