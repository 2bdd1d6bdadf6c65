// SPDX-License-Identifier: Apache-2.0
// tests/cli: the models of build/models (scripts/make_models.py) with the outputs that ONNX Runtime gave, and allocations that cut models up.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace optima::test {

/// Every NAME.onnx of build/models, sorted; empty when the folder is not there (the caller says that it skips).
std::vector<std::filesystem::path> zoo();

/// Compiles into FOLDER/out and gives the package's path, or nothing after a failed CHECK. `subgraphs` (may be null) gets their number.
std::string compile_zoo(const TempFolder& folder, const std::filesystem::path& model, std::vector<std::string> words, size_t* subgraphs = nullptr);

/// Runs a package on the inputs beside the model; every output must be within 1e-4 of its scale of ONNX Runtime's. Doctest CHECKs.
void check_package(const std::filesystem::path& model, const std::string& package);
/// The same, run by `program`: the words before "PACKAGE -o FOLDER --input ...", within `share` of each output's scale.
void check_package(const std::filesystem::path& model, const std::string& package, std::vector<std::string> program, double share = 1e-4);

/// A model of build/models/half, whose floats are f16 or bf16 between casts, and how far from f32 its answers may be, of their scale: the few last
/// bits of the type that rounding its input, the inputs of its products and its output leave open.
struct HalfModel {
  std::filesystem::path path;
  double share;
};
/// Sorted; empty when the folder is not there.
std::vector<HalfModel> half_zoo();

/// An allocation file that gives the k-th node, in the order of the model, the device `device_of(k)`; an empty one leaves it out.
std::string allocation_by_number(const TempFolder& folder, const std::filesystem::path& model, const std::function<std::string(size_t)>& device_of);

}  // namespace optima::test
