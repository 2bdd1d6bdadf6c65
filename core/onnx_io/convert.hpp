// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the import recipe on the library's model: inference, functions, opset. Private to the room.
#pragma once

#include "core/onnx_io/onnx_io.hpp"
#include "core/onnx_io/structure.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

inline constexpr int64_t kCanonicalOpset = 21, kOldestOpset = 7;

/// The first IR version that may import an opset of ai.onnx.
int64_t ir_of_opset(int64_t opset);
/// Version of a domain the model imports ("" = ai.onnx); 0 when it does not.
int64_t opset_of(const onnx::ModelProto& model, const std::string& domain);

/// Spells ai.onnx as "" everywhere, leaves out types that values declare otherwise than the graph's inputs and outputs of their names, and settles what is imported: the last of several,
/// the newest of a domain that is used without being imported, both with a warning. Refuses opset versions outside what we read; an IR version that is newer is a warning.
Status check_versions(onnx::ModelProto& model);
/// Every node against its operator's schema at the model's opsets; foreign domains and local functions pass.
Status check_schemas(const onnx::ModelProto& model);
/// Infers types in place. Strict: a contradiction is InvalidInput, and a warning where all are in branches of Ifs, which may never be
/// taken; else what fails stays unknown.
enum class Strictness { Lenient, Strict };
Status infer_shapes(onnx::ModelProto& model, Strictness strictness);
/// Local functions become nodes of the graph, except the kept ones; their call nodes go to `folded`.
Status inline_functions(onnx::ModelProto& model, const ImportOptions& options, SourceNames& names, std::vector<Folded>& folded);
/// Up to opset 21, faults of the converter mended. A newer model stays as it is.
Status raise_opset(onnx::ModelProto& model);
/// The library's last word. Moved tensors become empty placeholders, so the model is spent afterwards.
Status final_check(onnx::ModelProto& model);

}  // namespace optima::onnx_io
