// SPDX-License-Identifier: Apache-2.0
// One ONNX node test as scripts/generate_node_tests.py wrote it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/reference.hpp"

namespace optima::test {

struct DataSet {
  std::vector<reference::Tensor> inputs, outputs;
};

struct NodeCase {
  std::string name;
  std::filesystem::path folder;
  double rtol = 0, atol = 0;
  std::string not_tensors;  ///< why the data is no list of tensors, one for each input and output; empty when it is
  bool in_lists = false;    ///< it is, once a sequence is its tensors and an optional none or one
  std::map<std::string, int64_t> counts;  ///< how many tensors such an input has, as ImportOptions::dims wants it
  std::vector<DataSet> sets;
};

/// All cases below `folder`, by name.
std::vector<std::filesystem::path> case_folders(const std::filesystem::path& folder);
NodeCase read_case(const std::filesystem::path& folder);

/// Empty when `got` is `wanted` within the case's tolerance; else the first difference. Floats of 16 bits may be two units in
/// the last place apart: graphs made from functions round after each node, the expected values once. The rest is exact. Of random
/// numbers only type and shape can be compared.
std::string difference(const reference::Tensor& got, const reference::Tensor& wanted, const NodeCase& c);

/// Cases whose answers are random numbers: no two runs have the same.
inline bool is_random(const std::string& name) {
  return name.rfind("test_bernoulli", 0) == 0 || (name.rfind("test_training_dropout", 0) == 0 && name.find("zero_ratio") == std::string::npos);
}

}  // namespace optima::test
