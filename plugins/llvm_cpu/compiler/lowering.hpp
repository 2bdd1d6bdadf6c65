// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: the door between the planner and the operator families in lower/. One row per operator: the row is the
// manifest's tier 1, the first half of check(), and the way to kernels. Knows no LLVM.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optima/plugin/manifest.hpp"
#include "plugins/llvm_cpu/compiler/node.hpp"
#include "plugins/llvm_cpu/compiler/op.hpp"
#include "plugins/llvm_cpu/compiler/signature.hpp"
#include "plugins/llvm_cpu/compiler/unit.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes.hpp"

namespace optima::llvm_cpu {

using sdk::Types;  ///< bit set over OPTIMA dtype numbers
using sdk::types;
constexpr Types kFloat = types(OPTIMA_F32);
constexpr Types kIndex = types(OPTIMA_I64, OPTIMA_I32);
constexpr Types kLongs = types(OPTIMA_I64);

/// Why a node is refused; reason 0 = it is not. text() is what the user reads.
struct Refusal {
  uint32_t reason = 0;  ///< OPTIMA_REASON_*
  std::string what{}, found{}, wanted{};
  explicit operator bool() const { return reason != 0; }
};

/// What multiplies pairs of bf16 faster than f32 is multiplied: nothing, vdpbf16ps, or a matrix unit (AMX-BF16).
enum class Bf16 : uint8_t { None, Dots, Tiles };

/// What the kernels are built for.
struct Target {
  std::string triple, cpu, features;
  int64_t vector_width = 16;  ///< VL: floats per vector
  int64_t registers = 32;     ///< vector registers
  Bf16 bf16 = Bf16::None;     ///< how products of bf16 are computed
  int64_t threads = 1;        ///< for cost estimates only: results never depend on it
  k::Dot dot = k::Dot::Pairs;  ///< how it multiplies bytes
  bool amx = false;            ///< it has AMX tiles of bytes
  bool permutes_bytes = false;  ///< AVX-512 VBMI
  bool rounds_to_bytes = true;  ///< where a model allows it (OPTIMA_NODE_ROUNDS_TO_BYTES)
  bool many_sizes = false;      ///< plans are made for many sizes of one model: as few forms of a weight as can be had are to be packed for all of them
  bool far_weights = false;     ///< each run reads the model's weights from memory: caches do not hold them. Known to the compiler alone: only hints may hang on it where plans are made in the run
  bool is_arm() const { return triple.starts_with("aarch64"); }
};

/// Channels of a pixel in Layout::Last, those that hold anything included: 4 up to 4 channels, else whole groups of 16.
int64_t last_channels(int64_t channels);
/// Floats (elements) that the value occupies in this layout, lanes past the last channel included.
int64_t elements(const Dims& dims, Layout layout, const Target& target);
/// [N][ceil(C / VL)][spatial...][VL]. Requires rank 3 to 5.
Dims blocked_dims(const Dims& dims, const Target& target);

class LowerContext;

/// What an operator takes as its tail: as an image of channels does, normalisations too; as a matrix does, a bias per column and Gelu too.
enum class Tails : uint8_t { None, Channels, Columns };

/// One operator. `lower` gets one node, or, when `chains`, a list of nodes in order of which every value but the last node's
/// output is used inside the list only. What check() lets through, lower() must be able to do, alone and in any group.
struct Lowering {
  std::string_view op;
  int32_t since_min = 1, since_max = 1;      ///< schema versions
  std::array<Types, 4> in{}, out{};          ///< per position; the last one set also holds for the rest
  int32_t rank_min = 0, rank_max = 8;        ///< of input 0
  uint32_t const_inputs = 0;                 ///< bit per input that must be constant
  Signature operands{};
  Refusal (*check)(const NodeView&) = nullptr;  ///< what the row cannot say; runs after it held; null = nothing more
  void (*lower)(std::span<const NodeView>, LowerContext&) = nullptr;
  bool chains = false;                       ///< element-wise: may be fused with neighbours into one kernel
  Tails tail = Tails::None;                  ///< takes what follows it as a tail: `lower` gets the node and those of compiler/tail.hpp
  std::string_view domain = "";
  /// Units on codes. takes_unit: lower_unit can do this one; asked with the longest tail first, then with shorter ones; when it takes none,
  /// the nodes are lowered one by one, in floats. Both null: the operator has no kernel on codes.
  bool (*takes_unit)(const Unit&, const Target&) = nullptr;
  void (*lower_unit)(const Unit&, LowerContext&) = nullptr;
  /// These nodes, each the only reader of what the one before it makes, are one step: `lower` gets them all. Asked with two nodes, then with
  /// more.
  bool (*takes_more)(std::span<const NodeView>, const Target&) = nullptr;
  /// Reads input 0 as bf16 (Layout::Narrow, or rounding by itself), which spares rounding it to bf16 before. Null: never.
  bool (*multiplies_bf16)(const NodeView&, const Target&) = nullptr;
  /// lower_late can make output 0 in whatever layout its first reader wants, at that time: a node on its own is not lowered before.
  bool (*is_late)(const NodeView&, const Target&) = nullptr;
  void (*lower_late)(const NodeView&, Layout, LowerContext&) = nullptr;
  /// Of a chain: inputs that are no operands of the elements (scales, types), which `lower` reads by itself. Null: none.
  bool (*reads_itself)(const NodeView&, uint32_t input) = nullptr;
  bool loads(const NodeView& n, uint32_t input) const { return n.has_input(input) && !(reads_itself && reads_itself(n, input)); }
};

/// Rows of one family. Each lower/NAME.cpp defines `Family NAME_family()`; the build lists them.
using Family = std::span<const Lowering>;
std::span<const Family> families();
/// All rows, sorted by (domain, op, since_min).
std::span<const Lowering> all_lowerings();
/// The row for a node, or null. Where an operator has several of its version: the first that takes the node, else the first.
const Lowering* find_lowering(const NodeView& node);
/// The row as the manifest says it.
sdk::Op tier_one(const Lowering& row);
/// Row, static shapes, the operator's signature, then the row's check: the whole judgement of one node.
Refusal judge(const NodeView& node);

/// What a lowering may do. Throws optima::Error on a broken promise (reading a value that nothing wrote).
class LowerContext {
 public:
  virtual ~LowerContext() = default;
  virtual const Target& target() const = 0;
  /// False when the user wants the exactness of direct convolution.
  virtual bool allows_winograd() const = 0;
  /// The kernel was built before and its registers spilled: choose another tile.
  virtual bool is_bad(const KernelSpec& spec) const = 0;

  /// The layout in which the value exists already (Plain for graph inputs and constants).
  virtual Layout layout(uint32_t value) const = 0;
  /// Elements from pixel to pixel of the value in Layout::Last: last_channels(), or more where it is a part of a concatenation.
  virtual int64_t pixel(uint32_t value) const = 0;
  /// A pointer to the value in this layout; emits a conversion, or two by way of plain, when it exists only in another one. Constants work too.
  virtual Operand read(uint32_t value, Layout layout = Layout::Plain) = 0;
  /// A pointer to where the op puts the value. Once per value, before the emit().
  virtual Operand write(uint32_t value, Layout layout = Layout::Plain) = 0;
  /// `out` is the same bytes as `in`, both plain (Reshape and the like): no op.
  virtual void alias(uint32_t out, uint32_t in) = 0;
  /// A value of bf16 that only kernels read which round it by themselves (Lowering::multiplies_bf16).
  virtual bool rounded_by_readers(uint32_t value) const = 0;
  /// `out` is `in` in whatever layouts there are: no op.
  virtual void rename(uint32_t out, uint32_t in) = 0;
  /// A constant of the graph, rearranged at load. scale: Operand of bytes(), one float per output channel.
  virtual Operand packed(uint32_t constant, const Pack& pack, const Operand* scale = nullptr) = 0;
  /// A constant that the compiler computed (tables, folded bias). Equal contents are stored once.
  virtual Operand bytes(std::string contents, const Pack& pack = {}) = 0;
  /// Memory that lives from the first to the last op that names it.
  virtual Operand temporary(uint64_t bytes) = 0;
  static Operand null() { return {}; }
  /// Appends a step; node_ids and label are filled in when empty.
  virtual void emit(Op op) = 0;
};

}  // namespace optima::llvm_cpu
