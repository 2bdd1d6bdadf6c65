// SPDX-License-Identifier: Apache-2.0
// tests: small graphs for plugins/openvino.
#pragma once

#include "tests/support/seam_samples.hpp"
#include "tests/unit/openvino/harness.hpp"

namespace optima::test {

inline image::Value tensor(std::string name, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) {
  image::Value v{std::move(name), dtype, std::vector<image::Dim>{}};
  for (int64_t d : shape) v.dims->push_back({d, d < 0 ? "rows" : ""});
  return v;
}

using seam::f32;
using seam::floats;

/// y = relu(x + w), x of `rows` rows (-1: any number, "rows"); t = positions of y that are not zero, i64.
struct Sample {
  std::vector<float> w{1, -2, 3};
  seam::Model model;
  explicit Sample(int64_t rows, bool positions = false) : model(image::pack(contents(rows, positions)), {seam::blob_of(w.data(), w.size() * 4, 7)}) {}

  static image::Contents contents(int64_t rows, bool positions) {
    image::Graph g{"sample", {tensor("x", {rows, 3}), tensor("w", {3}), tensor("a", {rows, 3}), tensor("y", {rows, 3})}, {}, {0}, {3}, {}};
    g.values[1].constant = 0;
    g.nodes.push_back({"add", "Add", "", 1, 14, {0, 1}, {2}, {}});
    g.nodes.push_back({"relu", "Relu", "", 2, 14, {2}, {3}, {}});
    if (positions) {
      g.values.push_back(tensor("t", {2, -1}, OPTIMA_I64));
      g.values.back().dims->back().symbol = "";
      g.nodes.push_back({"where", "NonZero", "", 3, 13, {3}, {4}, {}});
      g.outputs.push_back(4);
    }
    return {{g}, {{OPTIMA_F32, {3}, 0}}, {{"", 21}}};
  }
};

}  // namespace optima::test
