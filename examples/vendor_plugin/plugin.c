/* SPDX-License-Identifier: Apache-2.0
 * com.acme.scale_shift: the export, the root table, one instance's life, and the device. */
#include <stdlib.h>

#include "scale_shift.h"

static int32_t init(const optima_host* host, const optima_option* options, uint32_t count, optima_plugin** plugin, optima_status* s) {
  (void)options, (void)count;
  optima_plugin* p = malloc(sizeof *p);
  if (!p) return fail(s, OPTIMA_MEMORY, "out of memory", OPTIMA_NONE);
  p->host = host;
  *plugin = p;
  return OPTIMA_OK;
}

static void deinit(optima_plugin* p) { free(p); }

/* A real vendor asks the driver here, and says in *s why there is none. */
static int32_t devices(optima_plugin* p, optima_add_device add, void* data, optima_status* s) {
  (void)p, (void)s;
  optima_device d;
  memset(&d, 0, sizeof d);
  d.struct_size = sizeof d;
  d.device_class = OPTIMA_CLASS_NPU;
  d.kind = lit("ACME");
  d.id = lit("acme0");
  d.arch = lit(CHIP);
  d.driver = lit("simulated 1.0");
  return add(data, &d);
}

static const void* get_extension(optima_plugin* p, optima_str id) {
  (void)p;
  if (optima_str_is(id, OPTIMA_EXT_COMPILER)) return &acme_compiler;
  if (optima_str_is(id, OPTIMA_EXT_RUNTIME)) return &acme_runtime;
  if (optima_str_is(id, OPTIMA_EXT_SCHEMA)) return &acme_schema;
  return NULL;
}

#define STR(z) {z, sizeof z - 1}
/* Equal to what manifest.json says. */
static const optima_plugin_api api = {
    sizeof api, OPTIMA_ABI_MAJOR, OPTIMA_ABI_MINOR, OPTIMA_TARGET_MINOR, OPTIMA_SANITIZER_NONE, 0,
    STR("com.acme.scale_shift"), STR("Acme"), STR("1.0.0"), STR(OPTIMA_BUILD_ID), init, deinit, devices, get_extension};

OPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host* host, optima_status* status);
const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host* host, optima_status* status) {
  (void)host;
  if (major == OPTIMA_ABI_MAJOR) return &api;
  fail(status, OPTIMA_INCOMPATIBLE, "plugin speaks ABI major 0 only", OPTIMA_NONE);
  return NULL;
}
