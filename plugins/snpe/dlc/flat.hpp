// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: tables of FlatBuffers, by field numbers and without a schema's code. Format: flatbuffers.dev, "FlatBuffer Internals". Every
// offset is checked before it is followed, and what is taken out is bounded by the size of what it is taken from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace snpe_plugin {

class FlatTable;

/// A buffer and how much may still be read of it: vectors whose entries all lead to one table would otherwise multiply. Outlives its tables.
class Flat {
 public:
  /// `name`: of the part, for messages. Throws CORRUPT when it has not this identifier ("NETD"; empty = it has none), as all of the readers
  /// below throw it.
  Flat(std::string_view bytes, std::string name, std::string_view identifier);
  FlatTable root() const;

 private:
  friend class FlatTable;
  [[noreturn]] void damaged(const char* what, uint64_t at) const;
  template <class T>
  T get(uint64_t at) const;
  /// Where the offset at `at` leads.
  uint64_t follow(uint64_t at) const;
  void spend(uint64_t bytes, uint64_t at) const;

  std::string_view bytes_;
  std::string name_;
  mutable uint64_t left_;
};

class FlatTable {
 public:
  FlatTable(const Flat& flat, uint64_t at);
  int32_t number(uint32_t field, int32_t otherwise) const;
  uint8_t byte(uint32_t field, uint8_t otherwise) const;
  float real(uint32_t field, float otherwise) const;
  std::string text(uint32_t field) const;  ///< empty when it has none
  std::vector<std::string> texts(uint32_t field) const;
  std::vector<int64_t> sizes(uint32_t field) const;  ///< a vector of uint32
  std::optional<FlatTable> table(uint32_t field) const;
  std::vector<FlatTable> tables(uint32_t field) const;

 private:
  struct Elements {
    uint64_t at = 0, count = 0;
  };
  /// Zero when the table has no such field.
  uint64_t place(uint32_t field) const;
  Elements elements(uint32_t field) const;
  std::string text_at(uint64_t at) const;

  const Flat* flat_;
  uint64_t at_, fields_;
  uint32_t count_;
};

}  // namespace snpe_plugin
