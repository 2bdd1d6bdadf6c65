// SPDX-License-Identifier: Apache-2.0
// tests/unit/runtime: plugins whose programs are given as functions, and packages over them, in memory.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "core/loader/gate.hpp"
#include "core/runtime/fence.hpp"
#include "core/runtime/model.hpp"
#include "core/runtime/request.hpp"
#include "core/tensor_io/element.hpp"

namespace optima::test {

using Tensors = std::span<const optima_tensor>;
using Outputs = std::span<optima_tensor>;

/// What a fake artifact does, by its stem.
struct FakeProgram {
  std::vector<Binding> bindings;
  std::function<Status(Tensors in, Outputs out)> execute;
  std::function<Status(const RunControl&)> stops;  // asked before `execute` when there; empty = a plugin that cannot be stopped inside
  std::function<Status(const LoadJob&)> load;      // may be empty
  std::function<Result<std::vector<std::vector<int64_t>>>(Tensors in)> output_shapes;  // empty = what the bindings say
  std::function<Status()> on_reset = [] { return Status(); };
  bool is_async = false;  // offers optima.async/1: a thread for each run
  std::function<void()> on_cancel = [] {};
  Gate* gate = nullptr;  // held while it executes asynchronously and signals, as of a plugin that signals inside another call
};

class FakePlugin : public Backend {
 public:
  std::map<std::string, FakeProgram> programs;
  std::map<std::string, Compatibility> verdicts;  // by stem; OPTIMAL when absent
  std::vector<std::string> loaded;                // stems

  FakePlugin() { manifest_.id = "fake"; }
  const Manifest& manifest() const override { return manifest_; }
  const std::string& path() const override { return path_; }
  Result<std::vector<DeviceInfo>> devices(std::string*) override { return std::vector<DeviceInfo>{}; }
  Result<Answers> ask(const optima_graph&, std::span<const uint32_t>, const TargetDevice&) override { return plugin_error("no compiler"); }
  std::variant<Compiled, CompileFailure> compile(const CompileJob&) override { return CompileFailure{}; }
  bool has_schema() override { return false; }
  Result<std::vector<image::Value>> infer(const optima_graph&, uint32_t) override { return plugin_error("no schema"); }
  Result<Compatibility> check_artifact(const Artifact& artifact, const TargetDevice&) override {
    const auto it = verdicts.find(artifact.stem);
    return it == verdicts.end() ? Compatibility{OPTIMA_COMPAT_OPTIMAL, {}} : it->second;
  }
  Result<std::unique_ptr<LoadedProgram>> load(Artifact artifact, const TargetDevice&, const LoadJob&) override;

 private:
  Manifest manifest_;
  std::string path_ = "/fake";
};

class FakeContext : public ExecutionContext {
 public:
  explicit FakeContext(const FakeProgram& program) : program_(program) {}
  Status execute(Tensors in, Outputs out) override { return program_.execute(in, out); }
  Status execute_within(Tensors in, Outputs out, const RunControl& control) override {
    if (program_.stops) OPTIMA_RETURN_IF_ERROR(program_.stops(control));
    return execute(in, out);
  }
  Result<std::vector<std::vector<int64_t>>> output_shapes(Tensors in) override {
    if (program_.output_shapes) return program_.output_shapes(in);
    std::vector<std::vector<int64_t>> shapes;
    for (const Binding& b : program_.bindings)
      if (b.direction == OPTIMA_OUTPUT) shapes.push_back(b.shape);
    return shapes;
  }

  Status reset() override { return program_.on_reset(); }
  bool has_async() const override { return program_.is_async; }
  Status submit(Tensors in, Outputs out, std::span<const optima_fence_point>, optima_fence_point signal) override {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, in, out, signal] {
      std::optional<Gate::Pass> inside;
      if (program_.gate) inside.emplace(*program_.gate);
      const Status done = program_.execute(in, out);
      if (done.ok()) Fence::of(signal)->signal(signal.value);
      else Fence::of(signal)->poison(signal.value, done.kind() == StatusKind::Cancelled ? OPTIMA_CANCELLED : OPTIMA_DEVICE, std::string(done.message()));
    });
    return {};
  }
  Status cancel() override {
    program_.on_cancel();
    return {};
  }

 private:
  const FakeProgram& program_;
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
};

class FakeLoaded : public LoadedProgram {
 public:
  explicit FakeLoaded(const FakeProgram& program) : program_(program) {}
  const std::vector<Binding>& bindings() const override { return program_.bindings; }
  Result<std::unique_ptr<ExecutionContext>> create_context() override { return std::unique_ptr<ExecutionContext>(new FakeContext(program_)); }

 private:
  const FakeProgram& program_;
};

inline Result<std::unique_ptr<LoadedProgram>> FakePlugin::load(Artifact artifact, const TargetDevice&, const LoadJob& job) {
  loaded.push_back(artifact.stem);
  if (const auto& load = programs.at(artifact.stem).load) OPTIMA_RETURN_IF_ERROR(load(job));
  return std::unique_ptr<LoadedProgram>(new FakeLoaded(programs.at(artifact.stem)));
}

class FakeSource : public PluginSource {
 public:
  explicit FakeSource(FakePlugin& plugin) : plugin_(plugin) {}
  Backend* find(std::string_view id) const override { return id == "fake" ? &plugin_ : nullptr; }
  std::vector<Backend*> plugins() const override { return {&plugin_}; }

 private:
  FakePlugin& plugin_;
};

/// Builds a package of float tensors over one fake plugin, and everything needed to run it.
class Bench {
 public:
  FakePlugin plugin;
  Package package;

  Bench() : context(std::make_unique<FakeSource>(plugin), 3) {
    package.model_name = "m";
    package.model_hash = std::string(64, '0');
    package.variants.resize(1);
  }

  PackageTensor& tensor(const std::string& name, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) {
    PackageTensor t;
    t.name = name;
    t.dtype = dtype;
    t.shape = std::move(shape);
    t.symbols.resize(t.shape.size());
    t.attr = "intermediate";
    package.tensors.push_back(t);
    return package.tensors.back();
  }

  /// A subgraph; bindings follow the tensors. `execute` may be replaced later through plugin.programs.
  FakeProgram& subgraph(std::vector<std::string> inputs, std::vector<std::string> outputs, std::function<Status(Tensors, Outputs)> execute) {
    PackageVariant& v = package.variants[0];
    PackageSubgraph s;
    s.index = static_cast<uint32_t>(v.subgraphs.size());
    s.device = "X64:0";
    s.plugin = "fake";
    s.target.kind = "X64";
    s.format_id = "fake/1";
    s.stem = "subgraph_" + std::to_string(s.index);
    FakeProgram& p = plugin.programs[s.stem];
    p.execute = std::move(execute);
    for (const std::string& n : inputs) p.bindings.push_back(binding(n, OPTIMA_INPUT));
    for (const std::string& n : outputs) p.bindings.push_back(binding(n, OPTIMA_OUTPUT));
    s.inputs = std::move(inputs);
    s.outputs = std::move(outputs);
    v.subgraphs.push_back(std::move(s));
    return p;
  }

  Result<PackageReader> reader() {
    std::sort(package.tensors.begin(), package.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const std::string meta = write_meta(package);
    std::vector<std::pair<std::string, Blob>> files = extra;
    files.emplace_back("model.meta", Blob::copy(meta.data(), meta.size()));
    return PackageReader::open(std::move(files));
  }
  Result<std::unique_ptr<LoadedModel>> load(const LoadOptions& options = {}) {
    OPTIMA_ASSIGN(PackageReader r, reader());
    return LoadedModel::load(context, std::move(r), options);
  }
  const LoadedModel& model() {
    if (!model_) {
      auto loaded = load();
      REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
      model_ = std::move(*loaded);
    }
    return *model_;
  }
  std::unique_ptr<Request> request() {
    auto r = Request::create(model());
    REQUIRE_MESSAGE(r.ok(), r.status().message());
    return std::move(*r);
  }

  std::vector<std::pair<std::string, Blob>> extra;  // more files of the package
  RuntimeContext context;

 private:
  Binding binding(const std::string& name, uint32_t direction) const {
    for (const PackageTensor& t : package.tensors)
      if (t.name == name) return {direction, name, t.dtype, t.shape, t.unranked, 0, 64};
    return {direction, name, OPTIMA_F32, {}, true, 0, 64};
  }
  std::unique_ptr<LoadedModel> model_;
};

inline std::span<float> floats(const optima_tensor& t) { return {static_cast<float*>(t.data), t.size / sizeof(float)}; }

/// out[i] = in[i] * factor + offset, one input, one output of its size.
inline std::function<Status(Tensors, Outputs)> affine(float factor, float offset) {
  return [=](Tensors in, Outputs out) {
    for (size_t i = 0; i < floats(in[0]).size(); ++i) floats(out[0])[i] = floats(in[0])[i] * factor + offset;
    return Status();
  };
}

inline Tensor filled(std::vector<int64_t> shape, float first = 1) {
  Tensor t = *Tensor::make(OPTIMA_F32, std::move(shape));
  for (float& f : t.as<float>()) f = first, first += 1;
  return t;
}

}  // namespace optima::test
