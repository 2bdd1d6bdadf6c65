/* SPDX-License-Identifier: Apache-2.0
 *
 * optima.describe/1: what is in a file that a plugin wrote, for people. Offered by a plugin of either role, of two files by the one that
 * runs; without it `inspect` tells a file's size.
 * An extension; the rules of abi.h hold. */
#ifndef OPTIMA_EXT_DESCRIBE_H
#define OPTIMA_EXT_DESCRIBE_H

#include "optima/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_EXT_DESCRIBE "optima.describe/1"

typedef struct optima_describe_request {
  uint32_t struct_size;
  uint32_t reserved;
  optima_str name;         /* of the file, without folders: "subgraph_0.dlc" */
  const optima_blob* file; /* hostile: it need not be from this plugin, nor whole */
} optima_describe_request;
typedef struct optima_describer {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] Hands a JSON object (RFC 8259, at most 64 MiB) to set_json, once: what the file tells, names and values for people, most
   * important first; what cannot be told is said, not invented. An array of objects is shown as a table. NOT_FOUND, by the file's name
   * and first bytes alone: not a kind of file that this plugin writes; the host asks the next. CORRUPT: its kind, but damaged. Cheap,
   * deterministic, without device, vendor tools and network. */
  int32_t (*describe)(optima_plugin* plugin, const optima_describe_request* request, int32_t (*set_json)(void* host_data, optima_str json),
                      void* host_data, optima_status* status);
} optima_describer;

#ifdef __cplusplus
} /* extern "C" */
#endif

#if UINTPTR_MAX == UINT64_MAX
OPTIMA_SIZE(optima_describe_request, 32);
OPTIMA_SIZE(optima_describer, 16);
#endif

#endif /* OPTIMA_EXT_DESCRIBE_H */
