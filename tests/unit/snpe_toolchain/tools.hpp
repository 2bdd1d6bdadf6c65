// SPDX-License-Identifier: Apache-2.0
// tests: the wheels as plugins/snpe finds them, models for them, and the processes that they are.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "plugins/snpe/artifact.hpp"
#include "plugins/snpe/toolchain/toolchain.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

namespace fs = std::filesystem;

/// Where setup puts the wheels; empty where it did not.
inline std::string wheels() { return fs::exists(OPTIMA_QUALCOMM_DEFAULT) ? OPTIMA_QUALCOMM_DEFAULT : ""; }

/// A host that has a folder for temporary files, and no more.
class BareHost {
 public:
  BareHost() {
    raw_.struct_size = sizeof raw_;
    raw_.temp_dir = sdk::str(folder_.path());
  }
  sdk::Host host() const { return sdk::Host(&raw_); }

 private:
  TempFolder folder_;
  optima_host raw_{};
};

/// Tools, and a work folder with a log beside it.
class Tools {
 public:
  Tools() {
    snpe_plugin::Wanted wanted;
    wanted.route = "wheels", wanted.plugin_dir = SNPE_DRIVER_DIR;
    std::string why;
    tools_ = snpe_plugin::find_toolchain(wanted, host_.host(), why);
    REQUIRE_MESSAGE(tools_, why);
    fs::create_directory(work());
  }
  snpe_plugin::Toolchain* operator->() const { return tools_.get(); }
  snpe_plugin::Toolchain& operator*() const { return *tools_; }
  std::string work() const { return folder_ / "work"; }
  std::string log() const { return folder_ / "log"; }
  snpe_plugin::Bounds bounds() const {
    snpe_plugin::Bounds b;
    b.time_limit = std::chrono::minutes(5), b.work = work(), b.log = log();
    return b;
  }
  void end() { tools_.reset(); }

 private:
  BareHost host_;
  TempFolder folder_;
  std::unique_ptr<snpe_plugin::Toolchain> tools_;
};

inline snpe_plugin::Target hexagon(const std::string& socs = "sm8550") {
  snpe_plugin::Target target;
  target.kind = "HEXAGON", target.socs = snpe_plugin::parse_socs(socs);
  return target;
}

/// One of models.py's, with inputs and answers.
struct Model {
  std::string folder;
  std::vector<snpe_plugin::Port> inputs, outputs;
  std::vector<std::string> in, out;  ///< bytes
};
/// They are made once per process.
Model model(const std::string& name);

/// Tensors over buffers, as execute() gets them.
class Buffers {
 public:
  explicit Buffers(const Model& m) : in_(m.in) {
    for (const std::string& o : m.out) out_.emplace_back(o.size(), '\xA5');
    for (size_t k = 0; k < m.inputs.size(); ++k) raw_in_.push_back(raw(m.inputs[k], in_[k]));
    for (size_t k = 0; k < m.outputs.size(); ++k) raw_out_.push_back(raw(m.outputs[k], out_[k]));
  }
  sdk::Tensors in() const { return {raw_in_.data(), static_cast<uint32_t>(raw_in_.size())}; }
  sdk::OutTensors out() { return {raw_out_.data(), static_cast<uint32_t>(raw_out_.size())}; }
  const std::string& bytes(size_t k) const { return out_[k]; }

 private:
  static optima_tensor raw(const snpe_plugin::Port& port, std::string& bytes) {
    optima_tensor t{};
    t.struct_size = sizeof t, t.dtype = port.dtype, t.rank = static_cast<int32_t>(port.dims.size()), t.shape = port.dims.data();
    t.data = bytes.data(), t.size = bytes.size(), t.mem_kind = OPTIMA_MEM_HOST;
    return t;
  }
  std::vector<std::string> in_, out_;
  std::vector<optima_tensor> raw_in_, raw_out_;
};

/// The largest difference of two lists of floats over the largest magnitude of the second.
double distance(const std::string& a, const std::string& b);

/// Processes that we started and that still run, what those started among them.
std::vector<int> children();

snpe_plugin::Loadable loadable(const snpe_plugin::Built& built, const Model& m);

}  // namespace optima::test
