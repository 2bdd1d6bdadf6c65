// SPDX-License-Identifier: Apache-2.0
// libtpuv7_rt and libtpuv7_modelrt: BM1690. Functions and structs as tpuv7_rt.h and tpuv7_modelrt.h declare them.
#include <algorithm>

#include "nets.hpp"

namespace runner {
namespace of_tpuv7 {

struct Tensor {
  int type;
  Shape shape;
  void* data;  // on the device
  unsigned char reserved[64];
};
struct Side {
  int count;
  const char** names;
  float* scales;
  int* zero_points;
  int* types;
};
struct Net {
  const char* name;
  bool is_dynamic;
  Side input, output;
  int stage_count;
  Stage* stages;
  unsigned char reserved[64];
};

Ports ports_of(const Side& side) { return runner::ports_of(side.count, side.names, side.types); }

void require(int status, const char* what) {
  if (status != 0) throw Failure{"failed", std::string(what) + " answers " + std::to_string(status)};
}

class Tpuv7 : public Engine {
 public:
  Tpuv7(const std::string& folder, int device) : lib_(folder + "/libtpuv7_rt.so", true), runtime_(folder + "/libtpuv7_modelrt.so", false), device_(device) {}

  std::vector<std::string> devices() override {
    int count = 0;
    if (lib_.get<int()>("tpuRtInit")() != 0 || lib_.get<int(int*)>("tpuRtGetDeviceCount")(&count) != 0) return {};
    return std::vector<std::string>(static_cast<size_t>(count < 0 ? 0 : count), "bm1690");
  }

  void open(const std::string& model) override {
    if (const int failed = lib_.get<int()>("tpuRtInit")()) throw Failure{"dependency", "no device can be had: tpuRtInit answers " + std::to_string(failed)};
    if (const int failed = lib_.get<int(int)>("tpuRtSetDevice")(device_))
      throw Failure{"dependency", "device " + std::to_string(device_) + " cannot be had: tpuRtSetDevice answers " + std::to_string(failed)};
    require(lib_.get<int(void**)>("tpuRtStreamCreate")(&stream_), "tpuRtStreamCreate");
    require(runtime_.get<int(void**)>("tpuRtCreateNetContext")(&context_), "tpuRtCreateNetContext");
    require(runtime_.get<int(const char*, void*, void**)>("tpuRtLoadNet")(model.c_str(), context_, &net_), "tpuRtLoadNet");
  }

  void run(const std::string& name, std::vector<Plane>& inputs, std::vector<Plane>& outputs) override {
    const std::string wanted = net_of(name);
    const Net net = runtime_.get<Net(void*, const char*)>("tpuRtGetNetInfo")(net_, wanted.c_str());
    const std::vector<Plane*> in = matched(ports_of(net.input), inputs, "input");
    const std::vector<Plane*> out = matched(ports_of(net.output), outputs, "output");
    const std::vector<Shapes> stages = shapes_of(net.stages, net.stage_count, net.input.count, net.output.count);
    const Shapes& stage = stages[stage_for(stages, in, net.is_dynamic)];
    Memories memories(lib_);
    std::vector<Tensor> from, to;
    for (size_t k = 0; k < in.size(); ++k) {
      from.push_back({in[k]->type, shape_of(net.is_dynamic ? in[k]->dims : stage.inputs[k]), memories.get(in[k]->bytes.size()), {}});
      require(lib_.get<int(void*, const void*, unsigned long long)>("tpuRtMemcpyS2D")(from.back().data, in[k]->bytes.data(), in[k]->bytes.size()), "tpuRtMemcpyS2D");
    }
    for (size_t k = 0; k < out.size(); ++k) to.push_back({out[k]->type, shape_of(stage.outputs[k]), memories.get(largest(stages, k, *out[k])), {}});
    const auto launch = runtime_.get<int(void*, const Tensor*, Tensor*, const char*, void*)>("tpuRtLaunchNet");
    require(launch(net_, from.data(), to.data(), wanted.c_str(), stream_), "tpuRtLaunchNet");
    require(lib_.get<int(void*)>("tpuRtStreamSynchronize")(stream_), "tpuRtStreamSynchronize");
    for (size_t k = 0; k < out.size(); ++k) {
      std::string bytes(out[k]->bytes.size(), '\0');
      require(lib_.get<int(void*, const void*, unsigned long long)>("tpuRtMemcpyD2S")(bytes.data(), to[k].data, bytes.size()), "tpuRtMemcpyD2S");
      take(*out[k], dims_of(to[k].shape), bytes.data());
    }
  }

 private:
  /// Of a device, for one run.
  class Memories {
   public:
    explicit Memories(const Library& lib) : lib_(lib) {}
    Memories(const Memories&) = delete;
    Memories& operator=(const Memories&) = delete;
    ~Memories() {
      for (void* p : all_) lib_.get<int(void**, int)>("tpuRtFree")(&p, 0);
    }
    void* get(size_t size) {
      void* p = nullptr;
      require(lib_.get<int(void**, unsigned long long, int)>("tpuRtMalloc")(&p, size ? size : 1, 0), "tpuRtMalloc");
      return all_.emplace_back(p);
    }

   private:
    const Library& lib_;
    std::vector<void*> all_;
  };

  static size_t largest(const std::vector<Shapes>& stages, size_t k, const Plane& like) {
    size_t most = like.bytes.size();
    for (const Shapes& s : stages) most = std::max<size_t>(most, Plane{like.name, like.type, s.outputs[k], {}}.size());
    return most;
  }

  std::string net_of(const std::string& name) const {
    char** names = nullptr;
    const int count = runtime_.get<int(void*, char***)>("tpuRtGetNetNames")(net_, &names);
    std::string all, wanted;
    for (int k = 0; k < count; ++k) {
      all += (k ? ", " : "") + std::string(names[k]);
      if (name == names[k] || (name.empty() && count == 1)) wanted = names[k];
    }
    runtime_.get<void(char**)>("tpuRtFreeNetNames")(names);
    if (wanted.empty()) throw Failure{"invalid", name.empty() ? "model has the networks " + all + ", wanted the name of one" : "model has no network '" + name + "', wanted one of " + all};
    return wanted;
  }

  Library lib_, runtime_;
  int device_;
  void *stream_ = nullptr, *context_ = nullptr, *net_ = nullptr;
};

}  // namespace of_tpuv7

std::unique_ptr<Engine> make_tpuv7(const std::string& folder, int device) { return std::make_unique<of_tpuv7::Tpuv7>(folder, device); }

}  // namespace runner
