#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The seam's headers compile as C11, C17, C++17 and C++20 with every compiler present, without implicit padding, and every
# offset is the recorded one; so does the C++ author layer. Usage: check_header.sh SOURCE_FOLDER
set -euo pipefail
here=$1/tests/unit/sdk
include=$1/sdk/include
warn="-Wall -Wextra -Wpedantic -Werror -Wpadded -Wconversion"
ran=0 skipped=0

compile() {  # language, compiler and flags...
  local lang=$1; shift
  if ! command -v "$1" >/dev/null; then echo "SKIP: $*: not installed"; skipped=$((skipped + 1)); return; fi
  "$@" -x "$lang" $warn -I "$include" -fsyntax-only "$here/abi_layout.h" || { echo "FAILED: $*"; exit 1; }
  echo "ok   $*"; ran=$((ran + 1))
}
for std in c11 c17; do
  for cc in gcc clang-19 aarch64-linux-gnu-gcc; do compile c $cc -std=$std; done
  compile c clang-19 --target=riscv64-linux-gnu -ffreestanding -std=$std
done
for std in c++17 c++20; do
  for cxx in g++ clang++-19 aarch64-linux-gnu-g++; do compile c++ $cxx -std=$std; done
done

# The author layer is C++17, and clean where it is newer.
for std in c++17 c++20; do
  for cxx in g++ clang++-19 aarch64-linux-gnu-g++; do
    command -v $cxx >/dev/null || { echo "SKIP: author layer with $cxx: not installed"; skipped=$((skipped + 1)); continue; }
    printf '#include "optima/%s"\n' plugin/plugin.hpp plugin/manifest_writer.hpp plugin/spawn.hpp plugin/talk.hpp plugin/cut.hpp plugin/float_graph.hpp plugin/folder.hpp plugin/checksum.hpp plugin/sha256.hpp plugin/meta_keys.hpp \
      plugin/record.hpp plugin/meta_json.hpp plugin/bounds.hpp plugin/task.hpp plugin/fixed.hpp plugin/reads.hpp plugin/repack.hpp plugin/fits.hpp plugin/nearest.hpp plugin/words.hpp image.hpp |
      $cxx -std=$std -Wall -Wextra -Wpedantic -Werror -Wconversion -Wshadow -I "$include" -x c++ -fsyntax-only - || { echo "FAILED: author layer with $cxx -std=$std"; exit 1; }
    echo "ok   author layer with $cxx -std=$std"; ran=$((ran + 1))
  done
done

# A member newer than the author's target cannot be named, and the layout does not depend on the target.
for cc in gcc clang-19; do
  command -v $cc >/dev/null || { echo "SKIP: target minor with $cc: not installed"; skipped=$((skipped + 1)); continue; }
  since="$cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I $include -fsyntax-only $here/since_test.c"
  $since -DOPTIMA_TARGET_MINOR=1
  $since -DOPTIMA_TARGET_MINOR=2 -DUSE_NEW
  if $since -DOPTIMA_TARGET_MINOR=1 -DUSE_NEW 2>/dev/null; then echo "FAILED: $cc lets a newer member be named"; exit 1; fi
  echo "ok   target minor with $cc"; ran=$((ran + 1))
done
echo "$ran checks passed, $skipped skipped"
[ $ran -gt 0 ]
