// SPDX-License-Identifier: Apache-2.0
// core/samples: names of files: their order and their endings. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"

namespace optima::samples {

/// Runs of digits by their number, all else by bytes; names that are the same so far by bytes: "img2", "img010", "img10".
bool before(std::string_view a, std::string_view b);

/// What a file is, by its ending.
enum class FileKind { Npy, Npz, Picture, Raw };
FileKind kind_of(std::string_view path);

/// Files and folders right below, sorted; hidden ones left out, others than regular files and folders too. InvalidInput.
struct Listing {
  std::vector<std::string> files, folders;  ///< names without the path
};
Result<Listing> list_folder(const std::string& path);

/// Pictures below, however deep, as paths relative to it, sorted. Symbolic links to folders are not followed. InvalidInput.
Result<std::vector<std::string>> list_pictures(const std::string& path);

}  // namespace optima::samples
