// SPDX-License-Identifier: Apache-2.0
// core/compile: what the devices of a request say of a model, for who plans only afterwards.
#pragma once

#include "core/compile/compile.hpp"
#include "core/placement/ask_devices.hpp"

namespace optima {

/// plan_loaded(), or where that has no plan because of what devices take (Placement) their answers alone. Other errors are plan_loaded()'s.
Result<AskedDevices> ask_loaded(const PlanRequest& request, Planned loaded, Registry& registry);

}  // namespace optima
