// SPDX-License-Identifier: Apache-2.0
// Operators one by one in one model, codes in and codes out: how many of a package's codes differ from the reference's, and by how many steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace optima::test {

/// A '$' is the unit's number: X and Z are codes that come in, Y those that go out.
struct CodedUnit {
  const char* what;
  std::vector<int64_t> dims;  ///< of X, and of Z
  const char* text;
};
std::span<const CodedUnit> coded_units();
bool has_second(const CodedUnit& u);

/// What may differ of a unit's codes.
struct CodeBound {
  double steps, share;
};
/// The file of the model of all units, and codes for its inputs as words NAME=FILE.
struct CodedModel {
  std::string file;
  std::vector<std::string> inputs;
};
CodedModel coded_model_of_units(const TempFolder& f);
/// Compares a package of the model with the reference, within the bounds by unit, and prints the table under `title`.
void check_coded_units(const CodedModel& model, const std::string& package, const std::string& title, std::span<const CodeBound> bounds);

}  // namespace optima::test
