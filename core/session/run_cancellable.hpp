// SPDX-License-Identifier: Apache-2.0
// core/session: a request run so that a signal is heard meanwhile. Private to the room.
#pragma once

#include <atomic>

#include "core/runtime/request.hpp"

namespace optima {

inline bool is_set(const std::atomic<bool>* flag) { return flag && *flag; }

/// Runs the request on its inputs. Cancelled when the flag is set: between two subgraphs, or inside one where its plugin can stop.
Status run_till_cancelled(Request& request, const std::atomic<bool>* flag);

}  // namespace optima
