// SPDX-License-Identifier: Apache-2.0
// core/loader: reads the capability note of an ELF file without loading it. Bytes are hostile. Knows nothing of its content.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima {

/// What an ELF file says of itself, from its program headers alone.
struct ElfNote {
  uint16_t machine = 0;       ///< e_machine
  bool wide = true;           ///< 64-bit
  bool shared_library = true; ///< ET_DYN
  bool has_note = false;
  std::string manifest;       ///< the note's bytes
};

/// Finds the note of owner "Optima", type 1, in PT_NOTE segments of a little-endian ELF file of any machine and width.
/// Never reads section headers. Fails with InvalidInput: no ELF file, big-endian, truncated or damaged (every segment must
/// lie within the file, because the loader would touch it), a note of more than 1 MiB.
Result<ElfNote> read_elf_note(std::span<const std::byte> file);

/// "x86-64", "AArch64", ... or "machine 12".
std::string machine_name(uint16_t machine);

/// e_machine of this program.
uint16_t own_machine();

}  // namespace optima
