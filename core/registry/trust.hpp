// SPDX-License-Identifier: Apache-2.0
// core/registry: who may change what a path leads to.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/support/status.hpp"

namespace optima {

/// Ok when the file behind the absolute path, and the folder that holds it, belong to root or `user` (or to whom "/" belongs), and neither they nor any
/// folder on the way, over every link, may be written by everybody; but for a sticky folder (as /tmp), where only the owner moves an entry, who must then
/// be one of them. Else a Plugin error with one phrase: what is open, and what closes it. Does not look at groups, nor at who owns the folders above: a
/// tree that somebody lent is common, and its owner cannot make files that are not his.
Status only_trusted_write(const std::string& path, uid_t user);

}  // namespace optima
