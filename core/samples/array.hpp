// SPDX-License-Identifier: Apache-2.0
// core/samples: arrays in .npy and .npz files, described without reading their data. Private to the room.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/support/blob.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/zip.hpp"

namespace optima::samples {

/// An array in a file. Immutable: any thread; what has to be unpacked or checked is so once, on first use, and then stays.
class Array {
 public:
  /// With `texts` the file has texts, and the array has their codes: those are read at once. InvalidInput naming the file.
  static Result<std::unique_ptr<Array>> open_npy(const std::string& path, const TextTable* texts);
  /// The array of that name; else the only one of the file when `only`; else "arr_<index>", as NumPy calls arrays without names. InvalidInput with
  /// the names that there are.
  static Result<std::unique_ptr<Array>> open_npz(const std::string& path, const std::string& name, size_t index, bool only, const TextTable* texts);

  const NpyHeader& header() const { return header_; }
  Result<Tensor> read() const;
  Result<Tensor> read_row(uint64_t row) const;

 private:
  Status read_header();
  Status read_texts(const TextTable& texts);
  Status check_length() const;
  Result<std::span<const std::byte>> bytes() const;

  Blob file_;
  ZipMember member_;  // of a .npy the file itself, stored, without a checksum
  bool is_member_ = false;
  std::string what_;
  NpyHeader header_;
  std::optional<Tensor> codes_;  // of texts
  mutable std::once_flag once_;
  mutable Status unpacked_;
  mutable std::vector<std::byte> room_;
  mutable std::span<const std::byte> bytes_;
};

}  // namespace optima::samples
