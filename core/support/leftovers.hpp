// SPDX-License-Identifier: Apache-2.0
// core/support: what a process has on disk that must not outlive it, so that a process that ends inside a signal handler can remove it too.
#pragma once

#include <string_view>
#include <utility>

namespace optima {

/// A path that goes with the process, for as long as the object lives; the owner removes it in all other cases. Remembered only in a
/// process that called keep_leftovers(): what is remembered is never freed, for a handler may be reading it. Move-only.
class Leftover {
 public:
  enum class Kind { File, EmptyFolder, Tree };
  Leftover() = default;
  Leftover(Kind kind, std::string_view path);
  Leftover(Leftover&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  Leftover& operator=(Leftover&& other) noexcept {
    if (this != &other) forget();
    entry_ = std::exchange(other.entry_, nullptr);
    return *this;
  }
  ~Leftover() { forget(); }
  void forget();

  struct Entry;

 private:
  Entry* entry_ = nullptr;
};

/// From now on leftovers are remembered. For the beginning of main().
void keep_leftovers();

/// Removes what is remembered, the newest first; symbolic links are not followed. Async-signal-safe; for one thread, and the process ends
/// after it: other threads may still write, so what they add meanwhile is removed too, as far as a bounded number of tries goes.
void remove_leftovers();

}  // namespace optima
