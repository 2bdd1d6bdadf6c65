// SPDX-License-Identifier: Apache-2.0
// tests/unit/runtime: a package of copies over plugins/null, as that plugin would have compiled it: a real .so at run time.
#pragma once

#include <doctest/doctest.h>

#include <cstring>

#include "core/package/writer.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

/// The artifact of plugins/null: magic, type, rank, eight dims, lengths of both names, both names.
inline std::string null_artifact(int32_t dtype, const std::vector<int64_t>& shape, const std::string& in, const std::string& out) {
  std::string file = "NullCopy";
  const auto add = [&](const auto& value) { file.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(dtype);
  add(static_cast<int32_t>(shape.size()));
  for (size_t i = 0; i < 8; ++i) add(i < shape.size() ? shape[i] : int64_t{0});
  add(static_cast<uint32_t>(in.size()));
  add(static_cast<uint32_t>(out.size()));
  return file + in + out;
}

/// in -> t1 -> t2 -> … -> out, `steps` subgraphs, written to `folder`/chain.
inline void write_null_chain(const std::string& folder, size_t steps, std::vector<int64_t> shape) {
  auto writer = PackageWriter::create({folder, "chain"});
  REQUIRE(writer.ok());
  Package p;
  p.model_name = "chain";
  p.model_hash = std::string(64, 'c');
  p.inputs = {"in"};
  p.outputs = {"out"};
  p.variants.resize(1);
  std::string last = "in";
  for (size_t i = 0; i <= steps; ++i) {
    PackageTensor t;
    t.name = i == 0 ? "in" : i == steps ? "out" : "t" + std::to_string(i);
    t.dtype = OPTIMA_F32;
    t.shape = shape;
    t.attr = i == 0 ? "input" : i == steps ? "output" : "intermediate";
    p.tensors.push_back(t);
    if (i == 0) continue;
    PackageSubgraph s;
    s.index = static_cast<uint32_t>(i - 1);
    s.device = "NULL:0";
    s.plugin = "null";
    s.target.kind = "NULL";
    s.format_id = "null.copy/1";
    s.stem = "subgraph_" + std::to_string(s.index);
    s.files = {{s.stem + ".bin", "", 0}};
    s.inputs = {last};
    s.outputs = {t.name};
    s.compat_record = {std::byte{'1'}};
    put(*writer->subgraph_folder(s.index) + "/" + s.files[0].name, null_artifact(OPTIMA_F32, shape, last, t.name));
    p.variants[0].subgraphs.push_back(std::move(s));
    last = t.name;
  }
  const auto written = writer->commit(std::move(p));
  REQUIRE_MESSAGE(written.ok(), written.status().message());
}

}  // namespace optima::test
