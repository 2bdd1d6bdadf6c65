// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <thread>

#include "core/runtime/fence.hpp"

using namespace optima;

namespace {

const optima_fence_host& table() { return *static_cast<const optima_fence_host*>(host_extension(OPTIMA_EXT_FENCE)); }

struct Said {
  std::string text;
  optima_status raw{sizeof(optima_status), 0, 0, OPTIMA_NONE, 0, &text,
                    [](void* p, optima_str t) { *static_cast<std::string*>(p) = std::string(t.data, t.size); }};
};

void keep_code(void* data, int32_t code) { *static_cast<int32_t*>(data) = code; }

struct Owned {
  Fence* fence = Fence::make();
  ~Owned() { fence->release(); }
};

}  // namespace

TEST_CASE("a fence tells each point once, in whatever order they are asked for and reached") {
  const Owned f;
  Said said;
  int32_t second = -1, third = -1, past = -1;
  table().notify(nullptr, f.fence->point(2), keep_code, &second);
  table().notify(nullptr, f.fence->point(3), keep_code, &third);
  CHECK(table().wait(nullptr, f.fence->point(0), 0, &said.raw) == OPTIMA_OK);
  CHECK(table().wait(nullptr, f.fence->point(1), 0, &said.raw) == OPTIMA_TIMEOUT);
  CHECK(said.text == "the point was not reached in time");
  table().signal(nullptr, f.fence->point(2));
  CHECK(second == OPTIMA_OK);
  CHECK(third == -1);
  table().signal(nullptr, f.fence->point(1));  // behind: changes nothing
  CHECK(table().wait(nullptr, f.fence->point(2), 0, &said.raw) == OPTIMA_OK);
  table().notify(nullptr, f.fence->point(1), keep_code, &past);
  CHECK(past == OPTIMA_OK);
  table().signal(nullptr, f.fence->point(3));
  CHECK(third == OPTIMA_OK);
}

TEST_CASE("a poisoned point fails for all that wait for it, with the first sentence; earlier points stand") {
  const Owned f;
  Said said, lost;
  int32_t later = -1;
  table().notify(nullptr, f.fence->point(5), keep_code, &later);
  f.fence->signal(3);
  lost.raw.code = OPTIMA_DEVICE;
  table().poison(nullptr, f.fence->point(4), &lost.raw, {"lost", 4});
  lost.raw.code = OPTIMA_MEMORY;
  table().poison(nullptr, f.fence->point(4), &lost.raw, {"again", 5});
  CHECK(later == OPTIMA_DEVICE);
  CHECK(table().wait(nullptr, f.fence->point(4), UINT64_MAX, &said.raw) == OPTIMA_DEVICE);
  CHECK(said.text == "lost");
  f.fence->signal(9);
  CHECK(f.fence->wait(9, 0) == OPTIMA_DEVICE);
  CHECK(f.fence->wait(3, 0) == OPTIMA_OK);
  int32_t fd = 7;
  CHECK(table().export_fd(nullptr, f.fence->point(1), &fd, &said.raw) == OPTIMA_UNSUPPORTED);
  CHECK(host_extension("optima.other/1") == nullptr);
}

TEST_CASE("a fence lives until the last share is gone, whoever lets go last") {
  for (int round = 0; round < 200; ++round) {
    Fence* fence = Fence::make();
    const optima_fence_point point = fence->point(1);
    table().retain(nullptr, point.fence);
    std::thread signals([point] {
      table().signal(nullptr, point);
      table().release(nullptr, point.fence);
    });
    CHECK(fence->wait(1, UINT64_MAX) == OPTIMA_OK);
    fence->release();
    signals.join();
  }
}
