// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: what link_test.cpp links, compiled by clang for each architecture as kernels are: constants of several sizes, a jump table, calls
// of an own function and of the process's.
using Int = long long;
using Ints = Int __attribute__((vector_size(32)));
extern "C" void* memcpy(void*, const void*, unsigned long);
extern "C" void* memset(void*, int, unsigned long);

namespace {
struct Large {
  Int squares[1300];
};
constexpr Large large() {
  Large out{};
  for (Int i = 0; i < 1300; ++i) out.squares[i] = i * i;
  return out;
}
constexpr Large kLarge = large();  // more than a page, so that what follows lies on another
const Int kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};

__attribute__((noinline)) Int chosen(Int which, Int x) {
  switch (which) {
    case 0: return x * 3;
    case 1: return x / 7;
    case 2: return x ^ 0x5a5a;
    case 3: return -x;
    case 4: return x * x;
    case 5: return x >> 3;
    case 6: return x % 11;
    default: return 0;
  }
}
}  // namespace

/// in: which, x, bytes to copy (up to 64), 5 more; out: 4 results, 4 of a vector, 8 copied, 8 filled.
extern "C" void kernel(const Int* in, Int* out) {
  out[0] = chosen(in[0], in[1]);
  out[1] = kTable[in[0] & 7] + kLarge.squares[in[0] * 180];
  out[2] = static_cast<Int>(static_cast<double>(in[1]) * 0.3333333333333333);
  out[3] = static_cast<Int>(static_cast<float>(in[1]) * 1.7182818f);
  Ints v;
  __builtin_memcpy(&v, in, sizeof v);
  v = v * Ints{2, 3, 5, 7} + Ints{11, 13, 17, 19};
  __builtin_memcpy(out + 4, &v, sizeof v);
  memset(out + 16, 0x11, static_cast<unsigned long>(in[2]));
  memcpy(out + 8, in, static_cast<unsigned long>(in[2]));
}
