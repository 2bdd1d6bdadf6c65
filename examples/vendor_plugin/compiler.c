/* SPDX-License-Identifier: Apache-2.0
 * com.acme.scale_shift: which nodes it takes and why not the others; one node to one file. */
#include <stdio.h>

#include "scale_shift.h"

/* One refusal: fills *v and returns the sentence. */
static const char* refuse(optima_verdict* v, uint32_t reason, const char* what, const char* found, const char* wanted, const char* text) {
  v->reason = reason;
  v->what = lit(what);
  v->found = lit(found);
  v->wanted = lit(wanted);
  return text;
}

/* What holds for x, or null. */
static const char* judge_x(const optima_image* g, const optima_value* x, optima_verdict* v) {
  if (x->kind != OPTIMA_KIND_TENSOR || x->dtype != OPTIMA_F32)
    return refuse(v, OPTIMA_REASON_DTYPE, "input 0", "another type", "f32", "input 0 must be a tensor of f32");
  if (x->rank < 1 || x->rank > MAX_RANK)
    return refuse(v, OPTIMA_REASON_RANK, "rank of input 0", x->rank < 0 ? "unknown" : x->rank ? "over 8" : "0", "1..8",
                  "rank of input 0 must be 1..8");
  for (uint32_t k = 0; k < x->dims.count; ++k)
    if (optima_get_dim(g, x->dims.first + k)->value < 0)
      return refuse(v, OPTIMA_REASON_DYNAMIC_SHAPE, "input 0", "a dynamic dim", "static dims", "input 0 must have a static shape");
  return NULL;
}

/* What holds for the optional shift: a constant f32 vector as long as the last dim of x. */
static const char* judge_shift(const optima_image* g, const optima_value* x, const optima_value* shift, optima_verdict* v) {
  if (shift->constant == OPTIMA_NONE)
    return refuse(v, OPTIMA_REASON_CONST_REQUIRED, "input 1", "computed", "a constant", "input 1 must be a constant");
  const optima_constant* c = optima_get_constant(g, shift->constant);
  const int64_t last = optima_get_dim(g, x->dims.first + x->dims.count - 1)->value;
  if (c->dtype != OPTIMA_F32) return refuse(v, OPTIMA_REASON_DTYPE, "input 1", "another type", "f32", "input 1 must be f32");
  if (c->rank != 1 || *optima_get_int(g, c->dims.first) != last || last == 0 || last > INT32_MAX)
    return refuse(v, OPTIMA_REASON_LAYOUT, "input 1", "another shape", "a vector as long as the last dim of input 0",
                  "input 1 must be a vector as long as the last dim of input 0");
  return NULL;
}

/* Null when supported; else the sentence, and the rest of the refusal in *v. */
static const char* judge(const optima_image* g, const optima_node* n, optima_verdict* v) {
  if (!is_scale_shift(g, n))
    return refuse(v, OPTIMA_REASON_OP, "operator", "another", "com.acme ScaleShift", "only com.acme ScaleShift runs on this chip");
  const uint32_t in = optima_input(g, n, 0), shift = optima_input(g, n, 1), out = optima_output(g, n, 0);
  if (in == OPTIMA_NONE || out == OPTIMA_NONE)
    return refuse(v, OPTIMA_REASON_OTHER, "operands", "absent", "present", "input 0 and output 0 are required");
  const optima_value* x = optima_get_value(g, in);
  const char* why = judge_x(g, x, v);
  if (!why && shift != OPTIMA_NONE) why = judge_shift(g, x, optima_get_value(g, shift), v);
  return why;
}

static int32_t check(optima_plugin* p, const optima_check_request* r, optima_report report, void* data, optima_status* s) {
  (void)p;
  for (uint32_t k = 0; k < r->node_count; ++k) {
    const optima_node* n = optima_find_node(r->graph->image, r->nodes[k]);
    if (!n) return fail(s, OPTIMA_INVALID_ARGUMENT, "candidate is not in the graph", r->nodes[k]);
    optima_verdict v;
    memset(&v, 0, sizeof v);
    v.struct_size = sizeof v;
    v.node = n->id;
    v.group = OPTIMA_NONE;
    const char* why = judge(r->graph->image, n, &v);
    v.verdict = why ? OPTIMA_VERDICT_UNSUPPORTED : OPTIMA_VERDICT_SUPPORTED;
    if (why) v.text = lit(why);
    const int32_t rc = report(data, &v, 1);
    if (rc) return rc;
  }
  return OPTIMA_OK;
}

static scale_shift_file describe(const optima_image* g, const optima_node* n) {
  scale_shift_file f;
  memset(&f, 0, sizeof f);
  const optima_value* x = optima_get_value(g, optima_input(g, n, 0));
  const optima_attr* scale = optima_find_attr(g, n, "scale");
  memcpy(f.magic, MAGIC, sizeof f.magic);
  f.scale = scale && scale->type == OPTIMA_ATTR_FLOAT ? scale->f : 1.0;
  f.rank = (uint32_t)x->rank;
  f.count = 1;
  for (uint32_t d = 0; d < f.rank; ++d) {
    f.dims[d] = optima_get_dim(g, x->dims.first + d)->value;
    f.count *= (uint64_t)f.dims[d];
  }
  if (optima_input(g, n, 1) != OPTIMA_NONE) f.shift_count = (uint32_t)f.dims[f.rank - 1];
  f.in_size = (uint32_t)x->name.size;
  f.out_size = (uint32_t)optima_get_value(g, optima_output(g, n, 0))->name.size;
  return f;
}

static int32_t write_file(const optima_sink* k, optima_str stem, const scale_shift_file* f, optima_str in, optima_str out, optima_status* s) {
  char name[256];
  uint64_t stream;
  const int size = snprintf(name, sizeof name, "%.*s.acme", (int)stem.size, stem.data);
  if (size < 0 || (size_t)size >= sizeof name) return fail(s, OPTIMA_INVALID_ARGUMENT, "stem is longer than 250 bytes", OPTIMA_NONE);
  int32_t rc = k->open(k->host_data, lit(name), sizeof *f + in.size + out.size, &stream, s);
  if (!rc) rc = k->write(k->host_data, stream, f, sizeof *f, s);
  if (!rc) rc = k->write(k->host_data, stream, in.data, in.size, s);
  if (!rc) rc = k->write(k->host_data, stream, out.data, out.size, s);
  if (!rc) rc = k->close(k->host_data, stream, s);
  return rc;
}

static int32_t compile(optima_plugin* p, const optima_compile_request* r, const optima_sink* k, const optima_progress* progress, optima_status* s) {
  const optima_image* g = r->graph->image;
  const optima_image_graph* main = optima_get_graph(g, 0);
  if (main->nodes.count == 0) return fail(s, OPTIMA_INVALID_ARGUMENT, "subgraph has no node", OPTIMA_NONE);
  const optima_node* n = optima_get_node(g, main->nodes.first);
  if (main->nodes.count != 1)
    return fail(s, OPTIMA_UNSUPPORTED, "takes one node per subgraph", optima_get_node(g, main->nodes.first + 1)->id);
  optima_verdict v;
  memset(&v, 0, sizeof v);
  const char* why = judge(g, n, &v);
  if (why) return fail(s, OPTIMA_UNSUPPORTED, why, n->id);
  if (progress->cancelled(progress->host_data)) return fail(s, OPTIMA_CANCELLED, "cancelled", OPTIMA_NONE);
  progress->report(progress->host_data, 0.5, lit("writing"));

  const scale_shift_file f = describe(g, n);
  int32_t rc = k->set_format(k->host_data, lit(FORMAT), s);
  if (!rc && f.shift_count) {
    const optima_value* shift = optima_get_value(g, optima_input(g, n, 1));
    rc = k->use_weight(k->host_data, optima_get_constant(g, shift->constant)->blob, lit("shift"), s);
  }
  if (!rc)
    rc = write_file(k, r->stem, &f, optima_string(g, &optima_get_value(g, optima_input(g, n, 0))->name),
                    optima_string(g, &optima_get_value(g, optima_output(g, n, 0))->name), s);
  if (!rc) rc = k->set_compat(k->host_data, CHIP, sizeof CHIP - 1, lit("for chip " CHIP), s);
  if (!rc) p->host->log(p->host->self, OPTIMA_LOG_DEBUG, lit("acme"), lit("compiled one ScaleShift"));
  return rc;
}

const optima_compiler acme_compiler = {sizeof acme_compiler, 0, check, compile};
