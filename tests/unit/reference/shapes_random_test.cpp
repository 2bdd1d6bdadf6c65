// SPDX-License-Identifier: Apache-2.0
// Random nodes, sensible and not: what is inferred is what the evaluator makes, and who refuses says the same.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "reference/shapes.hpp"
#include "reference/tensor.hpp"
#include "tests/unit/reference/node.hpp"

using namespace optima::test;
namespace image = optima::image;
namespace reference = optima::reference;
using optima::Error;

namespace {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1)); }
  bool rarely() { return (*this)(0, 9) == 0; }
  Ints list(int64_t n, int64_t low, int64_t high) {
    Ints out;
    for (int64_t k = 0; k < n; ++k) out.push_back((*this)(low, high));
    return out;
  }
  std::string one_of(std::initializer_list<const char*> all) { return all.begin()[(*this)(0, static_cast<int64_t>(all.size()) - 1)]; }

 private:
  std::mt19937 random_;
};

struct Trial {
  OneNode node;
  std::vector<Tensor> inputs;
};

Tensor zeros(Ints dims) {
  void* p = nullptr;
  return Tensor::make(OPTIMA_F32, std::move(dims), &p);
}
Tensor line(Ints x) { return i64({static_cast<int64_t>(x.size())}, x); }

std::string sentence(const std::string& text) { return text.substr(text.find("': ") + 3); }

/// "wrong: …" or what came of it.
std::string judge(const Trial& trial) {
  const image::Bytes bytes = trial.node.build(trial.inputs);
  const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
  const optima_node& node = *optima_get_node(bytes.image(), 0);
  std::vector<Tensor> made;
  std::string refused;
  try {
    made = reference::evaluate(graph, node, trial.inputs);
  } catch (const Error& e) {
    refused = sentence(e.text);
  }
  const auto n = static_cast<uint32_t>(trial.inputs.size());
  for (uint32_t hidden = 0; hidden <= n; ++hidden) {
    std::vector<Tensor> seen = trial.inputs;
    if (hidden < n) seen[hidden].data = nullptr, seen[hidden].size = 0, seen[hidden].keeper.reset();
    try {
      const reference::Inference said = reference::infer_shapes(graph, node, seen);
      if (said.data_decides) return "wrong: data decides";
      if (said.wants != OPTIMA_NONE && said.wants != hidden) return "wrong: wants input " + std::to_string(said.wants);
      if (said.wants != OPTIMA_NONE || !refused.empty()) continue;
      for (uint32_t k = 0; k < node.outputs.count; ++k)
        if (said.outputs.at(k).dtype != made[k].dtype || said.outputs[k].dims != made[k].dims)
          return "wrong: output " + std::to_string(k) + " is " + reference::show(made[k].dims) + ", inferred " + reference::show(said.outputs[k].dims);
    } catch (const Error& e) {
      if (refused.empty()) return "wrong: refused: " + e.text;
      if (sentence(e.text) != refused && hidden == n) return "wrong: refused by '" + refused + "' and '" + e.text + "'";
    }
  }
  return refused.empty() ? "made" : "refused";
}

Trial slice(Dice& d) {
  const Ints x = d.list(d(1, 3), 0, 9);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t n = d(1, rank);
  const auto ends = [&] {
    Ints out = d.list(n, -12, 12);
    if (d.rarely()) out[0] = INT64_MAX;
    if (d.rarely()) out[0] = INT64_MIN;
    return out;
  };
  Ints steps = d.list(n, -4, 4), axes;
  for (int64_t& s : steps) s = s == 0 && !d.rarely() ? 1 : s;
  if (d.rarely()) steps[0] = d(0, 1) ? INT64_MAX : INT64_MIN;
  for (int64_t k = 0; k < n; ++k) axes.push_back(d(0, 1) ? k : k - rank);
  return {OneNode("Slice", 13), {zeros(x), line(ends()), line(ends()), line(axes), line(steps)}};
}

/// Attributes of windows over `rank` spatial dims.
void window(Dice& d, OneNode& node, int64_t rank) {
  if (d(0, 1)) node.list("strides", d.list(rank, 1, 3));
  if (d(0, 2) == 0) node.list("dilations", d.list(rank, 1, 2));
  if (d(0, 2) == 0) node.text("auto_pad", d.one_of({"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}));
  else if (d(0, 1)) node.list("pads", d.list(2 * rank, d.rarely() ? -1 : 0, 2));
}

Trial conv(Dice& d) {
  const int64_t rank = d(1, 2), groups = d(1, 2), m = groups * d(1, 2), c = d(1, 2);
  OneNode node("Conv", 11);
  window(d, node, rank);
  node.integer("group", groups);
  Ints x = d.list(rank, 1, 8), w = d.list(rank, 1, 3);
  x.insert(x.begin(), {d(0, 2), groups * c + d.rarely()});
  w.insert(w.begin(), {m, c});
  Trial t{node, {zeros(x), zeros(w)}};
  if (d(0, 1)) t.inputs.push_back(zeros({m + d.rarely()}));
  return t;
}

Trial conv_transpose(Dice& d) {
  const int64_t rank = d(1, 2), groups = d(1, 2), c = groups * d(1, 2);
  OneNode node("ConvTranspose", 11);
  window(d, node, rank);
  node.integer("group", groups);
  if (d(0, 2) == 0) node.list("output_padding", d.list(rank, 0, 1));
  if (d(0, 2) == 0) node.list("output_shape", d.list(rank, 1, 12));
  Ints x = d.list(rank, 1, 6), w = d.list(rank, 1, 3);
  x.insert(x.begin(), {d(1, 2), c});
  w.insert(w.begin(), {c + d.rarely(), d(1, 2)});
  return {node, {zeros(x), zeros(w)}};
}

Trial pool(Dice& d) {
  const int64_t rank = d(1, 2), kind = d(0, 2);
  OneNode node(kind == 0 ? "MaxPool" : kind == 1 ? "AveragePool" : "LpPool", kind == 0 ? 12 : kind == 1 ? 19 : 18, kind == 0 ? 2 : 1);
  window(d, node, rank);
  node.list("kernel_shape", d.list(rank, 1, 4));
  if (d(0, 1)) node.integer("ceil_mode", 1);
  Ints x = d.list(rank, 1, 9);
  x.insert(x.begin(), {1, d(1, 2)});
  return {node, {zeros(x)}};
}

Trial pad(Dice& d) {
  const Ints x = d.list(d(1, 3), d.rarely() ? 0 : 2, 5);
  const auto rank = static_cast<int64_t>(x.size());
  OneNode node("Pad", 18);
  node.text("mode", d.one_of({"constant", "reflect", "edge", "wrap"}));
  if (d(0, 1)) return {node, {zeros(x), line(d.list(2 * rank + d.rarely(), -3, 3))}};
  return {node, {zeros(x), line(d.list(2, -1, 3)), {}, line({d(-rank, rank - !d.rarely())})}};
}

Trial reshape(Dice& d) {
  const Ints x = d.list(d(0, 3), d.rarely() ? 0 : 1, 4);
  OneNode node("Reshape", 14);
  if (d.rarely()) node.integer("allowzero", 1);
  Ints to;
  if (d(0, 1)) to = d.list(d(0, 3), -1, 4);
  else {
    to = x;
    if (!to.empty()) to[static_cast<size_t>(d(0, static_cast<int64_t>(to.size()) - 1))] = d(-1, 0);
  }
  return {node, {zeros(x), line(to)}};
}

Trial resize(Dice& d) {
  const Ints x = d.list(2, d.rarely() ? 0 : 1, 7);
  OneNode node("Resize", 19);
  node.text("mode", d.one_of({"nearest", "linear", "cubic"}));
  node.text("coordinate_transformation_mode", d.one_of({"half_pixel", "asymmetric", "align_corners"}));
  const bool one = d(0, 1);
  if (one) node.list("axes", {d(-2, 1)});
  const int64_t n = one ? 1 : 2;
  if (d(0, 1)) {
    if (d(0, 1)) node.text("keep_aspect_ratio_policy", d.one_of({"stretch", "not_larger", "not_smaller"}));
    return {node, {zeros(x), {}, {}, line(d.list(n, d.rarely() ? -1 : 0, 9))}};
  }
  std::vector<float> scales;
  for (int64_t k = 0; k < n; ++k) scales.push_back(static_cast<float>(d(d.rarely() ? 0 : 1, 40)) / 10);
  return {node, {zeros(x), {}, f32({n}, scales)}};
}

Trial upsample(Dice& d) {
  const Ints x = d.list(2, 1, 5);
  return {OneNode("Upsample", 9), {zeros(x), f32({2}, {static_cast<float>(d(1, 30)) / 10, static_cast<float>(d(1, 30)) / 10})}};
}

Trial gather(Dice& d) {
  const Ints x = d.list(d(1, 3), 1, 4);
  const auto rank = static_cast<int64_t>(x.size());
  const Ints shape = d.list(d(0, 2), 0, 3);
  const Tensor at = i64(shape, Ints(static_cast<size_t>(reference::count(shape)), d(-1, 0)));
  const int64_t axis = d(-rank, rank - !d.rarely());
  if (d(0, 1)) return {OneNode("Gather", 13).integer("axis", axis), {zeros(x), at}};
  return {OneNode("GatherElements", 13).integer("axis", axis), {zeros(x), at}};
}

Trial tuples(Dice& d) {
  const Ints x = d.list(d(1, 3), 1, 4);
  Ints shape = d.list(d(0, 2), 1, 3);
  shape.push_back(d(0, 3));
  const int64_t batch = d(0, 1);
  if (batch && shape.size() > 1 && !d.rarely()) shape[0] = x[0];
  const Tensor at = i64(shape, Ints(static_cast<size_t>(reference::count(shape)), 0));
  return {OneNode("GatherND", 13).integer("batch_dims", batch), {zeros(x), at}};
}

Trial split(Dice& d) {
  const Ints x = d.list(d(1, 2), 1, 7);
  const auto outputs = static_cast<uint32_t>(d(1, 3));
  OneNode node("Split", 18, outputs);
  node.integer("axis", d(-1, 0));
  if (d(0, 1)) return {node.integer("num_outputs", outputs), {zeros(x)}};
  Ints pieces = d.list(outputs, 0, 3);
  pieces.back() = x[d(0, 1) ? 0 : x.size() - 1];
  for (size_t k = 0; k + 1 < pieces.size(); ++k) pieces.back() -= pieces[k];
  return {node, {zeros(x), line(pieces)}};
}

Trial axes(Dice& d) {
  const Ints x = d.list(d(1, 4), 1, 2);
  const auto rank = static_cast<int64_t>(x.size());
  const Tensor at = line(d.list(d(0, 2), -rank, rank - !d.rarely()));
  switch (d(0, 3)) {
    case 0: return {OneNode("Squeeze", 13), d(0, 1) ? std::vector<Tensor>{zeros(x), at} : std::vector<Tensor>{zeros(x)}};
    case 1: return {OneNode("Unsqueeze", 13), {zeros(x), at}};
    case 2: return {OneNode("ReduceSum", 13).integer("keepdims", d(0, 1)).integer("noop_with_empty_axes", d(0, 1)), {zeros(x), at}};
    default: return {OneNode("ArgMax", 13).integer("keepdims", d(0, 1)).integer("axis", d(-rank, rank - !d.rarely())), {zeros(x)}};
  }
}

Trial products(Dice& d) {
  const int64_t k = d(1, 3), k2 = k + d.rarely();
  if (d(0, 1)) {
    const bool turn = d(0, 1);
    Trial t{OneNode("Gemm", 13).integer("transA", turn), {zeros(turn ? Ints{k, 2} : Ints{2, k}), zeros({k2, 3})}};
    if (d(0, 1)) t.inputs.push_back(zeros(d.list(d(0, 2), 1, 3)));
    return t;
  }
  Ints a = d.list(d(0, 2), 1, 2), b = d.list(d(0, 2), 1, 2);
  if (d(0, 3)) a.push_back(d(1, 3));
  a.push_back(k), b.push_back(k2);
  if (d(0, 3)) b.push_back(d(1, 3));
  return {OneNode("MatMul", 13), {zeros(a), zeros(b)}};
}

Trial sums(Dice& d) {
  if (d(0, 1)) return {OneNode("Add", 14), {zeros(d.list(d(0, 3), 1, 2)), zeros(d.list(d(0, 3), 1, 2))}};
  if (d(0, 1)) return {OneNode("Max", 13), {zeros(d.list(d(0, 2), 1, 2)), zeros(d.list(d(0, 2), 1, 2)), zeros(d.list(d(0, 2), 1, 2))}};
  if (d(0, 1)) return {OneNode("PRelu", 16), {zeros(d.list(d(0, 2), 1, 2)), zeros(d.list(d(0, 2), 1, 2))}};
  return {OneNode("Expand", 13), {zeros(d.list(d(0, 2), 1, 2)), line(d.list(d(0, 3), d.rarely() ? -1 : 0, 2))}};
}

Trial joins(Dice& d) {
  const Ints a = d.list(2, 1, 3);
  Ints b = a;
  b[static_cast<size_t>(d(0, 1))] = d(0, 3);
  switch (d(0, 4)) {
    case 0: return {OneNode("Concat", 13).integer("axis", d(-2, 1)), {zeros(a), zeros(b)}};
    case 1: return {OneNode("Tile", 13), {zeros(a), line(d.list(2 + d.rarely(), d.rarely() ? -1 : 0, 3))}};
    case 2: return {OneNode("Transpose", 13).list("perm", d(0, 1) ? Ints{1, 0} : d.list(2, 0, 2)), {zeros(a)}};
    case 3: return {OneNode("CenterCropPad", 18).list("axes", {d(-2, 1)}), {zeros(a), line({d(0, 6)})}};
    default: return {OneNode("Flatten", 13).integer("axis", d(-3, 3)), {zeros(a)}};
  }
}

Trial counted(Dice& d) {
  const int64_t n = d(1, 5);
  switch (d(0, 4)) {
    case 0: return {OneNode("TopK", 11, 2).integer("axis", d(-1, 0)), {zeros({n, 3}), line({d(0, 5)})}};
    case 1: return {OneNode("OneHot", 11).integer("axis", d(-2, 2)), {i64({n}, Ints(static_cast<size_t>(n), 0)), i64({}, {d(0, 4)}), f32({2}, {0, 1})}};
    case 2: return {OneNode("Range", 11), {i64({}, {d(-5, 5)}), i64({}, {d(-5, 5)}), i64({}, {d(-2, 2)})}};
    case 3: return {OneNode("ConstantOfShape", 9), {line(d.list(d(0, 2), d.rarely() ? -1 : 0, 3))}};
    default: {
      std::vector<uint8_t> keep;
      for (int64_t k = 0; k < d(0, n); ++k) keep.push_back(static_cast<uint8_t>(d(0, 1)));
      OneNode node("Compress", 11);
      if (d(0, 1)) node.integer("axis", 0);
      return {node, {zeros({n, 2}), boolean({static_cast<int64_t>(keep.size())}, keep)}};
    }
  }
}

Trial pictures(Dice& d) {
  const Ints x{1, 4 * d(1, 2), d(1, 2) * 2, d(1, 3) * 2};
  switch (d(0, 5)) {
    case 0: return {OneNode("DepthToSpace", 13).integer("blocksize", d(1, 3)), {zeros(x)}};
    case 1: return {OneNode("SpaceToDepth", 13).integer("blocksize", d(1, 3)), {zeros(x)}};
    case 2: return {OneNode("MaxRoiPool", 1).list("pooled_shape", d.list(2, 0, 2)), {zeros(x), zeros({d(0, 2), 5})}};
    case 3: return {OneNode("GlobalLpPool", 2), {zeros(Ints(x.begin(), x.begin() + d(1, 4)))}};
    case 4: return {OneNode("GridSample", 16), {zeros(x), zeros({1, d(0, 3), d(1, 3), 2 + d.rarely()})}};
    default: return {OneNode("Scatter", 9).integer("axis", d(-4, 4)), {zeros(x), i64({1, 1, 1, 1}, {0}), zeros({1, 1, 1, 1 + d.rarely()})}};
  }
}

Trial signals(Dice& d) {
  Ints x = d.list(d(1, 3), 0, 5);
  x.push_back(d(1, 2) + d.rarely());
  const auto rank = static_cast<int64_t>(x.size());
  const Tensor length = d(0, 1) ? Tensor() : i64({}, {d.rarely() ? d(-1, 0) : d(1, 9)});
  switch (d(0, 4)) {
    case 0: return {OneNode("DFT", 20).integer("inverse", d(0, 1)).integer("onesided", d(0, 1)), {zeros(x), length, d(0, 1) ? Tensor() : i64({}, {d(-rank, rank - 1)})}};
    case 1: return {OneNode("DFT", 17).integer("inverse", d(0, 1)).integer("axis", d(-rank, rank - 1)), {zeros(x), length}};
    case 2: {
      const Tensor window = d(0, 1) ? Tensor() : zeros({d(1, 4)});
      Ints signal{d(0, 2), d(3, 9)};
      if (d(0, 1)) signal.push_back(d(1, 2) + d.rarely());
      return {OneNode("STFT", 17).integer("onesided", d(0, 1)), {zeros(signal), i64({}, {d(d.rarely() ? -1 : 1, 4)}), window, d(0, 2) ? Tensor() : i64({}, {d(1, 5)})}};
    }
    case 3: return {OneNode("HannWindow", 17).integer("output_datatype", d(0, 1) ? OPTIMA_F64 : OPTIMA_F32), {i64(Ints(static_cast<size_t>(d(0, 1)), 1), {d(d.rarely() ? -1 : 0, 5)})}};
    default: return {OneNode("MelWeightMatrix", 17), {i64({}, {d(-d.rarely(), 4)}), i64({}, {d(1, 20)}), i64({}, {100}), f32({}, {0}), f32({}, {static_cast<float>(d(10, 60))})}};
  }
}

/// Image and block of a few sizes; blocks that are right but for chance.
Trial blocks(Dice& d) {
  const int64_t rank = d(1, 2);
  const Ints image = d.list(rank, 2, 5), block = d.list(rank, 1, 3);
  Ints x{d(0, 2), d(1, 2), 1};
  for (size_t k = 0; k < image.size(); ++k) x[1] *= block[k], x[2] *= image[k] - block[k] + 1;
  x[static_cast<size_t>(d(1, 2))] += d.rarely();
  OneNode node("Col2Im", 18);
  if (d.rarely()) node.list("pads", d.list(2 * rank, 0, 1));
  return {node, {zeros(x), line(image), line(d.rarely() ? d.list(rank, 0, 3) : block)}};
}

Trial places(Dice& d) {
  if (d(0, 2) == 0) {
    const int64_t n = d(0, 3);
    return {OneNode("Det", 11), {zeros(d(0, 1) ? Ints{n, n + d.rarely()} : Ints{d(0, 2), n, n})}};
  }
  if (d(0, 1)) {
    const int64_t axes = d(2, 3);
    Ints size = d.list(axes + 2 + d.rarely(), 0, 3);
    return {OneNode("AffineGrid", 20).integer("align_corners", d(0, 1)), {zeros({size[0] + d.rarely(), axes, axes + 1}), line(size)}};
  }
  const int64_t groups = d(1, 2), moved = d(1, 2), n = d(1, 2), rank = d(1, 2);
  const Ints kernel = d.list(rank, 1, 2), in = d.list(rank, 2, 4);
  Ints x{n, 2 * groups}, w{groups * d(1, 2), 2}, offset{n, moved * rank}, mask{n, moved};
  for (size_t k = 0; k < kernel.size(); ++k) {
    x.push_back(in[k]), w.push_back(kernel[k]);
    offset[1] *= kernel[k], mask[1] *= kernel[k];
  }
  for (size_t k = 0; k < kernel.size(); ++k) offset.push_back(in[k] - kernel[k] + 1), mask.push_back(offset.back());
  offset[static_cast<size_t>(d(0, 1))] += d.rarely();
  Trial t{OneNode("DeformConv", 22).integer("group", groups).integer("offset_group", moved), {zeros(x), zeros(w), zeros(offset)}};
  if (d(0, 1)) t.inputs.insert(t.inputs.end(), {Tensor(), zeros(mask)});
  return t;
}

Trial states(Dice& d) {
  const int64_t batch = d(0, 2), length = d(0, 3), heads = d(1, 2), wide = d(1, 3), long_ = d(1, 3);
  if (d(0, 1)) {
    const std::string rule = d.one_of({"linear", "gated", "delta", "gated_delta"});
    Trial t{OneNode("LinearAttention", 27, 2).integer("kv_num_heads", heads).text("update_rule", rule), {}};
    const int64_t shared = d(1, 2);
    t.node.integer("q_num_heads", heads * shared);
    t.inputs = {zeros({batch, length, heads * shared * wide}), zeros({batch, length, heads * wide}), zeros({batch, length + d.rarely(), heads * long_}),
                d(0, 1) ? Tensor() : zeros({batch, heads, wide, long_ + d.rarely()})};
    t.inputs.push_back(rule.find("gated") == 0 ? zeros({batch, length, heads * (d(0, 1) ? wide : 1)}) : Tensor());
    t.inputs.push_back(rule.find("delta") != std::string::npos ? zeros({batch, length, d(0, 1) ? heads : 1}) : Tensor());
    return t;
  }
  return {OneNode("CausalConvWithState", 27, 2), {zeros({batch, heads, length}), zeros({heads + d.rarely(), 1, wide}), d(0, 1) ? Tensor() : zeros({heads}),
          d(0, 1) ? Tensor() : zeros({batch, heads, wide - 1 + d.rarely()})}};
}

Trial drawn(Dice& d) {
  const Tensor x = zeros(d.list(d(0, 3), 0, 3));
  switch (d(0, 3)) {
    case 0: return {OneNode("RandomNormal", 22).list("shape", d.list(d(0, 3), d.rarely() ? -1 : 0, 3)), {}};
    case 1: return {OneNode("RandomUniformLike", 22).integer("dtype", d.rarely() ? OPTIMA_I64 : OPTIMA_F64), {x}};
    case 2: return {OneNode("Bernoulli", 15).integer("dtype", d(0, 1) ? OPTIMA_I64 : OPTIMA_BOOL), {x}};
    default: return {OneNode("Multinomial", 7).integer("sample_size", d(0, 3)), {zeros({d(0, 2), d(0, 3)})}};
  }
}

Trial grams(Dice& d) {
  const Tensor x = i64({2, 3}, d.list(6, 0, 2));
  OneNode node("TfIdfVectorizer", 9);
  node.text("mode", d.one_of({"TF", "IDF", "TFIDF", "DF"})).integer("min_gram_length", d(1, 2)).integer("max_gram_length", 2).integer("max_skip_count", d(-d.rarely(), 3));
  node.list("ngram_counts", {0, d(0, 3)}).list("ngram_indexes", d.list(d(1, 4), -d.rarely(), 4)).list("pool_int64s", d.list(d(2, 5), 0, 2));
  return {node, {d.rarely() ? i64({1, 2, 3}, d.list(6, 0, 2)) : x}};
}

}  // namespace

TEST_CASE("random nodes: what is inferred is what the evaluator makes, and who refuses says the same") {
  using Family = Trial (*)(Dice&);
  const std::pair<const char*, Family> families[] = {
      {"slice", slice}, {"conv", conv}, {"conv_transpose", conv_transpose}, {"pool", pool}, {"pad", pad}, {"reshape", reshape},
      {"resize", resize}, {"upsample", upsample}, {"gather", gather}, {"tuples", tuples}, {"split", split}, {"axes", axes},
      {"products", products}, {"sums", sums}, {"joins", joins}, {"counted", counted}, {"pictures", pictures},
      {"signals", signals}, {"blocks", blocks}, {"places", places}, {"states", states}, {"drawn", drawn}, {"grams", grams}};
  for (const auto& [name, family] : families) {
    std::map<std::string, int> came;
    for (uint32_t seed = 0; seed < 600; ++seed) {
      Dice dice(seed);
      const std::string what = judge(family(dice));
      CHECK_MESSAGE(what.rfind("wrong", 0) != 0, name << " with seed " << seed << ": " << what);
      ++came[what];
    }
    CHECK_MESSAGE(came["made"] > 100, name << " made " << came["made"]);
    CHECK_MESSAGE(came["refused"] + came["made"] == 600, name);
  }
}
