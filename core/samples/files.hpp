// SPDX-License-Identifier: Apache-2.0
// core/samples: samples of which every input is a file, or an array of one. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/samples/names.hpp"
#include "core/samples/source.hpp"

namespace optima::samples {

/// One sample: what it is called, and a path for each input.
struct FileSample {
  std::string name;
  std::vector<std::string> paths;
};

/// The first ones, as many as are wanted.
SourcePtr samples_of_files(std::string form, std::vector<FileSample> samples, const Wanted& wanted);

}  // namespace optima::samples
