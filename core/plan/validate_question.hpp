// SPDX-License-Identifier: Apache-2.0
// core/plan: checks that a finished plan keeps the question it answers, sharing no code with what made it.
#pragma once

#include "core/plan/plan.hpp"

namespace optima {

/// Part of validate(): the question has the plan's units, copies and order, a tensor for each that another unit waits for, and devices for
/// each unit that follow from its rules and the answers, that of the plan among them. Nodes and tensors have been checked. Internal with the
/// first thing wrong.
Status validate_question(const Plan& plan);

}  // namespace optima
