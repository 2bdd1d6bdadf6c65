// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/edit.hpp"

#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr int kQuantizeVersions[] = {21, 23, 24, 25, 28};

}  // namespace

Editor::Editor(Graph& graph) : graph_(graph) {
  for (const image::Value& v : graph.main().values) values_.insert(v.name);
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& n : g.nodes) nodes_.insert(n.name);
  for (const Folded& f : graph.folded) nodes_.insert(f.name);
  for (const auto& [domain, version] : graph.contents.opsets)
    for (const int since : kQuantizeVersions)
      if (domain.empty() && version >= since) quantize_version_ = since;
}

std::string Editor::fresh(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string free = name;
  for (int n = 2; !taken.insert(free).second; ++n) free = cat(name, '_', n);
  return free;
}

uint32_t Editor::value(const std::string& name, int32_t dtype, std::optional<std::vector<image::Dim>> dims) {
  image::Value made;
  made.name = fresh(name, values_);
  made.dtype = dtype;
  made.dims = std::move(dims);
  graph_.main().values.push_back(std::move(made));
  return static_cast<uint32_t>(graph_.main().values.size()) - 1;
}

void Editor::rename(uint32_t value, const std::string& name) { graph_.main().values[value].name = fresh(name, values_); }

uint32_t Editor::constant(const std::string& name, int32_t dtype, std::vector<int64_t> dims, const void* data, uint64_t size) {
  const uint32_t made = value(name, dtype, fixed_dims(dims));
  graph_.main().values[made].constant = static_cast<uint32_t>(graph_.contents.constants.size());
  graph_.contents.constants.push_back({dtype, std::move(dims), static_cast<uint32_t>(graph_.blobs.size())});
  graph_.blobs.push_back(Blob::copy(data, size));
  return made;
}

uint32_t Editor::floats(const std::string& name, std::vector<int64_t> dims, std::span<const float> numbers) {
  return constant(name, OPTIMA_F32, std::move(dims), numbers.data(), numbers.size_bytes());
}

uint32_t Editor::integers(const std::string& name, std::vector<int64_t> dims, std::span<const int64_t> numbers) {
  return constant(name, OPTIMA_I64, std::move(dims), numbers.data(), numbers.size_bytes());
}

uint32_t Editor::codes(const std::string& name, int32_t dtype, std::vector<int64_t> dims, std::span<const int32_t> numbers) {
  const uint64_t bits = optima_dtype_bits(dtype);
  std::vector<uint8_t> bytes((numbers.size() * bits + 7) / 8);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto code = static_cast<uint32_t>(numbers[i]);
    if (bits == 4) bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | (code & 15) << (i % 2 * 4));
    for (uint64_t b = 0; b < bits / 8; ++b) bytes[i * (bits / 8) + b] = static_cast<uint8_t>(code >> (8 * b));
  }
  return constant(name, dtype, std::move(dims), bytes.data(), bytes.size());
}

void Editor::replace_floats(uint32_t v, std::span<const float> numbers) {
  image::Value& value = graph_.main().values[v];
  image::Constant changed = graph_.contents.constants[value.constant];
  changed.blob = static_cast<uint32_t>(graph_.blobs.size());
  graph_.blobs.push_back(Blob::copy(numbers.data(), numbers.size_bytes()));
  value.constant = static_cast<uint32_t>(graph_.contents.constants.size());
  graph_.contents.constants.push_back(std::move(changed));
}

image::Node Editor::node(const std::string& name, const std::string& op, int version, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  image::Node made;
  made.name = fresh(name, nodes_);
  made.op_type = op;
  made.id = static_cast<uint32_t>(graph_.origins.size());
  made.since_version = version;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  graph_.origins.push_back({made.name, version});
  return made;
}

std::optional<std::vector<image::Dim>> fixed_dims(std::span<const int64_t> dims) {
  std::vector<image::Dim> out;
  for (int64_t d : dims) out.push_back({d, ""});
  return out;
}

}  // namespace optima::detail
