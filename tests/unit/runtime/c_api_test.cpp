// SPDX-License-Identifier: Apache-2.0
// The shared library from outside: its exports, its C functions, and the C++ wrapper, over plugins/null.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <set>
#include <thread>
#include <unistd.h>

#include "optima/runtime.hpp"
#include "tests/unit/runtime/null_package.hpp"

using namespace optima::test;
namespace rt = optima::runtime;

extern "C" uint32_t version_from_c(void);

namespace {

const std::string kPlugins = std::string(OPTIMA_BINARY_DIR) + "/lib/optima/plugins";

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string out;
  for (char buffer[4096]; const size_t n = fread(buffer, 1, sizeof buffer, pipe);) out.append(buffer, n);
  REQUIRE(pclose(pipe) == 0);
  return out;
}

/// Every word that begins with optima_rt_ and is followed by '(' in the header: the functions it promises.
std::set<std::string> promised() {
  const std::string header = get(std::string(OPTIMA_SOURCE_DIR) + "/core/runtime/include/optima/runtime.h");
  std::set<std::string> out;
  for (size_t at = header.find("OPTIMA_RT_API "); at != std::string::npos; at = header.find("OPTIMA_RT_API ", at + 1)) {
    const size_t name = header.find("optima_rt_", at), open = header.find('(', at);
    if (name < open) out.insert(header.substr(header.rfind(' ', open) + 1, open - header.rfind(' ', open) - 1));
  }
  return out;
}

struct Loaded {
  TempFolder t;
  rt::Context context;
  Loaded() : context({{kPlugins}, {}, 2, 0}) { write_null_chain(t.path(), 3, {2, 8}); }
  std::string folder() const { return t / "chain"; }
};

rt::Tensor ramp(std::vector<int64_t> shape) {
  rt::Tensor t(rt::ElementType::Float32, std::move(shape));
  for (size_t i = 0; i < t.size() / 4; ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

}  // namespace

TEST_CASE("the library exports what the header promises and nothing else") {
  std::set<std::string> exported;
  std::string names = output_of("nm -D --defined-only --format=just-symbols '" OPTIMA_RUNTIME_LIBRARY "'");
  for (size_t at = 0; at < names.size();) {
    const size_t end = names.find('\n', at);
    const std::string name = names.substr(at, end - at);
    if (name.find("__asan") == std::string::npos && name.find("__ubsan") == std::string::npos && name.find("__odr_asan") == std::string::npos) exported.insert(name);
    at = end + 1;
  }
  CHECK(promised().size() == 34);
  CHECK(exported == promised());
}

TEST_CASE("C code can call the library") { CHECK(version_from_c() == (OPTIMA_RT_VERSION_MAJOR << 16 | OPTIMA_RT_VERSION_MINOR)); }

TEST_CASE("the wrapper loads, describes and runs a package, in step and beside") {
  Loaded l;
  const rt::Model model = l.context.loadModel(l.folder());
  REQUIRE(model.getInputInfos().size() == 1);
  CHECK(model.getInputInfos()[0].name == "in");
  CHECK(model.getInputInfos()[0].shape == std::vector<int64_t>{2, 8});
  CHECK(model.getOutputInfos()[0].type == rt::ElementType::Float32);
  CHECK(model.getProfileData().size() == 4);
  rt::InferRequest request = model.createRequest();
  const rt::Tensor in = ramp({2, 8});
  request.setInputTensor("in", in);
  request.run();
  CHECK(request.getOutputTensor("out").data<float>()[15] == 15);
  rt::Tensor out(rt::ElementType::Float32, {2, 8});
  request.setOutputTensor(0, out);
  std::atomic<int> calls{0};
  request.setCallback([&](const std::optional<rt::Error>& error) { calls += error ? 100 : 1; });
  request.setProfiling(true);
  request.infer();
  CHECK(request.wait(std::chrono::seconds(10)));
  CHECK(calls == 1);
  CHECK(out.data<float>()[3] == 3);
  CHECK(request.getOutputTensor(0).getBuffer() == out.getBuffer());
  std::set<rt::ProfileKind> kinds;
  for (const rt::ProfileEvent& e : request.getProfileData()) kinds.insert(e.kind);
  CHECK(kinds.count(rt::ProfileKind::ModelExecute));
  CHECK(kinds.count(rt::ProfileKind::SubgraphExecute));
  CHECK(kinds.count(rt::ProfileKind::Wait));
}

TEST_CASE("the wrapper tells where the subgraphs of a package run") {
  Loaded l;
  const std::vector<rt::SubgraphInfo> infos = l.context.loadModel(l.folder()).getSubgraphInfos();
  REQUIRE(infos.size() == 3);
  for (uint32_t i = 0; i < infos.size(); ++i) {
    CHECK(infos[i].index == i);
    CHECK(infos[i].device == "NULL:0");
    CHECK(infos[i].plugin == "null");
    CHECK(infos[i].note == "");
  }
}

TEST_CASE("a model outlives the context and request objects that it came from") {
  auto context = std::make_unique<rt::Context>(rt::ContextOptions{{kPlugins}, {}, 1, 0});
  TempFolder t;
  write_null_chain(t.path(), 1, {4});
  auto model = std::make_unique<rt::Model>(context->loadModel(t / "chain"));
  context.reset();
  rt::InferRequest request = model->createRequest();
  model.reset();
  const rt::Tensor in = ramp({4});
  request.setInputTensor(0, in);
  request.infer();
  CHECK(request.wait());
  CHECK(request.getOutputTensor(0).data<float>()[3] == 3);
}

TEST_CASE("a state goes from run to run, and starts again when the request is reset") {
  Loaded l;
  rt::InferRequest request = l.context.loadModel(l.folder()).createRequest();
  rt::Tensor start = ramp({2, 8});
  request.setInputTensor("in", start);
  request.tieOutput("out", "in");
  const auto run = [&] {
    request.run();
    return request.getOutputTensor("out").data<float>()[15];
  };
  CHECK(run() == 15);
  start.data<float>()[15] = 99;
  CHECK(run() == 15);  // what the run before left, which is not read anew
  request.reset();
  CHECK(run() == 99);
  CHECK(start.data<float>()[14] == 14);
  CHECK_THROWS_WITH(request.tieOutput(0, 0), "output 'out' is tied to input 'in' already, wanted one that is not");
  CHECK_THROWS_WITH(request.tieOutput("out", "inn"), "the model has no input 'inn' (nearest: 'in'), wanted one of in");
  CHECK_THROWS_WITH(request.tieOutput(1, 0), "output number 1 found, wanted 0 to 0");
}

TEST_CASE("failures arrive as codes and one sentence") {
  Loaded l;
  const auto code_of = [](auto&& call, std::string* text = nullptr) {
    try {
      call();
    } catch (const rt::Error& e) {
      if (text) *text = e.what();
      return e.code();
    }
    return static_cast<int32_t>(OPTIMA_RT_OK);
  };
  std::string text;
  CHECK(code_of([&] { l.context.loadModel(l.t / "none"); }, &text) == OPTIMA_RT_INVALID_INPUT);
  CHECK(text == "cannot open package '" + (l.t / "none") + "': No such file or directory");
  CHECK(code_of([] { rt::Context({{"/no/such/folder"}, {}, 0, 0}); }) == OPTIMA_RT_INVALID_INPUT);
  CHECK(code_of([&] { rt::Context().loadModel(l.folder()); }, &text) == OPTIMA_RT_PLUGIN);
  CHECK(text == "package 'chain': subgraph 0: needs the runtime side of plugin 'null', found none");
  rt::InferRequest request = l.context.loadModel(l.folder()).createRequest();
  CHECK(code_of([&] { request.run(); }) == OPTIMA_RT_INVALID_INPUT);
  CHECK(code_of([&] { request.wait(); }) == OPTIMA_RT_USAGE);
  const rt::Tensor wrong = ramp({3});
  CHECK(code_of([&] { request.setInputTensor(0, wrong); }, &text) == OPTIMA_RT_INVALID_INPUT);
  CHECK(text == "input 'in': found shape 3, wanted 2x8");
  CHECK(code_of([&] { request.getOutputTensor("aut"); }, &text) == OPTIMA_RT_INVALID_INPUT);
  CHECK(text == "the model has no output 'aut' (nearest: 'out'), wanted one of out");
}

TEST_CASE("a load is told subgraph by subgraph, and stopped from there") {
  Loaded l;
  std::vector<double> told;
  l.context.loadModel(l.folder(), [&](double fraction, const char*) { return told.push_back(fraction), true; });
  REQUIRE(told.size() == 3);
  CHECK((told[0] > 0.3 && told[1] > 0.6 && told[2] == 1));
  try {
    l.context.loadModel(l.folder(), [](double, const char* stage) { return std::string(stage).find("subgraph 1") == std::string::npos; });
    FAIL("the load went on");
  } catch (const rt::Error& e) {
    CHECK(e.code() == OPTIMA_RT_CANCELLED);
  }
  optima_rt_load_options older{};
  older.struct_size = offsetof(optima_rt_load_options, progress);
  older.progress = [](void*, double, const char*) -> int32_t { return 1; };
  optima_rt_context* context = nullptr;
  const char* const folders[] = {kPlugins.c_str()};
  optima_rt_context_options o{};
  o.struct_size = sizeof o, o.plugin_folders = folders, o.plugin_folder_count = 1;
  REQUIRE(optima_rt_context_create(&o, &context, nullptr) == OPTIMA_RT_OK);
  optima_rt_model* model = nullptr;
  CHECK(optima_rt_model_load(context, l.folder().c_str(), &older, &model, nullptr) == OPTIMA_RT_OK);
  optima_rt_model_destroy(model);
  optima_rt_context_destroy(context);
}

// The one thread of the context is held by another request's callback until the deadline is over.
TEST_CASE("a run that is late has a code of its own, by wait, callback and in step; a wait that is over says that the run goes on") {
  Loaded l;
  rt::Context context({{kPlugins}, {}, 1, 0});
  const rt::Model model = context.loadModel(l.folder());
  rt::InferRequest holder = model.createRequest(), late = model.createRequest();
  const rt::Tensor in = ramp({2, 8});
  holder.setInputTensor(0, in), late.setInputTensor(0, in);
  std::atomic<bool> held{false}, go_on{false};
  holder.setCallback([&](const std::optional<rt::Error>&) {
    held = true;
    while (!go_on) std::this_thread::yield();
  });
  std::atomic<int32_t> told{0};
  late.setCallback([&](const std::optional<rt::Error>& error) { told = error ? error->code() : 0; });
  holder.infer();
  while (!held) std::this_thread::yield();
  late.setDeadline(std::chrono::milliseconds(1));
  late.infer();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  CHECK_FALSE(late.wait(std::chrono::milliseconds(0)));
  go_on = true;
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const rt::Error& e) {
      return e.code();
    }
    return static_cast<int32_t>(OPTIMA_RT_OK);
  };
  CHECK(code_of([&] { late.wait(); }) == OPTIMA_RT_DEADLINE);
  CHECK(told == OPTIMA_RT_DEADLINE);
  late.setDeadline(std::chrono::milliseconds(0));
  CHECK(code_of([&] { late.run(); }) == OPTIMA_RT_OK);
  holder.wait();
}

TEST_CASE("an extension folder is looked into after the others, and its devices are listed") {
  Loaded l;
  rt::Context context;
  CHECK(context.getAvailableDevices().empty());
  context.loadExtension(kPlugins);
  bool found = false;
  for (const rt::DeviceInfo& d : context.getAvailableDevices()) found |= d.plugin == "null" && d.kind == rt::DeviceKind::Other && d.kind_name == "NULL";
  CHECK(found);
  CHECK(context.loadModel(l.folder()).getInputInfos().size() == 1);
}

TEST_CASE("packages load from memory and from a descriptor") {
  Loaded l;
  optima_rt_context_options options{};
  options.struct_size = sizeof options;
  const char* folder = kPlugins.c_str();
  options.plugin_folders = &folder;
  options.plugin_folder_count = 1;
  optima_rt_context* context = nullptr;
  optima_rt_error error{};
  error.struct_size = sizeof error;
  REQUIRE(optima_rt_context_create(&options, &context, &error) == OPTIMA_RT_OK);
  optima_rt_model* model = nullptr;
  const int fd = open(l.folder().c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE_MESSAGE(optima_rt_model_load_fd(context, fd, nullptr, &model, &error) == OPTIMA_RT_OK, error.text);
  close(fd);
  CHECK(optima_rt_model_subgraph_count(model) == 3);
  optima_rt_model_destroy(model);
  std::vector<std::string> names, bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(l.folder()))
    if (entry.is_regular_file()) names.push_back(std::filesystem::relative(entry.path(), l.folder()).string()), bytes.push_back(get(entry.path().string()));
  std::vector<optima_rt_file> files;
  for (size_t i = 0; i < names.size(); ++i) files.push_back({sizeof(optima_rt_file), 0, names[i].c_str(), bytes[i].data(), bytes[i].size()});
  REQUIRE_MESSAGE(optima_rt_model_load_memory(context, files.data(), static_cast<uint32_t>(files.size()), nullptr, &model, &error) == OPTIMA_RT_OK, error.text);
  optima_rt_subgraph_info info{};
  info.struct_size = sizeof info;
  REQUIRE(optima_rt_model_subgraph(model, 2, &info, &error) == OPTIMA_RT_OK);
  CHECK(std::string(info.device) == "NULL:0");
  CHECK(optima_rt_model_subgraph(model, 3, &info, &error) == OPTIMA_RT_INVALID_INPUT);
  CHECK(std::string(error.text) == "subgraph number 3 found, wanted a number below 3");
  optima_rt_model_destroy(model);
  optima_rt_context_destroy(context);
}

TEST_CASE("smaller structs of older callers are respected, null arguments are refused") {
  optima_rt_error error;
  std::memset(&error, 0x55, sizeof error);
  error.struct_size = 8;  // an error struct that knows a code only
  CHECK(optima_rt_context_create(nullptr, nullptr, &error) == OPTIMA_RT_USAGE);
  CHECK(error.code == OPTIMA_RT_USAGE);
  CHECK(error.text[0] == 0x55);
  CHECK(optima_rt_model_load(nullptr, nullptr, nullptr, nullptr, nullptr) == OPTIMA_RT_USAGE);
  optima_rt_context_options options;
  std::memset(&options, 0x55, sizeof options);
  options.struct_size = 4;  // everything behind it is garbage that must not be read
  optima_rt_context* context = nullptr;
  CHECK(optima_rt_context_create(&options, &context, nullptr) == OPTIMA_RT_OK);
  optima_rt_context_destroy(context);
  optima_rt_request_destroy(nullptr);
  optima_rt_model_destroy(nullptr);
}

TEST_CASE("requests on many threads give single-run bits") {
  Loaded l;
  const rt::Model model = l.context.loadModel(l.folder());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      rt::InferRequest request = model.createRequest();
      rt::Tensor in = ramp({2, 8});
      in.data<float>()[0] = static_cast<float>(n);
      request.setInputTensor(0, in);
      for (int i = 0; i < 100; ++i) {
        if (i % 2) request.run();
        else request.infer(), request.wait();
        const rt::Tensor out = request.getOutputTensor(0);
        wrong += std::memcmp(out.getBuffer(), in.getBuffer(), in.size()) != 0;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("the run loop's cost per subgraph boundary is printed") {
  TempFolder t;
  constexpr size_t kSteps = 64, kRuns = 200;
  write_null_chain(t.path(), kSteps, {4});
  rt::Context context({{kPlugins}, {}, 1, 0});
  rt::InferRequest request = context.loadModel(t / "chain").createRequest();
  const rt::Tensor in = ramp({4});
  request.setInputTensor(0, in);
  std::vector<double> nanoseconds;
  for (size_t i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    request.run();
    nanoseconds.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kSteps);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  std::printf("run loop and seam: %.0f ns per subgraph of 16 bytes, median of %zu runs of %zu subgraphs (goal 5000 ns)\n", nanoseconds[kRuns / 2], kRuns, kSteps);
  CHECK(request.getOutputTensor(0).data<float>()[3] == 3);
}

TEST_CASE("the wrapper's own tensors check sizes") {
  rt::Tensor t(rt::ElementType::Int4, {3});
  CHECK(t.size() == 2);
  const char bytes[2] = {1, 2};
  t.copyFrom(bytes, 2);
  char back[2] = {};
  t.copyTo(back, 2);
  CHECK(back[1] == 2);
  CHECK_THROWS_WITH(t.copyFrom(bytes, 1), "found 1 bytes, wanted 2");
  CHECK_THROWS_AS(rt::Tensor(rt::ElementType::String, {1}), rt::Error);
  CHECK_THROWS_AS(rt::Tensor(rt::ElementType::Float32, {-1}), rt::Error);
  CHECK_THROWS_AS(rt::Tensor(rt::ElementType::Float32, {INT64_MAX, INT64_MAX}), rt::Error);
}

TEST_CASE("the library's stripped size and idle memory are printed, and bounded in release builds") {
  TempFolder t;
  output_of("strip -o '" + (t / "lib.so") + "' '" OPTIMA_RUNTIME_LIBRARY "'");
  const auto bytes = std::filesystem::file_size(t / "lib.so");
  const std::string memory = output_of("'" OPTIMA_RUNTIME_FOOTPRINT "' '" + kPlugins + "'");
  std::printf("liboptima_runtime.so: %ju bytes stripped (goal 600 KB); %s", static_cast<uintmax_t>(bytes), memory.c_str());
  CHECK(bytes > 0);
#if defined(NDEBUG) && !defined(__clang__)  // only GCC links it as a whole
  CHECK(bytes < 700000);
#endif
}
