// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/bmodel: what is in a .bmodel: a header of 64 bytes, a FlatBuffer, and blobs. Everything read here is hostile. Layout:
// sophgo/libsophon, tpu-bmodel (bmodel.hpp, model.fbs); bmodel.fbs beside this file has the fields that are looked at, by their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bmcompiler_plugin {

struct Tensor {
  std::string name;
  int32_t dtype;               ///< OPTIMA_*, UNDEFINED for a number that is not known
  std::vector<int64_t> dims;
  float scale = 1;             ///< of codes
  int32_t zero_point = 0;
};
/// One shape that a network was compiled for.
struct NetStage {
  std::vector<Tensor> inputs, outputs;
  bool is_dynamic = false;
  uint64_t weights = 0, working = 0;  ///< bytes on the device
};
struct Net {
  std::string name;
  std::vector<NetStage> stages;
};
struct Bmodel {
  std::string version, chip;   ///< "BM1684X"
  std::string time;
  std::vector<Net> nets;
};

/// Throws CORRUPT, saying what was found and wanted: magic, sizes of the header, verified FlatBuffer, blobs inside the file.
Bmodel read_bmodel(std::string_view bytes);
/// Throws CORRUPT unless a .cvimodel file's header is whole and for this chip ("cv183x"): magic "CviModel", size of its table, chip at 30.
void require_cvimodel(std::string_view bytes, std::string_view chip);
/// The text of a JSON object for `inspect`.
std::string describe(const Bmodel& model);

}  // namespace bmcompiler_plugin
