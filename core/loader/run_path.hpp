// SPDX-License-Identifier: Apache-2.0
// core/loader: where the dynamic loader looks for what a library needs, to say so when it is not there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace optima {

/// Folders of the run path (DT_RUNPATH, else DT_RPATH) of a little-endian 64-bit ELF file, in order, $ORIGIN being `origin`. Empty
/// when there is none. Every offset comes from the file and is checked before it is followed; what is damaged is left out.
std::vector<std::string> run_path(std::span<const std::byte> file, std::string_view origin);

}  // namespace optima
