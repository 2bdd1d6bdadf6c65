// SPDX-License-Identifier: Apache-2.0
// Real models as the tests of vendors' plugins compile, split and judge them, by the programs that users run.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

/// optima-host with these words; the case fails where it does.
Ran good(const std::vector<std::string>& words);

struct ModelFile {
  std::string name, path;
  std::string data;  ///< folder with input_NAME.npy and ONNX Runtime's output_NAME.npy; empty: the reference tells what is wanted
};

/// Digits, the face detector, and those of build/models (answered by ONNX Runtime when they were made) that are named: what is here of them.
std::vector<ModelFile> model_files(std::initializer_list<const char*> made);

/// A GRU over a sequence of 8, both ways, with a projection behind it, as ONNX text; weights of a small pattern.
std::string gru_model();

/// `compile` with these further words into `folder` of `f`: the package's path.
std::string compiled(const TempFolder& f, const ModelFile& m, const std::string& folder, std::vector<std::string> words);

/// The largest difference of any output, as a share of that output's scale.
double apart(const TempFolder& f, const ModelFile& m, const std::string& package);

/// Path of an allocation that puts as many of the operators of one kind on each device, in the model's order.
std::string in_parts(const TempFolder& f, const ModelFile& m, const std::string& op, const std::vector<std::string>& devices);

/// Splits of models over `device`, llvm_cpu and, where it is here, openvino, by name, a part of their convolutions each: every device has a subgraph, and no
/// output is further off than `most`, a share of its scale. Prints what each comes to.
void check_splits(const std::string& device, const std::vector<ModelFile>& models, double most);

/// Path of an allocation that puts the last `share` of all operators on one device and those before it on another.
std::string cut_before(const TempFolder& f, const ModelFile& m, double share, const std::string& before, const std::string& behind);

}  // namespace optima::test
