// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: nets of open sizes, run at many sizes on one context and judged by the reference.
#pragma once

#include <doctest/doctest.h>

#include "reference/tensor.hpp"
#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_fit/open_session.hpp"

namespace llvm_cpu_test {

using Shapes = std::vector<Dims>;  // of the inputs, by position

/// "2x3x64 1x1"
inline std::string told(const Shapes& shapes) {
  std::string text;
  for (const Dims& dims : shapes) {
    text += text.empty() ? "" : " ";
    for (size_t d = 0; d < dims.size(); ++d) text += (d ? "x" : "") + std::to_string(dims[d]);
  }
  return text;
}

/// A net whose values have ranks and no sizes, but for what its inputs keep.
class OpenNet : public Net {
 public:
  using Net::Net;
  /// A node whose outputs have these ranks.
  uint32_t op(const std::string& type, int32_t since, const std::vector<uint32_t>& in, size_t rank, std::vector<image::Attr> attrs = {}, int32_t dtype = OPTIMA_F32) {
    return node(type, since, in, Dims(rank, -1), std::move(attrs), dtype);
  }
  uint32_t shape(uint32_t x) { return op("Shape", 21, {x}, 1, {}, OPTIMA_I64); }
  /// Dim d of x as a tensor of one element.
  uint32_t size(uint32_t x, int64_t d) { return op("Gather", 13, {shape(x), integers({d})}, 1, {}, OPTIMA_I64); }
  uint32_t joined(const std::vector<uint32_t>& parts) { return op("Concat", 13, parts, 1, {integer("axis", 0)}, OPTIMA_I64); }
  uint32_t conv2d(uint32_t x, int64_t ic, int64_t oc, int64_t k, int64_t s, int64_t group = 1) {
    const float scale = 1 / std::sqrt(static_cast<float>(ic / group * k * k));
    return op("Conv", 11, {x, weights({oc, ic / group, k, k}, -scale, scale), weights({oc})}, 4,
              {ints("kernel_shape", {k, k}), ints("strides", {s, s}), ints("pads", {k / 2, k / 2, k / 2, k / 2}), integer("group", group)});
  }
  /// An empty body of its own; its values are made through what this gives until the next body.
  uint32_t body() {
    contents().graphs.emplace_back();
    return static_cast<uint32_t>(contents().graphs.size() - 1);
  }
  uint32_t body_value(uint32_t body, size_t rank, int32_t dtype = OPTIMA_F32) {
    image::Graph& g = contents().graphs[body];
    image::Value v;
    v.name = "b" + std::to_string(body) + "_" + std::to_string(g.values.size()), v.dtype = dtype;
    v.dims.emplace(rank, image::Dim{-1, ""});
    g.values.push_back(std::move(v));
    return static_cast<uint32_t>(g.values.size() - 1);
  }
  /// A value of the graph around the body, inside it.
  uint32_t capture(uint32_t body, uint32_t outer, size_t rank, int32_t dtype = OPTIMA_F32) {
    const uint32_t inner = body_value(body, rank, dtype);
    contents().graphs[body].captures.push_back({outer, inner});
    return inner;
  }
  uint32_t body_op(uint32_t body, const std::string& type, int32_t since, const std::vector<uint32_t>& in, size_t rank, std::vector<image::Attr> attrs = {},
                   int32_t dtype = OPTIMA_F32) {
    const uint32_t v = body_value(body, rank, dtype);
    image::Node n;
    n.op_type = type, n.since_version = since, n.inputs = in, n.outputs = {v}, n.attrs = std::move(attrs);
    n.id = 1000 * body + static_cast<uint32_t>(contents().graphs[body].nodes.size()), n.name = type + "_" + std::to_string(n.id);
    contents().graphs[body].nodes.push_back(std::move(n));
    return v;
  }
  void body_output(uint32_t body, uint32_t v) { contents().graphs[body].outputs.push_back(v); }
  static image::Attr graph_attr(const char* name, uint32_t body) {
    image::Attr a;
    a.name = name, a.type = OPTIMA_ATTR_GRAPH, a.refs = {body};
    return a;
  }
  uint32_t branch(uint32_t condition, uint32_t then_body, uint32_t else_body, size_t rank, int32_t dtype = OPTIMA_F32) {
    return op("If", 21, {condition}, rank, {graph_attr("then_branch", then_body), graph_attr("else_branch", else_body)}, dtype);
  }
  /// Dims of one name are one size.
  void named(uint32_t v, size_t dim, const char* name) { (*graph().values[v].dims)[dim].symbol = name; }
  void unranked(uint32_t v) { graph().values[v].dims.reset(); }
};

/// Elements of every type: reals within one of zero, small integers, both truths.
inline optima::reference::Tensor random_tensor(int32_t dtype, const Dims& dims, std::mt19937& random) {
  using namespace optima::reference;
  if (is_float(dtype)) {
    std::vector<double> v(static_cast<size_t>(count(dims)));
    for (double& x : v) x = static_cast<double>(random() % 4096) / 2048 - 1;
    return store<double>(dtype, dims, v);
  }
  std::vector<int64_t> v(static_cast<size_t>(count(dims)));
  for (int64_t& x : v) x = dtype == OPTIMA_U8 || dtype == OPTIMA_I8 ? static_cast<int64_t>(random() % 256) : static_cast<int64_t>(random() % 2);
  return store<int64_t>(dtype, dims, v);
}

inline Tensors random_tensors(const optima_graph& graph, const Shapes& shapes, uint32_t seed = 7) {
  std::mt19937 random(seed);
  const optima_image* g = graph.image;
  const optima_image_graph& entry = *optima_get_graph(g, 0);
  Tensors out;
  for (uint32_t k = 0; k < entry.inputs.count; ++k) out.push_back(random_tensor(optima_get_value(g, *optima_get_index(g, entry.inputs.first + k))->dtype, shapes.at(k), random));
  return out;
}

inline Tensors random_tensors(const Compiled& c, const Shapes& shapes, uint32_t seed = 7) { return random_tensors(c.model->raw, shapes, seed); }

/// Empty when equal: reals up to `tolerance` of the largest, codes up to `steps`, the rest exactly.
inline std::string far(const optima::reference::Tensor& got, const optima::reference::Tensor& want, double tolerance, double steps = 0) {
  using namespace optima::reference;
  if (got.dtype != want.dtype) return "type " + std::to_string(got.dtype) + ", wanted " + std::to_string(want.dtype);
  if (got.dims != want.dims) return "another shape";
  const std::vector<double> a = load<double>(got), b = load<double>(want);
  double most = 1e-6;
  for (const double x : b) most = std::max(most, std::isfinite(x) ? std::fabs(x) : 0);
  const double allowed = is_float(want.dtype) ? tolerance * most : steps;
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= allowed || a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", wanted " + std::to_string(b[i]);
  return {};
}

struct Judge {
  double tolerance = 1e-5, steps = 0;
  bool has_reference_steps = false;  ///< some node may run by the reference
};

/// What a host was told of nodes that the reference computes, when they were compiled and in runs; empty where every step has a kernel.
inline std::string told_of_reference(const seam::Host& host) {
  std::string out;
  for (const std::string& line : host.lines)
    if (line.find("the reference, which is slow,") != std::string::npos) out += line + "\n";
  return out;
}

/// One run of a session beside the reference.
inline void run_and_judge(OpenSession& session, const Compiled& c, const Tensors& in, const Judge& judge = {}) {
  const Tensors want = optima::reference::run(c.model->raw, in);
  for (const bool asks : {false, true}) {
    session.asks_first = asks;
    const Came came = session.run(in);
    CHECK_MESSAGE(came.code == OPTIMA_OK, came.message);
    if (came.code != OPTIMA_OK) return;
    REQUIRE(came.outputs.size() == want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      const std::string why = far(came.outputs[k], want[k], judge.tolerance, judge.steps);
      CHECK_MESSAGE(why.empty(), "output " << k << std::string(asks ? ", shapes asked for: " : ": ") << why);
    }
  }
}

/// Compiles once, and f(session, compiled) on a session for each number of threads.
template <class F>
void on_threads(Bench& bench, Net& net, const std::vector<int64_t>& threads, F f) {
  const auto c = compile(bench, net);
  REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
  for (const int64_t count : threads) {
    OpenSession session(bench, *c, count);
    REQUIRE_MESSAGE(session.code == OPTIMA_OK, session.message);
    f(session, *c);
  }
}

/// Compiles once, runs every set of sizes on one context, and the first set again behind the others. Every step has a kernel.
inline void right_at(Bench& bench, Net& net, std::vector<Shapes> sizes, const Judge& judge = {}) {
  bench.host.quiet = false;
  sizes.push_back(sizes.front());
  on_threads(bench, net, {2}, [&](OpenSession& session, const Compiled& c) {
    for (const Shapes& shapes : sizes) {
      CAPTURE(told(shapes));
      run_and_judge(session, c, random_tensors(c, shapes), judge);
      if (!judge.has_reference_steps) CHECK(told_of_reference(bench.host) == "");
      bench.host.lines.clear();
    }
  });
}

}  // namespace llvm_cpu_test
