// SPDX-License-Identifier: Apache-2.0
// tests/unit/samples: small data of every kind.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/samples/samples.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/zip.hpp"

namespace optima::test {

inline TensorInfo input(std::string name, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32, std::vector<std::string> symbols = {}) {
  return {std::move(name), dtype, std::move(shape), std::move(symbols), false};
}

/// float32 that count up from `first`.
inline Tensor ramp(std::vector<int64_t> shape, float first = 0) {
  Tensor t = *Tensor::make(OPTIMA_F32, std::move(shape));
  for (float& f : t.as<float>()) f = first++;
  return t;
}
inline std::string npy(std::vector<int64_t> shape, float first = 0) { return write_npy(ramp(std::move(shape), first)); }

/// float32 without a header.
inline std::string raw(const std::vector<float>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}; }

/// An uncompressed TGA of one colour.
inline std::string tga(int width, int height, int red) {
  std::string out("\0\0\2\0\0\0\0\0\0\0\0\0", 12);
  for (const int n : {width, height}) out += static_cast<char>(n), out += static_cast<char>(n >> 8);
  out += std::string("\x18\x20", 2);  // 24 bits, rows from the top
  for (int i = 0; i < width * height; ++i) out += std::string("\0\0", 2) + static_cast<char>(red);
  return out;
}

/// Names of all samples, with what their first inputs begin with.
inline std::string summary(const Samples& samples) {
  std::string out = samples.form() + ":";
  for (uint64_t s = 0; s < samples.count(); ++s) {
    const Result<std::vector<Tensor>> read = samples.read(s);
    if (!read.ok()) return read.status().message();
    out += " " + samples.name(s);
    for (const Tensor& t : *read) out += "|" + std::to_string(static_cast<int>(element_as_double(t, 0)));
  }
  return out;
}

/// summary(), or why there is none.
inline std::string opened(const std::string& path, const std::vector<TensorInfo>& inputs, const SampleOptions& options = {}) {
  const Result<Samples> samples = Samples::open(path, inputs, options);
  return samples.ok() ? summary(*samples) : samples.status().message();
}

}  // namespace optima::test
