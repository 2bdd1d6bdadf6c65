// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: the emulators' threads wait for each other by asking again and again, each time under a lock, and so take most of
// the time of all cores: of BM1684's five threads one computes. This program's pthread_mutex_lock() goes before the C library's in what is opened
// later, and lets a thread that does nothing but lock sleep for a moment.
#pragma once

namespace runner {

/// From now on threads that only lock rest in between. For emulators: on a TPU no time may be lost.
void let_pollers_rest();

}  // namespace runner
