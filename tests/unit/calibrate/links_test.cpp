// SPDX-License-Identifier: Apache-2.0
// Stands in for devices with memory of their own, which this machine need not have: plugins in this process that offer optima.memory/1.
#include "core/calibrate/links.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <vector>

#include "core/calibrate/device_buffer.hpp"
#include "core/loader/plugin_memory.hpp"
#include "optima/ext/memory.h"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

void spin(double us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(us);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Device memory is a map from handles to bytes; copies take 20 us and 1 us per 4 KiB.
struct MemoryPlugin : FakePlugin {
  std::map<uint64_t, std::vector<uint8_t>> live;
  uint64_t next = 1;
  int copies = 0, imports = 0;
  bool imports_foreign = true, refuses = false;
  uint64_t gives = 0;  // bytes that it says it gave; 0 = those wanted

  static MemoryPlugin& self(optima_plugin* p) { return *reinterpret_cast<MemoryPlugin*>(p); }
  uint8_t* bytes(const optima_tensor& t) {
    if (t.mem_kind == OPTIMA_MEM_HOST) return static_cast<uint8_t*>(t.data);
    const auto found = live.find(t.opaque);
    return found == live.end() ? nullptr : found->second.data();
  }
  static int32_t alloc(optima_plugin* p, optima_tensor* tensor, uint32_t, optima_status* status) {
    if (self(p).refuses) {
      status->set_text(status->host_data, optima_str{"no card in the slot", 19});
      return OPTIMA_DEPENDENCY;
    }
    tensor->opaque = self(p).next++;
    self(p).live[tensor->opaque].assign(tensor->size, 7);
    if (self(p).gives != 0) tensor->size = self(p).gives;
    return OPTIMA_OK;
  }
  static void free(optima_plugin* p, const optima_tensor* tensor) { CHECK(self(p).live.erase(tensor->opaque) == 1); }
  static int32_t import(optima_plugin* p, const optima_tensor* foreign, optima_tensor* imported, optima_status*) {
    if (!self(p).imports_foreign) return OPTIMA_UNSUPPORTED;
    ++self(p).imports;
    imported->mem_kind = OPTIMA_MEM_DEVICE;
    imported->opaque = self(p).next++;
    self(p).live[imported->opaque].assign(foreign->size, 9);
    return OPTIMA_OK;
  }
  static int32_t copy(optima_plugin* p, const optima_tensor* from, optima_tensor* to, optima_status*) {
    ++self(p).copies;
    uint8_t *source = self(p).bytes(*from), *target = self(p).bytes(*to);
    if (!source || !target || from->size != to->size) return OPTIMA_INVALID_ARGUMENT;
    std::memcpy(target, source, from->size);
    spin(20 + static_cast<double>(from->size) / 4096);
    return OPTIMA_OK;
  }
  MemoryPlugin(std::string id) : FakePlugin(std::move(id), {"NPU"}, {}) {}
  DeviceAllocator* memory() override { return &memory_; }

 private:
  PluginMemory memory_{manifest_.id, optima_memory{sizeof(optima_memory), 0, nullptr, alloc, free, import, copy}, reinterpret_cast<optima_plugin*>(this)};
};

LocalDevice device(FakePlugin& plugin, const std::string& name) { return {*parse_device(plugin.manifest_.id + "/" + name), &plugin, 0}; }

}  // namespace

TEST_CASE("devices that keep tensors in host memory hand them over: nothing is measured, and that is said") {
  FakePlugin a("a", {"CPU"}, {}), b("b", {"CPU"}, {});
  const Result<MeasuredLink> t = measure_link(device(a, "CPU:0"), device(b, "CPU:0"));
  REQUIRE(t.ok());
  CHECK(t->handed_over);
  CHECK(t->link.latency_us == 0);
  CHECK(t->link.gbytes_per_s == 0);
  CHECK(t->link.from.text() == "a/CPU:0");
}

TEST_CASE("copies between host and device memory become a latency and a bandwidth no better than the copy is") {
  MemoryPlugin npu("npu");
  FakePlugin cpu("cpu", {"CPU"}, {});
  for (bool to_device : {true, false}) {
    const LocalDevice a = device(npu, "NPU:0"), b = device(cpu, "CPU:0");
    const Result<MeasuredLink> t = to_device ? measure_link(b, a) : measure_link(a, b);
    REQUIRE(t.ok());
    CHECK_FALSE(t->handed_over);
    CHECK(t->sizes == 4);
    CHECK(t->link.latency_us > 0);
    CHECK(t->link.gbytes_per_s > 0);
    CHECK(t->link.gbytes_per_s < 4.5);  // 4.096 at best, whatever else runs
  }
  CHECK(npu.copies == 2 * 4 * 9);
  CHECK(npu.live.empty());
}

TEST_CASE("memory of another device is imported once where that is possible, else it goes over host memory") {
  MemoryPlugin a("a"), b("b");
  const Result<MeasuredLink> direct = measure_link(device(a, "NPU:0"), device(b, "NPU:0"));
  REQUIRE(direct.ok());
  CHECK(b.imports == 4);
  CHECK(b.copies == 36);
  CHECK(a.copies == 0);
  b.imports_foreign = false;
  REQUIRE(measure_link(device(a, "NPU:0"), device(b, "NPU:0")).ok());
  CHECK(a.copies == 36);
  CHECK(b.copies == 72);
  CHECK(a.live.empty());
  CHECK(b.live.empty());
}

TEST_CASE("bytes arrive") {
  MemoryPlugin a("a"), b("b");
  b.imports_foreign = false;
  Result<DeviceBuffer> from = DeviceBuffer::make(a, 0, 100), to = DeviceBuffer::make(b, 0, 100);
  REQUIRE(from.ok());
  REQUIRE(to.ok());
  a.live.begin()->second.assign(100, 42);
  REQUIRE(from->copy_to(*to).ok());
  CHECK(b.live.begin()->second == std::vector<uint8_t>(100, 42));
}

TEST_CASE("a plugin that gives no memory is told with its own sentence") {
  MemoryPlugin npu("npu");
  FakePlugin cpu("cpu", {"CPU"}, {});
  npu.refuses = true;
  const Result<MeasuredLink> t = measure_link(device(cpu, "CPU:0"), device(npu, "NPU:0"));
  CHECK(t.status().kind() == StatusKind::Plugin);
  CHECK(t.status().message().find("link from cpu/CPU:0 to npu/NPU:0") != std::string::npos);
  CHECK(t.status().message().find("no card in the slot") != std::string::npos);
}

TEST_CASE("memory that is smaller than wanted is refused, and given back; of more than that, what was wanted is used") {
  MemoryPlugin npu("npu");
  npu.gives = 99;
  CHECK(DeviceBuffer::make(npu, 0, 100).status().message() == "plugin 'npu': alloc: it gave 99 bytes, wanted 100");
  CHECK(npu.live.empty());
  npu.gives = UINT64_MAX;
  auto from = DeviceBuffer::make(npu, 0, 100), to = DeviceBuffer::make(npu, 0, 100);
  REQUIRE((from.ok() && to.ok()));
  CHECK(from->copy_to(*to).ok());
}
