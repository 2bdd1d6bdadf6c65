// SPDX-License-Identifier: Apache-2.0
// core/registry: who may change what a path leads to.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/support/status.hpp"

namespace optima {

/// Ok when nobody but root and `user` may put other bytes behind the absolute path: the file, every folder on the way to it and on the way
/// of every link belong to one of them (or to whom "/" belongs), and none may be written by everybody; but for a sticky folder (as /tmp),
/// where only the owner moves an entry. Else a Plugin error with one phrase: what is open, and what closes it. Does not look at groups.
Status only_trusted_write(const std::string& path, uid_t user);

}  // namespace optima
