/* SPDX-License-Identifier: Apache-2.0
 *
 * optima/runtime.h: the C API of liboptima_runtime.so: load a package that optima-host compiled, and run it. C11, also C++17.
 * optima/runtime.hpp is a C++17 wrapper over it.
 *
 * Rules that hold everywhere below:
 *  - Versions: functions are only ever added and structs only ever grow at the end. Every struct starts with struct_size, set by the
 *    caller, for structs it passes in and for structs it wants filled. The library treats members that struct_size does not
 *    cover as zero, and never writes past it.
 *  - Errors: a function returns 0 (OPTIMA_RT_OK) or one of the codes below, and, when `error` is not null, fills it: one lower-case
 *    sentence with what was found and what was wanted. Functions without an `error` cannot fail. No exception leaves the library.
 *  - Strings are UTF-8 and NUL-terminated. Strings and arrays passed in are read during the call only. What the library returns belongs
 *    to the handle it was asked of, and lives as long as that handle unless said otherwise.
 *  - Handles: a model keeps using its context, a request its model: destroy requests first, then models, then contexts. A destroy
 *    function takes null.
 *  - Threads: [any] may be called from any thread at any time; [object] one call at a time per handle given first, different
 *    handles in parallel.
 */
#ifndef OPTIMA_RUNTIME_H
#define OPTIMA_RUNTIME_H

#include <stdint.h>

#if defined(__GNUC__)
#define OPTIMA_RT_API __attribute__((visibility("default")))
#else
#define OPTIMA_RT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIMA_RT_VERSION_MAJOR 0 /* grows when something here changes its meaning */
#define OPTIMA_RT_VERSION_MINOR 1 /* grows when something is added */

typedef struct optima_rt_context optima_rt_context; /* plugins and threads */
typedef struct optima_rt_model optima_rt_model;     /* a loaded package */
typedef struct optima_rt_request optima_rt_request; /* one execution state of a model */

/* ---------------------------------------------------------------------------------------------------------------- errors */

enum {
  OPTIMA_RT_OK = 0,
  OPTIMA_RT_USAGE = 1,         /* the call makes no sense now, or a null argument */
  OPTIMA_RT_INVALID_INPUT = 2, /* package or tensor: missing, damaged, too new, of the wrong name, type or shape */
  OPTIMA_RT_PLUGIN = 3,        /* a plugin is absent, refuses the artifact, or failed */
  OPTIMA_RT_IO = 4,            /* the system refused: memory, files, threads */
  OPTIMA_RT_CANCELLED = 5,
  OPTIMA_RT_TIMEOUT = 6,       /* of a wait: the run goes on */
  OPTIMA_RT_INTERNAL = 7,      /* a bug; also every code that the caller does not know */
  OPTIMA_RT_DEADLINE = 8       /* a run did not end in time */
};

typedef struct optima_rt_error {
  uint32_t struct_size;
  int32_t code;
  char text[504]; /* NUL-terminated; cut when longer; empty after a success */
} optima_rt_error;

/* ------------------------------------------------------------------------------------------------------------ numbers */

/* Element types; the numbers are those of ONNX TensorProto.DataType. 4- and 2-bit types are packed, low bits first. */
enum {
  OPTIMA_RT_UNDEFINED = 0, OPTIMA_RT_FLOAT32 = 1, OPTIMA_RT_UINT8 = 2, OPTIMA_RT_INT8 = 3, OPTIMA_RT_UINT16 = 4,
  OPTIMA_RT_INT16 = 5, OPTIMA_RT_INT32 = 6, OPTIMA_RT_INT64 = 7, OPTIMA_RT_STRING = 8, OPTIMA_RT_BOOL = 9,
  OPTIMA_RT_FLOAT16 = 10, OPTIMA_RT_FLOAT64 = 11, OPTIMA_RT_UINT32 = 12, OPTIMA_RT_UINT64 = 13, OPTIMA_RT_COMPLEX64 = 14,
  OPTIMA_RT_COMPLEX128 = 15, OPTIMA_RT_BFLOAT16 = 16, OPTIMA_RT_FLOAT8E4M3FN = 17, OPTIMA_RT_FLOAT8E4M3FNUZ = 18,
  OPTIMA_RT_FLOAT8E5M2 = 19, OPTIMA_RT_FLOAT8E5M2FNUZ = 20, OPTIMA_RT_UINT4 = 21, OPTIMA_RT_INT4 = 22,
  OPTIMA_RT_FLOAT4E2M1 = 23, OPTIMA_RT_FLOAT8E8M0 = 24, OPTIMA_RT_UINT2 = 25, OPTIMA_RT_INT2 = 26
};

enum {
  OPTIMA_RT_LOG_TRACE = 0, OPTIMA_RT_LOG_DEBUG = 1, OPTIMA_RT_LOG_INFO = 2, OPTIMA_RT_LOG_WARN = 3, OPTIMA_RT_LOG_ERROR = 4
};

enum { /* what a profile event measures */
  OPTIMA_RT_MODEL_INIT = 0,    /* loading a package */
  OPTIMA_RT_SUBGRAPH_INIT = 1, /* loading one artifact */
  OPTIMA_RT_REQUEST_INIT = 2,
  OPTIMA_RT_LAYER_EXECUTE = 3, /* inside a subgraph, from plugins that tell */
  OPTIMA_RT_WAIT = 4,          /* a thread waiting for a request */
  OPTIMA_RT_BUFFER_COPY = 5,   /* a user's buffer that could not be used in place */
  OPTIMA_RT_MODEL_EXECUTE = 6, /* a whole run */
  OPTIMA_RT_SUBGRAPH_EXECUTE = 7,
  OPTIMA_RT_FLOW_EXECUTE = 8   /* an If, Loop or Scan that the host drives, with the subgraphs of its bodies */
};

/* ------------------------------------------------------------------------------------------------------------ structs */

/* A dense row-major tensor in host memory. */
typedef struct optima_rt_tensor {
  uint32_t struct_size;
  int32_t dtype;
  const char* name;      /* filled by the library; ignored when passed in */
  const int64_t* shape;  /* rank numbers */
  void* data;            /* null only when size is 0 */
  uint64_t size;         /* bytes */
  int32_t rank;
  uint32_t reserved;
} optima_rt_tensor;

typedef struct optima_rt_tensor_info {
  uint32_t struct_size;
  int32_t dtype;
  const char* name;
  const int64_t* shape;        /* -1 = known when running */
  const char* const* symbols;  /* per dimension: the model's name for its size; "" = none */
  int32_t rank;                /* -1 = known when running; shape and symbols are then null */
  uint32_t reserved;
  const char* const* texts;    /* where the model has texts and the elements are their codes: the text of each code from 0; else null. In an
                                  input, text_count is the code of any text that is not among them */
  uint64_t text_count;
} optima_rt_tensor_info;

typedef struct optima_rt_subgraph_info {
  uint32_t struct_size;
  uint32_t index;
  const char* device; /* the user's name of it, "X64:0" */
  const char* plugin;
  const char* note;   /* why compiling again would be better; "" = it would not */
} optima_rt_subgraph_info;

typedef struct optima_rt_device {
  uint32_t struct_size;
  uint32_t ordinal;
  const char* plugin;
  const char* kind; /* "X64" */
  const char* id;
  const char* arch;
  const char* driver;
} optima_rt_device;

typedef struct optima_rt_event {
  uint32_t struct_size;
  uint32_t kind;  /* OPTIMA_RT_MODEL_INIT … */
  uint64_t start_ns, duration_ns; /* CLOCK_MONOTONIC */
  const char* name;
  uint32_t index; /* of the subgraph, or of the input or output that was copied */
  uint32_t track; /* the request's number; 0 = the model */
} optima_rt_event;

typedef struct optima_rt_file { /* of a package in memory */
  uint32_t struct_size;
  uint32_t reserved;
  const char* name; /* "model.meta", "Subgraph_0/…" */
  const void* data;
  uint64_t size;
} optima_rt_file;

typedef struct optima_rt_setting {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  /* "plugin.key" */
  const char* value;
} optima_rt_setting;

typedef struct optima_rt_context_options {
  uint32_t struct_size;
  uint32_t workers; /* threads for asynchronous requests, started when needed; 0 = one per processor, at most 8 */
  const char* const* plugin_folders; /* each searched itself and one level below */
  const optima_rt_setting* settings;
  uint32_t plugin_folder_count, setting_count;
  /* Lines of the library and its plugins, from any thread, one at a time; null = none. The log belongs to the process: the last
   * context created with a log function decides, and the function must stay callable until the process ends. */
  void (*log)(void* log_data, int32_t level, const char* component, const char* text);
  void* log_data;
  int32_t log_level; /* least level wanted */
  uint32_t flags;    /* OPTIMA_RT_ALLOW_WRITABLE */
} optima_rt_context_options;

enum {
  OPTIMA_RT_ALLOW_WRITABLE = 1 /* contexts: load plugin files that others than root and this user may change, too */
};
enum {
  OPTIMA_RT_VERIFY = 1, /* hash weights even when their files were seen before */
  OPTIMA_RT_BORROW = 2  /* load_memory: keep using the caller's bytes until the model is destroyed, instead of copying them */
};

typedef struct optima_rt_load_options {
  uint32_t struct_size;
  uint32_t flags;           /* OPTIMA_RT_VERIFY, OPTIMA_RT_BORROW */
  int64_t threads;          /* most threads of one subgraph's execution; 0 = all */
  const char* cache_folder; /* where checked weights are remembered; null = $XDG_CACHE_HOME/optima, else ~/.cache/optima */
  /* How much of the model is loaded, 0..1, and what is being done: after each subgraph, and while its plugin loads where the plugin tells. From
   * any thread, one call at a time; null = none. Non-zero = stop: the load ends with CANCELLED before the next subgraph, or inside one
   * whose plugin asks. */
  int32_t (*progress)(void* progress_data, double fraction, const char* stage);
  void* progress_data;
} optima_rt_load_options;

/* ------------------------------------------------------------------------------------------------------------ contexts */

/* [any] major << 16 | minor of the library that is loaded. */
OPTIMA_RT_API uint32_t optima_rt_version(void);

/* [any] Looks for plugins; none is started before it is needed. options null = no folders. INVALID_INPUT: a folder is missing or a
 * setting unknown. Settings given without folders are kept for those that are added: one that no plugin knows then fails the adding, one
 * whose plugin never came fails the first load. */
OPTIMA_RT_API int32_t optima_rt_context_create(const optima_rt_context_options* options, optima_rt_context** context, optima_rt_error* error);
/* [object] Joins its threads. Plugin files stay in the process. */
OPTIMA_RT_API void optima_rt_context_destroy(optima_rt_context* context);
/* [any] One more plugin folder, looked into after the others; the context's settings hold for its plugins too. INVALID_INPUT: it is
 * missing, or its plugins do not know a setting. */
OPTIMA_RT_API int32_t optima_rt_context_add_plugins(optima_rt_context* context, const char* folder, optima_rt_error* error);
/* [any] Calls `add` for each device of each plugin; the strings live for that call. A plugin that has none is left out. */
OPTIMA_RT_API int32_t optima_rt_context_devices(optima_rt_context* context, void (*add)(void* data, const optima_rt_device* device), void* data,
                                                optima_rt_error* error);

/* -------------------------------------------------------------------------------------------------------------- models */

/* [any] Loads the package in folder `path`; options may be null. Blocks while plugins load their artifacts. INVALID_INPUT: not a package,
 * damaged, or of a newer format. PLUGIN: a plugin is absent, or says that its artifact must be compiled again or is for another device. */
OPTIMA_RT_API int32_t optima_rt_model_load(optima_rt_context* context, const char* path, const optima_rt_load_options* options, optima_rt_model** model,
                                           optima_rt_error* error);
/* [any] The same of an open folder; the descriptor stays the caller's and may be closed afterwards. */
OPTIMA_RT_API int32_t optima_rt_model_load_fd(optima_rt_context* context, int32_t folder_fd, const optima_rt_load_options* options,
                                              optima_rt_model** model, optima_rt_error* error);
/* [any] The same of bytes in memory, copied unless OPTIMA_RT_BORROW. */
OPTIMA_RT_API int32_t optima_rt_model_load_memory(optima_rt_context* context, const optima_rt_file* files, uint32_t file_count,
                                                  const optima_rt_load_options* options, optima_rt_model** model, optima_rt_error* error);
/* [object] */
OPTIMA_RT_API void optima_rt_model_destroy(optima_rt_model* model);

/* [any] Numbers of inputs, outputs and subgraphs. */
OPTIMA_RT_API uint32_t optima_rt_model_input_count(const optima_rt_model* model);
OPTIMA_RT_API uint32_t optima_rt_model_output_count(const optima_rt_model* model);
OPTIMA_RT_API uint32_t optima_rt_model_subgraph_count(const optima_rt_model* model);
/* [any] Fills *info. INVALID_INPUT: there is no such number. */
OPTIMA_RT_API int32_t optima_rt_model_input(const optima_rt_model* model, uint32_t index, optima_rt_tensor_info* info, optima_rt_error* error);
OPTIMA_RT_API int32_t optima_rt_model_output(const optima_rt_model* model, uint32_t index, optima_rt_tensor_info* info, optima_rt_error* error);
OPTIMA_RT_API int32_t optima_rt_model_subgraph(const optima_rt_model* model, uint32_t index, optima_rt_subgraph_info* info, optima_rt_error* error);
/* [any] Number of the input or output with this name. INVALID_INPUT names the nearest ones. */
OPTIMA_RT_API int32_t optima_rt_model_find_input(const optima_rt_model* model, const char* name, uint32_t* index, optima_rt_error* error);
OPTIMA_RT_API int32_t optima_rt_model_find_output(const optima_rt_model* model, const char* name, uint32_t* index, optima_rt_error* error);
/* [any] MODEL_INIT and SUBGRAPH_INIT events. */
OPTIMA_RT_API void optima_rt_model_profile(const optima_rt_model* model, void (*add)(void* data, const optima_rt_event* event), void* data);

/* ------------------------------------------------------------------------------------------------------------ requests
 * While a run is under way only wait and cancel may be called. Requests of one model run in parallel. */

/* [any] PLUGIN: a plugin could not make a context. */
OPTIMA_RT_API int32_t optima_rt_request_create(optima_rt_model* model, optima_rt_request** request, optima_rt_error* error);
/* [object] Cancels a run under way and waits for it. */
OPTIMA_RT_API void optima_rt_request_destroy(optima_rt_request* request);

/* [object] Later runs read the input from tensor->data, in place when it is aligned (64 bytes always suffice) and long enough for
 * its readers, else through a copy. The bytes stay the caller's and must live until they are replaced or the request is destroyed.
 * INVALID_INPUT: wrong type, shape or size. */
OPTIMA_RT_API int32_t optima_rt_request_set_input(optima_rt_request* request, uint32_t index, const optima_rt_tensor* tensor, optima_rt_error* error);
/* [object] A zeroed buffer of the request's own for the input, which later runs read in place. shape: rank numbers. *tensor lives until the
 * input is set again. */
OPTIMA_RT_API int32_t optima_rt_request_input_buffer(optima_rt_request* request, uint32_t index, const int64_t* shape, int32_t rank,
                                                     optima_rt_tensor* tensor, optima_rt_error* error);
/* [object] Later runs write the output to these bytes, which must live until unbound (data null) or the request is destroyed.
 * Ends the outputs of the last run. INVALID_INPUT: too small for an output of known shape; for others the run fails when they do not
 * fit. Runs fail with USAGE where bytes are those of an input as well, or of another output. */
OPTIMA_RT_API int32_t optima_rt_request_bind_output(optima_rt_request* request, uint32_t index, void* data, uint64_t capacity, optima_rt_error* error);
/* [object] The output of the last successful run, without a copy; lives until the next run or bind_output, one that is an input of the
 * model until that input is set again. USAGE: there was none. */
OPTIMA_RT_API int32_t optima_rt_request_output(optima_rt_request* request, uint32_t index, optima_rt_tensor* tensor, optima_rt_error* error);

/* [object] Runs in the calling thread. INVALID_INPUT: an input is not set. PLUGIN: a subgraph failed; the text names it. */
OPTIMA_RT_API int32_t optima_rt_request_run(optima_rt_request* request, optima_rt_error* error);
/* [object] Called on a thread of the context when an asynchronous run is over, before wait returns. It may start the next run; it
 * must not wait for or destroy the request. null = none. error lives for the call. */
OPTIMA_RT_API void optima_rt_request_set_callback(optima_rt_request* request, void (*callback)(void* data, int32_t code, const optima_rt_error* error),
                                                  void* data);
/* [object] Starts a run on a thread of the context. USAGE: one is under way, or this process is a fork() of the one that made the context, whose
 * threads it has not: optima_rt_request_run, or a context of its own. */
OPTIMA_RT_API int32_t optima_rt_request_start(optima_rt_request* request, optima_rt_error* error);
/* [any] The outcome of the last started run. Negative = wait without limit, 0 = only look. TIMEOUT: it is still running. USAGE: never started, or
 * under way in the process that this one is a fork() of. */
OPTIMA_RT_API int32_t optima_rt_request_wait(optima_rt_request* request, int64_t timeout_ms, optima_rt_error* error);
/* [any] The run under way ends with CANCELLED once the subgraph that is executing is done, or inside it where its plugin can stop. */
OPTIMA_RT_API void optima_rt_request_cancel(optima_rt_request* request);
/* [object] Later runs that are not over so many milliseconds after run or start end with DEADLINE: between two subgraphs, or inside one whose
 * plugin can stop. 0 = no limit, as at first. */
OPTIMA_RT_API void optima_rt_request_set_deadline(optima_rt_request* request, uint64_t ms);

/* [object] on != 0: later runs record events. */
OPTIMA_RT_API void optima_rt_request_set_profiling(optima_rt_request* request, int32_t on);
/* [object] Hands over the events since the last call, oldest first; the strings live for each call of `add`. */
OPTIMA_RT_API void optima_rt_request_profile(optima_rt_request* request, void (*add)(void* data, const optima_rt_event* event), void* data);

/* State: a cache or a recurrent value that goes from run to run.
 * [object] From now on each run finds in the input what the run before left in the output ("present" feeds "past"). The state is the
 * request's own memory: it starts from what was last set as the input, which is read again at each start, else from zeros, and setting
 * the input starts it again. The caller's buffers are never written to but for bound outputs. Nothing is copied unless the output is
 * bound, or is an input or a constant of the model; a plugin that updates the value in place finds it at one address in every run.
 * After a run that failed or was cancelled a state that was being updated in place is lost: runs then fail with USAGE until a reset.
 * Ends the outputs of the last run. INVALID_INPUT: no such number, or type or shape differ; the run fails where that is seen only
 * then. USAGE: one of them is tied already, or a run is under way. */
OPTIMA_RT_API int32_t optima_rt_request_tie(optima_rt_request* request, uint32_t output, uint32_t input, optima_rt_error* error);
/* [object] Tied inputs start again, and plugins forget what runs left in them: the next run is as the first. USAGE: a run is under way.
 * PLUGIN: one could not; the others and the tied inputs are reset all the same. */
OPTIMA_RT_API int32_t optima_rt_request_reset(optima_rt_request* request, optima_rt_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* OPTIMA_RUNTIME_H */
