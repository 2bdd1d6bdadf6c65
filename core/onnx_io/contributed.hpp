// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: operators of the domains com.microsoft, which ONNX Runtime's own tools write into models, and ai.onnx.ml, which converters of
// classical models write: restated as ONNX nodes, so that every backend has them. Private to the room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/onnx_io/onnx_io.hpp"
#include "core/onnx_io/structure.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

inline constexpr char kContributed[] = "com.microsoft", kClassical[] = "ai.onnx.ml";

/// An attribute that is a tensor; `strings` in place of `bytes` when it holds strings.
struct AttributeTensor {
  int32_t dtype = 0;
  std::vector<int64_t> dims;
  std::string bytes;
  std::vector<std::string> strings;
};

/// One node of these domains, and what is known about its operands, as the recipes see it.
class Contributed {
 public:
  virtual ~Contributed() = default;
  virtual int64_t opset() const = 0;  ///< of ai.onnx in the model
  virtual int inputs() const = 0;
  virtual bool has(int input) const = 0;
  virtual bool has_output(int output) const = 0;
  virtual int32_t dtype(int input) const = 0;  ///< 0 = not known
  /// -1 where a size is not known; nothing when the rank is not.
  virtual std::optional<std::vector<int64_t>> dims(int input) const = 0;
  int rank(int input) const;  ///< -1 = not known
  virtual int64_t integer(const char* attribute, int64_t otherwise) const = 0;
  virtual float real(const char* attribute, float otherwise) const = 0;
  virtual std::string text(const char* attribute, std::string otherwise) const = 0;
  virtual std::vector<int64_t> integers(const char* attribute) const = 0;
  virtual std::vector<float> reals(const char* attribute) const = 0;
  virtual std::vector<std::string> texts(const char* attribute) const = 0;
  /// Nothing when the node has none, or a damaged one.
  virtual std::optional<AttributeTensor> tensor(const char* attribute) const = 0;
  /// True when the input is a constant of the graph.
  virtual bool is_constant(int input) const = 0;
  /// A new constant of these bytes (of the input: its own ones, seen as another type and shape), as a name for the text.
  virtual std::string constant(const char* name, int32_t dtype, std::vector<int64_t> dims, std::string bytes) = 0;
  virtual std::string strings(const char* name, std::vector<int64_t> dims, const std::vector<std::string>& texts) = 0;
  virtual std::string seen_as(const char* name, int input, int32_t dtype, std::vector<int64_t> dims) = 0;
  /// Bytes of a constant input; nothing when it is none, or damaged.
  virtual std::optional<std::string> bytes(int input) const = 0;

  /// The model lets products of the text round their first operand to 8 bits (OPTIMA_NODE_ROUNDS_TO_BYTES).
  virtual void allow_bytes() = 0;
  /// Logs a warning about the node.
  virtual void warn(const std::string& text) const = 0;
  /// Ends the import: what is wrong with the node, or what about it nobody restates; the text that the recipe returns then does not matter.
  std::string refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    return {};
  }
  const std::string& refusal() const { return refusal_; }

 private:
  std::string refusal_;
};

/// Whether Contributed::allow_bytes() left its note on the node, which becomes OPTIMA_NODE_ROUNDS_TO_BYTES.
bool rounds_to_bytes(const onnx::NodeProto& node);

/// What an operator is in ONNX nodes.
struct Recipe {
  const char* op;
  int required;   ///< inputs that must be there
  int64_t opset;  ///< the first of ai.onnx with all the words that text() uses
  /// "(A, B) => (C) { ... }" in ONNX's text form, by position of the operands; inner names are the recipe's own. An attribute "@name" is
  /// the node's and left out where the node has none. Empty: not yet (types may still be found), or not at all.
  std::string (*text)(Contributed& node);
};

/// The recipe of an operator of com.microsoft, and of one of ai.onnx.ml; null = nobody has one.
const Recipe* recipe_of(const std::string& op);
const Recipe* classical_recipe_of(const std::string& op);

/// Outputs of ZipMap, lists of one map per sample, become the tensor that it reads, with one warning. Moves into com.microsoft what ONNX Runtime
/// takes in ONNX's own domain although ONNX has no such operator there: what its optimizer writes, LayerNormalization before opset 17, and
/// experimental operators that ONNX dropped.
void adopt_contributed(onnx::ModelProto& model);

/// Restates every node of the domains, in bodies too, that has a recipe in the model's present opset of ai.onnx and whose operator is not among
/// options.kept_functions. A node that becomes one node keeps its name; those of one that becomes several are "NAME/add_1", and it goes to
/// `folded`. Types must have been inferred; those of new values are then inferred again. InvalidInput for a node with more operands
/// than its operator has, without one that it needs, or that its recipe refuses.
Status restate_contributed(onnx::ModelProto& model, const ImportOptions& options, std::vector<Blob>& moved, SourceNames& names, std::vector<Folded>& folded);

}  // namespace optima::onnx_io
