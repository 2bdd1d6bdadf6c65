// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: DLCs run through SNPE's C API. The library is a stand-in (stand_in_snpe.cpp), strict about what it is given.
#include <doctest/doctest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>

#include "plugins/snpe/artifact.hpp"
#include "plugins/snpe/toolchain/runtime_only.hpp"
#include "plugins/snpe/toolchain/snpe_api.hpp"
#include "tests/support/temp_folder.hpp"

using namespace snpe_plugin;

namespace {

/// An environment variable for a scope.
class Said {
 public:
  Said(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  Said(const Said&) = delete;
  ~Said() { ::unsetenv(name_); }

 private:
  const char* name_;
};

int live_handles() {
  void* file = ::dlopen(STAND_IN_SNPE, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<int (*)()>(::dlsym(file, "stand_in_live"))();
}

/// DLCs of the stand-in, the ports they have, and a session over them.
struct Case {
  optima::test::TempFolder folder;
  Loadable what;
  std::vector<Port> inputs, outputs;
  Case() {
    what.kind = "SNPE_CPU";
    what.inputs = &inputs, what.outputs = &outputs;
  }
  void dlc(const std::string& text) {
    what.dlcs.push_back(folder / ("net_" + std::to_string(what.dlcs.size()) + ".dlc"));
    std::ofstream(what.dlcs.back()) << text;
  }
  std::unique_ptr<Session> open() const { return open_snpe(STAND_IN_SNPE, what, {}); }
};

optima_tensor tensor(const Port& port, void* data, uint64_t size) {
  optima_tensor t{};
  t.struct_size = sizeof t;
  t.dtype = port.dtype;
  t.rank = static_cast<int32_t>(port.dims.size()), t.shape = port.dims.data();
  t.data = data, t.size = size, t.fd = -1;
  return t;
}

template <class In, class Out>
void run(Session& session, const Case& c, std::vector<In>& x, std::vector<Out>& y, const sdk::RunControl* stop = nullptr) {
  const optima_tensor in = tensor(c.inputs[0], x.data(), x.size() * sizeof(In));
  optima_tensor out = tensor(c.outputs[0], y.data(), y.size() * sizeof(Out));
  session.run(sdk::Tensors(&in, 1), sdk::OutTensors(&out, 1), stop);
}

/// One network from x to y, whose channels are the last dim.
void channels_net(Case& c, const std::string& coding = "f32") {
  c.dlc("STAND-IN\ninput x " + coding + " 1,2,3,4\noutput y " + coding + " 1,2,3,4\ncompute y channels x\n");
  c.inputs = {{"x", OPTIMA_F32, {1, 2, 3, 4}, "", ""}}, c.outputs = {{"y", OPTIMA_F32, {1, 2, 3, 4}, "", ""}};
}

sdk::Error error_of(const Case& c) {
  try {
    c.open();
  } catch (const sdk::Error& e) {
    return e;
  }
  return {OPTIMA_OK, ""};
}

}  // namespace

TEST_CASE("a network computes on the caller's own buffers") {
  Case c;
  channels_net(c);
  const auto session = c.open();
  std::vector<float> x(24), y(24), again(24);
  for (size_t k = 0; k < 24; ++k) x[k] = static_cast<float>(k) - 5;
  run(*session, c, x, y);
  for (size_t k = 0; k < 24; ++k) CHECK(y[k] == std::max(0.0f, x[k] * static_cast<float>(1 + k % 4)));
  x[7] = 100;  // other contents in a second run, into another buffer
  run(*session, c, x, again);
  CHECK(again[7] == 400);
  CHECK(y[7] == 8);
}

TEST_CASE("ports whose channels lie last in the files are transposed at the border") {
  Case c;
  c.dlc("STAND-IN\ninput img:0 f32 2,2,3,4\noutput out/0 f32 2,2,3,4\ncompute out/0 channels img:0\n");
  c.inputs = {{"image", OPTIMA_F32, {2, 4, 2, 3}, "img:0", "NHWC"}}, c.outputs = {{"y", OPTIMA_F32, {2, 4, 2, 3}, "out/0", "NHWC"}};
  const auto session = c.open();
  std::vector<float> x(48), y(48);
  for (size_t k = 0; k < 48; ++k) x[k] = static_cast<float>(k);
  run(*session, c, x, y);
  for (size_t k = 0; k < 48; ++k) CHECK(y[k] == x[k] * static_cast<float>(1 + k / 6 % 4));  // channel of [2, 4, 2, 3]
}

TEST_CASE("codes go in as they are, with the network's own scale and zero point") {
  Case c;
  c.dlc("STAND-IN\ninput x u8:128:0.5 1,4\noutput y f32 1,4\ncompute y channels x\n");
  c.inputs = {{"x", OPTIMA_U8, {1, 4}, "", ""}}, c.outputs = {{"y", OPTIMA_F32, {1, 4}, "", ""}};
  std::vector<uint8_t> x{130, 128, 120, 255};
  std::vector<float> y(4);
  run(*c.open(), c, x, y);
  CHECK(y == std::vector<float>{1, 0, 0, 254});
}

TEST_CASE("float ports of a network of codes stay floats, which the library converts") {
  Case c;
  channels_net(c, "u8:0:0.25");
  std::vector<float> x(24, 0.5f), y(24);
  run(*c.open(), c, x, y);
  CHECK(y[0] == 0.5f);
  CHECK(y[3] == 2.0f);
}

TEST_CASE("half floats are halves in the buffers") {
  Case c;
  c.dlc("STAND-IN\ninput x f16 1,2\noutput y f32 1,2\ncompute y channels x\n");
  c.inputs = {{"x", OPTIMA_F16, {1, 2}, "", ""}}, c.outputs = {{"y", OPTIMA_F32, {1, 2}, "", ""}};
  std::vector<uint16_t> x{0x3c00, 0x4000};  // 1, 2
  std::vector<float> y(2);
  run(*c.open(), c, x, y);
  CHECK(y == std::vector<float>{1, 4});
}

TEST_CASE("several DLCs run in order, and tensors between them find each other by name") {
  Case c;
  c.dlc("STAND-IN\ninput x f32 1,4\noutput mid f32 1,4\noutput side u8:0:1 1,4\ncompute mid channels x\ncompute side channels x\n");
  c.dlc("STAND-IN\ninput side u8:0:1 1,4\ninput mid f32 1,4\noutput y f32 1,4\ncompute y add mid side\n");
  c.inputs = {{"x", OPTIMA_F32, {1, 4}, "", ""}}, c.outputs = {{"y", OPTIMA_F32, {1, 4}, "", ""}};
  std::vector<float> x{1, 2, 3, 4}, y(4);
  run(*c.open(), c, x, y);
  CHECK(y == std::vector<float>{2, 8, 18, 32});
}

TEST_CASE("a stop that is asked for ends the run with its code, and the next run is as any other") {
  Case c;
  channels_net(c);
  const auto session = c.open();
  std::vector<float> x(24, 1), y(24);
  optima_execute_request request{};
  request.struct_size = sizeof request;
  int asked = 0;
  request.host_data = &asked;
  request.cancelled = [](void* p) -> int32_t { return ++*static_cast<int*>(p) > 1; };  // not before it began
  const sdk::RunControl cancelled(&request);
  CHECK_THROWS_WITH_AS(run(*session, c, x, y, &cancelled), "cancelled", sdk::Error);
  request.cancelled = nullptr, request.deadline_ns = 1;
  const sdk::RunControl late(&request);
  CHECK_THROWS_WITH_AS(run(*session, c, x, y, &late), "past its deadline", sdk::Error);
  y.assign(24, -1);
  run(*session, c, x, y);
  CHECK(y[3] == 4);
}

TEST_CASE("a processor that is not there is the wrong device, unless the CPU may stand in") {
  const Said lacks("SNPE_STAND_IN_LACKS", "dsp,gpu");
  Case c;
  channels_net(c);
  for (const char* kind : {"HEXAGON", "ADRENO"}) {
    c.what.kind = kind;
    const sdk::Error e = error_of(c);
    CHECK(e.code == OPTIMA_WRONG_DEVICE);
    CHECK(e.text == "SNPE stand-in of the tests, no SNPE finds no " + std::string(kind) + " here; snpe.fallback=true lets its CPU runtime stand in");
    CHECK_FALSE(snpe_has(STAND_IN_SNPE, kind));
  }
  CHECK(snpe_has(STAND_IN_SNPE, "SNPE_CPU"));
  c.what.fallback = true;
  std::vector<float> x(24, 1), y(24);
  run(*c.open(), c, x, y);
  CHECK(y[3] == 4);
}

TEST_CASE("what the files and the ports disagree about is said by name") {
  const auto text_of = [](const char* dlc, Port in, Port out) {
    Case c;
    c.dlc(dlc);
    c.inputs = {std::move(in)}, c.outputs = {std::move(out)};
    const sdk::Error e = error_of(c);
    CHECK(e.code == OPTIMA_CORRUPT);
    return e.text;
  };
  const char* net = "STAND-IN\ninput x f32 1,4\noutput y f32 1,4\ncompute y channels x\n";
  const Port x{"x", OPTIMA_F32, {1, 4}, "", ""}, y{"y", OPTIMA_F32, {1, 4}, "", ""};
  CHECK(text_of(net, {"x", OPTIMA_F32, {1, 5}, "", ""}, y) == "SNPE's network has 'x' of shape [1, 4], the meta file has [1, 5]");
  CHECK(text_of(net, {"x", OPTIMA_F32, {4, 1}, "", ""}, y) == "SNPE's network has 'x' of shape [1, 4], the meta file has [4, 1]");
  CHECK(text_of(net, {"z", OPTIMA_F32, {1, 4}, "", ""}, y) == "SNPE's network wants tensor 'x', which no port and no earlier DLC gives");
  CHECK(text_of(net, x, {"x", OPTIMA_F32, {1, 4}, "", ""}) == "meta file has two tensors 'x'");
  CHECK(text_of(net, x, {"y2", OPTIMA_F32, {1, 4}, "", ""}) == "SNPE does not take the outputs: no tensor y2");
}

TEST_CASE("what is no DLC is corrupt, in the library's own words") {
  Case c;
  c.dlc("PK\3\4");
  c.inputs = {{"x", OPTIMA_F32, {1}, "", ""}}, c.outputs = {{"y", OPTIMA_F32, {1}, "", ""}};
  const sdk::Error e = error_of(c);
  CHECK(e.code == OPTIMA_CORRUPT);
  CHECK(e.text == "SNPE cannot open '" + c.what.dlcs[0] + "': error_code=307; error_message=Model file could not be parsed");
}

TEST_CASE("each call of the library may fail: one error with its words, and no handle is left") {
  const int before = live_handles();
  for (const char* function :
       {"Snpe_DlContainer_Open", "Snpe_RuntimeList_Create", "Snpe_RuntimeList_Add", "Snpe_StringList_Create", "Snpe_StringList_Append", "Snpe_SNPEBuilder_Create",
        "Snpe_SNPEBuilder_SetRuntimeProcessorOrder", "Snpe_SNPEBuilder_SetUseUserSuppliedBuffers", "Snpe_SNPEBuilder_SetPerformanceProfile",
        "Snpe_SNPEBuilder_SetOutputTensors", "Snpe_SNPEBuilder_Build", "Snpe_SNPE_GetInputTensorNames", "Snpe_SNPE_GetOutputTensorNames",
        "Snpe_SNPE_GetInputOutputBufferAttributes", "Snpe_IBufferAttributes_GetDims", "Snpe_TensorShape_CreateDimsSize", "Snpe_UserBufferEncodingFloat_Create",
        "Snpe_Util_CreateUserBuffer", "Snpe_UserBufferMap_Create", "Snpe_UserBufferMap_Add"}) {
    CAPTURE(function);
    const Said fails("SNPE_STAND_IN_FAILS", function);
    Case c;
    channels_net(c);
    const sdk::Error e = error_of(c);
    CHECK(e.code != OPTIMA_OK);
    CHECK(e.text.find("SNPE ") == 0);
    CHECK(e.text.find(std::string(function) + " was told to fail") != std::string::npos);
    CHECK(live_handles() == before);
  }
  Case c;
  channels_net(c);
  auto session = c.open();
  std::vector<float> x(24, 1), y(24);
  for (const char* function : {"Snpe_SNPE_ExecuteUserBuffers", "Snpe_IUserBuffer_SetBufferAddress"}) {
    const Said fails("SNPE_STAND_IN_FAILS", function);
    try {
      run(*session, c, x, y);
      FAIL("no error");
    } catch (const sdk::Error& e) {
      CHECK(e.code == OPTIMA_DEVICE);
      CHECK(e.text.find(std::string(function) + " was told to fail") != std::string::npos);
    }
  }
  run(*session, c, x, y);
  CHECK(y[3] == 4);
  session.reset();
  CHECK(live_handles() == before);
}

TEST_CASE("a library that is not there, or is another one, is a dependency that is named") {
  const auto error_with = [](const char* library) {
    try {
      snpe_version(library);
    } catch (const sdk::Error& e) {
      CHECK(e.code == OPTIMA_DEPENDENCY);
      return e.text;
    }
    return std::string();
  };
  CHECK(error_with("/nowhere/libSNPE.so").find("SNPE's library cannot be opened: /nowhere/libSNPE.so") == 0);
  CHECK(error_with("libm.so.6") == "SNPE's library 'libm.so.6' has no function Snpe_Util_GetLibraryVersion, wanted SNPE 2.x");
  CHECK(snpe_version(STAND_IN_SNPE) == "stand-in of the tests, no SNPE");
}

TEST_CASE("what a SDK prepared for the chip is run in place of the DLC, and what the wheels prepared is not") {
  Case c;
  channels_net(c);
  c.what.context = c.folder / "context.bin";
  std::ofstream(c.what.context) << "STAND-IN\ninput x f32 1,2,3,4\noutput y f32 1,2,3,4\ncompute y add x x\n";
  std::vector<float> x(24, 3), y(24);
  run(*c.open(), c, x, y);
  CHECK(y[3] == 6);
  c.what.wrapper = "wrapper.onnx";
  run(*c.open(), c, x, y);
  CHECK(y[3] == 12);
}

TEST_CASE("a runtime without tools is found below the folder that is named, whatever else lies there") {
  const optima::test::TempFolder folder;
  Wanted wanted;
  wanted.sdk_root = folder.path();
  std::string why;
  CHECK_FALSE(find_snpe_runtime(wanted, "", why));
  CHECK(why == "'" + folder.path() + "/lib' holds no libSNPE.so");
  folder.file("lib/aarch64-another-machine/libSNPE.so", "no library of this machine");
  CHECK_FALSE(find_snpe_runtime(wanted, "", why));
  CHECK(why.find("SNPE's library cannot be opened: " + folder.path() + "/lib/aarch64-another-machine/libSNPE.so") == 0);
  std::filesystem::create_directories(folder / "lib/this-machine");
  std::filesystem::create_symlink(STAND_IN_SNPE, folder / "lib/this-machine/libSNPE.so");
  const auto tools = find_snpe_runtime(wanted, "the tools are not here", why);
  REQUIRE(tools);
  CHECK(tools->facts().route == "sdk");
  CHECK(tools->facts().version == "SNPE stand-in of the tests, no SNPE");
  CHECK(tools->cannot_run("HEXAGON") == "");
  Target target;
  target.kind = "HEXAGON";
  CHECK(tools->cannot_compile(target) == "SNPE stand-in of the tests, no SNPE is here without its tools, which make files for HEXAGON (the tools are not here): wanted a whole SDK (SNPE_ROOT), or "
                                         "scripts/setup --with qualcomm");
  CHECK_THROWS_AS(tools->build("", target, {}, sdk::Progress(nullptr)), sdk::Error);
  CHECK_THROWS_AS(tools->assign("", target, {}), sdk::Error);
  const Said lacks("SNPE_STAND_IN_LACKS", "dsp");
  CHECK(tools->cannot_run("HEXAGON").find("finds no HEXAGON here") != std::string::npos);
  Case c;
  channels_net(c);
  std::vector<float> x(24, 3), y(24);
  run(*tools->open(c.what, {}), c, x, y);
  CHECK(y[3] == 12);
}

TEST_CASE("types that SNPE has no buffers for are refused by name") {
  Case c;
  channels_net(c);
  c.inputs[0].dtype = OPTIMA_BF16;
  const sdk::Error e = error_of(c);
  CHECK(e.code == OPTIMA_UNSUPPORTED);
  CHECK(e.text == "tensor 'x' is bf16, which SNPE has no buffers for");
}
