// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/plan: writing and reading .meta files: little-endian fields, strings and lists with a u32 count in front. Both classes have the same
// functions, so that the list of a file's fields is written once.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {

[[noreturn]] inline void corrupt_plan(const std::string& why) { throw sdk::Error(OPTIMA_CORRUPT, "plan: " + why); }

class Writer {
 public:
  template <class T>
  void number(const T& v) {
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void text(const std::string& s) {
    number(static_cast<uint32_t>(s.size()));
    bytes += s;
  }
  template <class T, class F>
  void list(const std::vector<T>& items, F f) {
    number(static_cast<uint32_t>(items.size()));
    for (const T& item : items) f(item);
  }
  std::string bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  void number(T& v) {
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
  }
  void text(std::string& s) {
    uint32_t size = 0;
    number(size);
    s = std::string(take(size));
  }
  template <class T, class F>
  void list(std::vector<T>& items, F f) {
    uint32_t size = 0;
    number(size);
    if (size > rest_.size()) corrupt_plan("a list of " + std::to_string(size) + " items in " + std::to_string(rest_.size()) + " bytes");
    items.resize(size);
    for (T& item : items) f(item);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) corrupt_plan("ends too early");
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view rest_;
};

}  // namespace optima::llvm_cpu
