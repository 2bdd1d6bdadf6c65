// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fuzz: random nodes of every operator in llvm_cpu's table: as the operator wants them, and damaged.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "reference/reference.hpp"
#include "tests/support/seam_host.hpp"

namespace llvm_cpu_fuzz {

namespace image = optima::image;
namespace seam = optima::seam;
using Dims = std::vector<int64_t>;
using optima::reference::Tensor;

struct Random {
  std::mt19937_64 engine;
  explicit Random(uint64_t seed) : engine(seed) {}
  /// Within [low, high]; low when that is empty.
  int64_t operator()(int64_t low, int64_t high) { return high < low ? low : low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1)); }
  bool once_in(int64_t n) { return (*this)(1, n) == 1; }
  template <class T>
  const T& of(const std::vector<T>& all) { return all[static_cast<size_t>((*this)(0, static_cast<int64_t>(all.size()) - 1))]; }
};

struct Operand {
  int32_t dtype = OPTIMA_F32;
  Dims dims{};
  std::vector<double> numbers{};  ///< what it holds, by element; random small ones when empty
  bool constant = false, absent = false;
};

/// One node as plain data.
struct Case {
  std::string op{};
  int32_t since = 1;
  std::vector<Operand> in{}, out{};
  std::vector<image::Attr> attrs{};
  std::vector<Tensor> tensors{};  ///< of attributes of type TENSOR, by their refs
  bool special = false;           ///< some numbers are NaN or infinite
  bool conv_before = false;       ///< input 0 is made by a convolution, so that it lies in blocks
  bool coded = false;             ///< floats go in and out as codes, through QuantizeLinear and DequantizeLinear
  uint64_t seed = 0;

  /// The type of the graph's output.
  int32_t stored(const Operand& result) const { return coded && result.dtype == OPTIMA_F32 ? static_cast<int32_t>(OPTIMA_U8) : result.dtype; }
  /// "Add-14(f32[2,3], const i64[1]) -> f32[2,3] axis=1 seed 7"
  std::string text() const;
};

/// A graph of the one node (behind a convolution, between codes when asked for), and the tensors that go in.
struct Built {
  std::unique_ptr<seam::Model> model;
  std::vector<std::string> bytes;
  std::vector<Tensor> inputs;  ///< of the graph
  uint32_t node = 0;           ///< index of the node in the image

  const optima_node& raw() const { return *optima_get_node(model->raw.image, node); }
};
/// `judged`: outputs have the case's dims; else they are unranked, as the reference may have them.
Built build(const Case& c, bool judged = true);

/// A node that the operator's page allows, mostly: outputs not yet set.
Case random_case(const optima::llvm_cpu::Lowering& row, uint64_t seed);
/// Sets types and dims of the outputs by running the reference; false when it refuses the node. `results` gets what it made.
bool infer_outputs(Case& c, std::vector<Tensor>* results = nullptr);
/// Breaks one thing or two.
void damage(Case& c, Random& random);
/// True when no number of the node is large: the reference may try to compute it.
bool is_small(const Case& c);

}  // namespace llvm_cpu_fuzz
