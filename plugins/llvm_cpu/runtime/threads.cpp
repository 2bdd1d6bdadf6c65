// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see threads.hpp.
#include "plugins/llvm_cpu/runtime/threads.hpp"

#include <new>
#include <system_error>

namespace optima::llvm_cpu {

std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body, const Spawn& spawn) {
  std::vector<std::thread> out;
  try {
    if (count > 0) out.reserve(static_cast<size_t>(count));  // so that no thread is lost to a failing push
    for (int k = 1; k <= count; ++k) {
      std::function<void()> one = [body, k] { body(k); };
      out.push_back(spawn ? spawn(std::move(one)) : std::thread(std::move(one)));
    }
  } catch (const std::system_error&) {  // a limit of the user, of the container or of memory
  } catch (const std::bad_alloc&) {
  }
  return out;
}

}  // namespace optima::llvm_cpu
