// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: copies whose length only the run may know: a call of memcpy costs more than a few elements.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

/// `bytes` in [N, 2 N]: two pieces, which may overlap.
template <int N>
INL void copy_twice(char* to, const char* from, idx bytes) {
  char first[N], last[N];
  __builtin_memcpy(first, from, N), __builtin_memcpy(last, from + bytes - N, N);
  __builtin_memcpy(to, first, N), __builtin_memcpy(to + bytes - N, last, N);
}

/// n elements; the two rows do not overlap.
template <class T>
INL void copy_row(T* to, const T* from, idx n) {
  char* t = (char*)to;
  const char* f = (const char*)from;
  const idx bytes = n * sizeof(T);
  if (bytes > 128) __builtin_memcpy(t, f, bytes);
  else if (bytes >= 64) copy_twice<64>(t, f, bytes);
  else if (bytes >= 32) copy_twice<32>(t, f, bytes);
  else if (bytes >= 16) copy_twice<16>(t, f, bytes);
  else if (bytes >= 8) copy_twice<8>(t, f, bytes);
  else if (bytes >= 4) copy_twice<4>(t, f, bytes);
  else if (bytes >= 2) copy_twice<2>(t, f, bytes);
  else if (bytes > 0) *t = *f;
}

}  // namespace k
