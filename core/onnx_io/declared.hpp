// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the shapes that a file declares, and how far they are believed. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/support/status.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// A dim's name that says only that its size is not known: "?", "None", "unknown", "-1", blanks, or "unk__12" as the ONNX library and
/// tf2onnx number them; case does not matter. Two dims of such a name have nothing to do with each other. Any other name is the model's word.
bool is_anonymous(std::string_view name);

/// Dims with such names have none from here on, everywhere in the graph.
void forget_anonymous_dims(onnx::GraphProto& graph);

/// "[batch,4,?]".
std::string dims_text(const onnx::TensorShapeProto& shape);

/// Both shapes cannot be those of one value: another rank, or another size of a dim.
bool contradict(const onnx::TensorShapeProto& a, const onnx::TensorShapeProto& b);

/// "value 'x' is declared [3], but is [2,3]".
std::string stale_text(const std::string& name, const onnx::TensorShapeProto& declared, const onnx::TensorShapeProto& found);

/// One line of the log about such values; none of them: nothing.
void warn_of_stale(const std::vector<std::string>& stale);

enum class Belief { Kept, KeptWithNames, Forgotten };

/// What the file declares of shapes in the main graph that inference has not confirmed.
struct Claims {
  std::unordered_map<std::string, onnx::TensorShapeProto> shapes;  ///< by value
  bool believed = false;                                           ///< types of the model stand on some, in bodies too
};

/// Infers types in place, leniently, as if the file declared shapes of its inputs alone. What it declares of other values is then
/// looked at (Kept): it fills in what is not known otherwise, and where it contradicts what was inferred it is dropped with a warning,
/// as ONNX Runtime does (value_info, outputs, bodies; what is stale in one dim is dropped as a whole). Element types are always kept.
/// Sizes below zero are no sizes. A dim takes the name that is inferred, else the one declared unless a size of an input has it (KeptWithNames:
/// then too, for what the user may still say of it). What was filled in goes to `claims`.
Status infer_over_declared(onnx::ModelProto& model, Belief belief, Claims& claims);
/// The same once more, after a rewriting: what the model says then came of the first.
inline Status infer_over_declared(onnx::ModelProto& model, Belief belief) {
  Claims known;
  return infer_over_declared(model, belief, known);
}

/// Takes back what infer_over_declared() filled in, but behind operators that the library does not know or infer: a claim serves to restate operators and
/// is no size to make a buffer of. Exporters write down the sizes of the one run that they traced.
Status forget_claims(onnx::ModelProto& model, const Claims& claims);

/// A warning where what is known at the end is not what the file claims.
void warn_of_claims(const Claims& claims, const Graph& graph);

/// The last inference: a contradiction is InvalidInput, unless it goes away without what is still declared: then that is
/// dropped, with a warning.
Status infer_at_last(onnx::ModelProto& model);

}  // namespace optima::onnx_io
