// SPDX-License-Identifier: Apache-2.0
// core/loader: rule T of the seam for one plugin file: [setup] calls one at a time, beside all others. Knows no plugin.
#pragma once

#include <mutex>

namespace optima {

/// Whose turn it is to set up, and which calls a thread is inside. Only setting up waits, and only for another that sets up.
class Gate {
 public:
  /// One call, to the end of the scope. Calls nest, as when a plugin signals a fence and so brings its caller back. Costs two words of the
  /// thread and waits for nobody.
  class Pass {
   public:
    explicit Pass(const Gate& gate) : gate_(gate), outer_(innermost) { innermost = this; }
    ~Pass() { innermost = outer_; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    friend class Gate;
    const Gate& gate_;
    const Pass* const outer_;
  };

  /// One call that sets up, to the end of the scope. Not by a thread for which is_held_here(): it may be setting up itself, or hold what the
  /// plugin wants for it.
  class Setup {
   public:
    explicit Setup(Gate& gate) : pass_(gate), turn_(gate.setup_) {}
    Setup(const Setup&) = delete;
    Setup& operator=(const Setup&) = delete;

   private:
    const Pass pass_;
    const std::lock_guard<std::mutex> turn_;
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Whether this thread is inside this gate; inside any.
  bool is_held_here() const {
    for (const Pass* p = innermost; p; p = p->outer_)
      if (&p->gate_ == this) return true;
    return false;
  }
  static bool is_any_held_here() { return innermost; }

 private:
  inline static constinit thread_local const Pass* innermost = nullptr;  // of what this thread is inside
  std::mutex setup_;
};

}  // namespace optima
