/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.fence/1: timelines that chain the work of several plugins. Offered by the host: optima_host.get_extension.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_FENCE_H
#define OPTIMA_EXT_FENCE_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A fence belongs to the host; values only grow; 0 is reached from the start. */
#define OPTIMA_EXT_FENCE "optima.fence/1"

typedef struct optima_fence optima_fence;
typedef struct optima_fence_point { optima_fence* fence; uint64_t value; } optima_fence_point; /* frozen */
typedef struct optima_fence_host { /* all [any]; self = optima_host.self */
  uint32_t struct_size;
  uint32_t reserved;
  void (*signal)(void* self, optima_fence_point point);
  void (*poison)(void* self, optima_fence_point point, const optima_status* status, optima_str text); /* all waits fail with it */
  int32_t (*wait)(void* self, optima_fence_point point, uint64_t timeout_ns, optima_status* status);   /* TIMEOUT; 0 = poll */
  int32_t (*notify)(void* self, optima_fence_point point, void (*call)(void* data, int32_t code), void* data);
  /* Sync file, caller closes; this host answers UNSUPPORTED: its fences live in its memory. */
  int32_t (*export_fd)(void* self, optima_fence_point point, int32_t* fd, optima_status* status);
  void (*retain)(void* self, optima_fence* fence);
  void (*release)(void* self, optima_fence* fence);
} optima_fence_host;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_fence_point, 16);
OPTIMA_SIZE(optima_fence_host, 64);
#endif

#endif /* OPTIMA_EXT_FENCE_H */
