// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: the earlier compiler of BM1682. SOPHON's SDK cannot be had: a module of the same name stands in for it, which takes the
// documented flags and writes what it was told.
#include "plugins/bmcompiler/toolchain/bmneto.hpp"

#include <cstdlib>

#include "tools.hpp"

using namespace optima::test;

namespace {

constexpr const char* kStandIn = R"PY(import argparse, os, sys, time
flags = argparse.ArgumentParser()
for name in ("model", "input_names", "output_names", "shapes", "outdir", "net_name", "target", "opt", "dyn", "cmp", "mode"):
    flags.add_argument("--" + name, required=True)
a = flags.parse_args()
text = open(a.model).read()
if text == "refuse":
    sys.exit("op Foo is not supported")
if text == "crash":
    os.abort()
if text == "hang":
    time.sleep(1000)
if text != "nothing":
    open(os.path.join(a.outdir, "compilation.bmodel"), "w").write(
        " ".join([a.input_names, a.output_names, a.shapes, a.net_name, a.target, a.opt, a.dyn, a.cmp, os.environ["REL_TOP"]]))
)PY";

struct Sdk {
  Sdk() {
    folder.file("bmneto/__init__.py", "");
    folder.file("bmneto/__main__.py", kStandIn);
    std::string why;
    tools = bm::find_bmneto(folder.path(), why);
    REQUIRE_MESSAGE(tools, why);
  }
  TempFolder folder;
  std::optional<bm::Bmneto> tools;
};

std::pair<int32_t, std::string> compile(const Sdk& sdk, const Work& work, const std::string& model, int seconds = 300) {
  put(work / "model.onnx", model);
  bm::BmnetoJob job;
  job.inputs = {{"x", {1, 3, 8, 8}}, {"y", {2}}}, job.outputs = {"out", "aux"};
  bm::Bounds bounds = work.bounds();
  bounds.time_limit = std::chrono::seconds(seconds);
  return failure([&] { bm::compile_bmneto(*sdk.tools, job, bounds); });
}

}  // namespace

TEST_CASE("without its SDK BM1682 is refused with what is missing") {
  ::unsetenv("REL_TOP");
  const TempFolder f;
  std::string why;
  CHECK_FALSE(bm::find_bmneto("", why));
  CHECK(why == "no SDK with bmneto is named: wanted SOPHON's SDK for BM1682, whose folder bmcompiler.bmnet or REL_TOP names");
  CHECK_FALSE(bm::find_bmneto(f / "none", why));
  CHECK(holds(why, "there is no folder '" + f / "none" + "'"));
  ::setenv("REL_TOP", f.path().c_str(), 1);
  CHECK_FALSE(bm::find_bmneto("", why));
  ::unsetenv("REL_TOP");
  CHECK(holds(why, "loads no module bmneto with the SDK in '" + f.path() + "': "));
  CHECK(holds(why, "No module named 'bmneto'"));
}

TEST_CASE("bmneto is driven with its documented flags and leaves its file") {
  const Sdk sdk;
  const Work work;
  CHECK(compile(sdk, work, "fine") == std::pair<int32_t, std::string>{OPTIMA_OK, ""});
  CHECK(bm::bytes_of(work / "compilation.bmodel") == "x,y out,aux [[1,3,8,8],[2]] net BM1682 1 False False " + sdk.folder.path());
}

TEST_CASE("bmneto's refusals, crashes, silence and hanging are told apart") {
  const Sdk sdk;
  const Work work;
  const auto refused = compile(sdk, work, "refuse");
  CHECK(refused.first == OPTIMA_UNSUPPORTED);
  CHECK(holds(refused.second, "bmneto failed with exit status 1: op Foo is not supported"));
  CHECK(compile(sdk, work, "crash").first == OPTIMA_UNSUPPORTED);
  const auto nothing = compile(sdk, work, "nothing");
  CHECK(nothing == std::pair<int32_t, std::string>{OPTIMA_TOOL_FAILED, "bmneto ended well, but wrote no compilation.bmodel; what it printed is in " + work.log()});
  const auto late = compile(sdk, work, "hang", 1);
  CHECK(late.first == OPTIMA_TOOL_FAILED);
  CHECK(holds(late.second, "bmneto took longer than its time limit of 1 s"));
  bm::BmnetoJob job;
  job.outputs = {"a,b"};
  CHECK(failure([&] { bm::words_of(job); }) == std::pair<int32_t, std::string>{OPTIMA_INVALID_ARGUMENT, "name 'a,b' holds a comma, which the flags of bmneto cannot say"});
}
