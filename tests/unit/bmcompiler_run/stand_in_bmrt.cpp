// SPDX-License-Identifier: Apache-2.0
// tests: stands in for libbmrt of SOPHON's driver. The model file's words say what it does: "fixed" (stages of batch 1 and 4), "dynamic" (at
// most 4), "two" networks; "refuse" at loading; "fail", "throw", "abort", "hang" at running, and "poll", which tells how
// often it slept over 6,400 locks. y = x + 1, and the process's number is printed.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "plugins/bmcompiler/runner/nets.hpp"

namespace {

using runner::Shape;
using runner::Stage;
using Net = runner::BmrtNet;

std::string words;
bool has(const char* word) { return words.find(word) != std::string::npos; }

Shape one{2, {1, 3}}, four{2, {4, 3}};
Stage stages[] = {{&one, &one, nullptr, nullptr}, {&four, &four, nullptr, nullptr}};
const char* input_names[] = {"x"};
const char* output_names[] = {"y_f32"};
int types[] = {0};
float scales[] = {1};
size_t most[] = {48};

Net net_of(const char* name) {
  const bool is_dynamic = has("dynamic");
  return {name, is_dynamic, 1, input_names, types, scales, 1, output_names, types, scales, is_dynamic ? 1 : 2, is_dynamic ? stages + 1 : stages, most, most};
}

/// How often this thread gave its core away while it did nothing but lock.
long sleeps_polling() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  rusage before{}, after{};
  ::getrusage(RUSAGE_THREAD, &before);
  for (int k = 0; k < 6400; ++k) ::pthread_mutex_lock(&mutex), ::pthread_mutex_unlock(&mutex);
  ::getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

}  // namespace

extern "C" {
void* bmrt_create(void* handle) { return handle; }
bool bmrt_load_bmodel(void*, const char* path) {
  std::ifstream file(path);
  words.assign(std::istreambuf_iterator<char>(file), {});
  std::printf("model of %zu bytes\n", words.size());
  return !has("refuse");
}
int bmrt_get_network_number(void*) { return has("two") ? 2 : 1; }
void bmrt_get_network_names(void*, const char*** names) {
  *names = static_cast<const char**>(std::malloc(2 * sizeof(char*)));
  (*names)[0] = "first", (*names)[1] = "second";
}
const Net* bmrt_get_network_info(void*, const char* name) {
  static Net nets[2];
  nets[0] = net_of("first"), nets[1] = net_of("second");
  return !std::strcmp(name, "first") ? &nets[0] : !std::strcmp(name, "second") && has("two") ? &nets[1] : nullptr;
}
bool bmrt_launch_data(void*, const char* name, void* const* in, const Shape* shapes, int, void** out, Shape* out_shapes, int, bool) {
  std::fprintf(stderr, "process %d runs\n", ::getpid());
  if (has("fail")) return false;
  if (has("throw")) throw std::runtime_error("the stand-in throws");
  if (has("abort")) std::fputs("ASSERT: the stand-in aborts\n", stderr), std::abort();
  if (has("hang"))
    for (;;) ::pause();
  if (has("poll")) std::fputs(sleeps_polling() > 10 ? "it slept\n" : "it did not sleep\n", stderr);
  const float add = std::strcmp(name, "second") ? 1.0f : 100.0f;
  for (int k = 0; k < shapes->dims[0] * 3; ++k) static_cast<float*>(out[0])[k] = static_cast<const float*>(in[0])[k] + add;
  *out_shapes = *shapes;
  return true;
}
}
