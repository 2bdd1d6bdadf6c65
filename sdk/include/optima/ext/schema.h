/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.schema/1: types of the operators a plugin brings, and what they compute. Needs no SDK and no device.
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
  /* What a node computes, for the host's reference: it folds constants by it, and `compare` and `--self-test` take the wanted
   * answers from it. Either of the two may be null, or answer NOT_FOUND for an operator that it does not serve; evaluate is
   * asked first. With neither, folding leaves the node where it is, and a comparison names it as what cannot be run. Both are
   * deterministic and touch nothing but their arguments; an operator that the manifest flags `stateful` is never folded. */
  /* [any] the function body, once through set_text: a function in ONNX's text form, of the operator's name and with at least
   * the node's inputs and outputs in their order; its attributes take the node's values:
   *   <opset_import: ["" : 21]> Scale <by: float = 1.0> (x) => (y) { b = Constant <value_float: float = @by> ()  y = Mul (x, b) }
   * It may hold other operators of plugins, but not come back to itself. */
  int32_t (*function_body)(optima_plugin* plugin, const optima_graph* graph, uint32_t node_index,
                           int32_t (*set_text)(void* host_data, optima_str text), void* host_data, optima_status* status);
  /* [any] computes the node on dense tensors in host memory, by position. An absent optional input has dtype UNDEFINED and data
   * null. An output has the dtype that infer gave, data null and alloc set, to be called once with the shape, which must be
   * one that infer's answer allows; one that nobody reads has dtype UNDEFINED and alloc null. No STRING outputs. */
  int32_t (*evaluate)(optima_plugin* plugin, const optima_graph* graph, uint32_t node_index, const optima_tensor* in, uint32_t in_count,
                      optima_tensor* out, uint32_t out_count, optima_status* status);
} optima_schema;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_type, 32);
OPTIMA_SIZE(optima_schema, 32);
#endif

#endif /* OPTIMA_EXT_SCHEMA_H */
