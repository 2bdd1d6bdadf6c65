/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.profile/1: what a context did and when. Offered by a plugin beside optima.runtime/1.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_PROFILE_H
#define OPTIMA_EXT_PROFILE_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_PROFILE "optima.profile/1"

typedef struct optima_event {
  uint32_t struct_size;
  uint32_t node; /* node id or OPTIMA_NONE */
  optima_str name;
  uint64_t start_ns, duration_ns; /* CLOCK_MONOTONIC */
  uint32_t track;                 /* thread or queue number */
  uint32_t reserved;
} optima_event;
typedef struct optima_profile {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*enable)(optima_context* context, uint32_t on, optima_status* status); /* [object] */
  int32_t (*read)(optima_context* context,                                        /* [object] events since the last read */
                  int32_t (*add)(void* host_data, const optima_event* events, uint32_t count), void* host_data,
                  optima_status* status);
} optima_profile;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_event, 48);
OPTIMA_SIZE(optima_profile, 24);
#endif

#endif /* OPTIMA_EXT_PROFILE_H */
