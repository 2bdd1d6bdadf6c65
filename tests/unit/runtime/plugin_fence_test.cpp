// SPDX-License-Identifier: Apache-2.0
// A plugin's use of the host's fences, through the loader.
#include "core/runtime/fence.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("a plugin retains, polls, asks to be told of, poisons, waits for and releases a point of the host") {
  LogTrap log;
  HostServices s = services();
  s.extension = host_extension;
  TrialHost host({{"trial.load", "every fence"}}, s);
  Backend::Artifact a;
  a.format_id = "trial.bin/1";
  a.compat_record.resize(2);
  const auto program = host.plugin->load(std::move(a), {"TRIAL", 0, {}, 0}, {.threads = 1});
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  const auto context = (*program)->create_context();
  REQUIRE(context.ok());
  float x[4] = {}, y[4] = {};
  const int64_t dims[1] = {4};
  optima_tensor in{}, out{};
  in.struct_size = out.struct_size = sizeof in;
  in.shape = out.shape = dims, in.rank = out.rank = 1;
  in.data = x, out.data = y, in.size = out.size = sizeof x;
  Fence* fence = Fence::make();
  CHECK((*context)->submit({&in, 1}, {&out, 1}, {}, fence->point(1)).ok());
  CHECK(log.has(cat("told ", int32_t{OPTIMA_DEVICE})));
  CHECK(log.has(cat("polled ", int32_t{OPTIMA_TIMEOUT}, " exported ", int32_t{OPTIMA_UNSUPPORTED}, " waited ", int32_t{OPTIMA_DEVICE})));
  CHECK(fence->wait(1, 0) == OPTIMA_DEVICE);
  CHECK(fence->failure() == "the link is down");
  fence->release();  // the last: the plugin gave its own back
}
