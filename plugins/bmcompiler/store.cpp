// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include "files.hpp"
#include "optima/plugin/fixed.hpp"
#include "optima/plugin/meta_keys.hpp"

namespace bmcompiler_plugin {
namespace {

Port port_of(const sdk::Value& v, const std::string& what, std::string_view batch) {
  sdk::require_fixed(v, what, batch);
  Port p;
  p.name = v.name(), p.dtype = v.dtype(), p.dims = v.shape();
  return p;
}

/// How far answers may lie from exact ones: 11 and 8 bits of mantissa, whose errors add up over layers, and codes of 8 bits.
const char* tolerance_of(const std::string& mode) { return mode == "F16" ? "0.01" : mode == "BF16" || mode == "INT8" ? "0.05" : nullptr; }

}  // namespace

Meta ports_of(const sdk::Graph& graph, std::string_view batch) {
  Meta meta;
  for (uint32_t k = 0; k < graph.input_count(); ++k) meta.inputs.push_back(port_of(graph.input(k), "input", batch));
  for (uint32_t k = 0; k < graph.output_count(); ++k) meta.outputs.push_back(port_of(graph.output(k), "output", batch));
  return meta;
}

void Store::add(const std::string& suffix, std::string_view file) {
  const std::string bytes = bytes_of(task_.path(file));
  sink_.file(stem_ + suffix, bytes);
  record_.files.push_back(sdk::record_bytes("*" + suffix, bytes));
}

void Store::finish(const Meta& meta) {
  write_file(task_.path("meta"), meta.write());
  add(".meta", "meta");
  record_.chip = meta.chip, record_.mode = meta.mode, record_.tools = meta.tools;
  if (const char* tolerance = tolerance_of(meta.mode)) sink_.meta(sdk::kMetaTolerance, tolerance);
  sink_.format(kFormat);
  sink_.compat(record_.write(), meta.chip + " " + meta.mode + " by " + meta.tools);
}

}  // namespace bmcompiler_plugin
