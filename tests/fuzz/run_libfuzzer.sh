#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image fuzzer with clang and libFuzzer and runs it from the seeds; prints SKIP with the reason where it cannot.
# Usage: run_libfuzzer.sh SOURCE_FOLDER SEED_PROGRAM CLANGXX INPUTS
set -euo pipefail
source=$1 seeds=$2 clang=$3 inputs=$4
[ -x "$clang" ] || { echo "SKIP: clang++-19 is not installed"; exit 0; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  "$clang" -x c++ -fsanitize=fuzzer - -o "$work/probe" 2>/dev/null; then
  echo "SKIP: libFuzzer is not installed (libclang-rt-19-dev)"; exit 0
fi
"$clang" -std=c++17 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I "$source" -I "$source/sdk/include" \
  "$source/tests/fuzz/image_libfuzzer.cpp" -o "$work/fuzz"
mkdir "$work/corpus"
"$seeds" --seeds "$work/corpus"
cd "$work"
./fuzz -seed=1 -runs="$inputs" -max_len=8192 -print_final_stats=1 corpus >log 2>&1 || { tail -40 log; exit 1; }
grep -E 'number_of_executed_units|ERROR|SUMMARY' log
