// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: the weights of an artifact, kept where they were made until they are written: models have hundreds of megabytes of them.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>

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

/// The file of weights: pieces at multiples of kAlignment, zeros between; equal pieces are kept once. Pieces are made when the file is written, while
/// those before them go to disk: where they lie is known behind that. One thread, but for what makes pieces.
class Weights {
 public:
  using Maker = std::function<Bytes()>;
  /// A piece of so many bytes: its number. `make` is called by any thread, while what it reads is still there, and gives the same each time: a piece is
  /// gone once it is written, and made again where another has the same sum.
  size_t add(uint64_t bytes, Maker make);
  /// Bytes of the file if no two pieces are equal.
  uint64_t most() const { return most_; }
  /// Makes the pieces, with `threads` threads beside this one, and writes the file; its sum. Throws what a maker threw, the first of them.
  uint64_t write(sdk::Sink::Stream file, unsigned threads);
  /// Bytes of the file, once it is written.
  uint64_t size() const { return size_; }
  /// Where a piece lies in the file, once it is written.
  uint64_t offset(size_t piece) const { return pieces_[piece].offset; }

 private:
  struct Piece {
    Maker make;
    uint64_t offset = 0;
    std::optional<Bytes> bytes{};
    uint64_t sum = 0;
    std::exception_ptr error{};
    bool is_ready = false;
  };
  struct Turn;
  static void make(Piece& piece, Turn& turn);
  Piece& ready(size_t piece, Turn& turn);
  bool is_new(size_t piece);

  std::vector<Piece> pieces_;
  std::multimap<uint64_t, size_t> known_;  // pieces of the file by sum
  uint64_t most_ = 0, size_ = 0;
};

}  // namespace spirv_plugin
