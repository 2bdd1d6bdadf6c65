// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: what the plugin and optima_bmcompiler_runner say to each other: a line of words each way, with a tab between.
//
//   devices                                          ok NUMBER CHIP…          (empty words for chips that are not known)
//   open MODEL                                       ok
//   run NET FILE IN PLANE… OUT PLANE…                ok      IN, OUT: numbers of planes; a plane is NAME TYPE OFFSET RANK DIMS…
//   anything that fails                              fail CODE TEXT           (CODE: "invalid", "memory", "dependency", "failed")
//
// Planes lie in FILE at their offsets, dense; TYPE is the number that bmodels have for an element type.
#pragma once

#include "optima/plugin/words.hpp"

namespace bmcompiler_plugin {

using optima::sdk::Words;
using optima::sdk::line_of;
using optima::sdk::words_of;

}  // namespace bmcompiler_plugin
