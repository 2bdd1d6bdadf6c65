// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: loads a shared object of linked.cpp and prints what its kernel gives; compiled for AArch64 too, and run there under qemu.
#include <dlfcn.h>

#include <cstdio>
#include <vector>

int main(int, char** words) {
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto kernel = reinterpret_cast<void (*)(const long long*, long long*)>(dlsym(library, "kernel"));
  if (!kernel) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  for (long long which = 0; which < 8; ++which) {
    const long long in[8] = {which, 1000003 * which - 4000, which * 8, 40, 50, 60, 70, 80};
    std::vector<long long> out(24, -1);
    kernel(in, out.data());
    for (const long long x : out) std::printf("%lld ", x);
    std::printf("\n");
  }
  return 0;
}
