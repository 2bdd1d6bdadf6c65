// SPDX-License-Identifier: Apache-2.0
// tests: the tools as plugins/bmcompiler finds them, and modules for them.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>

#include "plugins/bmcompiler/files.hpp"
#include "plugins/bmcompiler/toolchain/stages.hpp"
#include "tests/support/failure.hpp"
#include "tests/support/sophon_tools.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

namespace fs = std::filesystem;
namespace bm = bmcompiler_plugin;

inline const std::string kSophon = OPTIMA_SOPHON_DEFAULT;

inline bm::Facts facts(const std::string& root = kSophon) { return {root, "tpu_mlir 1.30.2"}; }

/// A convolution and `softmaxes` of its output, on 1 x 16 x 16 x 16.
inline bm::top::Module small_module(int softmaxes = 1, int64_t channels = 16) {
  bm::top::Module m("net");
  const bm::top::Value x = m.input({"x", {1, channels, 16, 16}});
  std::vector<float> weights(static_cast<size_t>(channels * channels));
  for (size_t k = 0; k < weights.size(); ++k) weights[k] = static_cast<float>(k % 17) / 17.0f - 0.5f;
  const bm::top::Value w = m.weight("w", {channels, channels, 1, 1}, weights);
  bm::top::Attributes a;
  a.i64s("kernel_shape", {1, 1}).i64s("strides", {1, 1}).i64s("pads", {0, 0, 0, 0});
  bm::top::Value v = m.op("Conv", {x, w, m.none()}, a, {"conv", {1, channels, 16, 16}});
  for (int k = 0; k < softmaxes; ++k) v = m.op("Softmax", {v}, bm::top::Attributes().si32("axis", 1), {"soft" + std::to_string(k), {1, channels, 16, 16}});
  m.output(v);
  return m;
}

/// x through one operator.
inline bm::top::Module one_operator(const std::string& op, const std::string& name, const bm::top::Attributes& a = {}) {
  bm::top::Module m("net");
  m.output(m.op(op, {m.input({"x", {1, 3, 8, 8}})}, a, {name, {1, 3, 8, 8}}));
  return m;
}

/// A work folder with a log beside it.
class Work {
 public:
  Work() { fs::create_directory(path()); }
  std::string path() const { return folder_ / "work"; }
  std::string log() const { return folder_ / "log"; }
  std::string operator/(const std::string& name) const { return path() + "/" + name; }
  bm::Bounds bounds() const {
    bm::Bounds b;
    b.time_limit = std::chrono::minutes(5), b.work = path(), b.log = log();
    return b;
  }

 private:
  TempFolder folder_;
};

inline bm::Job job_for(const std::string& chip, const std::string& mode = "F32") {
  bm::Job job;
  job.chip = bm::find_chip(chip), job.mode = mode;
  job.result = "compilation" + std::string(job.chip->suffix);
  return job;
}

/// The file that the tools make of a module.
inline std::string compiled(const Work& work, const bm::top::Module& module, const bm::Job& job) {
  bm::write_module(module, work.path());
  bm::compile_stages(facts(), job, work.bounds(), bm::sdk::Progress(nullptr));
  return bm::bytes_of(work / job.result);
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A root of tools in `folder` whose libraries are links, to take some away from. The program is a copy: a link would show the loader the old place.
inline std::string root_of_links(const std::string& folder) {
  fs::create_directories(folder + "/bin");
  fs::create_directories(folder + "/lib/third_party");
  fs::copy_file(kSophon + "/bin/tpuc-opt", folder + "/bin/tpuc-opt");
  for (const char* at : {"/lib", "/lib/third_party"})
    for (const fs::directory_entry& e : fs::directory_iterator(kSophon + at))
      if (!e.is_directory()) fs::create_symlink(e.path(), folder + at + "/" + e.path().filename().string());
  return folder;
}

}  // namespace optima::test
