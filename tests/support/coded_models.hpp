// SPDX-License-Identifier: Apache-2.0
// Data that models in codes are made from, and how near their packages come to the float model, by the programs that users run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace optima::test {

using Numbers = std::vector<float>;

/// Sums of twelve even numbers, the same everywhere.
Numbers normal(size_t count, uint32_t seed, double deviation = 1);

/// A folder of samples, and one more that no range comes from.
struct Data {
  std::string samples, judge;
};
/// Samples of normal numbers.
Data normal_data(const TempFolder& f, const std::vector<int64_t>& dims, uint32_t samples = 32);
/// Windows of the group photo at several sizes, as the face detector takes them: (x - 127) / 128.
Data face_data(const TempFolder& f);

/// How near two models, packages or folders of answers are, of the output where they are least.
struct Nearness {
  double cosine = 1, snr_db = 200;  ///< 200: equal
};
Nearness nearness(const std::string& a, const std::string& b, const std::string& input = "");
/// Least cosine of the outputs against those of the float model.
double cosine(const std::string& model, const std::string& package, const std::string& input);
/// The face detector in this package sees nine faces in the group photo.
void finds_nine(const std::string& package);

}  // namespace optima::test
