/* SPDX-License-Identifier: Apache-2.0
 * Plugins that are wrong on purpose, one per CASE. They are the host's test: each must be refused with its own sentence. */
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "optima/abi.h"

#define FINE 0
#define CRASH_IN_CONSTRUCTOR 1
#define CRASH_IN_QUERY 2
#define HANG_IN_QUERY 3
#define SILENT_NULL 4     /* refuses without a word */
#define SPEAKING_NULL 5   /* refuses with a sentence */
#define NO_SYMBOL 6       /* exports something else */
#define ROOT_SIZE_ZERO 7
#define ROOT_SIZE_ABSURD 8
#define ROOT_SHORT 9      /* ends before init */
#define ALL_LONG 10       /* everything is longer than the host knows, tails poisoned: legal */
#define WRONG_MINOR 11
#define WANTS_NEWER_HOST 12
#define OTHER_MAJOR 13    /* answers another major than asked */
#define OTHER_ID 14       /* root table and note differ */
#define CRASH_IN_INIT 15
#define EXIT_IN_INIT 16
#define NO_INSTANCE 17    /* init says OK and gives nothing */
#define CRASH_IN_DEVICES 18
#define HANG_IN_DEINIT 19
#define COMPILER_SHORT 20 /* table ends before compile */
#define COMPILER_SIZE_ABSURD 21
#define NO_COMPILER 22    /* the note promises one */
#define NULL_FUNCTION 23  /* devices is null */
#define INIT_FAILS 24
#define PRINTS 25         /* writes to stdout: the probe must not mind */
#define NO_DEVICES 26     /* none, with a sentence */
#define DEVICE_SIZE_ZERO 27
#define MISSING_LIBRARY 28
#define SINGLE 29
#define LAST_WORDS 30     /* says why on stderr, and aborts */

#ifndef CASE
#define CASE FINE
#endif
#ifndef MAJOR
#define MAJOR 0
#endif
#ifndef ID
#define ID "bad"
#endif
#ifndef BUILD
#define BUILD "1"
#endif

#if CASE == MISSING_LIBRARY
int optima_test_gone(void);
#endif

static optima_str lit(const char* z) {
  optima_str s = {z, strlen(z)};
  return s;
}

static volatile int* volatile nowhere;
static void crash(void) { *nowhere = 1; }

#if CASE == CRASH_IN_CONSTRUCTOR
__attribute__((constructor)) static void at_load(void) { crash(); }
#endif

static int instance;

static int32_t init(const optima_host* host, const optima_option* options, uint32_t count, optima_plugin** plugin, optima_status* status) {
  (void)host, (void)options, (void)count, (void)status;
  if (CASE == CRASH_IN_INIT) crash();
  if (CASE == EXIT_IN_INIT) exit(0);
  if (CASE == LAST_WORDS && write(2, "starting\nno licence for 'bad'\n\n", 31) > 0) abort();
  if (CASE == PRINTS && write(1, "{\"ok\":false,\"message\":\"hello\"}\n", 31) < 0) return OPTIMA_IO;
  if (CASE == INIT_FAILS) {
    status->set_text(status->host_data, lit("the licence\nfile is gone."));
    return OPTIMA_DEPENDENCY;
  }
  if (CASE != NO_INSTANCE) *plugin = (optima_plugin*)(void*)&instance;
  return OPTIMA_OK;
}

static void deinit(optima_plugin* plugin) {
  (void)plugin;
  while (CASE == HANG_IN_DEINIT) pause();
}

typedef struct long_device { optima_device d; uint8_t tail[40]; } long_device;

static int32_t devices(optima_plugin* plugin, optima_add_device add, void* data, optima_status* status) {
  long_device d;
  (void)plugin;
  if (CASE == CRASH_IN_DEVICES) crash();
  if (CASE == NO_DEVICES) {
    status->set_text(status->host_data, lit("no board on the bus"));
    return OPTIMA_OK;
  }
  memset(&d, 0, sizeof d);
  memset(d.tail, 0xAA, sizeof d.tail);
  d.d.struct_size = CASE == DEVICE_SIZE_ZERO ? 0 : CASE == ALL_LONG ? sizeof d : sizeof d.d;
  d.d.device_class = CASE == ALL_LONG ? 77 /* a class of the future */ : OPTIMA_CLASS_NPU;
  d.d.kind = lit("BAD");
  return add(data, &d.d);
}

typedef struct long_verdict { optima_verdict v; uint64_t tail[3]; } long_verdict;

static int32_t check(optima_plugin* plugin, const optima_check_request* request, optima_report report, void* data, optima_status* status) {
  long_verdict v[2];
  const uint32_t count = request->node_count < 2 ? request->node_count : 2;
  (void)plugin, (void)status;
  memset(v, 0xAA, sizeof v);
  for (uint32_t k = 0; k < count; ++k) {
    memset(&v[k].v, 0, sizeof v[k].v);
    v[k].v.struct_size = sizeof v[k];
    v[k].v.node = request->nodes[k];
    v[k].v.verdict = OPTIMA_VERDICT_SUPPORTED;
  }
  return report(data, &v[0].v, count);
}

static int32_t compile(optima_plugin* plugin, const optima_compile_request* request, const optima_sink* sink, const optima_progress* progress,
                       optima_status* status) {
  (void)plugin, (void)request, (void)sink, (void)progress;
  status->set_text(status->host_data, lit("this plugin compiles nothing"));
  return 4711; /* a code of the future */
}

typedef struct long_compiler { optima_compiler t; uint8_t tail[64]; } long_compiler;
static const long_compiler compiler_table = {{
#if CASE == COMPILER_SHORT
  offsetof(optima_compiler, compile),
#elif CASE == ALL_LONG
  sizeof(long_compiler),
#elif CASE == COMPILER_SIZE_ABSURD
  0xFFFFFFF0u,
#else
  sizeof(optima_compiler),
#endif
  0, check, compile}, {0xAA}};

static const void* get_extension(optima_plugin* plugin, optima_str id) {
  (void)plugin;
  if (CASE == NO_COMPILER) return NULL;
  return optima_str_is(id, OPTIMA_EXT_COMPILER) ? &compiler_table : NULL;
}

#define TEXT(z) {z, sizeof z - 1}
typedef struct long_api { optima_plugin_api a; uint8_t tail[64]; } long_api;
static const long_api api = {{
#if CASE == ROOT_SIZE_ZERO
  0,
#elif CASE == ROOT_SIZE_ABSURD
  0x7FFFFFFF,
#elif CASE == ROOT_SHORT
  offsetof(optima_plugin_api, init),
#elif CASE == ALL_LONG
  sizeof(long_api),
#else
  sizeof(optima_plugin_api),
#endif
  CASE == OTHER_MAJOR ? 5 : MAJOR, CASE == WRONG_MINOR ? 99 : OPTIMA_ABI_MINOR, CASE == WANTS_NEWER_HOST ? 1000 : 0, 0,
  CASE == SINGLE ? OPTIMA_PLUGIN_SINGLE_INSTANCE : 0,
#if CASE == OTHER_ID
  TEXT("somebody_else"),
#else
  TEXT(ID),
#endif
  TEXT("Bad"), TEXT("1"), TEXT(BUILD), init, deinit,
  CASE == NULL_FUNCTION ? NULL : devices, get_extension}, {0xAA}};

#if CASE == NO_SYMBOL
#define optima_plugin_query some_other_name
#endif
OPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host* host, optima_status* status);
const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host* host, optima_status* status) {
  (void)host;
  if (CASE == CRASH_IN_QUERY) crash();
  while (CASE == HANG_IN_QUERY) pause();
  if (CASE == SILENT_NULL) return NULL;
#if CASE == MISSING_LIBRARY
  if (optima_test_gone()) return NULL;
#endif
  if (CASE != SPEAKING_NULL && (major == MAJOR || CASE == OTHER_MAJOR)) return &api.a;
  status->code = OPTIMA_INCOMPATIBLE;
  status->set_text(status->host_data, lit("speaks another major"));
  return NULL;
}
