// SPDX-License-Identifier: Apache-2.0
// tests: a plugin that copies, but for what MISBEHAVE says: "HOW@WHERE", as "crash@execute". In the throw-away probe it behaves, unless
// MISBEHAVE_IN_PROBE is set. Written on abi.h alone, so that what it throws does cross the seam.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "optima/abi.h"
#include "optima/ext/async.h"

namespace {

std::string_view view(optima_str s) { return s.size ? std::string_view(s.data, s.size) : std::string_view(); }
optima_str str(std::string_view s) { return {s.data(), s.size()}; }

const optima_host* the_host;
bool behaves = true;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

volatile uintptr_t nowhere = 16;
volatile int deepest = INT_MAX;  // neither of which the compiler may look at

[[gnu::noinline]] int overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < deepest ? overflow(depth + 1) + frame[0] : 0;
}

// A mapped file that shrinks under the reader.
void bus_error() {
  char name[] = "/tmp/misbehave-XXXXXX";
  const int fd = ::mkstemp(name);
  ::unlink(name);
  if (fd < 0 || ::ftruncate(fd, 4096) != 0) return;
  auto* bytes = static_cast<volatile char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (::ftruncate(fd, 0) == 0) bytes[0] = 1;
}

void crash(const std::string& how) {
  if (how == "crash") *reinterpret_cast<volatile int*>(nowhere) = 1;
  if (how == "bus") bus_error();
  if (how == "ill") ::raise(SIGILL);
  if (how == "fpe") ::raise(SIGFPE);
  if (how == "abort") std::abort();
  if (how == "overflow") std::printf("%d\n", overflow(0));
}

void leave(const std::string& how) {
  if (how == "exit") std::exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "_exit") ::_exit(0);
  if (how == "_Exit") std::_Exit(0);
}

void hang(const std::string& how) {
  if (how != "hang") return;
  ::close(::open(variable("MISBEHAVE_TELL").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  for (;;) ::pause();
}

void speak(const std::string& how) {
  if (how == "print") {
    std::printf("{\"plugin\": \"prints\"}\n");
    std::fflush(stdout);
    if (::write(1, "and writes\n", 11) != 11) std::abort();
  }
  for (int i = 0; how == "log" && i < 5000; ++i) the_host->log(the_host->self, OPTIMA_LOG_WARN, str(""), str("line " + std::to_string(i)));
}

void act(const std::string& how) {
  crash(how);
  leave(how);
  if (how == "throw") throw std::runtime_error("thrown by the plugin");
  hang(how);
  speak(how);
  constexpr std::string_view kThread = "thread ";
  if (how.rfind(kThread, 0) == 0) std::thread([&] { act(how.substr(kThread.size())); }).join();
}

void at(const char* where) {
  const std::string wish = variable("MISBEHAVE");
  const size_t split = wish.find('@');
  if (!behaves && split != wish.npos && wish.substr(split + 1) == where) act(wish.substr(0, split));
}

[[gnu::constructor]] void constructed() {
  behaves = variable("MISBEHAVE_FROM_START").empty();
  at("constructor");
}

[[gnu::destructor]] void destroyed() { at("library"); }

int handle;  // stands for every object

int32_t init(const optima_host* host, const optima_option*, uint32_t, optima_plugin** plugin, optima_status*) {
  the_host = host;
  const std::string deep = std::string(view(host->temp_dir)) + "/deep";
  ::mkdir(deep.c_str(), 0700);
  ::close(::open((deep + "/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  at("init");
  *plugin = reinterpret_cast<optima_plugin*>(&handle);
  return OPTIMA_OK;
}

void deinit(optima_plugin*) { at("deinit"); }

int32_t devices(optima_plugin*, optima_add_device add, void* data, optima_status*) {
  at("devices");
  optima_device d{};
  d.struct_size = sizeof d;
  d.device_class = OPTIMA_CLASS_NPU;
  d.kind = str("MIS");
  return add(data, &d);
}

int32_t check(optima_plugin*, const optima_check_request* request, optima_report report, void* data, optima_status*) {
  at("check");
  for (uint32_t k = 0; k < request->node_count; ++k) {
    optima_verdict v{};
    v.struct_size = sizeof v;
    v.node = request->nodes[k];
    v.verdict = OPTIMA_VERDICT_SUPPORTED;
    v.group = OPTIMA_NONE;
    if (const int32_t code = report(data, &v, 1)) return code;
  }
  return OPTIMA_OK;
}

int32_t compile(optima_plugin*, const optima_compile_request* request, const optima_sink* sink, const optima_progress*, optima_status* status) {
  uint64_t stream = 0;
  const std::string name = std::string(view(request->stem)) + ".bin";
  if (const int32_t code = sink->open(sink->host_data, str(name), 4, &stream, status)) return code;
  if (const int32_t code = sink->write(sink->host_data, stream, "half", 4, status)) return code;
  at("compile");
  if (!behaves && variable("MISBEHAVE") == "refuse@sink") {
    optima_verdict v{};  // says nothing at all
    return sink->refuse(sink->host_data, &v, UINT32_MAX);
  }
  if (const int32_t code = sink->close(sink->host_data, stream, status)) return code;
  return sink->set_format(sink->host_data, str("misbehave/1"), status);
}

int32_t check_artifact(optima_plugin*, const optima_artifact*, const optima_device*, optima_compat* compat, optima_status*) {
  compat->verdict = OPTIMA_COMPAT_OPTIMAL;
  return OPTIMA_OK;
}

// "obey@load": until it is cancelled, as a plugin should.
bool obeys_in_load(const optima_progress* progress) {
  if (behaves || variable("MISBEHAVE") != "obey@load") return false;
  ::close(::open(variable("MISBEHAVE_TELL").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  while (!progress->cancelled(progress->host_data)) ::usleep(1000);
  return true;
}

int32_t load(optima_plugin*, const optima_artifact* artifact, const optima_device*, const optima_option*, uint32_t, optima_program** program, optima_status*) {
  at("load");
  if (obeys_in_load(artifact->progress)) return OPTIMA_CANCELLED;
  *program = reinterpret_cast<optima_program*>(&handle);
  return OPTIMA_OK;
}

int32_t bindings(optima_program*, optima_add_binding add, void* data, optima_status*) {
  at("bindings");
  static constexpr int64_t shape[] = {4};
  const optima_binding in{sizeof in, OPTIMA_INPUT, str("x"), OPTIMA_F32, 1, shape, 0, 1, 0, 0, 0, 0};
  const optima_binding out{sizeof out, OPTIMA_OUTPUT, str("y"), OPTIMA_F32, 1, shape, 0, 1, 0, 0, 0, 0};
  if (const int32_t code = add(data, &in)) return code;
  return add(data, &out);
}

int32_t context_create(optima_program*, optima_context** context, optima_status*) {
  *context = reinterpret_cast<optima_context*>(&handle);
  return OPTIMA_OK;
}
int32_t context_open(optima_program* program, const optima_context_request*, optima_context** context, optima_status* status) {
  at("context_open");
  return context_create(program, context, status);
}
void context_destroy(optima_context*) { at("context_destroy"); }
void program_destroy(optima_program*) { at("program_destroy"); }

int32_t execute(optima_context*, const optima_tensor* in, uint32_t, optima_tensor* out, uint32_t, optima_status*) {
  at("execute");
  std::memcpy(out->data, in->data, 4 * sizeof(float));
  return OPTIMA_OK;
}

int32_t execute_within(optima_context* context, const optima_execute_request* r, optima_status* status) {
  at("execute_within");
  return execute(context, r->in, r->in_count, r->out, r->out_count, status);
}

// The work is done on a thread of the plugin's own, where it misbehaves.
int32_t submit(optima_context* context, const optima_tensor* in, uint32_t ni, optima_tensor* out, uint32_t no, const optima_fence_point*, uint32_t,
               optima_fence_point signal, optima_status*) {
  std::thread([=] {
    at("submit");
    (void)execute(context, in, ni, out, no, nullptr);
    const auto* fences = static_cast<const optima_fence_host*>(the_host->get_extension(the_host->self, str(OPTIMA_EXT_FENCE)));
    fences->signal(the_host->self, signal);
  }).detach();
  return OPTIMA_OK;
}
int32_t cancel(optima_context*, optima_status*) { return OPTIMA_OK; }

const void* get_extension(optima_plugin*, optima_str id) {
  static constexpr optima_compiler compiler = {sizeof compiler, 0, check, compile};
  static constexpr optima_runtime runtime = {sizeof runtime, 0, check_artifact, load, bindings, context_create, context_destroy, program_destroy, execute, nullptr,
                                             context_open, execute_within, nullptr};
  static constexpr optima_async async = {sizeof async, 0, submit, cancel};
  const std::string wish = variable("MISBEHAVE");
  if (optima_str_is(id, OPTIMA_EXT_ASYNC)) return wish.substr(std::min(wish.find('@'), wish.size())) == "@submit" ? &async : nullptr;
  if (optima_str_is(id, OPTIMA_EXT_COMPILER)) return &compiler;
  return optima_str_is(id, OPTIMA_EXT_RUNTIME) ? &runtime : nullptr;
}

#define TEXT(z) {z, sizeof z - 1}
const optima_plugin_api kApi = {sizeof kApi, 0, OPTIMA_ABI_MINOR, 0, 0, 0, TEXT("misbehave"), TEXT("Trial"), TEXT("1"), TEXT("1"), init, deinit, devices, get_extension};

}  // namespace

OPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host* host, optima_status*) {
  behaves = view(host->name) == "optima probe" && variable("MISBEHAVE_IN_PROBE").empty();
  at("query");
  return major == 0 ? &kApi : nullptr;
}
