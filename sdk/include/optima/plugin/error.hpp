// SPDX-License-Identifier: Apache-2.0
// optima/plugin/error.hpp: strings, spans, sized structs, and how a thrown thing becomes a status. Knows abi.h alone.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "optima/abi.h"

namespace optima::sdk {
inline namespace v0_1 {

/// The bytes of a seam string; lives as long as they do.
inline std::string_view view(optima_str s) { return s.size ? std::string_view(s.data, s.size) : std::string_view(); }
inline optima_str str(std::string_view s) { return {s.data(), s.size()}; }

/// Contiguous elements that somebody else owns. C++17 has none.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T* data() const { return data_; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// A sized struct as this header knows it: what the other side did not send is zero, what we do not know is dropped.
template <class T>
T known(const T* from) {
  T to{};
  if (from) std::memcpy(&to, from, from->struct_size < sizeof(T) ? from->struct_size : sizeof(T));
  to.struct_size = sizeof(T);
  return to;
}

/// An array of sized structs, copied by known(): one shape for older, equal and newer senders.
template <class T>
std::vector<T> list(const T* first, uint32_t count) {
  std::vector<T> out;
  out.reserve(count);
  for (uint32_t i = 0; i < count; ++i, first = OPTIMA_NEXT(T, first)) out.push_back(known(first));
  return out;
}

/// What an author throws. `text`: thing, found, wanted; lower-case, one line, no full stop.
struct Error : std::exception {
  int32_t code;             ///< OPTIMA_*; OPTIMA_OK becomes INTERNAL
  uint32_t node;            ///< node id the failure is about, or OPTIMA_NONE
  std::string text;
  int64_t vendor_code = 0;  ///< exit status or error number of a vendor tool
  uint32_t flags = 0;       ///< OPTIMA_STATUS_*
  Error(int32_t c, std::string t, uint32_t n = OPTIMA_NONE) : code(c), node(n), text(std::move(t)) {}
  const char* what() const noexcept override { return text.c_str(); }
};

/// Hands a host callback's refusal on; the host knows its own text already.
inline void ok(int32_t code) {
  if (code != OPTIMA_OK) throw Error(code, "");
}

/// Fills a status and returns the code, for `return set(status, ...)` in C-style functions.
inline int32_t set(optima_status* status, int32_t code, std::string_view text, uint32_t node = OPTIMA_NONE, int64_t vendor = 0,
                   uint32_t flags = 0) noexcept {
  status->code = code;
  status->node = node;
  status->vendor_code = vendor;
  status->flags = flags;
  if (!text.empty()) status->set_text(status->host_data, str(text));
  return code;
}

/// Runs `body`; whatever it throws becomes a status. Nothing passes this function.
template <class F>
int32_t guard(optima_status* status, F&& body) noexcept {
  try {
    body();
    return OPTIMA_OK;
  } catch (const Error& e) {
    return set(status, e.code == OPTIMA_OK ? int32_t{OPTIMA_INTERNAL} : e.code, e.text, e.node, e.vendor_code, e.flags);
  } catch (const std::bad_alloc&) {
    return set(status, OPTIMA_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return set(status, OPTIMA_INTERNAL, e.what());
  } catch (...) {
    return set(status, OPTIMA_INTERNAL, "unknown exception");
  }
}

}  // namespace v0_1
}  // namespace optima::sdk

namespace optima {
using sdk::Error;
}  // namespace optima
