// SPDX-License-Identifier: Apache-2.0
#include "core/session/run_cancellable.hpp"

namespace optima {

Status run_till_cancelled(Request& request, const std::atomic<bool>* flag) {
  constexpr int64_t kLookAgainMs = 50;
  if (is_set(flag)) return cancelled();
  OPTIMA_RETURN_IF_ERROR(request.start());
  for (;;) {
    bool still_running = false;
    Status status = request.wait(kLookAgainMs, &still_running);
    if (!still_running) return status;
    if (is_set(flag)) request.cancel();
  }
}

}  // namespace optima
