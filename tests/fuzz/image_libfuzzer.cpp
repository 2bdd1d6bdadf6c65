// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: the image verifier under libFuzzer.
#include "tests/fuzz/image_walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  optima::image::accepted(data, size);
  return 0;
}
