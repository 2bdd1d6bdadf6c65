// SPDX-License-Identifier: Apache-2.0
// reference/tensor: shapes, sizes and picking by index. Element formats are in element.cpp.
#include "reference/tensor.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace optima::reference {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 30;  // a shape made of hostile numbers stops here, not at the kernel's mercy

void check_strings(const Tensor& t, uint64_t n, const uint64_t* ends) {
  const uint64_t table = n * 8;
  uint64_t before = 0;
  if (t.size < table) invalid("string tensor is shorter than its table");
  for (uint64_t i = 0; i < n; before = ends[i++])
    if (ends[i] < before || ends[i] > t.size - table) invalid("string tensor has a bad table");
}

}  // namespace

void unsupported(const std::string& text) { throw Error(OPTIMA_UNSUPPORTED, text); }
void invalid(const std::string& text) { throw Error(OPTIMA_INVALID_GRAPH, text); }

std::string show(const Dims& dims) {
  constexpr size_t kMostShown = 16;
  std::string out = "[";
  for (size_t i = 0; i < std::min(dims.size(), kMostShown); ++i) out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + (dims.size() > kMostShown ? ", ... (" + std::to_string(dims.size()) + " in all)]" : "]");
}

std::string dtype_name(int32_t dtype) {
  static constexpr const char* names[] = {"undefined", "f32", "u8", "i8", "u16", "i16", "i32", "i64", "string", "bool",
      "f16", "f64", "u32", "u64", "c64", "c128", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4", "i4",
      "f4e2m1", "f8e8m0", "u2", "i2"};
  return dtype >= 0 && dtype < 27 ? names[dtype] : "type " + std::to_string(dtype);
}

int64_t count(const Dims& dims) { return count(dims, 0, dims.size()); }

int64_t count(const Dims& dims, size_t first, size_t last) {
  int64_t n = 1;
  bool empty = false;
  for (size_t d = first; d < last; ++d) {
    if (dims[d] < 0) invalid("shape " + show(dims) + " has a negative dim");
    if (dims[d] == 0) empty = true;
    else if (n > kMaxElements / dims[d])
      throw Error(OPTIMA_MEMORY, "shape " + show(dims) + " has more elements than the reference takes");
    else n *= dims[d];
  }
  return empty ? 0 : n;
}

uint64_t bytes_of(int32_t dtype, int64_t n) {
  const uint32_t bits = optima_dtype_bits(dtype);
  if (bits == 0) unsupported("element type " + dtype_name(dtype) + " has no fixed size");
  return (static_cast<uint64_t>(n) * bits + 7) / 8;
}

Dims strides_of(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) out[d - 1] = out[d] * dims[d];
  return out;
}

size_t normal_axis(int64_t axis, size_t rank, const char* what) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    invalid(std::string(what) + " is " + std::to_string(axis) + ", must be within rank " + std::to_string(rank));
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

Dims broadcast(const Dims& a, const Dims& b) {
  const Dims& big = a.size() < b.size() ? b : a;
  const Dims& small = a.size() < b.size() ? a : b;
  Dims out = big;
  for (size_t d = 0, skip = big.size() - small.size(); d < small.size(); ++d) {
    int64_t& o = out[d + skip];
    if (o == 1) o = small[d];
    else if (small[d] != 1 && small[d] != o) invalid("shapes " + show(a) + " and " + show(b) + " do not broadcast");
  }
  return out;
}

int64_t Tensor::elements() const { return count(dims); }

Tensor Tensor::make(int32_t dtype, std::vector<int64_t> dims, void** writable) {
  const uint64_t size = bytes_of(dtype, count(dims));
  void* p = std::aligned_alloc(64, (size + 64) / 64 * 64);
  if (!p) throw std::bad_alloc();
  std::memset(p, 0, size);
  *writable = p;
  return {dtype, std::move(dims), std::shared_ptr<const void>(p, [](const void* q) { std::free(const_cast<void*>(q)); }), p, size};
}

std::vector<std::string> strings(const Tensor& t) {
  if (t.dtype != OPTIMA_STRING) invalid("element type is " + dtype_name(t.dtype) + ", must be string");
  const auto n = static_cast<uint64_t>(t.elements());
  if (t.size / 8 < n) invalid("string tensor is shorter than its table");
  std::vector<uint64_t> ends(n);
  if (n) std::memcpy(ends.data(), t.data, n * 8);
  check_strings(t, n, ends.data());
  const char* text = static_cast<const char*>(t.data) + n * 8;
  std::vector<std::string> out;
  for (uint64_t i = 0, before = 0; i < n; before = ends[i++]) out.emplace_back(text + before, ends[i] - before);
  return out;
}

Tensor make_strings(Dims dims, const std::vector<std::string>& elements) {
  if (count(dims) != static_cast<int64_t>(elements.size())) invalid("a string tensor of shape " + show(dims) + " got another count");
  uint64_t total = 0;
  std::vector<uint64_t> ends;
  for (const std::string& s : elements) ends.push_back(total += s.size());
  void* p = nullptr;
  Tensor out = Tensor::make(OPTIMA_U8, {static_cast<int64_t>(ends.size() * 8 + total)}, &p);
  char* at = static_cast<char*>(p);
  if (!ends.empty()) std::memcpy(at, ends.data(), ends.size() * 8);
  at += ends.size() * 8;
  for (const std::string& s : elements) at = std::copy(s.begin(), s.end(), at);
  out.dtype = OPTIMA_STRING;
  out.dims = std::move(dims);
  return out;
}

std::vector<uint8_t> unpack(const Tensor& t) {
  const uint32_t bits = optima_dtype_bits(t.dtype), per = 8 / bits;
  const auto* bytes = static_cast<const uint8_t*>(t.data);
  std::vector<uint8_t> out(static_cast<size_t>(t.elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = bytes[i / per] >> (i % per * bits) & ((1u << bits) - 1);
  return out;
}

Tensor pack(int32_t dtype, Dims dims, const std::vector<uint8_t>& elements) {
  const uint32_t bits = optima_dtype_bits(dtype), per = 8 / bits;
  void* p = nullptr;
  Tensor out = Tensor::make(dtype, std::move(dims), &p);
  auto* bytes = static_cast<uint8_t*>(p);
  for (size_t i = 0; i < elements.size(); ++i)
    bytes[i / per] = static_cast<uint8_t>(bytes[i / per] | (elements[i] & ((1u << bits) - 1)) << (i % per * bits));
  return out;
}

namespace {

Tensor pick_strings(const Tensor& from, Dims dims, const std::vector<int64_t>& index, const Tensor* fill) {
  const std::vector<std::string> source = strings(from);
  const std::string other = fill ? strings(*fill).at(0) : std::string();
  std::vector<std::string> out;
  for (int64_t i : index) out.push_back(i < 0 ? other : source[static_cast<size_t>(i)]);
  return make_strings(std::move(dims), out);
}

Tensor pick_packed(const Tensor& from, Dims dims, const std::vector<int64_t>& index, const Tensor* fill) {
  const std::vector<uint8_t> source = unpack(from);
  const uint8_t other = fill ? unpack(*fill).at(0) : 0;
  std::vector<uint8_t> out;
  for (int64_t i : index) out.push_back(i < 0 ? other : source[static_cast<size_t>(i)]);
  return pack(from.dtype, std::move(dims), out);
}

template <class T>
void pick_words(const void* from, void* to, const std::vector<int64_t>& index, const void* fill) {
  T other{};
  if (fill) std::memcpy(&other, fill, sizeof other);
  for (size_t i = 0; i < index.size(); ++i)
    static_cast<T*>(to)[i] = index[i] < 0 ? other : static_cast<const T*>(from)[index[i]];
}

}  // namespace

Tensor pick(const Tensor& from, Dims dims, const std::vector<int64_t>& index, const Tensor* fill) {
  if (fill && fill->elements() != 1) invalid("the fill value has shape " + show(fill->dims) + ", must be one element");
  if (fill && fill->dtype != from.dtype) invalid("the fill value is " + dtype_name(fill->dtype) + ", must be " + dtype_name(from.dtype));
  if (from.dtype == OPTIMA_STRING) return pick_strings(from, std::move(dims), index, fill);
  if (optima_dtype_bits(from.dtype) < 8 && optima_dtype_bits(from.dtype) > 0) return pick_packed(from, std::move(dims), index, fill);
  void* to = nullptr;
  Tensor out = Tensor::make(from.dtype, std::move(dims), &to);
  const void* other = fill ? fill->data : nullptr;
  struct Wide { uint64_t a, b; };
  switch (optima_dtype_bits(from.dtype)) {
    case 8: pick_words<uint8_t>(from.data, to, index, other); break;
    case 16: pick_words<uint16_t>(from.data, to, index, other); break;
    case 32: pick_words<uint32_t>(from.data, to, index, other); break;
    case 64: pick_words<uint64_t>(from.data, to, index, other); break;
    default: pick_words<Wide>(from.data, to, index, other); break;
  }
  return out;
}

Tensor join(const std::vector<Tensor>& parts) {
  if (parts.empty()) invalid("there is no input");
  const int32_t dtype = parts[0].dtype;
  int64_t n = 0;
  for (const Tensor& p : parts) n += p.elements();
  for (const Tensor& p : parts)
    if (p.dtype != dtype) invalid("inputs are " + dtype_name(dtype) + " and " + dtype_name(p.dtype) + ", must be one type");
  if (dtype == OPTIMA_STRING) {
    std::vector<std::string> all;
    for (const Tensor& p : parts)
      for (std::string& s : strings(p)) all.push_back(std::move(s));
    return make_strings({n}, all);
  }
  if (optima_dtype_bits(dtype) < 8) {
    std::vector<uint8_t> all;
    for (const Tensor& p : parts)
      for (uint8_t e : unpack(p)) all.push_back(e);
    return pack(dtype, {n}, all);
  }
  void* to = nullptr;
  Tensor out = Tensor::make(dtype, {n}, &to);
  auto* at = static_cast<uint8_t*>(to);
  for (const Tensor& p : parts) {
    if (p.size) std::memcpy(at, p.data, p.size);
    at += p.size;
  }
  return out;
}

Tensor reshaped(Tensor t, Dims dims) {
  if (count(dims) != t.elements()) invalid("shape " + show(t.dims) + " does not fit into " + show(dims));
  t.dims = std::move(dims);
  return t;
}

std::vector<int64_t> broadcast_index(const Dims& from, const Dims& to) {
  if (broadcast(from, to) != to) invalid("shape " + show(from) + " does not broadcast to " + show(to));
  const Dims own = strides_of(from);
  Dims step(to.size(), 0);
  for (size_t d = 0, skip = to.size() - from.size(); d < from.size(); ++d) step[d + skip] = from[d] == 1 ? 0 : own[d];
  return strided_index(to, step);
}

std::vector<int64_t> strided_index(const Dims& dims, const Dims& step, int64_t offset) {
  std::vector<int64_t> index(static_cast<size_t>(count(dims)));
  const size_t rank = dims.size();
  const int64_t inner = rank ? dims[rank - 1] : 1, stride = rank ? step[rank - 1] : 0;
  Dims at(rank, 0);
  for (size_t i = 0; i < index.size(); i += static_cast<size_t>(inner)) {
    int64_t base = offset;
    for (size_t d = 0; d + 1 < rank; ++d) base += at[d] * step[d];
    for (int64_t k = 0; k < inner; ++k) index[i + static_cast<size_t>(k)] = base + k * stride;
    if (rank) at[rank - 1] = inner - 1;
    next(at, dims);
  }
  return index;
}

AxisMaps whole(const Dims& dims) {
  AxisMaps maps;
  for (int64_t n : dims) {
    maps.emplace_back(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) maps.back()[static_cast<size_t>(i)] = i;
  }
  return maps;
}

Tensor take(const Tensor& from, const AxisMaps& maps, const Tensor* fill) {
  Dims dims;
  for (const auto& m : maps) dims.push_back(static_cast<int64_t>(m.size()));
  const Dims step = strides_of(from.dims);
  std::vector<int64_t> index{0};
  for (size_t d = 0; d < maps.size(); ++d) {
    std::vector<int64_t> wider;
    wider.reserve(static_cast<size_t>(count(dims, 0, d + 1)));
    for (int64_t base : index)
      for (int64_t i : maps[d]) wider.push_back(base < 0 || i < 0 ? -1 : base + i * step[d]);
    index = std::move(wider);
  }
  return pick(from, dims, index, fill);
}

int64_t scalar_int(const Tensor& t, const char* what) {
  if (t.elements() != 1) invalid(std::string(what) + " has shape " + show(t.dims) + ", must be one element");
  return load<int64_t>(t)[0];
}
double scalar_real(const Tensor& t, const char* what) {
  if (t.elements() != 1) invalid(std::string(what) + " has shape " + show(t.dims) + ", must be one element");
  return load<double>(t)[0];
}

Tensor scalar_bool(bool value) { return store<uint64_t>(OPTIMA_BOOL, {}, {value}); }
Tensor make_ints(Dims dims, const std::vector<int64_t>& values) { return store<int64_t>(OPTIMA_I64, std::move(dims), values); }

}  // namespace optima::reference
