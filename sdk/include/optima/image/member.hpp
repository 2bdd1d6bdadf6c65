// SPDX-License-Identifier: Apache-2.0
// optima/image/member.hpp: an image has the structs of its writer, who may be older: what each of them holds at least, and how to read more.
#pragma once

#include "optima/abi.h"

namespace optima::image {

/// Bytes of a struct in the minor that brought it; a minor that appends members leaves them. Less is damage, more is a newer writer.
template <class T>
struct Least;
template <> struct Least<optima_image> { static constexpr uint32_t size = 224; };
template <> struct Least<optima_image_graph> { static constexpr uint32_t size = 64; };
template <> struct Least<optima_node> { static constexpr uint32_t size = 88; };
template <> struct Least<optima_value> { static constexpr uint32_t size = 48; };
template <> struct Least<optima_attr> { static constexpr uint32_t size = 72; };
template <> struct Least<optima_constant> { static constexpr uint32_t size = 24; };
template <> struct Least<optima_capture> { static constexpr uint32_t size = 8; };
template <> struct Least<optima_opset> { static constexpr uint32_t size = 24; };
template <> struct Least<optima_dim> { static constexpr uint32_t size = 24; };
template <> struct Least<optima_text> { static constexpr uint32_t size = 16; };

namespace detail {

// `holds`: bytes of *from that are there. Looks at no others.
template <class T, class M>
M member_within(uint32_t holds, const T* from, M T::*which) {
  const auto* bytes = reinterpret_cast<const char*>(from);
  const auto* at = reinterpret_cast<const char*>(&(from->*which));
  return static_cast<uint64_t>(at - bytes) + sizeof(M) <= holds ? from->*which : M{};
}

}  // namespace detail

/// A member that came after Least<T>, of an element of the image's array `array`; zero where the writer did not have it.
template <class T, class M>
M member(const optima_array& array, const T* element, M T::*which) {
  return detail::member_within(array.stride, element, which);
}
/// The same of the image itself, as an array that came later.
template <class M>
M member(const optima_image* image, M optima_image::*which) {
  return detail::member_within(image->struct_size, image, which);
}

}  // namespace optima::image
