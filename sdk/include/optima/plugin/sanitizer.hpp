// SPDX-License-Identifier: Apache-2.0
// optima/plugin/sanitizer.hpp: which sanitizer this file is compiled with; host and plugin must agree.
#pragma once

#include <cstdint>
#include <string_view>

#include "optima/abi.h"

#if defined(__has_feature)
#define OPTIMA_HAS_FEATURE(x) __has_feature(x)
#else
#define OPTIMA_HAS_FEATURE(x) 0
#endif

namespace optima::sdk {
inline namespace v0_1 {

#if defined(__SANITIZE_ADDRESS__) || OPTIMA_HAS_FEATURE(address_sanitizer)
constexpr uint32_t kSanitizer = OPTIMA_SANITIZER_ADDRESS;
constexpr std::string_view kSanitizerName = "address";
#elif defined(__SANITIZE_THREAD__) || OPTIMA_HAS_FEATURE(thread_sanitizer)
constexpr uint32_t kSanitizer = OPTIMA_SANITIZER_THREAD;
constexpr std::string_view kSanitizerName = "thread";
#elif OPTIMA_HAS_FEATURE(memory_sanitizer)
constexpr uint32_t kSanitizer = OPTIMA_SANITIZER_MEMORY;
constexpr std::string_view kSanitizerName = "memory";
#else
constexpr uint32_t kSanitizer = OPTIMA_SANITIZER_NONE;
constexpr std::string_view kSanitizerName = "none";
#endif

}  // namespace v0_1
}  // namespace optima::sdk
