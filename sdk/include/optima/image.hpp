// SPDX-License-Identifier: Apache-2.0
// optima/image.hpp: Contents (plain data) -> pack() -> graph image bytes -> verify(). C++17, header only, knows abi.h alone.
#pragma once

#include "optima/image/contents.hpp"
#include "optima/image/member.hpp"
#include "optima/image/pack.hpp"
#include "optima/image/verify.hpp"
