// SPDX-License-Identifier: Apache-2.0
// tests: a stand-in for libSNPE.so, and it says so in its version: no SDK of Qualcomm's can be had in a test. It has the C API that
// plugins/snpe calls, is strict about every argument, counts the handles that live, and computes small networks that a text file describes:
//
//   STAND-IN                           perhaps behind the first four bytes of a zip, as a DLC has them
//   input NAME CODING d0,d1,…          CODING: f32, f16, i32, or u8:ZERO:STEP (codes of one scale)
//   output NAME CODING d0,d1,…
//   compute OUT channels IN            OUT = relu(IN * (1 + index along the last dim))
//   compute OUT add IN IN
//
// A DLC of the true form it hands to the script that ROOT/true_form names (tests/unit/snpe_sdk), where it is ROOT/lib/PLATFORM/libSNPE.so itself:
// that reads the file with Qualcomm's library and computes it on Qualcomm's emulator, of the runtime that was ordered.
//
// SNPE_STAND_IN_FAILS=Function makes that one fail; SNPE_STAND_IN_LACKS=dsp,gpu takes runtimes away.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::atomic<int> live{0};
thread_local std::string last_error = "nothing was wrong";

int failed(const std::string& why) {
  last_error = why;
  return 1;
}

/// Asked to fail here?
bool fails(const char* function) {
  const char* which = std::getenv("SNPE_STAND_IN_FAILS");
  if (!which || std::strcmp(which, function) != 0) return false;
  last_error = std::string(function) + " was told to fail";
  return true;
}
#define MAY_FAIL(value) \
  if (fails(__func__)) return value

/// Every handle is one of these, and is known by its kind.
struct Object {
  explicit Object(std::string k) : kind(std::move(k)) { ++live; }
  Object(const Object& other) : kind(other.kind) { ++live; }
  virtual ~Object() { --live; }
  std::string kind;
};

template <class T>
T* as(void* handle) {
  return dynamic_cast<T*>(static_cast<Object*>(handle));
}
template <class T>
int end(void* handle) {
  T* object = as<T>(handle);
  if (!object) return failed("a handle of another kind was deleted");
  delete object;
  return 0;
}

struct Version : Object {
  Version() : Object("version") {}
};
struct Shape : Object {
  Shape() : Object("shape") {}
  std::vector<size_t> dims;
};
struct Strings : Object {
  Strings() : Object("strings") {}
  std::vector<std::string> all;
};
struct Runtimes : Object {
  Runtimes() : Object("runtimes") {}
  std::vector<int> all;
};
/// Numbers of Snpe_UserBufferEncoding_ElementType_t.
struct Encoding : Object {
  Encoding(int t, int b) : Object("encoding"), type(t), bits(b) {}
  int type, bits;
  uint64_t zero = 0;
  float step = 1;

  float get(const char* at) const {
    if (type == 1) return value<float>(at);
    if (type == 12) return static_cast<float>(value<int32_t>(at));
    if (type == 3) return half(value<uint16_t>(at));
    return (static_cast<float>(value<uint8_t>(at)) - static_cast<float>(zero)) * step;
  }
  void set(char* at, float x) const {
    if (type == 1) return put(at, x);
    if (type == 12) return put(at, static_cast<int32_t>(std::lround(x)));
    if (type == 3) return put(at, half_of(x));
    put(at, static_cast<uint8_t>(std::clamp(std::lround(x / step) + static_cast<long>(zero), 0L, 255L)));
  }

 private:
  template <class T>
  static T value(const char* at) {
    T x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  template <class T>
  static void put(char* at, T x) {
    std::memcpy(at, &x, sizeof x);
  }
  /// Normal numbers and zero are all that the tests have.
  static float half(uint16_t bits) {
    const float size = (bits & 0x7fff) == 0 ? 0 : std::ldexp(static_cast<float>(0x400 | (bits & 0x3ff)), (bits >> 10 & 31) - 25);
    return bits >> 15 ? -size : size;
  }
  static uint16_t half_of(float x) {
    if (x == 0) return 0;
    int power = 0;
    const float fraction = std::frexp(std::fabs(x), &power);  // 0.5..1
    const auto digits = static_cast<int>(std::lround(std::ldexp(fraction, 11))) - 0x400;
    return static_cast<uint16_t>((x < 0 ? 0x8000 : 0) | ((power + 14) * 0x400 + digits));
  }
};
struct Buffer : Object {
  Buffer() : Object("buffer") {}
  void* data = nullptr;
  size_t size = 0;
  std::vector<size_t> strides;
  int type = 0, bits = 0;
  uint64_t zero = 0;
  float step = 1;
};
struct Buffers : Object {
  Buffers() : Object("buffers") {}
  std::map<std::string, Buffer*> all;
};
struct Tensor {
  bool is_output = false;
  int type = 1, bits = 32;
  uint64_t zero = 0;
  float step = 1;
  std::vector<size_t> dims;
};
struct Attributes : Object {
  Attributes() : Object("attributes"), encoding(1, 32) {}
  Tensor tensor;
  Encoding encoding;
};
struct Step {
  std::string out, what;
  std::vector<std::string> in;
};
struct Description {
  std::string true_form;           // path of a DLC of the true form
  std::vector<std::string> names;  // in the file's order
  std::map<std::string, Tensor> tensors;
  std::vector<Step> steps;
};
struct Container : Object {
  Container() : Object("container") {}
  Description description;
};
struct Builder : Object {
  Builder() : Object("builder") {}
  Description description;
  std::vector<int> runtimes;
  bool own_buffers = false;
};
struct Network : Object {
  Network() : Object("network") {}
  Description description;
  int runtime = 0;
};

Tensor tensor_of(const std::string& coding, const std::string& dims, bool is_output) {
  Tensor t;
  t.is_output = is_output;
  std::istringstream words(coding);
  std::string word;
  std::getline(words, word, ':');
  if (word == "f16") t.type = 3, t.bits = 16;
  if (word == "i32") t.type = 12;
  if (word == "u8") {
    t.type = 10, t.bits = 8;
    std::getline(words, word, ':');
    t.zero = std::stoull(word);
    std::getline(words, word, ':');
    t.step = std::stof(word);
  }
  std::istringstream list(dims);
  while (std::getline(list, word, ',')) t.dims.push_back(std::stoull(word));
  return t;
}

bool read(const char* path, Description& d) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || (line != "STAND-IN" && line != "PK\3\4STAND-IN")) return false;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string verb, name, a, b;
    words >> verb >> name;
    if (verb == "compute") {
      Step s{name, "", {}};
      words >> s.what;
      while (words >> a) s.in.push_back(a);
      d.steps.push_back(s);
    } else {
      words >> a >> b;
      d.names.push_back(name);
      d.tensors[name] = tensor_of(a, b, verb == "output");
    }
  }
  return true;
}

/// The command that begins with the two lines of the true_form file; empty where there is none.
std::string maker() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&maker), &here) == 0) return {};
  std::ifstream file(std::filesystem::path(here.dli_fname).parent_path().parent_path().parent_path() / "true_form");
  std::string python, script;
  return std::getline(file, python) && std::getline(file, script) ? "'" + python + "' '" + script + "'" : std::string();
}

/// A line of `true_form.py ports`: 0 or 1, type, dims, scale, offset, name.
void add_true(const std::string& line, Description& d) {
  std::istringstream words(line);
  std::string dims, name, word;
  int role = 0, type = 0;
  long offset = 0;
  Tensor t;
  words >> role >> type >> dims >> t.step >> offset >> name;
  t.is_output = role == 1, t.zero = static_cast<uint64_t>(-offset);
  if (type == 0x216) t.type = 3, t.bits = 16;
  if (type == 0x32) t.type = 12;
  if (type == 0x408) t.type = 10, t.bits = 8;
  std::istringstream list(dims);
  while (std::getline(list, word, 'x')) t.dims.push_back(std::stoull(word));
  d.names.push_back(name);
  d.tensors[name] = t;
}

bool read_true(const char* path, Description& d) {
  const std::string by = maker();
  if (by.empty()) return false;
  d.true_form = path;
  FILE* answer = ::popen((by + " ports '" + path + "'").c_str(), "r");
  char line[4096];
  while (answer && std::fgets(line, sizeof line, answer))
    if (line[0] == '0' || line[0] == '1') add_true(line, d);
  return answer && ::pclose(answer) == 0 && !d.names.empty();
}

/// A user buffer is as the API's pages want it: the size that its coding says, byte strides of the network's dense dims.
bool fits(const Buffer& b, const Tensor& t) {
  if (!b.data || b.strides.size() != t.dims.size()) return false;
  size_t stride = static_cast<size_t>(b.bits) / 8;
  for (size_t d = t.dims.size(); d-- > 0; stride *= t.dims[d])
    if (b.strides[d] != stride) return false;
  return b.size == stride;
}

struct Lent {
  const Buffer* buffer;
  const Tensor* tensor;
  Encoding coding;
  Lent(const Buffer* b, const Tensor* t) : buffer(b), tensor(t), coding(b->type, b->bits) { coding.zero = b->zero, coding.step = b->step; }
  size_t size() const { return std::accumulate(tensor->dims.begin(), tensor->dims.end(), size_t{1}, std::multiplies<>()); }
  char* at(size_t k) const { return static_cast<char*>(buffer->data) + k * static_cast<size_t>(buffer->bits) / 8; }
};

int compute(const Step& step, const std::function<const Lent*(const std::string&)>& lent) {
  const Lent* out = lent(step.out);
  const Lent* a = step.in.empty() ? nullptr : lent(step.in[0]);
  const Lent* b = step.in.size() < 2 ? a : lent(step.in[1]);
  if (!out || !a || !b) return failed("a tensor of the network has no buffer");
  const size_t channels = out->tensor->dims.back();
  for (size_t k = 0; k < out->size(); ++k) {
    const float x = a->coding.get(a->at(k));
    out->coding.set(out->at(k), step.what == "add" ? x + b->coding.get(b->at(k)) : std::max(0.0f, x * static_cast<float>(1 + k % channels)));
  }
  return 0;
}

/// By way of files of the network's own types.
int compute_true(const Network& n, const std::map<std::string, Lent>& lent) {
  char folder[] = "/tmp/stand_in_snpe.XXXXXX";
  if (!::mkdtemp(folder)) return failed("no folder");
  const auto raw = [](const Lent& l) { return std::pair{Encoding(l.tensor->type, l.tensor->bits), static_cast<size_t>(l.tensor->bits) / 8}; };
  for (const auto& [name, l] : lent) {
    auto [coding, size] = raw(l);
    coding.zero = l.tensor->zero, coding.step = l.tensor->step;
    std::vector<char> bytes(l.size() * size);
    for (size_t k = 0; k < l.size(); ++k) coding.set(bytes.data() + k * size, l.coding.get(l.at(k)));
    if (!l.tensor->is_output) std::ofstream(std::string(folder) + "/" + name + ".in", std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  const char* runtime = n.runtime == 2 ? "dsp" : n.runtime == 1 ? "gpu" : "cpu";
  bool good = std::system((maker() + " run '" + n.description.true_form + "' " + runtime + " " + folder).c_str()) == 0;
  for (const auto& [name, l] : lent) {
    if (!good || !l.tensor->is_output) continue;
    auto [coding, size] = raw(l);
    coding.zero = l.tensor->zero, coding.step = l.tensor->step;
    std::vector<char> bytes(l.size() * size);
    good = static_cast<bool>(std::ifstream(std::string(folder) + "/" + name + ".out", std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size())));
    for (size_t k = 0; good && k < l.size(); ++k) l.coding.set(l.at(k), coding.get(bytes.data() + k * size));
  }
  std::filesystem::remove_all(folder);
  return good ? 0 : failed("the stand-in's script could not run the network");
}

Strings* names_of(const Network& n, bool outputs) {
  auto* list = new Strings;
  for (const std::string& name : n.description.names)
    if (n.description.tensors.at(name).is_output == outputs) list->all.push_back(name);
  return list;
}

bool available(int runtime) {
  const char* lacks = std::getenv("SNPE_STAND_IN_LACKS");
  const std::string word = runtime == 2 ? "dsp" : runtime == 1 ? "gpu" : "cpu";
  return !lacks || std::string(lacks).find(word) == std::string::npos;
}

}  // namespace

extern "C" {

int stand_in_live() { return live; }

void* Snpe_Util_GetLibraryVersion() { return new Version; }
const char* Snpe_DlVersion_ToString(void* version) { return as<Version>(version) ? "stand-in of the tests, no SNPE" : nullptr; }
int Snpe_DlVersion_Delete(void* version) { return end<Version>(version); }
int Snpe_Util_IsRuntimeAvailable(int runtime) { return available(runtime); }
int Snpe_Util_IsRuntimeAvailableCheckOption(int runtime, int option) { return option == 2 && available(runtime); }
const char* Snpe_ErrorCode_GetLastErrorString() { return last_error.c_str(); }

void* Snpe_DlContainer_Open(const char* path) {
  MAY_FAIL(nullptr);
  auto container = std::make_unique<Container>();
  if (!read(path, container->description) && !read_true(path, container->description)) return failed("error_code=307; error_message=Model file could not be parsed.\n"), nullptr;
  return container.release();
}
int Snpe_DlContainer_Delete(void* container) { return end<Container>(container); }

void* Snpe_RuntimeList_Create() {
  MAY_FAIL(nullptr);
  return new Runtimes;
}
int Snpe_RuntimeList_Add(void* list, int runtime) {
  MAY_FAIL(1);
  as<Runtimes>(list)->all.push_back(runtime);
  return 0;
}
int Snpe_RuntimeList_Delete(void* list) { return end<Runtimes>(list); }

void* Snpe_StringList_Create() {
  MAY_FAIL(nullptr);
  return new Strings;
}
int Snpe_StringList_Append(void* list, const char* text) {
  MAY_FAIL(1);
  as<Strings>(list)->all.push_back(text);
  return 0;
}
size_t Snpe_StringList_Size(void* list) { return as<Strings>(list)->all.size(); }
const char* Snpe_StringList_At(void* list, size_t k) { return as<Strings>(list)->all.at(k).c_str(); }
int Snpe_StringList_Delete(void* list) { return end<Strings>(list); }

void* Snpe_SNPEBuilder_Create(void* container) {
  MAY_FAIL(nullptr);
  auto* builder = new Builder;
  builder->description = as<Container>(container)->description;
  return builder;
}
int Snpe_SNPEBuilder_SetRuntimeProcessorOrder(void* builder, void* runtimes) {
  MAY_FAIL(1);
  as<Builder>(builder)->runtimes = as<Runtimes>(runtimes)->all;
  return 0;
}
int Snpe_SNPEBuilder_SetUseUserSuppliedBuffers(void* builder, int on) {
  MAY_FAIL(1);
  as<Builder>(builder)->own_buffers = on == 1;
  return 0;
}
int Snpe_SNPEBuilder_SetPerformanceProfile(void* builder, int profile) {
  MAY_FAIL(1);
  return as<Builder>(builder) && profile >= 0 && profile <= 9 ? 0 : failed("no such profile");
}
int Snpe_SNPEBuilder_SetOutputTensors(void* builder, void* names) {
  MAY_FAIL(1);
  for (const std::string& name : as<Strings>(names)->all)
    if (as<Builder>(builder)->description.tensors.count(name) == 0) return failed("no tensor " + name);
  return 0;
}
void* Snpe_SNPEBuilder_Build(void* builder) {
  MAY_FAIL(nullptr);
  const Builder* b = as<Builder>(builder);
  if (!b->own_buffers || b->runtimes.empty()) return failed("neither buffers nor a runtime were said"), nullptr;
  if (std::none_of(b->runtimes.begin(), b->runtimes.end(), available)) return failed("no runtime of the order is here"), nullptr;
  auto* network = new Network;
  network->description = b->description;
  network->runtime = *std::find_if(b->runtimes.begin(), b->runtimes.end(), available);
  return network;
}
int Snpe_SNPEBuilder_Delete(void* builder) { return end<Builder>(builder); }

void* Snpe_SNPE_GetInputTensorNames(void* snpe) {
  MAY_FAIL(nullptr);
  return names_of(*as<Network>(snpe), false);
}
void* Snpe_SNPE_GetOutputTensorNames(void* snpe) {
  MAY_FAIL(nullptr);
  return names_of(*as<Network>(snpe), true);
}
void* Snpe_SNPE_GetInputOutputBufferAttributes(void* snpe, const char* name) {
  MAY_FAIL(nullptr);
  auto attributes = std::make_unique<Attributes>();
  attributes->tensor = as<Network>(snpe)->description.tensors.at(name);
  attributes->encoding.type = attributes->tensor.type, attributes->encoding.bits = attributes->tensor.bits;
  attributes->encoding.zero = attributes->tensor.zero, attributes->encoding.step = attributes->tensor.step;
  return attributes.release();
}
int Snpe_SNPE_ExecuteUserBuffers(void* snpe, void* inputs, void* outputs) {
  MAY_FAIL(1);
  const Description& d = as<Network>(snpe)->description;
  std::map<std::string, Lent> lent;
  for (void* map : {inputs, outputs})
    for (const auto& [name, buffer] : as<Buffers>(map)->all) {
      if (d.tensors.count(name) == 0 || !fits(*buffer, d.tensors.at(name))) return failed("the buffer of " + name + " does not fit");
      lent.emplace(name, Lent(buffer, &d.tensors.at(name)));
    }
  if (!d.true_form.empty()) return compute_true(*as<Network>(snpe), lent);
  for (const Step& step : d.steps)
    if (compute(step, [&](const std::string& name) { return lent.count(name) ? &lent.at(name) : nullptr; }) != 0) return 1;
  return 0;
}
int Snpe_SNPE_Delete(void* snpe) { return end<Network>(snpe); }

void* Snpe_IBufferAttributes_GetDims(void* attributes) {
  MAY_FAIL(nullptr);
  auto* shape = new Shape;
  shape->dims = as<Attributes>(attributes)->tensor.dims;
  return shape;
}
int Snpe_IBufferAttributes_GetEncodingType(void* attributes) { return as<Attributes>(attributes)->tensor.type; }
void* Snpe_IBufferAttributes_GetEncoding_Ref(void* attributes) { return static_cast<Object*>(&as<Attributes>(attributes)->encoding); }
int Snpe_IBufferAttributes_Delete(void* attributes) { return end<Attributes>(attributes); }

void* Snpe_TensorShape_CreateDimsSize(const size_t* dims, size_t rank) {
  MAY_FAIL(nullptr);
  auto* shape = new Shape;
  shape->dims.assign(dims, dims + rank);
  return shape;
}
size_t Snpe_TensorShape_Rank(void* shape) { return as<Shape>(shape)->dims.size(); }
const size_t* Snpe_TensorShape_GetDimensions(void* shape) { return as<Shape>(shape)->dims.data(); }
int Snpe_TensorShape_Delete(void* shape) { return end<Shape>(shape); }

void* Snpe_UserBufferEncodingFloat_Create() {
  MAY_FAIL(nullptr);
  return new Encoding(1, 32);
}
void* Snpe_UserBufferEncodingFloatN_Create(uint8_t bits) { return new Encoding(bits == 16 ? 3 : 1, bits); }
void* Snpe_UserBufferEncodingIntN_Create(uint8_t bits) { return new Encoding(bits == 32 ? 12 : bits == 16 ? 16 : bits == 8 ? 14 : 19, bits); }
void* Snpe_UserBufferEncodingUintN_Create(uint8_t bits) { return new Encoding(bits == 32 ? 13 : bits == 16 ? 17 : bits == 8 ? 15 : 20, bits); }
void* Snpe_UserBufferEncodingBool_Create(uint8_t bits) { return new Encoding(18, bits); }
void* Snpe_UserBufferEncodingTfN_Create(uint64_t step_of_0, float step, uint8_t bits) {
  auto* e = new Encoding(bits == 8 ? 10 : 11, bits);
  e->zero = step_of_0, e->step = step;
  return e;
}
uint64_t Snpe_UserBufferEncodingTfN_GetStepExactly0(void* encoding) { return as<Encoding>(encoding)->zero; }
float Snpe_UserBufferEncodingTfN_GetQuantizedStepSize(void* encoding) { return as<Encoding>(encoding)->step; }
int Snpe_UserBufferEncoding_Delete(void* encoding) { return end<Encoding>(encoding); }

void* Snpe_Util_CreateUserBuffer(void* data, size_t size, void* strides, void* encoding) {
  MAY_FAIL(nullptr);
  const Encoding* e = as<Encoding>(encoding);
  auto* buffer = new Buffer;
  buffer->data = data, buffer->size = size, buffer->strides = as<Shape>(strides)->dims;
  buffer->type = e->type, buffer->bits = e->bits, buffer->zero = e->zero, buffer->step = e->step;
  return buffer;
}
int Snpe_IUserBuffer_SetBufferAddress(void* buffer, void* data) {
  MAY_FAIL(0);
  as<Buffer>(buffer)->data = data;
  return 1;
}
int Snpe_IUserBuffer_Delete(void* buffer) { return end<Buffer>(buffer); }

void* Snpe_UserBufferMap_Create() {
  MAY_FAIL(nullptr);
  return new Buffers;
}
int Snpe_UserBufferMap_Add(void* map, const char* name, void* buffer) {
  MAY_FAIL(1);
  as<Buffers>(map)->all[name] = as<Buffer>(buffer);
  return 0;
}
int Snpe_UserBufferMap_Delete(void* map) { return end<Buffers>(map); }

}  // extern "C"
