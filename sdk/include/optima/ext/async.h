/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.async/1: execution that returns at once. Offered by a plugin beside optima.runtime/1; without it the host runs
 * execute on a thread of its own.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_ASYNC_H
#define OPTIMA_EXT_ASYNC_H

#include "optima/ext/fence.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_ASYNC "optima.async/1"

typedef struct optima_async {
  uint32_t struct_size;
  uint32_t reserved;
  /* [object] returns at once; tensors live until `signal` is reached or poisoned, which happens exactly once after OK. This host
   * submits when the tensors are there, so wait_count is 0; a plugin honours waits all the same. */
  int32_t (*submit)(optima_context* context, const optima_tensor* in, uint32_t in_count, optima_tensor* out, uint32_t out_count,
                    const optima_fence_point* waits, uint32_t wait_count, optima_fence_point signal, optima_status* status);
  int32_t (*cancel)(optima_context* context, optima_status* status); /* [any] poisons what has not started with CANCELLED */
} optima_async;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_async, 24);
#endif

#endif /* OPTIMA_EXT_ASYNC_H */
