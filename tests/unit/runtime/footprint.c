/* SPDX-License-Identifier: Apache-2.0
 * What the library costs a process that has it loaded, a context made, and does nothing: anonymous memory before and after. */
#include <dlfcn.h>
#include <stdio.h>

#include "optima/runtime.h"

static long anonymous_kib(void) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
  if (status) fclose(status);
  return kib;
}

typedef int32_t (*create_function)(const optima_rt_context_options*, optima_rt_context**, optima_rt_error*);

int main(int argc, char** argv) {
  const long before = anonymous_kib();
  void* library = dlopen(OPTIMA_RUNTIME_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library || argc < 2) return 1;
  create_function create;
  *(void**)&create = dlsym(library, "optima_rt_context_create");
  const char* folder = argv[1];
  optima_rt_context_options options = {0};
  options.struct_size = sizeof options;
  options.plugin_folders = &folder;
  options.plugin_folder_count = 1;
  optima_rt_context* context = NULL;
  if (create(&options, &context, NULL) != OPTIMA_RT_OK) return 1;
  printf("idle context: %ld KiB of anonymous memory over %ld KiB without the library (goal 3 MB)\n", anonymous_kib() - before, before);
  return 0;
}
