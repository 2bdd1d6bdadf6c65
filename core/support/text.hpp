// SPDX-License-Identifier: Apache-2.0
// core/support: words for messages: joining, quoting, nearest names, globs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace optima {

/// Everything streamed into one string: cat("found ", 3, " of ", name).
template <class... T>
std::string cat(const T&... parts);

/// "a, b, c".
std::string join(std::span<const std::string> parts, std::string_view separator = ", ");

/// The name in single quotes, control bytes and bytes that are not UTF-8 escaped (\xNN), cut after 200 bytes.
std::string quote(std::string_view name);

/// At most `limit` of `names`, nearest to `wanted` first (edit distance, then order), none farther than half its length.
std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names, size_t limit = 3);

/// " (nearest: 'a', 'b')", or empty when nothing is near. For the end of a message.
std::string nearest_hint(std::string_view wanted, std::span<const std::string> names);

/// `*` matches any run of characters ('/' too), `?` one character; nothing else is special. Linear in |pattern|*|text|.
bool glob_match(std::string_view pattern, std::string_view text);

/// "12 bytes", "3.4 KiB", "1.2 MiB", "5.0 GiB".
std::string human_bytes(uint64_t bytes);

/// "0.3 us", "12.3 us", "4.56 ms", "1.23 s".
std::string human_time(double microseconds);

namespace detail {
void append_to(std::string& out, std::string_view s);
void append_to(std::string& out, const char* s);
void append_to(std::string& out, char c);
void append_to(std::string& out, double d);
template <class T>
  requires std::is_integral_v<T>
void append_to(std::string& out, T n) { out += std::to_string(n); }
}  // namespace detail

template <class... T>
std::string cat(const T&... parts) {
  std::string out;
  (detail::append_to(out, parts), ...);
  return out;
}

/// Text of others for people: one line, control bytes and bytes that are no UTF-8 replaced, no full stop at the end.
std::string plain_line(std::string_view s);

}  // namespace optima
