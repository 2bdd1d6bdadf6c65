/* SPDX-License-Identifier: Apache-2.0
 * How a member of minor 2 would be hidden from an author who aims at minor 1, without changing the layout. */
#include "optima/abi.h"

#if OPTIMA_TARGET_MINOR < 2
#define OPTIMA_SINCE_2 OPTIMA_UNAVAILABLE
#else
#define OPTIMA_SINCE_2
#endif

typedef struct table {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*old_call)(void);
  int32_t (*new_call)(void) OPTIMA_SINCE_2;
} table;

_Static_assert(sizeof(table) == 24, "the target minor does not change the layout");

int32_t use(const table* t);
int32_t use(const table* t) {
#ifdef USE_NEW
  if (OPTIMA_HAS(t, new_call)) return t->new_call();
#endif
  return OPTIMA_HAS(t, old_call) ? t->old_call() : 0;
}

extern const table plugin_table;
const table plugin_table = {.struct_size = sizeof plugin_table};
