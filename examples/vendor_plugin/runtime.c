/* SPDX-License-Identifier: Apache-2.0
 * com.acme.scale_shift: loads what compiler.c wrote, trusting none of it, and executes it. */
#include <stdlib.h>

#include "scale_shift.h"

struct optima_program {
  const optima_host* host;
  scale_shift_file file;
  char* names;
  const float* shift;  /* null = none */
  float* shift_copy;   /* owned, when the blob could not be kept */
  uint64_t shift_blob; /* kept, when shift_copy is null */
};
struct optima_context {
  const optima_program* program;
};

static uint32_t compat_of(const optima_artifact* a, const optima_device* d, const char** text) {
  *text = "";
  if (!optima_str_is(a->format_id, FORMAT)) {
    *text = "artifact was written by another revision";
    return OPTIMA_COMPAT_RECOMPILE;
  }
  /* A target without a chip behind it has no arch: nothing to compare with. */
  if (d->arch.size && (a->compat_size != d->arch.size || memcmp(a->compat, d->arch.data, d->arch.size) != 0)) {
    *text = "artifact is for another chip";
    return OPTIMA_COMPAT_WRONG_DEVICE;
  }
  return OPTIMA_COMPAT_OPTIMAL;
}

static int32_t check_artifact(optima_plugin* p, const optima_artifact* a, const optima_device* d, optima_compat* c, optima_status* s) {
  (void)p, (void)s;
  const char* text;
  c->verdict = compat_of(a, d, &text);
  c->set_text(c->host_data, lit(text));
  return OPTIMA_OK;
}

/* Sizes, counts and products are recomputed. Null when all is well. */
static const char* parse(const optima_blob* b, optima_program* p) {
  scale_shift_file* f = &p->file;
  uint64_t count = 1;
  if (!b->data || b->size < sizeof *f) return "file is truncated";
  memcpy(f, b->data, sizeof *f);
  if (memcmp(f->magic, MAGIC, sizeof f->magic) != 0) return "file has a wrong magic";
  if (f->rank < 1 || f->rank > MAX_RANK) return "file has a rank out of range";
  for (uint32_t d = 0; d < f->rank; ++d) {
    if (f->dims[d] < 0 || (f->dims[d] > 0 && count > (UINT64_C(1) << 56) / (uint64_t)f->dims[d])) return "file has a bad dim";
    count *= (uint64_t)f->dims[d];
  }
  if (count != f->count) return "file has a count that differs from its dims";
  if (f->shift_count && f->shift_count != (uint64_t)f->dims[f->rank - 1]) return "file has a shift of a wrong length";
  if (b->size != sizeof *f + (uint64_t)f->in_size + f->out_size) return "file has a wrong size";
  p->names = malloc((size_t)f->in_size + f->out_size + 1);
  if (!p->names) return "out of memory";
  memcpy(p->names, (const char*)b->data + sizeof *f, (size_t)f->in_size + f->out_size);
  return NULL;
}

/* Keeps the mapped weight; copies it only when the host cannot keep it or it lies on an odd address. */
static const char* take_shift(const optima_artifact* a, optima_program* p) {
  if (p->file.shift_count == 0) return NULL;
  const optima_blob* b = a->weight_count == 1 ? a->weights->blob : NULL;
  if (!b || !b->data || b->size != (uint64_t)p->file.shift_count * sizeof(float)) return "weight 'shift' is missing or has a wrong size";
  if ((b->flags & OPTIMA_BLOB_ALIGNED64) && p->host->blob_retain(p->host->self, b->id) == OPTIMA_OK) {
    p->shift_blob = b->id;
    p->shift = b->data;
    return NULL;
  }
  p->shift_copy = malloc(b->size);
  if (!p->shift_copy) return "out of memory";
  memcpy(p->shift_copy, b->data, b->size);
  p->shift = p->shift_copy;
  return NULL;
}

static void program_destroy(optima_program* p) {
  if (p->shift && !p->shift_copy) p->host->blob_release(p->host->self, p->shift_blob);
  free(p->shift_copy);
  free(p->names);
  free(p);
}

static int32_t load(optima_plugin* plugin, const optima_artifact* a, const optima_device* d, const optima_option* options, uint32_t option_count,
                    optima_program** program, optima_status* s) {
  (void)options, (void)option_count;
  const char* text;
  switch (compat_of(a, d, &text)) { /* load agrees with check_artifact */
    case OPTIMA_COMPAT_RECOMPILE: return fail(s, OPTIMA_RECOMPILE, text, OPTIMA_NONE);
    case OPTIMA_COMPAT_WRONG_DEVICE: return fail(s, OPTIMA_WRONG_DEVICE, text, OPTIMA_NONE);
    default: break;
  }
  if (a->file_count != 1) return fail(s, OPTIMA_CORRUPT, "artifact must have one file", OPTIMA_NONE);
  optima_program* p = calloc(1, sizeof *p);
  if (!p) return fail(s, OPTIMA_MEMORY, "out of memory", OPTIMA_NONE);
  p->host = plugin->host;
  text = parse(a->files->blob, p);
  if (!text) text = take_shift(a, p);
  if (text) {
    program_destroy(p);
    return fail(s, OPTIMA_CORRUPT, text, OPTIMA_NONE);
  }
  *program = p;
  return OPTIMA_OK;
}

static int32_t bindings(optima_program* p, optima_add_binding add, void* data, optima_status* s) {
  (void)s;
  optima_binding b;
  memset(&b, 0, sizeof b);
  b.struct_size = sizeof b;
  b.direction = OPTIMA_INPUT;
  b.name.data = p->names;
  b.name.size = p->file.in_size;
  b.dtype = OPTIMA_F32;
  b.rank = (int32_t)p->file.rank;
  b.shape = p->file.dims;
  b.mem_kinds = 1u << OPTIMA_MEM_HOST;
  b.alignment = sizeof(float);
  const int32_t rc = add(data, &b);
  if (rc) return rc;
  b.direction = OPTIMA_OUTPUT;
  b.name.data = p->names + p->file.in_size;
  b.name.size = p->file.out_size;
  return add(data, &b);
}

static int32_t context_create(optima_program* p, optima_context** context, optima_status* s) {
  optima_context* c = malloc(sizeof *c);
  if (!c) return fail(s, OPTIMA_MEMORY, "out of memory", OPTIMA_NONE);
  c->program = p;
  *context = c;
  return OPTIMA_OK;
}

static void context_destroy(optima_context* c) { free(c); }

static int32_t execute(optima_context* c, const optima_tensor* in, uint32_t in_count, optima_tensor* out, uint32_t out_count, optima_status* s) {
  const scale_shift_file* f = &c->program->file;
  const float* shift = c->program->shift;
  if (in_count != 1 || out_count != 1 || in->size / sizeof(float) < f->count || out->size / sizeof(float) < f->count)
    return fail(s, OPTIMA_INVALID_ARGUMENT, "buffers differ from the bindings", OPTIMA_NONE);
  if (in->strides || out->strides) return fail(s, OPTIMA_UNSUPPORTED, "tensor is strided, wanted a dense one", OPTIMA_NONE);
  if (f->count == 0) return OPTIMA_OK;
  const float* x = (const float*)(const void*)((const char*)in->data + in->offset);
  float* y = (float*)(void*)((char*)out->data + out->offset);
  for (uint64_t i = 0; i < f->count; ++i) y[i] = (float)f->scale * x[i] + (shift ? shift[i % f->shift_count] : 0.0f);
  return OPTIMA_OK;
}

/* output_shapes is null: every shape is static. */
const optima_runtime acme_runtime = {sizeof acme_runtime, 0, check_artifact, load, bindings, context_create, context_destroy,
                                     program_destroy, execute, NULL};
