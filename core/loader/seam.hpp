// SPDX-License-Identifier: Apache-2.0
// core/loader: small words of the seam: strings, sized structs, statuses, calls that may throw although they must not.
#pragma once

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/loader/calls.hpp"
#include "core/support/output.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima::seam {

inline optima_str str(std::string_view s) { return {s.data(), s.size()}; }

/// The bytes as a plugin gave them, at most `limit`; a null pointer with a size counts as empty.
std::string raw_text(optima_str s, size_t limit = 4096);
/// The same for people: one line, control bytes and bytes that are no UTF-8 replaced, no full stop at the end, secrets hidden.
std::string text(optima_str s, size_t limit = 4096);

/// Largest struct_size that is believed; a table beyond it is damage, not a newer version.
constexpr uint32_t kLargestStruct = 1 << 16;

/// A sized struct as this host knows it: what was not sent is zero, what is not known is dropped.
template <class T>
T known(const T* from) {
  T to{};
  if (from) std::memcpy(&to, from, std::min<size_t>(from->struct_size, sizeof(T)));
  to.struct_size = sizeof(T);
  return to;
}

/// Whether a plugin's struct can be read at all: a size up to its member `last` and not absurd.
template <class T>
bool sane(const T* from, size_t at_least) {
  return from && from->struct_size >= at_least && from->struct_size <= kLargestStruct;
}

/// The status handed to one call, with the text the plugin sets. Not movable: the plugin holds its address.
class CallStatus {
 public:
  CallStatus() { reset(); }
  CallStatus(const CallStatus&) = delete;
  CallStatus& operator=(const CallStatus&) = delete;

  /// Ready for the next call; keeps its memory.
  void reset();
  optima_status* raw() { return &raw_; }
  uint32_t node() const { return raw_.node; }
  bool fatal() const { return raw_.flags & OPTIMA_STATUS_FATAL; }
  std::string text() const;
  /// "plugin 'x': compile: text", of the kind that belongs to the code.
  Status as_status(std::string_view plugin, std::string_view call, int32_t code) const;

 private:
  static void set_text(void* self, optima_str text);
  optima_status raw_;
  mutable std::mutex mutex_;  // a plugin may set the text from any thread
  std::string text_;
};

/// The one mapping of seam codes to kinds of failure.
StatusKind kind_of(int32_t code);
/// "DEPENDENCY", ...; "INTERNAL" for what is not known.
std::string_view code_name(int32_t code);
/// Codes that are not known read as INTERNAL.
int32_t known_code(int32_t code);

/// A host callback's failure, told to the plugin: code and text into the plugin's status, which several of its threads may share. Null =
/// nobody to tell. Gives the code.
int32_t fail(optima_status* status, int32_t code, std::string_view text);

/// Logs that the plugin broke the contract.
void misbehaves(std::string_view plugin, std::string_view what);

/// Calls into a plugin. Nothing may be thrown across the seam; when it is, it becomes INTERNAL with the text in `status`.
void record_exception(std::string_view plugin, std::string_view call, CallStatus& status);
template <class F>
int32_t call(std::string_view plugin, std::string_view what, CallStatus& status, F&& function) {
  const InCall inside(plugin, what);
  try {
    return known_code(std::forward<F>(function)());
  } catch (...) {
    record_exception(plugin, what, status);
    return OPTIMA_INTERNAL;
  }
}

/// A call that ends something and gives no code: what it throws fails the program at its end, since there is nobody else to tell.
template <class F>
void call_end(std::string_view plugin, std::string_view what, F&& function) {
  CallStatus status;
  const int32_t code = call(plugin, what, status, [&] { return function(), OPTIMA_OK; });
  if (code != OPTIMA_OK) fail_at_end(status.as_status(plugin, what, code));
}

/// A callback's body: what the host throws must not reach the plugin either.
template <class F>
int32_t guarded(F&& body) noexcept {
  try {
    return std::forward<F>(body)();
  } catch (...) {
    return OPTIMA_MEMORY;  // the host's callbacks throw std::bad_alloc only
  }
}

/// What the callback of one call collects. Host callbacks are [any], so one comes in at a time.
template <class T>
class Collected {
 public:
  /// A callback's body, f(what is collected so far); `self` is what the plugin was given as host_data.
  template <class F>
  static int32_t add(void* self, F&& f) noexcept {
    return guarded([&]() -> int32_t {
      auto& all = *static_cast<Collected*>(self);
      const std::lock_guard lock(all.mutex_);
      return std::forward<F>(f)(all.value_);
    });
  }
  /// After the call.
  T take() {
    const std::lock_guard lock(mutex_);
    return std::move(value_);
  }

  Collected() = default;
  explicit Collected(T start) : value_(std::move(start)) {}
  Collected(const Collected&) = delete;
  Collected& operator=(const Collected&) = delete;

 private:
  std::mutex mutex_;
  T value_{};
};

}  // namespace optima::seam
