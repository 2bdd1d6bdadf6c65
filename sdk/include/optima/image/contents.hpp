// SPDX-License-Identifier: Apache-2.0
// optima/image/contents.hpp: a graph as plain data, and the aligned bytes of an image. Knows abi.h alone.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optima/abi.h"

// Indices of values are local to their graph; bodies are indices into Contents::graphs.
namespace optima::image {

struct Dim {
  int64_t value = -1;
  std::string symbol{};
};

struct Value {
  std::string name{};
  int32_t dtype = OPTIMA_UNDEFINED;
  std::optional<std::vector<Dim>> dims{};  ///< nullopt = unranked
  uint32_t constant = OPTIMA_NONE;
  uint32_t kind = OPTIMA_KIND_TENSOR;
};

/// Only the member that `type` uses is read.
struct Attr {
  std::string name{};
  int32_t type = OPTIMA_ATTR_INT;
  uint32_t flags = 0;
  int64_t i = 0;
  double f = 0;
  std::string s{};
  std::vector<int64_t> ints{};
  std::vector<double> floats{};
  std::vector<std::string> strings{};
  std::vector<uint32_t> refs{};  ///< TENSOR(S): constants, GRAPH(S): bodies
};

struct Node {
  std::string name{}, op_type{}, domain{};
  uint32_t id = 0;
  int32_t since_version = 1;
  std::vector<uint32_t> inputs{}, outputs{};
  std::vector<Attr> attrs{};
  uint32_t flags = 0;  ///< OPTIMA_NODE_*
};

/// A value of the owner's graph that a body reads, and what it is called inside.
struct Capture {
  uint32_t outer, inner;
};

struct Graph {
  std::string name{};
  std::vector<Value> values{};
  std::vector<Node> nodes{};
  std::vector<uint32_t> inputs{}, outputs{};
  std::vector<Capture> captures{};
};

struct Constant {
  int32_t dtype = OPTIMA_F32;
  std::vector<int64_t> dims{};
  uint32_t blob = 0;
};

struct Contents {
  std::vector<Graph> graphs{};  ///< a body comes after the graph its node is in
  std::vector<Constant> constants{};
  std::vector<std::pair<std::string, int64_t>> opsets{};
};

/// 64-byte aligned bytes of exactly `size`, not set to anything.
class Bytes {
 public:
  explicit Bytes(uint64_t size) : data_(static_cast<uint8_t*>(::operator new(size, std::align_val_t{64}))), size_(size) {}
  uint8_t* data() const { return data_.get(); }
  uint64_t size() const { return size_; }
  const optima_image* image() const { return reinterpret_cast<const optima_image*>(data_.get()); }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<uint8_t[], Free> data_;
  uint64_t size_;
};

}  // namespace optima::image
