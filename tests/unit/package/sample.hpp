// SPDX-License-Identifier: Apache-2.0
// tests/unit/package: a small package of two subgraphs, one weight and a passed-through output.
#pragma once

#include <doctest/doctest.h>

#include "core/package/reader.hpp"
#include "core/package/writer.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

inline PackageTensor tensor(std::string name, std::vector<int64_t> shape, std::string attr) {
  PackageTensor t;
  t.name = std::move(name);
  t.dtype = OPTIMA_F32;
  t.shape = std::move(shape);
  t.symbols.resize(t.shape.size());
  t.attr = std::move(attr);
  return t;
}

inline PackageSubgraph subgraph(uint32_t index, std::string input, std::string output) {
  PackageSubgraph s;
  s.index = index;
  s.device = index ? "REF:0" : "X64:0";
  s.plugin = "fake";
  s.plugin_version = "1.2";
  s.plugin_build = "b7";
  s.target = {index ? "REF" : "X64", 0, {{"cpu", "znver4"}}, 1 << 20};
  s.format_id = "fake/1";
  s.stem = "subgraph_" + std::to_string(index);
  s.files = {{s.stem + ".meta", "", 0}, {"kernels/a.so", "", 0}};
  s.inputs = {std::move(input)};
  s.outputs = {std::move(output)};
  s.compat_record = {std::byte{0}, std::byte{0xAB}, std::byte{0xff}};
  s.compat_text = "any x86-64";
  s.meta = {{"kernels", "1"}};
  return s;
}

inline const std::string kWeightBytes(1000, 'w');

/// Writes the sample through the writer, without commit.
inline Package fill(PackageWriter& writer) {
  Package p;
  p.model_name = "m";
  p.model_hash = std::string(64, 'a');
  p.inputs = {"in"};
  p.outputs = {"out", "in"};
  p.tensors = {tensor("out", {1, 10}, "output"), tensor("in", {1, 3, -1}, "input"), tensor("cut", {4}, "intermediate")};
  p.tensors[1].symbols[2] = "width";
  p.options = {{"fake.level", "3"}};
  p.tools = {{"optima", "0.1.0"}};
  PackageVariant v;
  v.subgraphs = {subgraph(0, "in", "cut"), subgraph(1, "cut", "out")};
  v.pass_through = {{"in", "in", ""}};
  for (PackageSubgraph& s : v.subgraphs) {
    const auto folder = writer.subgraph_folder(s.index);
    REQUIRE(folder.ok());
    put(*folder + "/" + s.files[0].name, "plan " + std::to_string(s.index));
    put(*folder + "/kernels/a.so", "code");
    const auto sha = writer.add_weight(Blob::copy(kWeightBytes.data(), kWeightBytes.size()));
    REQUIRE(sha.ok());
    s.weights = {{"w", *sha}};
  }
  p.variants = {v};
  REQUIRE(writer.add_file("placement.json", "{}\n").ok());
  REQUIRE(writer.add_file("self_test/input_0.npy", "bytes").ok());
  return p;
}

/// The sample at `out`/m.
inline Package write_sample(const std::string& out, bool replace = false) {
  auto writer = PackageWriter::create({out, "m", replace});
  REQUIRE_MESSAGE(writer.ok(), writer.status().message());
  auto package = writer->commit(fill(*writer));
  REQUIRE_MESSAGE(package.ok(), package.status().message());
  return *package;
}

}  // namespace optima::test
