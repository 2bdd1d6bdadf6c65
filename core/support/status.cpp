// SPDX-License-Identifier: Apache-2.0
#include "core/support/status.hpp"

namespace optima {

int exit_code(StatusKind kind) {
  switch (kind) {
    case StatusKind::Ok: return 0;
    case StatusKind::Usage: return 2;
    case StatusKind::InvalidInput: return 3;
    case StatusKind::Placement: return 4;
    case StatusKind::Plugin:
    case StatusKind::Io: return 5;
    case StatusKind::Mismatch: return 6;
    case StatusKind::Cancelled: return 130;
    case StatusKind::Timeout:
    case StatusKind::Internal: return 1;
  }
  return 1;
}

Status Status::within(std::string_view phrase) const {
  if (ok()) return *this;
  return {kind_, std::string(phrase) + ": " + message_};
}

}  // namespace optima
