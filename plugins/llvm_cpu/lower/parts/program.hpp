// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: writes the text of an element-wise kernel (codegen/expression.hpp) and the step that runs it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/compiler/operation.hpp"
#include "plugins/llvm_cpu/lower/parts/copy.hpp"

namespace optima::llvm_cpu {

/// Element-wise computation over one index space. Steps of operands count elements, one per dim of the space.
class Program {
 public:
  using Id = uint32_t;

  explicit Program(Dims dims) : dims_(std::move(dims)) {}
  const Dims& dims() const { return dims_; }

  /// The element of an operand; the same one twice is one load, but of computed constants, each of which is an operand of its own. `known`: the
  /// only number that it can be; an operand all the same, so that equal kernels are one.
  Id load(const Operand& from, int32_t dtype, const Dims& steps, std::optional<double> known = std::nullopt);
  Id constant(int32_t dtype, double value);
  /// The result has the type of the first operand (where:
  /// of the second), or BOOL for comparisons.
  Id apply(Operation operation, std::vector<Id> operands);
  Id cast(int32_t dtype, Id from);
  void store(const Operand& to, Id from, const Dims& steps);
  int32_t dtype(Id id) const { return types_[id]; }
  /// Products are rounded before they are added: results are those of the operators one by one.
  void be_strict() { strict_ = true; }
  /// Says that an operator's result ends here: map() rounds there, and only there, to its type.
  void end_operator(Id id) { ends_.insert(id); }

  /// The stored 8-bit element for each 8-bit element of the one operand that is not known, computed in double as the operators' pages have
  /// it. Nothing when there are several operands or other types.
  struct Map {
    Copy walk;
    Operand from, to;
    std::string table;  ///< 256 bytes, by the byte in memory
  };
  std::optional<Map> map() const;

  /// The step: dims merged where all operands allow it, cut into units of some thousand elements.
  Op finish(const Target& target);

 private:
  struct Access {
    bool is_store;
    size_t arg;
    int32_t dtype;
    Id value;
    Dims steps;
    std::optional<double> known{};
  };
  struct Line {
    enum Kind : uint8_t { Load, Store, Constant, Cast, Apply } kind;
    size_t access = 0;           ///< of Load and Store
    int32_t dtype = 0;           ///< of Constant and Cast
    double number = 0;           ///< of Constant
    Operation operation{};       ///< of Apply
    std::vector<Id> operands{};  ///< of Cast and Apply
  };
  /// Numbers of sizes: they go to the literals behind `operands`, and the text names their places.
  struct Words {
    std::vector<int64_t> literals;
    std::string add(int64_t number);
    std::string add(const Dims& numbers);
    std::string steps(const Dims& steps);
  };
  std::string text(const Line& line, Words& words) const;
  std::optional<std::string> table(size_t load, size_t store) const;
  size_t argument(const Operand& operand);
  void merge_dims();
  Id made(int32_t dtype);

  Dims dims_;
  std::vector<Operand> args_;
  std::vector<Access> accesses_;
  std::vector<Line> lines_;
  std::vector<int32_t> types_;
  std::set<Id> ends_;
  bool strict_ = false;
};

/// Which literals of an element-wise kernel say how long its rows are, and into which pieces they are cut (0: not cut).
struct RowWords {
  uint32_t length, chunk;
};
/// Requires the expression of a kernel that finish() made.
RowWords row_words(std::string_view expression);

/// Steps of a row-major tensor of `dims` under an index space that it broadcasts to: 0 where it is repeated.
Dims broadcast_steps(const Dims& dims, const Dims& space);
/// Row-major steps.
Dims row_major(const Dims& dims);

}  // namespace optima::llvm_cpu
