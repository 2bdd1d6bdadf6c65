// SPDX-License-Identifier: Apache-2.0
// core/loader: static checks of one file, in the order in which a person would want to hear of them.
#include "core/loader/plugin_file.hpp"

#include <sys/stat.h>

#include "core/loader/elf_note.hpp"
#include "core/loader/negotiate.hpp"
#include "core/loader/parse_manifest.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

Status right_machine(const ElfNote& note) {
  if (note.machine == own_machine() && note.wide) return {};
  if (!note.wide) return plugin_error(cat("is built for 32-bit ", machine_name(note.machine), ", this program loads 64-bit ", machine_name(own_machine())));
  return plugin_error(cat("is built for ", machine_name(note.machine), ", this program runs on ", machine_name(own_machine())));
}

// A plugin without sanitizer runs in any host; one with it needs its runtime in the program.
Status right_sanitizer(const Manifest& m) {
  if (m.sanitizer == "none" || m.sanitizer == own_sanitizer()) return {};
  return plugin_error(cat("is built with the ", m.sanitizer, " sanitizer, this program with ", own_sanitizer()));
}

const char* kind_of_file(uint32_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Status is_regular_file(const FileStamp& stamp) {
  return S_ISREG(stamp.mode) ? Status() : plugin_error(cat("is ", kind_of_file(stamp.mode), ", wanted a regular file"));
}

Status read_plugin_file(const std::string& path, Manifest& manifest) {
  OPTIMA_ASSIGN(const Blob file, map_file(path));
  auto note = read_elf_note({file.data, file.size});
  if (!note.ok()) return {StatusKind::Plugin, note.status().message()};
  if (!note->shared_library) return plugin_error("is an ELF file but no shared library");
  if (!note->has_note) {
    OPTIMA_RETURN_IF_ERROR(right_machine(*note));
    return plugin_error("is a shared library but no Optima plugin: it has no Optima note");
  }
  auto parsed = parse_manifest(note->manifest, "manifest");
  if (!parsed.ok()) return plugin_error(parsed.status().message());
  manifest = std::move(*parsed);
  OPTIMA_RETURN_IF_ERROR(right_machine(*note));
  OPTIMA_RETURN_IF_ERROR(abi_served(manifest, served_majors()));
  return right_sanitizer(manifest);
}

}  // namespace optima
