/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.memory/1: buffers in memory of the device. Offered by a plugin beside optima.runtime/1; without it tensors lie in host memory.
 * This host measures the links between devices with them.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_MEMORY_H
#define OPTIMA_EXT_MEMORY_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_MEMORY "optima.memory/1"

typedef struct optima_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] kinds best first, for the binding with this number; *count: in capacity, out how many there are. Not called by this
   * host, since optima_binding.mem_kinds says it too; may be null. */
  int32_t (*requirements)(optima_program* program, uint32_t binding, uint32_t* kinds, uint32_t* count, optima_status* status);
  /* [any] fills data, fd or opaque of *tensor from its mem_kind, mem_ordinal and size; the plugin owns it until free. */
  int32_t (*alloc)(optima_plugin* plugin, optima_tensor* tensor, uint32_t alignment, optima_status* status);
  void (*free)(optima_plugin* plugin, const optima_tensor* tensor); /* [any] of alloc and of import */
  /* [any] *imported = foreign memory as this plugin sees it; foreign must outlive it. May be null: the host then copies. */
  int32_t (*import)(optima_plugin* plugin, const optima_tensor* foreign, optima_tensor* imported, optima_status* status);
  int32_t (*copy)(optima_plugin* plugin, const optima_tensor* from, optima_tensor* to, optima_status* status); /* [any] blocking */
} optima_memory;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_memory, 48);
#endif

#endif /* OPTIMA_EXT_MEMORY_H */
