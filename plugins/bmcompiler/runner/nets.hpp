// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: what libbmrt and libtpuv7_modelrt tell of a model's networks, as sophgo/libsophon's bmruntime_interface.h and
// tpuv7_modelrt.h lay it out; of the former only its beginning, which has stayed as it is. The libraries own all that is pointed to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine.hpp"

namespace runner {

struct Shape {
  int rank;
  int dims[8];
};
/// What it was compiled for once; memories are on the device.
struct Stage {
  Shape *inputs, *outputs;
  void *input_memories, *output_memories;
};

/// libbmrt's bm_net_info_t.
struct BmrtNet {
  const char* name;
  bool is_dynamic;
  int input_count;
  const char** input_names;
  int* input_types;
  float* input_scales;
  int output_count;
  const char** output_names;
  int* output_types;
  float* output_scales;
  int stage_count;
  Stage* stages;
  size_t *most_input_bytes, *most_output_bytes;
};

inline Ports ports_of(int count, const char* const* names, const int* types) {
  Ports p;
  for (int k = 0; k < count; ++k) p.names.emplace_back(names[k]), p.types.push_back(types[k]);
  return p;
}

inline std::vector<int64_t> dims_of(const Shape& s) { return {s.dims, s.dims + s.rank}; }

/// Failure "invalid" for more dims than there can be.
inline Shape shape_of(const std::vector<int64_t>& dims) {
  Shape s{};
  if (dims.size() > 8) throw Failure{"invalid", "a tensor has " + std::to_string(dims.size()) + " dims, wanted at most 8"};
  for (const int64_t d : dims) s.dims[s.rank++] = static_cast<int>(d);
  return s;
}

inline std::vector<Shapes> shapes_of(const Stage* stages, int count, int inputs, int outputs) {
  std::vector<Shapes> all(static_cast<size_t>(count));
  for (int s = 0; s < count; ++s) {
    for (int k = 0; k < inputs; ++k) all[static_cast<size_t>(s)].inputs.push_back(dims_of(stages[s].inputs[k]));
    for (int k = 0; k < outputs; ++k) all[static_cast<size_t>(s)].outputs.push_back(dims_of(stages[s].outputs[k]));
  }
  return all;
}

}  // namespace runner
