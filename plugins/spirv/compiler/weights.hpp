// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: the weights of an artifact, kept where they were made until they are written: models have hundreds of megabytes of them.
#pragma once

#include <map>
#include <memory>

#include "optima/plugin/graph.hpp"
#include "optima/plugin/request.hpp"

namespace spirv_plugin {

namespace sdk = optima::sdk;

/// Bytes and whoever keeps them.
class Bytes {
 public:
  template <class T>
  explicit Bytes(std::vector<T> values) : Bytes(std::make_shared<const std::vector<T>>(std::move(values))) {}
  /// Of a constant, where they lie.
  template <class T>
  explicit Bytes(sdk::Elements<T> values) : Bytes(std::make_shared<const sdk::Elements<T>>(std::move(values))) {}
  std::string_view view() const { return {data_, size_}; }

 private:
  template <class All>
  explicit Bytes(std::shared_ptr<const All> all) : data_(reinterpret_cast<const char*>(all->data())), size_(all->size() * sizeof(*all->data())), keeper_(std::move(all)) {}
  const char* data_;
  size_t size_;
  std::shared_ptr<const void> keeper_;
};

/// The elements of a constant of floats of any type, without a copy where they are of 32 bits.
class Floats {
 public:
  explicit Floats(const sdk::Constant& constant);
  explicit Floats(std::shared_ptr<const std::vector<float>> values) : known_(std::move(values)), data_(known_->data()), size_(known_->size()) {}
  float operator[](size_t k) const { return data_[k]; }
  size_t size() const { return size_; }

 private:
  std::optional<sdk::Elements<float>> lying_;
  std::vector<float> converted_;
  std::shared_ptr<const std::vector<float>> known_;
  const float* data_;
  size_t size_;
};

/// The file of weights: pieces at multiples of kAlignment, zeros between; equal pieces are kept once.
class Weights {
 public:
  /// Where the piece lies in the file.
  uint64_t add(Bytes piece);
  uint64_t size() const { return size_; }
  /// Writes the file; its sum.
  uint64_t write(sdk::Sink::Stream file) const;

 private:
  struct Piece {
    uint64_t offset;
    Bytes bytes;
  };
  std::vector<Piece> pieces_;
  std::multimap<uint64_t, size_t> known_;  // pieces by sum
  uint64_t size_ = 0;
};

}  // namespace spirv_plugin
