/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.door/1: how tensors may lie where they go from one subgraph to another. Offered by a plugin beside optima.compiler/1; without it
 * its subgraphs take and give the usual door only.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_DOOR_H
#define OPTIMA_EXT_DOOR_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_DOOR "optima.door/1"

/* After the split the host asks about each tensor of known shape that goes from one subgraph to others: first the plugin of the
 * subgraph that makes it what it offers, then those of the subgraphs that read it which of these they take. It picks the first
 * offer that all of them take, else the usual door, and says so in compile_request.doors of each. A plugin that offered or took a
 * door must compile with it; the artifact's binding then has the door's dtype and shape. */
typedef struct optima_door_request {
  uint32_t struct_size;
  uint32_t value;            /* index of graph 0's values */
  const optima_graph* graph; /* of the subgraph, as compile will get it; blobs may lack data */
  const optima_device* device;
  const optima_option* options; /* scope compile */
  uint32_t option_count;
  uint32_t reserved;
} optima_door_request;

typedef int32_t (*optima_add_door)(void* host_data, const optima_door* door);

typedef struct optima_doors {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] for an output of the graph: doors other than the usual one, best first; none is legal. Deterministic, cheap. */
  int32_t (*offer)(optima_plugin* plugin, const optima_door_request* request, optima_add_door add, void* host_data, optima_status* status);
  /* [any] for an input of the graph: *taken = 1 when compile would take it in through this door, and rather than through the usual
   * one; else 0. Deterministic, cheap. */
  int32_t (*take)(optima_plugin* plugin, const optima_door_request* request, const optima_door* door, int32_t* taken, optima_status* status);
} optima_doors;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_door_request, 40);
OPTIMA_SIZE(optima_doors, 24);
#endif

#endif /* OPTIMA_EXT_DOOR_H */
