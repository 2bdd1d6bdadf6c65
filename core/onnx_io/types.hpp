// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: types of the ONNX library <-> types of our values. Private to the room.
#pragma once

#include <string>

#include "core/graph/graph.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// Sets kind, dtype and dims; what the type does not say becomes unknown. Sequences and the like give their innermost tensor.
void set_type(image::Value& value, const onnx::TypeProto& type);
/// The inverse, as far as a Value keeps what a type says: sequences and optionals are taken to be of tensors. An unset
/// TypeProto for maps and when nothing is known.
onnx::TypeProto to_type(const image::Value& value);
/// What `found` knows better goes into `value`; on a contradiction nothing does, and InvalidInput says both.
Status refine(image::Value& value, const image::Value& found);
/// The same, but dims that contradict are those of `found` from then on, with a warning of the log. True when some did.
Result<bool> correct(image::Value& value, const image::Value& found);
/// "seq(tensor(float))".
std::string type_attribute(const onnx::TypeProto& type);

}  // namespace optima::onnx_io
