// SPDX-License-Identifier: Apache-2.0
// reference/ops: nodes that hold bodies. A Loop runs as long as its model says: nothing here bounds it.
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"

namespace optima::reference::ops {
namespace {

const optima_image_graph& graph_at(const Call& c, uint32_t index) { return *optima_get_graph(c.graph.image, index); }

/// Slices of a scan, put side by side along a new axis.
Tensor stacked(const std::vector<Tensor>& slices, int64_t axis) {
  const Dims& one = slices[0].dims;
  const size_t a = normal_axis(axis, one.size() + 1, "scan output axis");
  for (const Tensor& s : slices)
    if (s.dims != one) invalid("slices of a scan output have shapes " + show(one) + " and " + show(s.dims) + ", must be one");
  const auto n = static_cast<int64_t>(slices.size());
  Dims to = one;
  to.insert(to.begin() + static_cast<ptrdiff_t>(a), n);
  Dims step = strides_of(one);
  step.insert(step.begin() + static_cast<ptrdiff_t>(a), count(one));
  return pick(join(slices), to, strided_index(to, step));
}

/// A scan output of no iterations: what the body says about it, unknown dims 0.
Tensor nothing(const Call& c, const optima_image_graph& body, uint32_t output) {
  const optima_value* v = optima_get_value(c.graph.image, *optima_get_index(c.graph.image, body.outputs.first + output));
  Dims dims{0};
  for (uint32_t d = 0; d < v->dims.count; ++d) dims.push_back(std::max<int64_t>(0, optima_get_dim(c.graph.image, v->dims.first + d)->value));
  if (v->dtype == OPTIMA_STRING) return make_strings(dims, {});
  void* p = nullptr;
  return Tensor::make(v->dtype, dims, &p);
}

}  // namespace

void if_(Call& c) {
  const bool condition = scalar_int(c.in(0), "cond") != 0;
  std::vector<Tensor> out = run_graph(c.graph, c.body(condition ? "then_branch" : "else_branch"), {}, c.outer, c.foreign);
  if (out.size() != c.outputs()) invalid("a branch has " + std::to_string(out.size()) + " outputs, the node has " + std::to_string(c.outputs()));
  for (uint32_t k = 0; k < c.outputs(); ++k) c.out(k, std::move(out[k]));
}

void loop(Call& c) {
  const uint32_t index = c.body("body");
  const optima_image_graph& body = graph_at(c, index);
  const uint32_t carried = c.inputs() > 2 ? c.inputs() - 2 : 0;
  if (body.inputs.count != carried + 2 || body.outputs.count != c.outputs() + 1 || c.outputs() < carried)
    invalid("the body has " + std::to_string(body.inputs.count) + " inputs and " + std::to_string(body.outputs.count) + " outputs, which do not fit the node");
  const int64_t trips = c.maybe(0) ? scalar_int(c.in(0), "trip count") : std::numeric_limits<int64_t>::max();
  bool go = !c.maybe(1) || scalar_int(c.in(1), "cond") != 0;
  std::vector<Tensor> state;
  for (uint32_t k = 0; k < carried; ++k) state.push_back(c.in(k + 2));
  std::vector<std::vector<Tensor>> scans(c.outputs() - carried);
  for (int64_t i = 0; i < trips && go; ++i) {
    std::vector<Tensor> in{make_ints({}, {i}), scalar_bool(go)};
    in.insert(in.end(), state.begin(), state.end());
    std::vector<Tensor> out = run_graph(c.graph, index, in, c.outer, c.foreign);
    go = scalar_int(out[0], "cond") != 0;
    for (uint32_t k = 0; k < carried; ++k) state[k] = std::move(out[k + 1]);
    for (size_t k = 0; k < scans.size(); ++k) scans[k].push_back(std::move(out[carried + 1 + k]));
  }
  for (uint32_t k = 0; k < carried; ++k) c.out(k, state[k]);
  for (uint32_t k = 0; k < scans.size(); ++k) c.out(carried + k, scans[k].empty() ? nothing(c, body, carried + 1 + k) : stacked(scans[k], 0));
}

void scan(Call& c) {
  const uint32_t index = c.body("body");
  const optima_image_graph& body = graph_at(c, index);
  const int64_t scanned = c.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > c.inputs() || body.inputs.count != c.inputs() || body.outputs.count != c.outputs())
    invalid("num_scan_inputs is " + std::to_string(scanned) + ", which does not fit the node and its body");
  const auto n = static_cast<uint32_t>(scanned), states = c.inputs() - n;
  if (c.outputs() < states) invalid("the node has fewer outputs than states");
  const uint32_t results = c.outputs() - states;
  const auto list = [&](const char* name, uint32_t size) {
    Dims l = c.list(name);
    l.resize(std::max<size_t>(l.size(), size), 0);
    return l;
  };
  const Dims in_axes = list("scan_input_axes", n), in_back = list("scan_input_directions", n);
  const Dims out_axes = list("scan_output_axes", results), out_back = list("scan_output_directions", results);
  std::vector<size_t> axes;
  int64_t length = -1;
  for (uint32_t k = 0; k < n; ++k) {
    const Dims& d = c.in(states + k).dims;
    axes.push_back(normal_axis(in_axes[k], d.size(), "scan input axis"));
    if (length >= 0 && d[axes[k]] != length) invalid("scan inputs have lengths " + std::to_string(length) + " and " + std::to_string(d[axes[k]]) + ", must be one");
    length = d[axes[k]];
  }
  std::vector<Tensor> state(c.all().begin(), c.all().begin() + states);
  std::vector<std::vector<Tensor>> out(results);
  for (int64_t t = 0; t < length; ++t) {
    std::vector<Tensor> in = state;
    for (uint32_t k = 0; k < n; ++k) {
      const Tensor& x = c.in(states + k);
      AxisMaps maps = whole(x.dims);
      maps[axes[k]] = {in_back[k] ? length - 1 - t : t};
      Dims dims = x.dims;
      dims.erase(dims.begin() + static_cast<ptrdiff_t>(axes[k]));
      in.push_back(reshaped(take(x, maps), dims));
    }
    std::vector<Tensor> made = run_graph(c.graph, index, in, c.outer, c.foreign);
    for (uint32_t k = 0; k < states; ++k) state[k] = std::move(made[k]);
    for (uint32_t k = 0; k < results; ++k) out[k].insert(out_back[k] ? out[k].begin() : out[k].end(), std::move(made[states + k]));
  }
  for (uint32_t k = 0; k < states; ++k) c.out(k, state[k]);
  for (uint32_t k = 0; k < results; ++k) c.out(states + k, out[k].empty() ? nothing(c, body, states + k) : stacked(out[k], out_axes[k]));
}

}  // namespace optima::reference::ops
