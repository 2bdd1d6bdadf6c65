// SPDX-License-Identifier: Apache-2.0
// core/support: Json whole, for those who build documents or walk them. The only file outside this room's own that brings nlohmann/json in.
#pragma once

#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
