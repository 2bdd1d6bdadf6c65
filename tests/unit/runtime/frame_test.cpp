// SPDX-License-Identifier: Apache-2.0
// What the host itself carries from tensor to tensor, and the memory it plans for it.
#include "core/runtime/frame.hpp"

#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// One slot and nothing that runs.
RunPlan plan_of(Slot slot) {
  RunPlan plan;
  plan.slots.push_back(std::move(slot));
  return plan;
}

Slot static_output(int32_t dtype, std::vector<int64_t> shape) {
  Slot slot;
  slot.name = "y";
  slot.dtype = dtype;
  slot.shape = std::move(shape);
  slot.home = Slot::Home::Output;
  slot.is_static = true;
  slot.size = slot.needed = *byte_size(slot.dtype, slot.shape);
  return slot;
}

}  // namespace

TEST_CASE("a slot takes the bytes that its type and shape have, no more and no fewer") {
  const std::vector<std::byte> bytes(9);
  const std::vector<int64_t> dims = {3, 5};  // 15 elements of 4 bits: 8 bytes, though three rows of 3 bytes are 9
  for (const bool known : {true, false}) {
    Slot slot = static_output(OPTIMA_U4, dims);
    if (!known) slot.shape = {-1, 5}, slot.is_static = false, slot.size = slot.needed = 0;
    const RunPlan plan = plan_of(slot);
    Frame frame(plan);
    REQUIRE(frame.buffers.allocate().ok());
    const auto given = [&](size_t size) { return TensorView{{bytes.data(), size}, dims}; };
    CHECK(frame.store(0, given(8)).ok());
    CHECK(frame.store(0, given(9)).message() == "tensor 'y' of type uint4 and shape 3x5 got 9 bytes, wanted 8");
    CHECK(frame.store(0, given(7)).kind() == StatusKind::InvalidInput);
    CHECK(frame.feed(0, given(8)).ok());
    CHECK(frame.feed(0, given(9)).message() == "tensor 'y' of type uint4 and shape 3x5 got 9 bytes, wanted 8");
    CHECK(frame.feed(0, given(0)).kind() == StatusKind::InvalidInput);
  }
}

TEST_CASE("a shape without a size is carried nowhere") {
  Slot slot = static_output(OPTIMA_F32, {});
  slot.unranked = true, slot.is_static = false, slot.size = slot.needed = 0;
  const RunPlan plan = plan_of(slot);
  Frame frame(plan);
  REQUIRE(frame.buffers.allocate().ok());
  const std::vector<int64_t> huge = {int64_t{1} << 40, int64_t{1} << 40}, negative = {-1, 2};
  for (const auto* dims : {&huge, &negative}) CHECK(frame.store(0, {{}, *dims}).message().find("got 0 bytes, wanted a size that exists") != std::string::npos);
}

TEST_CASE("memory that no machine has is refused, whatever rounding makes of its size") {
  Buffer buffer;
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63}) CHECK_FALSE(buffer.reserve(size, 64));
  CHECK(buffer.reserve(1, 64));

  Bench b;  // two tensors between subgraphs whose sizes add up to 0
  b.tensor("in", {4}), b.tensor("t0", {4}), b.tensor("t1", {4}), b.tensor("out", {4});
  b.package.inputs = {"in"};
  b.package.outputs = {"out"};
  FakeProgram& first = b.subgraph({"in"}, {"t0", "t1"}, affine(1, 0));
  for (size_t k : {1, 2}) first.bindings[k].min_size = uint64_t{1} << 63;
  b.subgraph({"t0", "t1"}, {"out"}, affine(1, 0));
  CHECK_FALSE(b.load().ok());
}
