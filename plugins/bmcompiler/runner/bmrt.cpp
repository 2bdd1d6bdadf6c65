// SPDX-License-Identifier: Apache-2.0
// libbmlib and libbmrt: BM1684, BM1684X, BM1688, CV186X, on the driver as on the emulator. Functions and structs as sophgo/libsophon documents
// them (bmlib_runtime.h, bmruntime_interface.h, bmdef.h).
#include <algorithm>
#include <cstdlib>

#include "nets.hpp"

namespace runner {
namespace of_bmrt {

using Handle = void*;
using Net = BmrtNet;

/// By what bm_get_chipid() answers (sophgo/libsophon, tpu-runtime: chips by their id).
std::string chip_of(unsigned id) { return id == 0x1684 ? "bm1684" : id == 0x1686 ? "bm1684x" : id == 0x1686a200 || id == 0x1688 ? "bm1688" : ""; }

class Bmrt : public Engine {
 public:
  Bmrt(const std::string& folder, int device) : lib_(folder + "/libbmlib.so.0", true), runtime_(folder + "/libbmrt.so.1.0", false), device_(device) {}

  std::vector<std::string> devices() override {
    int count = 0;
    if (lib_.get<int(int*)>("bm_dev_getcount")(&count) != 0) return {};
    std::vector<std::string> chips;
    for (int k = 0; k < count; ++k) {
      Handle handle = nullptr;
      unsigned id = 0;
      if (lib_.get<int(Handle*, int)>("bm_dev_request")(&handle, k) == 0) {
        lib_.get<int(Handle, unsigned*)>("bm_get_chipid")(handle, &id);
        lib_.get<void(Handle)>("bm_dev_free")(handle);
      }
      chips.push_back(chip_of(id));
    }
    return chips;
  }

  void open(const std::string& model) override {
    Handle handle = nullptr;
    const int failed = lib_.get<int(Handle*, int)>("bm_dev_request")(&handle, device_);
    if (failed) throw Failure{"dependency", "device " + std::to_string(device_) + " cannot be had: bm_dev_request answers " + std::to_string(failed)};
    bmrt_ = runtime_.get<void*(Handle)>("bmrt_create")(handle);
    if (!bmrt_) throw Failure{"failed", "bmrt_create made no runtime"};
    if (!runtime_.get<bool(void*, const char*)>("bmrt_load_bmodel")(bmrt_, model.c_str())) throw Failure{"failed", "the runtime does not take the model"};
  }

  void run(const std::string& name, std::vector<Plane>& inputs, std::vector<Plane>& outputs) override {
    const Net& net = net_of(name);
    const std::vector<Plane*> in = matched(ports_of(net.input_count, net.input_names, net.input_types), inputs, "input");
    const std::vector<Plane*> out = matched(ports_of(net.output_count, net.output_names, net.output_types), outputs, "output");
    const std::vector<Shapes> stages = shapes_of(net.stages, net.stage_count, net.input_count, net.output_count);
    const Shapes& stage = stages[stage_for(stages, in, net.is_dynamic)];
    std::vector<void*> from, to;
    std::vector<Shape> in_shapes, out_shapes(out.size());
    for (size_t k = 0; k < in.size(); ++k) from.push_back(in[k]->bytes.data()), in_shapes.push_back(shape_of(net.is_dynamic ? in[k]->dims : stage.inputs[k]));
    std::vector<std::string> results;  // of the largest size that a stage has: a wrong file does not write past it
    results.reserve(out.size());      // a short string's bytes move with it
    for (size_t k = 0; k < out.size(); ++k) to.push_back(results.emplace_back(std::max<size_t>(net.most_output_bytes[k], out[k]->bytes.size()), '\0').data());
    const auto launch = runtime_.get<bool(void*, const char*, void* const*, const Shape*, int, void**, Shape*, int, bool)>("bmrt_launch_data");
    if (!launch(bmrt_, net.name, from.data(), in_shapes.data(), static_cast<int>(in.size()), to.data(), out_shapes.data(), static_cast<int>(out.size()), true))
      throw Failure{"failed", "the runtime did not run the model"};
    for (size_t k = 0; k < out.size(); ++k) take(*out[k], dims_of(out_shapes[k]), results[k].data());
  }

 private:
  const Net& net_of(const std::string& name) const {
    const int count = runtime_.get<int(void*)>("bmrt_get_network_number")(bmrt_);
    const char** names = nullptr;
    runtime_.get<void(void*, const char***)>("bmrt_get_network_names")(bmrt_, &names);
    std::string all, wanted = name;
    for (int k = 0; k < count; ++k) all += (k ? ", " : "") + std::string(names[k]);
    if (name.empty() && count == 1) wanted = names[0];
    std::free(names);
    const Net* net = wanted.empty() ? nullptr : runtime_.get<const Net*(void*, const char*)>("bmrt_get_network_info")(bmrt_, wanted.c_str());
    if (!net) throw Failure{"invalid", name.empty() ? "model has the networks " + all + ", wanted the name of one" : "model has no network '" + name + "', wanted one of " + all};
    return *net;
  }

  Library lib_, runtime_;
  int device_;
  void* bmrt_ = nullptr;
};

}  // namespace of_bmrt

std::unique_ptr<Engine> make_bmrt(const std::string& folder, int device) { return std::make_unique<of_bmrt::Bmrt>(folder, device); }

}  // namespace runner
