// SPDX-License-Identifier: Apache-2.0
// Losses over class scores [N, C, …] and class numbers [N, …]: the log probability of each number is picked by ones at its class.
#include <numeric>

#include "chain.hpp"
#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_loss {

using Dims = std::vector<int64_t>;

Piece summed(Pieces& make, const Piece& x, size_t axis, std::string_view mode = "ReduceSum") {
  if (x.dims[axis] == 1) return x;  // one number is its own sum, and the tools fold that
  const Attributes a = Attributes().i64s("axes", {static_cast<int64_t>(axis)}).flag("keepdims", true).text("mode", mode).flag("is_scalar", false);
  return make.op("summed", "Reduce", {x}, a, with(x.dims, axis, 1));
}
Piece total(Pieces& make, const Piece& x) { return summed(make, make.reshaped(x, {1, x.elements()}), 1); }

/// x - max - ln(sum of exp(x - max)) along axis 1: finite wherever x is.
Piece log_softmax(Pieces& make, const Piece& x) {
  const Piece apart = make.both("Sub", x, summed(make, x, 1, "ReduceMax"));
  const Piece sum = summed(make, make.op("powers", "Exp", {apart}, {}, x.dims), 1);
  return make.both("Sub", apart, make.op("log", "Log", {sum}, {}, sum.dims));
}

/// The weight of each class, 0 for the one that is ignored; none where all count alike. A number that is ignored and no class has no one at all.
std::optional<Piece> class_weights(Pieces& make, const sdk::Node& node, int64_t classes) {
  const int64_t ignored = node.integer("ignore_index", -1);
  const bool leaves_out = ignored >= 0 && ignored < classes;
  const sdk::Value given = node.input(2);
  const Dims dims{1, classes, 1};
  if (!given && !leaves_out) return {};
  std::vector<float> weights = given && given.is_constant() ? Lowering::floats(given) : std::vector<float>(static_cast<size_t>(classes), 1.0f);
  if (leaves_out) weights[static_cast<size_t>(ignored)] = 0;
  if (!given || given.is_constant()) return make.weight(dims, weights);
  const Piece read = make.reshaped(make.read(2), dims);
  return leaves_out ? make.both("Mul", read, make.weight(dims, weights)) : read;
}

/// [N, C, places]: the weight of the class that is the target, else 0.
Piece chosen(Pieces& make, const sdk::Node& node, const Dims& dims) {
  const int64_t classes = dims[1];
  std::vector<float> numbers(static_cast<size_t>(classes));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const Piece target = make.reshaped(make.read(1), with(dims, 1, 1));
  const Piece spread = classes == 1 ? target : make.op("spread", "Tile", {target}, Attributes().i64s("tile", {1, classes, 1}), dims);
  const Piece hit = make.op("hit", "Compare", {spread, make.weight({1, classes, 1}, numbers)}, Attributes().text("mode", "Equal"), dims);
  const std::optional<Piece> weights = class_weights(make, node, classes);
  return weights ? make.both("Mul", hit, *weights) : hit;
}

void write_loss(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece scores = make.read(0);
  const Dims dims{scores.dims[0], scores.dims[1], product(scores.dims, 2, scores.dims.size())};
  Piece log_prob = make.reshaped(scores, dims);
  if (node.op() == "SoftmaxCrossEntropyLoss") log_prob = log_softmax(make, log_prob);
  if (node.output(1)) make.finish(log_prob, 1);
  if (!node.output(0)) return;
  const Piece weights = chosen(make, node, dims), losses = make.scaled(summed(make, make.both("Mul", weights, log_prob), 1), -1);
  const std::string_view how = node.string("reduction", "mean");
  if (how == "none") return make.finish(losses);
  const Piece sum = total(make, losses);
  if (how == "sum") return make.finish(sum);
  const bool all_alike = !node.input(2) && !node.has("ignore_index");
  if (all_alike) return make.finish(make.scaled(sum, 1.0 / static_cast<double>(losses.elements())));
  make.finish(make.op("mean", "Div", {sum, total(make, summed(make, weights, 1))}, binary().flag("is_reverse", false), sum.dims));
}

std::string refuses_loss(const sdk::Node& node, const Chip&) {
  for (const sdk::Value v : {node.input(0), node.input(2), node.output(0), node.output(1)})
    if (v && v.dtype() != OPTIMA_F32) return wants_floats(node);
  if (node.input(0).rank() < 2) return "scores have rank " + std::to_string(node.input(0).rank()) + ", wanted 2 or more";
  return {};
}

constexpr Row kRows[] = {{"NegativeLogLikelihoodLoss", refuses_loss, write_loss}, {"SoftmaxCrossEntropyLoss", refuses_loss, write_loss}};

}  // namespace of_loss

sdk::Span<const Row> losses() { return of_loss::kRows; }

}  // namespace bmcompiler_plugin::top
