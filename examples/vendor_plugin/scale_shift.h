/* SPDX-License-Identifier: Apache-2.0
 * com.acme.scale_shift: what its files share: the artifact's layout, two shorthands. */
#ifndef ACME_SCALE_SHIFT_H
#define ACME_SCALE_SHIFT_H

#include <string.h>

#include "optima/abi.h"
#include "optima/ext/schema.h"

#define FORMAT "acme.scale_shift/1"
#define CHIP "acme-1"
#define MAGIC "AcmeSS_1"
#define MAX_RANK 8

struct optima_plugin {
  const optima_host* host;
};

/* <stem>.acme; the names of input and output follow it. Little-endian, as everything that crosses. */
typedef struct scale_shift_file {
  char magic[8];
  double scale;
  uint64_t count; /* elements of x and of y */
  uint32_t rank;
  uint32_t shift_count; /* 0 = no shift */
  uint32_t in_size, out_size;
  int64_t dims[MAX_RANK];
} scale_shift_file;

static inline optima_str lit(const char* z) {
  optima_str s = {z, strlen(z)};
  return s;
}

static inline int32_t fail(optima_status* s, int32_t code, const char* text, uint32_t node) {
  s->code = code;
  s->node = node;
  s->set_text(s->host_data, lit(text));
  return code;
}

static inline int is_scale_shift(const optima_image* g, const optima_node* n) {
  return optima_str_is(optima_string(g, &n->domain), "com.acme") && optima_str_is(optima_string(g, &n->op_type), "ScaleShift");
}

extern const optima_compiler acme_compiler;
extern const optima_runtime acme_runtime;
extern const optima_schema acme_schema;

#endif /* ACME_SCALE_SHIFT_H */
