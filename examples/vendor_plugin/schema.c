/* SPDX-License-Identifier: Apache-2.0
 * com.acme.scale_shift: the operator's rules, and what it means. Runs where no chip and no compiler need be present: when a model is
 * imported, when its constants are folded, and when the host compares the chip's answers with the right ones. */
#include "scale_shift.h"

#define MAX_DIMS 64 /* the image's limit */

static int32_t infer(optima_plugin* p, const optima_graph* graph, uint32_t node_index,
                     int32_t (*set_output)(void*, uint32_t, const optima_type*), void* data, optima_status* s) {
  (void)p;
  const optima_image* g = graph->image;
  const optima_node* n = optima_get_node(g, node_index);
  if (!is_scale_shift(g, n)) return fail(s, OPTIMA_NOT_FOUND, "only com.acme ScaleShift is known here", n->id);
  if (n->inputs.count < 1 || n->inputs.count > 2 || optima_input(g, n, 0) == OPTIMA_NONE)
    return fail(s, OPTIMA_INVALID_GRAPH, "ScaleShift takes one or two inputs", n->id);
  if (n->outputs.count != 1) return fail(s, OPTIMA_INVALID_GRAPH, "ScaleShift has one output", n->id);
  const optima_attr* scale = optima_find_attr(g, n, "scale");
  if (scale && scale->type != OPTIMA_ATTR_FLOAT) return fail(s, OPTIMA_INVALID_GRAPH, "attribute 'scale' must be a float", n->id);

  const optima_value* x = optima_get_value(g, optima_input(g, n, 0));
  int64_t dims[MAX_DIMS];
  optima_str symbols[MAX_DIMS];
  for (uint32_t k = 0; k < x->dims.count; ++k) {
    const optima_dim* d = optima_get_dim(g, x->dims.first + k);
    dims[k] = d->value;
    symbols[k] = optima_string(g, &d->symbol);
  }
  const optima_type t = {sizeof t, x->kind, x->dtype, x->rank, dims, symbols}; /* y is like x */
  return set_output(data, 0, &t);
}

/* y = scale * x + shift, in double and rounded once. The alternative is a function body, which is shorter where ONNX's operators
 * suffice; this one would be
 *   <opset_import: ["" : 21]> ScaleShift <scale: float = 1.0> (x, shift) => (y)
 *   { s = Constant <value_float: float = @scale> ()  m = Mul (s, x)  y = Add (m, shift) }
 * but for the absent shift. */
static int32_t evaluate(optima_plugin* p, const optima_graph* graph, uint32_t node_index, const optima_tensor* in, uint32_t in_count,
                        optima_tensor* out, uint32_t out_count, optima_status* s) {
  (void)p, (void)out_count;
  const optima_image* g = graph->image;
  const optima_node* n = optima_get_node(g, node_index);
  if (!is_scale_shift(g, n)) return fail(s, OPTIMA_NOT_FOUND, "only com.acme ScaleShift is known here", n->id);
  const optima_tensor *x = in, *shift = in_count > 1 ? OPTIMA_NEXT(optima_tensor, in) : NULL;
  if (x->dtype != OPTIMA_F32 || (shift && shift->data && shift->dtype != OPTIMA_F32))
    return fail(s, OPTIMA_INVALID_GRAPH, "ScaleShift computes f32 only", n->id);
  const optima_attr* scale = optima_find_attr(g, n, "scale");
  const uint64_t count = x->size / sizeof(float), step = shift && shift->data ? shift->size / sizeof(float) : 0;
  if (shift && shift->data && (x->rank < 1 || step != (uint64_t)x->shape[x->rank - 1] || step == 0))
    return fail(s, OPTIMA_INVALID_GRAPH, "shift must be as long as the last dim of x", n->id);

  const int32_t rc = out->alloc(out->host_data, x->shape, x->rank);
  if (rc) return rc;
  const float *from = x->data, *add = step ? shift->data : NULL;
  float* to = out->data;
  for (uint64_t k = 0; k < count; ++k) to[k] = (float)((scale ? scale->f : 1.0) * from[k] + (add ? add[k % step] : 0.0f));
  return OPTIMA_OK;
}

const optima_schema acme_schema = {sizeof acme_schema, 0, infer, NULL, evaluate};
