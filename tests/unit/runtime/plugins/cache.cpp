// SPDX-License-Identifier: Apache-2.0
// tests: a plugin that appends a token to a cache, in place when its artifact says so, and counts its runs in a state of its own.
#include "optima/plugin/manifest.hpp"
#include "optima/plugin/plugin.hpp"

namespace cache_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr int64_t kLength = 64;  // of a cache of fixed size: its element 0 counts the tokens behind it

/// What the artifact says, in words.
struct Words {
  bool in_place = false;
  bool grows = false;  // the cache is as long as its tokens are many, which output_shapes tells
  bool tells_late = false;  // or only execute
};

class Appending : public sdk::Context {
 public:
  explicit Appending(const Words& words) : words_(words) {}

  /// past, token -> present, their sum, runs
  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override {
    const int64_t held = words_.grows ? in[0].elements() : static_cast<int64_t>(in[0].data<float>()[0]);
    const int64_t grown[] = {held + 1};
    if (out[0].wants_alloc()) out[0].alloc({grown, 1});
    auto* present = out[0].data<float>();
    const auto* past = in[0].data<float>();
    if (!words_.in_place) std::copy(past, past + in[0].elements(), present);
    else if (past != present) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "the cache lies in two places");
    if (!words_.grows) present[0] = static_cast<float>(held + 1);
    const int64_t first = words_.grows ? 0 : 1;
    present[first + held] = in[1].data<float>()[0];
    float sum = 0;
    for (int64_t k = first; k < first + held + 1; ++k) sum += present[k];
    out[1].data<float>()[0] = sum;
    out[2].data<float>()[0] = static_cast<float>(++runs_);
  }
  void output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) override {
    const int64_t one[] = {1}, grown[] = {words_.tells_late ? -1 : in[0].dim(0) + 1};
    out.set(0, {grown, 1});
    out.set(1, {one, 1});
    out.set(2, {one, 1});
  }
  void reset() override { runs_ = 0; }

 private:
  const Words words_;
  int runs_ = 0;
};

class Cache : public sdk::Program {
 public:
  explicit Cache(const Words& words) : words_(words) {}
  void bindings(const sdk::BindingSink& add) const override {
    static constexpr int64_t one[] = {1}, fixed[] = {kLength}, open[] = {-1};
    const sdk::Span<const int64_t> length(words_.grows ? open : fixed, 1);
    add.input({"past", OPTIMA_F32, length});
    add.input({"token", OPTIMA_F32, {one, 1}});
    sdk::Binding present{"present", OPTIMA_F32, length};
    if (words_.in_place) present.alias = 0;
    add.output(present);
    add.output({"sum", OPTIMA_F32, {one, 1}});
    add.output({"runs", OPTIMA_F32, {one, 1}});
  }
  std::unique_ptr<sdk::Context> context() override { return std::make_unique<Appending>(words_); }

 private:
  const Words words_;
};

class CachePlugin : public sdk::Plugin, public sdk::Runtime {
 public:
  explicit CachePlugin(const sdk::Init&) {}
  std::vector<sdk::PresentDevice> devices(std::string&) override {
    sdk::PresentDevice d;
    d.device_class = OPTIMA_CLASS_NPU, d.kind = "CACHE";
    return {d};
  }
  sdk::Compatibility check_artifact(const sdk::Artifact&, const sdk::Device&) override { return {OPTIMA_COMPAT_OPTIMAL, ""}; }
  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    const sdk::Elements<char> file(artifact.file(0));
    const std::string_view text(file.data(), file.size());
    const auto says = [&](std::string_view word) { return text.find(word) != text.npos; };
    return std::make_unique<Cache>(Words{says("in place"), says("grows"), says("late")});
  }
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "cache", i.vendor = "Trial", i.version = "1", i.build_id = "1";
  return i;
}
constexpr sdk::Info kInfo = info();

}  // namespace
}  // namespace cache_plugin

OPTIMA_PLUGIN(cache_plugin::CachePlugin, cache_plugin::kInfo)
