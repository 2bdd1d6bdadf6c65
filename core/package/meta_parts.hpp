// SPDX-License-Identifier: Apache-2.0
// core/package: parts of model.meta that the main graph and bodies share. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/package/package.hpp"
#include "core/support/json.hpp"

namespace optima::detail {

constexpr uint64_t kLargestFile = uint64_t{1} << 46;  // 64 TiB: no file system we know holds more in one file

bool is_sha256(std::string_view s);
/// A member that is 64 lower-case hexadecimal digits.
Result<std::string> read_sha(const JsonReader& r, std::string_view key);
/// A member that names a type.
Result<int32_t> read_dtype(const JsonReader& r);
/// Member `tensors`, in byte order of the names.
Result<std::vector<PackageTensor>> read_tensors(const JsonReader& r);
/// Member `pass_through`; weights must be the package's.
Result<std::vector<PassThrough>> read_pass_through(const JsonReader& r, const Package& package);
/// Member `flow`: the nodes, each with the inputs, outputs and bodies that its operator wants.
Result<std::vector<FlowNode>> read_flow(const JsonReader& r, const Package& package);
/// Every tensor that goes through the door of a body has one type: declared on both sides, it is the same. What goes through in slices
/// has elements of whole bytes.
Status check_flow_types(const std::vector<PackageTensor>& around, const FlowNode& node, const FlowBody& body);
/// Every tensor is declared, written once, and written before it is read; every output is there in the end; every subgraph is
/// of the main graph or of one body, in the order of docs/package-format.md.
Status check_flow(const PackageVariant& variant, size_t first_index, const Package& package, const std::string& place);

}  // namespace optima::detail
