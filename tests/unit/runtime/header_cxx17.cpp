// SPDX-License-Identifier: Apache-2.0
// The wrapper compiles as C++17, by itself.
#include "optima/runtime.hpp"

static_assert(__cplusplus < 202000L);
static_assert(!std::is_copy_constructible_v<optima::runtime::InferRequest>);
