// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: starting threads where the system may refuse them. Both halves of the plugin use it.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace optima::llvm_cpu {

/// Makes one thread that runs `body`; throws std::system_error when there is none to be had. Tests give their own.
using Spawn = std::function<std::thread(std::function<void()> body)>;

/// Up to `count` threads, the k-th of which runs body(k), from 1 on. Fewer when the system gives no more: the caller works too, so
/// that costs time only. The threads must be joined.
std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body, const Spawn& spawn = {});

}  // namespace optima::llvm_cpu
