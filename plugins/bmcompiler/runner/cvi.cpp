// SPDX-License-Identifier: Apache-2.0
// libcviruntime: CV183X's .cvimodel files. Functions and structs as cviruntime.h declares them. A model has one network and one shape.
#include <cstring>

#include "engine.hpp"

namespace runner {
namespace of_cvi {

struct Shape {
  int32_t dims[6];
  size_t rank;
};
struct Tensor {
  char* name;
  Shape shape;
  int format;
  size_t count, bytes;
  uint8_t* memory;
  uint64_t address;
  int memory_kind;
  float scale;
  int zero_point, pixel_format;
  bool is_aligned;
  float mean[3], scales[3];
  void* owner;
  char reserved[32];
};

/// Element types by a bmodel's numbers.
int type_of(int format) {
  constexpr int types[] = {0, 6, 7, 8, 4, 5, 2, 3};  // FP32 INT32 UINT32 BF16 INT16 UINT16 INT8 UINT8
  return format >= 0 && format < 8 ? types[format] : -1;
}

class Cvi : public Engine {
 public:
  explicit Cvi(const std::string& folder) : runtime_(folder + "/libcviruntime.so", false) {}

  std::vector<std::string> devices() override { return {"cv183x"}; }

  void open(const std::string& model) override {
    if (const int failed = runtime_.get<int(const char*, void**)>("CVI_NN_RegisterModel")(model.c_str(), &model_))
      throw Failure{"failed", "the runtime does not take the model: CVI_NN_RegisterModel answers " + std::to_string(failed)};
    if (const int failed = runtime_.get<int(void*, Tensor**, int32_t*, Tensor**, int32_t*)>("CVI_NN_GetInputOutputTensors")(model_, &inputs_, &input_count_, &outputs_, &output_count_))
      throw Failure{"failed", "CVI_NN_GetInputOutputTensors answers " + std::to_string(failed)};
  }

  void run(const std::string&, std::vector<Plane>& inputs, std::vector<Plane>& outputs) override {
    const std::vector<Plane*> in = matched(ports_of(inputs_, input_count_), inputs, "input");
    const std::vector<Plane*> out = matched(ports_of(outputs_, output_count_), outputs, "output");
    Shapes shapes;
    for (int k = 0; k < input_count_; ++k) shapes.inputs.push_back(dims_of(inputs_[k].shape, in[k]->dims));
    stage_for({shapes}, in, false);
    for (int k = 0; k < input_count_; ++k) std::memcpy(memory(inputs_[k], in[k]->bytes.size()), in[k]->bytes.data(), in[k]->bytes.size());
    if (const int failed = runtime_.get<int(void*, Tensor*, int32_t, Tensor*, int32_t)>("CVI_NN_Forward")(model_, inputs_, input_count_, outputs_, output_count_))
      throw Failure{"failed", "the runtime did not run the model: CVI_NN_Forward answers " + std::to_string(failed)};
    for (int k = 0; k < output_count_; ++k) take(*out[k], dims_of(outputs_[k].shape, out[k]->dims), memory(outputs_[k], out[k]->bytes.size()));
  }

 private:
  static Ports ports_of(const Tensor* tensors, int count) {
    Ports p;
    for (int k = 0; k < count; ++k) p.names.emplace_back(tensors[k].name), p.types.push_back(type_of(tensors[k].format));
    return p;
  }
  /// Of `given`, where the file has its last dims as one, as it has of more than four.
  static std::vector<int64_t> dims_of(const Shape& s, const std::vector<int64_t>& given) {
    const std::vector<int64_t> dims(s.dims, s.dims + s.rank);
    if (given.size() <= dims.size() || dims.empty()) return dims;
    std::vector<int64_t> merged(given.begin(), given.begin() + static_cast<ptrdiff_t>(dims.size()));
    for (size_t k = dims.size(); k < given.size(); ++k) merged.back() *= given[k];
    return merged == dims ? given : dims;
  }

  char* memory(Tensor& tensor, size_t wanted) const {
    auto* p = static_cast<char*>(runtime_.get<void*(Tensor*)>("CVI_NN_TensorPtr")(&tensor));
    if (!p || tensor.bytes < wanted) throw Failure{"failed", "tensor '" + std::string(tensor.name) + "' has " + std::to_string(p ? tensor.bytes : 0) + " bytes, wanted " + std::to_string(wanted)};
    return p;
  }

  Library runtime_;
  void* model_ = nullptr;
  Tensor *inputs_ = nullptr, *outputs_ = nullptr;
  int32_t input_count_ = 0, output_count_ = 0;
};

}  // namespace of_cvi

std::unique_ptr<Engine> make_cvi(const std::string& folder) { return std::make_unique<of_cvi::Cvi>(folder); }

}  // namespace runner
