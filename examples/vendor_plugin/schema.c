/* SPDX-License-Identifier: Apache-2.0
 * com.acme.scale_shift: the operator's rules. Runs when a model is imported, where no chip and no compiler need be present. */
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

const optima_schema acme_schema = {sizeof acme_schema, 0, infer};
