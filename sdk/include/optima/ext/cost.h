/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.cost/1: what a node or a whole subgraph would cost. Offered by a plugin beside optima.compiler/1; without it
 * the host has its own model.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_COST_H
#define OPTIMA_EXT_COST_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_COST "optima.cost/1"

typedef struct optima_cost {
  uint32_t struct_size;
  uint32_t node;         /* node id; OPTIMA_NONE = the whole request as one subgraph */
  double microseconds;   /* one execution; negative = unknown */
  uint64_t device_bytes; /* weights and workspace */
  uint32_t flags;        /* 1 = measured, not modelled */
  uint32_t reserved;
} optima_cost;
typedef struct optima_cost_model {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*estimate)(optima_plugin* plugin, const optima_check_request* request, /* [any] as check */
                      int32_t (*add)(void* host_data, const optima_cost* costs, uint32_t count), void* host_data,
                      optima_status* status);
} optima_cost_model;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_cost, 32);
OPTIMA_SIZE(optima_cost_model, 16);
#endif

#endif /* OPTIMA_EXT_COST_H */
