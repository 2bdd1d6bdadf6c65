/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.schema/1: types of the operators a plugin brings. Runs at import: needs no SDK and no device.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_SCHEMA_H
#define OPTIMA_EXT_SCHEMA_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_SCHEMA "optima.schema/1"

typedef struct optima_type { /* of one output */
  uint32_t struct_size;
  uint32_t kind;
  int32_t dtype, rank;
  const int64_t* dims;       /* -1 = unknown, see symbols */
  const optima_str* symbols; /* null, or one per dim, empty when none */
} optima_type;
typedef struct optima_schema {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] validates one node (INVALID_GRAPH + text) and gives the type of each output in order. Input types may be unknown:
   * UNDEFINED, rank -1, dim -1; constant inputs can be read. Deterministic. */
  int32_t (*infer)(optima_plugin* plugin, const optima_graph* graph, uint32_t node_index,
                   int32_t (*set_output)(void* host_data, uint32_t output, const optima_type* type), void* host_data,
                   optima_status* status);
} optima_schema;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_type, 32);
OPTIMA_SIZE(optima_schema, 16);
#endif

#endif /* OPTIMA_EXT_SCHEMA_H */
