// SPDX-License-Identifier: Apache-2.0
// core/support: the one error type of the host and the runtime. Knows no graph, plugin or file format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace optima {

/// The closed set of failures. Each has one exit code: exit_code().
enum class StatusKind {
  Ok,
  Usage,         ///< a command line that makes no sense
  InvalidInput,  ///< model, JSON, YAML, tensor, package or plugin folder: wrong, missing or too new
  Placement,     ///< no legal placement: a pin was refused, a required device not honoured, an operator unclaimed
  Plugin,        ///< a plugin or its toolchain failed or is absent
  Io,            ///< disk full, permission denied, and the like
  Mismatch,      ///< a comparison out of tolerance
  Cancelled,     ///< interrupted by the user
  Timeout,       ///< a bounded wait ran out
  Internal,      ///< a bug of ours
};

/// The process exit code of a failure: 0, 2, 3, 4, 5, 5, 6, 130, 1, 1 in the order above.
int exit_code(StatusKind kind);

/// Success, or a kind and one sentence: thing, found, wanted; lower-case, no full stop. Value type, any thread.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  bool ok() const { return kind_ == StatusKind::Ok; }
  StatusKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  /// The same failure with one phrase in front ("phrase: message"); success stays success.
  Status within(std::string_view phrase) const;

 private:
  StatusKind kind_ = StatusKind::Ok;
  std::string message_;
};

inline Status usage_error(std::string m) { return {StatusKind::Usage, std::move(m)}; }
inline Status invalid_input(std::string m) { return {StatusKind::InvalidInput, std::move(m)}; }
inline Status placement_error(std::string m) { return {StatusKind::Placement, std::move(m)}; }
inline Status plugin_error(std::string m) { return {StatusKind::Plugin, std::move(m)}; }
inline Status io_error(std::string m) { return {StatusKind::Io, std::move(m)}; }
inline Status internal_error(std::string m) { return {StatusKind::Internal, std::move(m)}; }
inline Status cancelled() { return {StatusKind::Cancelled, "interrupted"}; }

/// A value or the Status that says why there is none. Never holds a Status that is ok.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : data_(std::in_place_index<1>, std::move(status)) {}   // NOLINT: implicit on purpose

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<0>(data_); }
  const T& operator*() const { return std::get<0>(data_); }
  T* operator->() { return &std::get<0>(data_); }
  const T* operator->() const { return &std::get<0>(data_); }
  /// The failure; a success gives an ok Status.
  Status status() const { return ok() ? Status() : std::get<1>(data_); }

 private:
  std::variant<T, Status> data_;
};

}  // namespace optima

/// Leaves the function with the Status of `expr` when it failed.
#define OPTIMA_RETURN_IF_ERROR(expr)                                   \
  do {                                                                 \
    if (::optima::Status optima_status_ = (expr); !optima_status_.ok()) \
      return optima_status_;                                           \
  } while (0)

#define OPTIMA_CONCAT_(a, b) a##b
#define OPTIMA_CONCAT(a, b) OPTIMA_CONCAT_(a, b)
/// `OPTIMA_ASSIGN(auto x, f());`: x becomes the value of a Result, or the function is left with its Status.
#define OPTIMA_ASSIGN(lhs, expr) OPTIMA_ASSIGN_(OPTIMA_CONCAT(optima_result_, __LINE__), lhs, expr)
#define OPTIMA_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                   \
  if (!tmp.ok()) return tmp.status();  \
  lhs = std::move(*tmp)
