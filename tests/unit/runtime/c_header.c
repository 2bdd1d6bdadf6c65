/* SPDX-License-Identifier: Apache-2.0
 * The public header in strict C11: it compiles without warnings, and its structs have no padding and the sizes below. */
#include "optima/runtime.h"

#include <stddef.h>

_Static_assert(sizeof(optima_rt_error) == 512, "error");
_Static_assert(sizeof(optima_rt_tensor) == 48, "tensor");
_Static_assert(sizeof(optima_rt_tensor_info) == 56, "tensor_info");
_Static_assert(sizeof(optima_rt_subgraph_info) == 32, "subgraph_info");
_Static_assert(sizeof(optima_rt_device) == 48, "device");
_Static_assert(sizeof(optima_rt_event) == 40, "event");
_Static_assert(sizeof(optima_rt_file) == 32, "file");
_Static_assert(sizeof(optima_rt_setting) == 24, "setting");
_Static_assert(sizeof(optima_rt_context_options) == 56, "context_options");
_Static_assert(sizeof(optima_rt_load_options) == 40, "load_options");
_Static_assert(offsetof(optima_rt_tensor, rank) == 40, "tensor.rank");

/* Called from C++ to prove that the library works for C. */
uint32_t version_from_c(void);
uint32_t version_from_c(void) { return optima_rt_version(); }
