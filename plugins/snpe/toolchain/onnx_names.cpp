// SPDX-License-Identifier: Apache-2.0
#include "toolchain/onnx_names.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "optima/plugin/folder.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;

[[noreturn]] void no_model() { throw sdk::Error(OPTIMA_CORRUPT, "no ONNX model: its fields end beyond its bytes"); }

/// One field of a message after the other (protobuf.dev, "Encoding").
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    number = tag >> 3;
    switch (tag & 7) {
      case 0: integer = varint(); break;
      case 1: take(8); break;
      case 2: bytes = take(varint()); break;
      case 5: take(4); break;
      default: no_model();
    }
    return true;
  }
  uint64_t number = 0, integer = 0;
  std::string_view bytes;

 private:
  uint64_t varint() {
    uint64_t out = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(take(1)[0]);
      out |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return out;
    }
    no_model();
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) no_model();
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view rest_;
};

// Field numbers: onnx/onnx.proto3.
OnnxNames::Node node_of(std::string_view bytes) {
  OnnxNames::Node out;
  for (Fields f(bytes); f.next();) {
    if (f.number == 2 && !f.bytes.empty()) out.outputs.emplace_back(f.bytes);
    if (f.number == 3) out.name = f.bytes;
    if (f.number == 4) out.op = f.bytes;
  }
  return out;
}

int64_t dim_of(std::string_view bytes) {
  for (Fields f(bytes); f.next();)
    if (f.number == 1) return static_cast<int64_t>(f.integer);
  return -1;
}

void read_tensor_type(std::string_view bytes, OnnxNames::Port& out) {
  for (Fields f(bytes); f.next();) {
    if (f.number == 1) out.dtype = static_cast<int32_t>(f.integer);
    if (f.number != 2) continue;
    for (Fields shape(f.bytes); shape.next();)
      if (shape.number == 1) out.dims.push_back(dim_of(shape.bytes));
  }
}

OnnxNames::Port port_of(std::string_view bytes) {
  OnnxNames::Port out;
  for (Fields f(bytes); f.next();) {
    if (f.number == 1) out.name = f.bytes;
    if (f.number != 2) continue;
    for (Fields type(f.bytes); type.next();)
      if (type.number == 1) read_tensor_type(type.bytes, out);
  }
  return out;
}

std::string initializer_name(std::string_view bytes) {
  for (Fields f(bytes); f.next();)
    if (f.number == 8) return std::string(f.bytes);
  return {};
}

}  // namespace

OnnxNames read_onnx_names(const std::string& path) {
  const std::string all = sdk::bytes_of(path);
  OnnxNames out;
  std::set<std::string> initializers;
  for (Fields model(all); model.next();) {
    if (model.number != 7) continue;
    for (Fields graph(model.bytes); graph.next();) {
      if (graph.number == 1) out.nodes.push_back(node_of(graph.bytes));
      if (graph.number == 5) initializers.insert(initializer_name(graph.bytes));
      if (graph.number == 11) out.inputs.push_back(port_of(graph.bytes));
      if (graph.number == 12) out.outputs.push_back(port_of(graph.bytes));
    }
  }
  std::erase_if(out.inputs, [&](const OnnxNames::Port& p) { return initializers.contains(p.name); });
  return out;
}

}  // namespace snpe_plugin
