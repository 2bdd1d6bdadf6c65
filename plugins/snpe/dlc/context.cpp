// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <cstring>

#include "flat.hpp"
#include "optima/plugin/error.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr size_t kHead = 40;
constexpr std::string_view kBegin("\0\0\0\2\0\0\0\3", 8);

// Field numbers. What is there in several versions is a table of version, version again and the thing itself.
constexpr uint32_t kVersioned = 2, kRoot = 0;
constexpr uint32_t kBuild = 1, kGraphs = 10, kSoc = 16;
constexpr uint32_t kGraphInfo = 0, kGraphName = 0, kInputs = 2, kOutputs = 4;
constexpr uint32_t kRole = 1, kType = 3, kDims = 7, kName = 9;

[[noreturn]] void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, "Hexagon context " + what); }

uint64_t u64(std::string_view file, size_t at) {
  uint64_t n;
  std::memcpy(&n, file.data() + at, sizeof n);
  return n;
}

FlatTable part(const FlatTable& of, uint32_t field) {
  const std::optional<FlatTable> found = of.table(field);
  if (!found) corrupt("has a head of another form");
  return *found;
}

DlcGraph read_graph(const FlatTable& versioned) {
  const FlatTable g = part(part(versioned, kVersioned), kGraphInfo), info = part(g, kGraphInfo);
  DlcGraph out;
  out.name = info.text(kGraphName);
  for (const uint32_t side : {kInputs, kOutputs})
    for (const FlatTable& t : info.tables(side)) out.tensors.push_back({t.text(kName), t.number(kType, 0), t.number(kRole, 0), t.sizes(kDims), {}});
  return out;
}

}  // namespace

bool is_context(std::string_view file) { return file.substr(0, kBegin.size()) == kBegin; }

HexagonContext read_context(std::string_view file) {
  if (!is_context(file) || file.size() < kHead) corrupt("is none, or of another version than is read here");
  const uint64_t head = u64(file, 16), code = u64(file, 24), code_size = u64(file, 32);
  if (head > file.size() - kHead) corrupt("is cut off in its head");
  if (code > file.size() || code_size > file.size() - code)
    corrupt("has " + std::to_string(file.size()) + " bytes, wanted " + std::to_string(code_size) + " from byte " + std::to_string(code));
  HexagonContext out;
  out.size = file.size(), out.code_size = code_size;
  const Flat flat(file.substr(kHead, head), "head", "");
  const FlatTable info = part(part(flat.root(), kRoot), kVersioned);
  out.build = info.text(kBuild);
  out.soc_model = info.number(kSoc, 0);
  for (const FlatTable& g : info.tables(kGraphs)) out.graphs.push_back(read_graph(g));
  return out;
}

}  // namespace snpe_plugin
