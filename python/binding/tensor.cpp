// SPDX-License-Identifier: Apache-2.0
#include "python/binding/tensor.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>

namespace optima::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct TypeRow {
  const char* name;  // numpy's, else ml_dtypes'
  const char* interface;  // of __array_interface__; null = numpy alone has no such type
  Code code;
};

/// By the number of the element type. Types of fewer than 8 bits are packed, as no array library has them: their bytes are had by getBuffer().
constexpr std::array<TypeRow, 27> kTypes = {{{"undefined", nullptr, Code::UInt}, {"float32", "<f4", Code::Float}, {"uint8", "|u1", Code::UInt},
  {"int8", "|i1", Code::Int}, {"uint16", "<u2", Code::UInt}, {"int16", "<i2", Code::Int}, {"int32", "<i4", Code::Int}, {"int64", "<i8", Code::Int},
  {"string", nullptr, Code::UInt}, {"bool", "|b1", Code::Bool}, {"float16", "<f2", Code::Float}, {"float64", "<f8", Code::Float}, {"uint32", "<u4", Code::UInt},
  {"uint64", "<u8", Code::UInt}, {"complex64", "<c8", Code::Complex}, {"complex128", "<c16", Code::Complex}, {"bfloat16", nullptr, Code::Bfloat},
  {"float8_e4m3fn", nullptr, Code::Float8_E4M3FN}, {"float8_e4m3fnuz", nullptr, Code::Float8_E4M3FNUZ}, {"float8_e5m2", nullptr, Code::Float8_E5M2},
  {"float8_e5m2fnuz", nullptr, Code::Float8_E5M2FNUZ}, {"uint4", nullptr, Code::UInt}, {"int4", nullptr, Code::Int}, {"float4_e2m1fn", nullptr, Code::Float4_E2M1FN},
  {"float8_e8m0fnu", nullptr, Code::Float8_E8M0FNU}, {"uint2", nullptr, Code::UInt}, {"int2", nullptr, Code::Int}}};

size_t bits(rt::ElementType type) { return rt::detail::bits_of(type); }
const TypeRow& row(rt::ElementType type) { return kTypes[static_cast<size_t>(type) < kTypes.size() ? static_cast<size_t>(type) : 0]; }

[[noreturn]] void refuse(const std::string& what) { throw rt::Error(OPTIMA_RT_INVALID_INPUT, what.c_str()); }

rt::ElementType type_of(nb::dlpack::dtype type) {
  for (size_t i = 1; i < kTypes.size(); ++i)
    if (static_cast<uint8_t>(kTypes[i].code) == type.code && bits(static_cast<rt::ElementType>(i)) == type.bits && type.lanes == 1) return static_cast<rt::ElementType>(i);
  refuse("an array has elements of " + std::to_string(type.bits) + " bits and DLPack's type " + std::to_string(type.code) + ", which no model has");
}

/// Row-major without gaps; dimensions of size 1 may have any stride.
bool is_dense(const nb::ndarray<nb::ro>& array) {
  int64_t expected = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) == 0) return true;
    if (array.shape(i) > 1 && array.stride(i) != expected) return false;
    expected *= static_cast<int64_t>(array.shape(i));
  }
  return true;
}

std::string text_of(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t d : shape) out += (out.empty() ? "" : "x") + std::to_string(d);
  return out.empty() ? "scalar" : out;
}

nb::tuple shape_of(const Tensor& t) {
  nb::list out;
  for (const int64_t d : t.get().shape()) out.append(d);
  return nb::tuple(out);
}

nb::dict array_interface(const Tensor& t) {
  const TypeRow& type = row(t.get().type());
  if (!type.interface) throw nb::attribute_error(("numpy has no type for the elements of a tensor of " + std::string(type.name)).c_str());
  nb::dict out;
  out["version"] = 3;
  out["typestr"] = type.interface;
  out["shape"] = shape_of(t);
  out["data"] = nb::make_tuple(t.address(), !t.writable());
  return out;
}

nb::object dlpack(nb::handle self, const nb::kwargs& how) {
  const Tensor& t = nb::cast<const Tensor&>(self);
  const TypeRow& type = row(t.get().type());
  const size_t width = bits(t.get().type());
  if (width < 8) throw nb::buffer_error(("a tensor of " + std::string(type.name) + " is packed, which DLPack's consumers do not take").c_str());
  const std::vector<size_t> shape(t.get().shape().begin(), t.get().shape().end());
  const nb::dlpack::dtype dtype{static_cast<uint8_t>(type.code), static_cast<uint8_t>(width), 1};
  void* data = const_cast<void*>(t.get().getBuffer());
  nb::object array = t.writable() ? nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), self, nullptr, dtype, nb::device::cpu::value))
                                  : nb::cast(nb::ndarray<nb::array_api, nb::ro>(data, shape.size(), shape.data(), self, nullptr, dtype, nb::device::cpu::value));
  return array.attr("__dlpack__")(**how);
}

/// The bytes of a tensor for memoryview(), which needs an object with the buffer protocol: Tensor has none, for numpy would take the bytes for its elements.
struct Bytes {
  nb::object tensor;
};

int fill_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  Tensor& t = nb::cast<Tensor&>(nb::inst_ptr<Bytes>(self)->tensor);
  return PyBuffer_FillInfo(view, self, t.get().getBuffer(), static_cast<Py_ssize_t>(t.get().size()), !t.writable(), flags);
}

PyType_Slot kBytesSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(fill_buffer)}, {0, nullptr}};

nb::object buffer_of(nb::handle self) {
  const nb::object bytes = nb::cast(Bytes{nb::borrow(self)});
  return nb::steal(PyMemoryView_FromObject(bytes.ptr()));
}

}  // namespace

const char* name_of(rt::ElementType type) { return row(type).name; }

Tensor Tensor::of_array(nb::ndarray<nb::ro> array, std::optional<rt::ElementType> type, bool writable) {
  if (array.device_type() != nb::device::cpu::value) refuse("an array lies on a device, wanted one in host memory");
  if (!is_dense(array)) refuse("an array has gaps or another order than row-major, wanted a dense one");
  std::vector<int64_t> shape;
  for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<int64_t>(array.shape(i)));
  const rt::ElementType own = type ? *type : type_of(array.dtype());
  if (bits(own) != array.dtype().bits)
    refuse("an array has elements of " + std::to_string(array.dtype().bits) + " bits, wanted " + std::to_string(bits(own)) + " of " + name_of(own));
  rt::Tensor borrowed(own, std::move(shape), const_cast<void*>(array.data()));
  return Tensor(std::move(borrowed), std::move(array), writable);
}

void Tensor::copy_from(const Tensor& other) {
  const auto what = [](const Tensor& t) { return std::string(name_of(t.get().type())) + " of shape " + text_of(t.get().shape()); };
  if (!writable_) refuse("a tensor is a view of an array that may not be written to, wanted one that may");
  if (other.get().type() != get().type() || other.get().shape() != get().shape()) refuse("found " + what(other) + ", wanted " + what(*this));
  if (get().size() > 0) std::memmove(get().getBuffer(), other.get().getBuffer(), get().size());
}

void bind_tensor(nb::module_& m) {
  nb::class_<Bytes>(m, "_Bytes", nb::type_slots(kBytesSlots));
  nb::class_<Tensor>(m, "Tensor", "A dense row-major tensor in host memory: zeroed bytes of its own, 64-byte aligned, or the bytes of an array.")
      .def(nb::init<rt::ElementType, std::vector<int64_t>>(), nb::arg("type"), nb::arg("shape"))
      .def_static("of_array", [](nb::ndarray<nb::ro> a, std::optional<rt::ElementType> type) { return Tensor::of_array(std::move(a), type, false); },
                  nb::arg("array").noconvert(), nb::arg("type") = nb::none(), "The bytes of an array, not copied, for reading.")
      .def_static("of_writable_array", [](const nb::ndarray<>& a, std::optional<rt::ElementType> type) { return Tensor::of_array(nb::ndarray<nb::ro>(a), type, true); },
                  nb::arg("array").noconvert(), nb::arg("type") = nb::none(), "The bytes of an array, not copied, for reading and writing.")
      .def_prop_ro("type", [](const Tensor& t) { return t.get().type(); })
      .def_prop_ro("dtype", [](const Tensor& t) { return name_of(t.get().type()); }, "numpy's name of the element type, ml_dtypes' where numpy has none.")
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("nbytes", [](const Tensor& t) { return t.get().size(); })
      .def_prop_ro("address", &Tensor::address, "Where the bytes lie.")
      .def_prop_ro("writable", &Tensor::writable)
      .def("copy_from_tensor", &Tensor::copy_from, nb::arg("other"))
      .def("get_buffer", buffer_of, nb::sig("def get_buffer(self) -> memoryview"), "The bytes themselves, not a copy.")
      .def_prop_ro("__array_interface__", array_interface)
      .def("__dlpack__", dlpack)
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(nb::device::cpu::value, 0); });
}

}  // namespace optima::python
