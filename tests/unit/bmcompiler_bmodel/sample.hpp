// SPDX-License-Identifier: Apache-2.0
// tests: the bytes of a bmodel, of which parts can be made wrong.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bmodel_generated.h"
#include "optima/plugin/error.hpp"

namespace optima::test {

namespace file = bmcompiler_plugin::file;

struct BmodelSample {
  std::vector<std::vector<uint64_t>> batches{{1, 3, 8, 8}, {4, 3, 8, 8}};  ///< shape of input x by stage
  uint32_t type = 0;
  uint64_t weights_start = 0, weights_size = 128;
  uint64_t commands_start = 128, commands_size = 64;
  uint64_t blobs = 256;      ///< bytes behind the table
  int nets = 1;
  bool has_shape = true;
  std::string chip = "BM1684X";

  std::string bytes() const {
    flatbuffers::FlatBufferBuilder b;
    std::vector<flatbuffers::Offset<file::Net>> all;
    for (int n = 0; n < nets; ++n) all.push_back(net(b, "net" + std::to_string(n)));
    b.Finish(file::CreateModelDirect(b, "B", "2.2+v1.30.2", "Tue Jan  1 00:00:00 1980\n", chip.c_str(), &all, 0, 1));
    std::string out(64, '\0');
    put<uint32_t>(out, 0, 0xFF55AAEE);
    put<uint32_t>(out, 4, 64);
    put<uint32_t>(out, 8, b.GetSize());
    put<uint64_t>(out, 12, blobs);
    out.append(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
    return out.append(blobs, '\1');
  }

  template <class T>
  static void put(std::string& bytes, size_t at, T v) {
    std::memcpy(bytes.data() + at, &v, sizeof v);
  }

 private:
  flatbuffers::Offset<file::Tensor> tensor(flatbuffers::FlatBufferBuilder& b, const char* name, const std::vector<uint64_t>& dims) const {
    const std::vector<flatbuffers::Offset<file::Shape>> shapes{file::CreateShapeDirect(b, &dims)};
    return file::CreateTensorDirect(b, name, type, has_shape ? &shapes : nullptr, 0.5f, 3);
  }
  flatbuffers::Offset<file::Net> net(flatbuffers::FlatBufferBuilder& b, const std::string& name) const {
    std::vector<flatbuffers::Offset<file::NetParameter>> stages;
    for (const std::vector<uint64_t>& dims : batches) {
      const std::vector<flatbuffers::Offset<file::Tensor>> in{tensor(b, "x", dims)}, out{tensor(b, "y", {dims[0], 10})};
      const file::Binary weights(weights_start, weights_size), commands(commands_start, commands_size);
      const auto coeff = file::CreateCoeffMem(b, &weights);
      const std::vector<flatbuffers::Offset<file::CmdGroup>> groups{file::CreateCmdGroup(b, &commands, nullptr)};
      const std::vector<flatbuffers::Offset<file::SubNet>> subs{file::CreateSubNetDirect(b, &groups)};
      const std::vector<uint64_t> working{100, 23};
      stages.push_back(file::CreateNetParameterDirect(b, &in, &out, 7, coeff, 0, nullptr, nullptr, &subs, &working));
    }
    return file::CreateNetDirect(b, name.c_str(), &stages);
  }
};

}  // namespace optima::test
