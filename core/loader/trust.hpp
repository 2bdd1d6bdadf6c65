// SPDX-License-Identifier: Apache-2.0
// core/loader: who may change what a path leads to.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/support/status.hpp"

namespace optima {

/// Ok when the file behind the absolute path, and the folder that holds it, belong to root or `user` (or to whom "/" belongs) and may not be written by
/// everybody; nor may a folder that holds a link on the way. In a sticky folder (as /tmp) only its owner moves an entry, who must then be one of them.
/// Else a Plugin error with one phrase: what is open, and what closes it. Does not look at groups, nor at the folders above: whoever puts another folder
/// in one's place cannot make files that are not his.
Status only_trusted_write(const std::string& path, uid_t user);

}  // namespace optima
