// SPDX-License-Identifier: Apache-2.0
// Every way ONNX has to store a tensor gives the same dense bytes.
#include <doctest/doctest.h>

#include <cstring>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

// One tensor as the only output of a model.
Graph load_tensor(const onnx::TensorProto& tensor) {
  onnx::ModelProto model = test::graph_model("g (float[1] x) => (float[1] y) { y = Relu(x) }", 21);
  model.set_ir_version(10);
  auto& g = *model.mutable_graph();
  *g.add_initializer() = tensor;
  g.mutable_initializer(0)->set_name("t");
  auto& out = *g.add_output();
  out.set_name("t");
  out.mutable_type()->mutable_tensor_type()->set_elem_type(tensor.data_type());
  for (int64_t d : tensor.dims()) out.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  if (tensor.dims_size() == 0) out.mutable_type()->mutable_tensor_type()->mutable_shape();
  test::TempFolder folder;
  auto loaded = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  return std::move(*loaded);
}
std::string bytes_of(const onnx::TensorProto& tensor) {
  const Graph g = load_tensor(tensor);
  const image::Value& v = g.main().values[g.main().outputs[1]];
  const Blob& b = g.blobs[g.contents.constants.at(v.constant).blob];
  return {reinterpret_cast<const char*>(b.data), b.size};
}
onnx::TensorProto tensor(int32_t dtype, std::vector<int64_t> dims) {
  onnx::TensorProto t;
  t.set_data_type(dtype);
  for (int64_t d : dims) t.add_dims(d);
  return t;
}
template <class T>
std::string raw(const std::vector<T>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}; }

}  // namespace

TEST_CASE("typed fields decode to the bytes that raw data has, small and large") {
  for (int64_t count : {3, 5000}) {
    CAPTURE(count);
    onnx::TensorProto f = tensor(OPTIMA_F32, {count}), d = tensor(OPTIMA_F64, {count}), i = tensor(OPTIMA_I64, {count});
    onnx::TensorProto b = tensor(OPTIMA_I8, {count}), h = tensor(OPTIMA_F16, {count}), u = tensor(OPTIMA_U32, {count});
    std::vector<float> fs;
    std::vector<double> ds;
    std::vector<int64_t> is;
    std::vector<int8_t> bs;
    std::vector<uint16_t> hs;
    std::vector<uint32_t> us;
    for (int64_t k = 0; k < count; ++k) {
      fs.push_back(0.5f * static_cast<float>(k)), f.add_float_data(fs.back());
      ds.push_back(0.25 * static_cast<double>(k)), d.add_double_data(ds.back());
      is.push_back(-k * 1000003), i.add_int64_data(is.back());
      bs.push_back(static_cast<int8_t>(k % 251 - 125)), b.add_int32_data(bs.back());
      hs.push_back(static_cast<uint16_t>(k * 13)), h.add_int32_data(hs.back());
      us.push_back(4000000000u - static_cast<uint32_t>(k)), u.add_uint64_data(us.back());
    }
    CHECK(bytes_of(f) == raw(fs));
    CHECK(bytes_of(d) == raw(ds));
    CHECK(bytes_of(i) == raw(is));
    CHECK(bytes_of(b) == raw(bs));
    CHECK(bytes_of(h) == raw(hs));
    CHECK(bytes_of(u) == raw(us));
  }
}

TEST_CASE("large float data is a range of the file even in its typed field") {
  onnx::TensorProto f = tensor(OPTIMA_F32, {5000});
  for (int k = 0; k < 5000; ++k) f.add_float_data(1);
  const Graph g = load_tensor(f);
  CHECK(g.blobs[g.contents.constants[0].blob].fd >= 0);
}

TEST_CASE("strings become ends and text") {
  onnx::TensorProto s = tensor(OPTIMA_STRING, {3});
  s.add_string_data("ab"), s.add_string_data(""), s.add_string_data("cde");
  CHECK(bytes_of(s) == raw<uint64_t>({2, 2, 5}) + "abcde");
}

TEST_CASE("four-bit tensors keep their packing") {
  onnx::TensorProto t = tensor(OPTIMA_U4, {3});
  t.set_raw_data("\x21\x03");
  CHECK(bytes_of(t) == "\x21\x03");
}

TEST_CASE("empty and scalar tensors have their zero and one elements") {
  onnx::TensorProto empty = tensor(OPTIMA_F32, {0}), scalar = tensor(OPTIMA_I64, {});
  scalar.add_int64_data(7);
  CHECK(bytes_of(empty).empty());
  CHECK(bytes_of(scalar) == raw<int64_t>({7}));
}

TEST_CASE("a sparse tensor arrives dense") {
  onnx::ModelProto model = test::graph_model("g (float[2,3] x) => (float[2,3] y) { y = Add(x, s) }", 17);
  auto& sparse = *model.mutable_graph()->add_sparse_initializer();
  *sparse.mutable_values() = tensor(OPTIMA_F32, {2});
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->add_float_data(5), sparse.mutable_values()->add_float_data(7);
  *sparse.mutable_indices() = tensor(OPTIMA_I64, {2});
  sparse.mutable_indices()->add_int64_data(1), sparse.mutable_indices()->add_int64_data(5);
  sparse.add_dims(2), sparse.add_dims(3);
  test::TempFolder folder;
  auto g = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  const Blob& b = g->blobs.at(0);
  CHECK(std::string(reinterpret_cast<const char*>(b.data), b.size) == raw<float>({0, 5, 0, 0, 0, 7}));
}
