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

/// Losses of more classes are read from the logarithms of their shares, which lines are made for: an invocation by itself would take long.
constexpr int64_t kManyClasses = 1024;

/// Statements that leave in `w` the weight of class number `t`, 0 of one that does not count, as those that are no class.
std::string weight(const sdk::Node& node, const std::string& weights) {
  const std::string counts = "uint(t)<" + text(node.input(0).dim(1)) + "u" + (node.has("ignore_index") ? "&&t!=" + literal(node.integer("ignore_index", 0)) : "");
  return "bool counts=" + counts + ";float w=0.0;if(counts)w=" + (weights.empty() ? "1.0" : weights) + ";";
}

/// Statements that leave in `l` the loss of number `i`; `shares`: x has logarithms of shares.
void write_loss(Shader& s, const sdk::Node& node, int x, bool shares) {
  const std::string classes = text(node.input(0).dim(1)), inner = text(inner_of(node));
  s.line("int base=i/" + inner + "*" + text(node.input(0).dim(1) * inner_of(node)) + "+i%" + inner + ";float l=0.0;if(counts){float p=" + s.load(x, "base+t*" + inner) + ";");
  if (is_entropy(node) && !shares) {
    const std::string each = "for(int k=0;k<" + classes + ";++k)", v = s.load(x, "base+k*" + inner);
    s.line("float m=" + literal(-HUGE_VAL) + ",q=0.0;" + each + "m=max_(m," + v + ");" + each + "q+=exp(" + v + "-m);p=p-m-log(q);");
  }
  s.line("l=-w*p;}");
}

/// The loss of each class number; of logarithms of shares, where these are there.
void write_losses(Lowering& to, const Group& group, const Tensor& losses, const Tensor* shares) {
  const sdk::Node& node = group.root;
  const int64_t n = losses.elements();
  Shader s(kLocal);
  const int x = s.in(shares ? *shares : to.read(node.input(0))), targets = s.in(to.read(node.input(1))), weights = node.input(2) ? s.in(to.read(node.input(2))) : -1, out = s.out(losses);
  const Grid g = grid(n, kLocal);
  s.line("int i=" + g.id + ";if(i>=" + text(n) + ")return;int t=" + s.load(targets, "i") + ";" + weight(node, weights < 0 ? "" : s.load(weights, "t")));
  write_loss(s, node, x, shares != nullptr);
  s.line(s.store(out, "i", "l"));
  const auto read = static_cast<uint64_t>(node.input(0).elements());
  to.step(group, std::move(s), g.groups, {is_entropy(node) ? 12 * read : static_cast<uint64_t>(n), 4 * read});
}

/// Their sum, or that by the sum of their weights.
void write_whole(Lowering& to, const Group& group, const Tensor& losses, const Tensor& whole) {
  const sdk::Node& node = group.root;
  LineProgram of{lines_along({losses.elements()}, 0), losses, {}, {{"v", "float", "0.0", "x", "a+b"}}, true, "v"};
  if (reduction_of(node) == "mean") {
    of.operands.push_back(to.read(node.input(1)));
    if (node.input(2)) of.operands.push_back(to.read(node.input(2)));
    of.folds.push_back({"all", "float", "0.0", "w", "a+b", "int t=" + along::operand(0) + "(k);" + weight(node, node.input(2) ? along::operand(1) + "(t)" : "")});
    of.value = "v/all";
  }
  const auto n = static_cast<uint64_t>(losses.elements());
  lower_along(to, group, of, {2 * n, 8 * n}, &whole);
}

/// Output 1 of SoftmaxCrossEntropyLoss.
void write_log_softmax(Lowering& to, const Group& group, const Tensor& made) {
  const Fold largest{"m", "float", literal(-HUGE_VAL), "x", "max_(a,b)"}, sum{"q", "float", "0.0", "exp(x-m)", "a+b", "", "q=log(q);"};
  const auto n = static_cast<uint64_t>(made.elements());
  lower_along(to, group, {lines_along(made.dims, 1), to.read(group.root.input(0)), {}, {largest, sum}, false, "x-m-q"}, {12 * n, 8 * n}, &made);
}

void lower_loss(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Tensor y = to.made(node.output(0));
  const bool single = reduction_of(node) == "none", many = is_entropy(node) && node.input(0).dim(1) > kManyClasses;
  std::optional<Tensor> shares;
  if (node.output(1)) shares = to.made(node.output(1));
  else if (many) shares = to.scratch(node, Element::F32, node.input(0).shape());
  if (shares && shares->elements() != 0) write_log_softmax(to, group, *shares);
  const Tensor losses = single ? y : to.scratch(node, y.element, node.input(1).shape());
  if (losses.elements() == 0) return;
  write_losses(to, group, losses, many ? &*shares : nullptr);
  if (!single) write_whole(to, group, losses, y);
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
