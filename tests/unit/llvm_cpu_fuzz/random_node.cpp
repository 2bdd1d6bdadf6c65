// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fuzz: see random_node.hpp: graphs around a case, outputs by the reference, damage.
#include "tests/unit/llvm_cpu_fuzz/random_node.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "optima/plugin/manifest.hpp"
#include "reference/tensor.hpp"

namespace llvm_cpu_fuzz {
namespace {

std::string show(const Dims& dims) {
  std::string s;
  for (const int64_t d : dims) s += (s.empty() ? "" : ",") + std::to_string(d);
  return "[" + s + "]";
}

std::string show(const Operand& o) {
  if (o.absent) return "-";
  std::string s = (o.constant ? "const " : "") + optima::sdk::dtype_name(o.dtype) + show(o.dims);
  if (!o.numbers.empty() && o.numbers.size() <= 8) {
    s += "{";
    for (const double x : o.numbers) s += " " + std::to_string(x);
    s += " }";
  }
  return s;
}

std::string show(const image::Attr& a) {
  std::string s = " " + a.name + "=";
  if (a.type == OPTIMA_ATTR_INT) return s + std::to_string(a.i);
  if (a.type == OPTIMA_ATTR_FLOAT) return s + std::to_string(a.f);
  if (a.type == OPTIMA_ATTR_STRING) return s + "\"" + a.s + "\"";
  if (a.type == OPTIMA_ATTR_INTS) return s + show(a.ints);
  return s + "(type " + std::to_string(a.type) + ")";
}

int64_t elements(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n = d < 0 || (n && d > (int64_t{1} << 40) / n) ? int64_t{1} << 40 : n * d;
  return n;
}

bool is_real(int32_t t) { return t == OPTIMA_F32 || t == OPTIMA_F64 || t == OPTIMA_F16 || t == OPTIMA_BF16; }

/// The operand's bytes; small random numbers where it has none of its own. Nothing is made of tensors that are too large.
Tensor tensor_of(const Operand& o, Random& random, bool special) {
  const int64_t n = elements(o.dims);
  const bool wide = std::any_of(o.dims.begin(), o.dims.end(), [](int64_t d) { return d > 1 << 20; });
  if (wide || n > 1 << 20 || optima_dtype_bits(o.dtype) < 4 || o.dtype == OPTIMA_STRING || o.dtype == OPTIMA_C64 || o.dtype == OPTIMA_C128)
    return Tensor{o.dtype, o.dims, nullptr, nullptr, 0};
  std::vector<double> numbers;
  for (int64_t i = 0; i < n; ++i) {
    if (!o.numbers.empty()) numbers.push_back(o.numbers[static_cast<size_t>(i) % o.numbers.size()]);
    else if (is_real(o.dtype)) numbers.push_back(static_cast<double>(random(-64, 64)) / 32);
    else numbers.push_back(static_cast<double>(o.dtype == OPTIMA_BOOL ? random(0, 1) : optima::reference::is_signed(o.dtype) ? random(-9, 9) : random(0, 9)));
    if (special && o.numbers.empty() && is_real(o.dtype) && random.once_in(5)) {
      const double inf = std::numeric_limits<double>::infinity();
      numbers.back() = random.of(std::vector<double>{std::nan(""), inf, -inf, -0.0, 1e4});
    }
  }
  return optima::reference::store(o.dtype, o.dims, numbers, false);
}

/// Values, constants and their bytes, while a graph is put together.
struct Builder {
  image::Contents contents;
  Built built;

  Builder() { contents.graphs.resize(1), contents.opsets = {{"", 21}}; }
  image::Graph& graph() { return contents.graphs[0]; }

  uint32_t value(int32_t dtype, const Dims* dims) {
    image::Value v;
    v.name = "v" + std::to_string(graph().values.size()), v.dtype = dtype;
    if (dims) {
      v.dims.emplace();
      for (const int64_t d : *dims) v.dims->push_back({d, ""});
    }
    graph().values.push_back(std::move(v));
    return static_cast<uint32_t>(graph().values.size() - 1);
  }
  uint32_t constant(const Tensor& t) {
    contents.constants.push_back({t.dtype, t.dims, static_cast<uint32_t>(built.bytes.size())});
    built.bytes.emplace_back(static_cast<const char*>(t.data), t.size);
    return static_cast<uint32_t>(contents.constants.size() - 1);
  }
  uint32_t operand(const Operand& o, const Tensor& t) {
    const uint32_t v = value(o.dtype, &o.dims);
    if (o.constant) graph().values[v].constant = constant(t);
    else graph().inputs.push_back(v), built.inputs.push_back(t);
    return v;
  }
  uint32_t node(const std::string& op, int32_t since, std::vector<uint32_t> in, std::vector<uint32_t> out, std::vector<image::Attr> attrs) {
    image::Node n;
    n.op_type = op, n.name = op, n.id = static_cast<uint32_t>(graph().nodes.size() + 10), n.since_version = since;
    n.inputs = std::move(in), n.outputs = std::move(out), n.attrs = std::move(attrs);
    graph().nodes.push_back(std::move(n));
    return static_cast<uint32_t>(graph().nodes.size() - 1);
  }
};

/// x through a 1x1 convolution of as many channels.
uint32_t convolved(Builder& b, uint32_t x, const Dims& dims, Random& random) {
  Operand w{OPTIMA_F32, {dims[1], dims[1]}, {}, true};
  w.dims.resize(dims.size(), 1);
  const uint32_t weights = b.operand(w, tensor_of(w, random, false)), y = b.value(OPTIMA_F32, &dims);
  b.node("Conv", 11, {x, weights}, {y}, {});
  return y;
}

/// x as codes; three kinds of steps, so that some are equal. A pool that takes one element leaves codes with channels last.
struct Coding {
  double scale, zero;
  int32_t dtype;
};
Coding coding(Random& random) {
  return random.of(std::vector<Coding>{{0.03125, 128, OPTIMA_U8}, {0.03125, 128, OPTIMA_U8}, {0.02, -5, OPTIMA_I8}, {0.05, 0, OPTIMA_U8}});
}
uint32_t quantized(Builder& b, uint32_t x, const Dims* dims, const Coding& how, bool back) {
  const Operand scale{OPTIMA_F32, {}, {how.scale}, true}, zero{how.dtype, {}, {how.zero}, true};
  Random none(0);
  const uint32_t s = b.operand(scale, tensor_of(scale, none, false)), z = b.operand(zero, tensor_of(zero, none, false));
  const uint32_t q = b.value(back ? OPTIMA_F32 : how.dtype, dims);
  b.node(back ? "DequantizeLinear" : "QuantizeLinear", 21, {x, s, z}, {q}, {});
  return q;
}
uint32_t coded(Builder& b, uint32_t x, const Dims& dims, Random& random) {
  const Coding how = coding(random);
  const uint32_t y = quantized(b, quantized(b, x, &dims, how, false), &dims, how, true);
  const bool image = dims.size() >= 3 && dims.size() <= 5 && elements(dims) > 0;
  if (!image || random.once_in(3)) return y;
  const uint32_t same = b.value(OPTIMA_F32, &dims);
  image::Attr kernel;
  kernel.name = "kernel_shape", kernel.type = OPTIMA_ATTR_INTS, kernel.ints = Dims(dims.size() - 2, 1);
  b.node("MaxPool", 12, {y}, {same}, {kernel});
  return quantized(b, quantized(b, same, &dims, how, false), &dims, how, true);
}

}  // namespace

std::string Case::text() const {
  std::string s = op + "-" + std::to_string(since) + "(";
  for (size_t k = 0; k < in.size(); ++k) s += (k ? ", " : "") + show(in[k]);
  s += ") ->";
  for (const Operand& o : out) s += " " + show(o);
  for (const image::Attr& a : attrs) s += show(a);
  return s + (special ? " special" : "") + (conv_before ? " behind Conv" : "") + (coded ? " coded" : "") + " seed " + std::to_string(seed);
}

Built build(const Case& c, bool judged) {
  Builder b;
  Random random(c.seed);
  std::vector<uint32_t> in, out;
  for (size_t k = 0; k < c.in.size(); ++k) {
    if (c.in[k].absent) {
      in.push_back(OPTIMA_NONE);
      continue;
    }
    in.push_back(b.operand(c.in[k], tensor_of(c.in[k], random, c.special)));
    if (k == 0 && c.conv_before) in[0] = convolved(b, in[0], c.in[0].dims, random);
    if (c.coded && c.in[k].dtype == OPTIMA_F32 && !c.in[k].constant) in[k] = coded(b, in[k], c.in[k].dims, random);
  }
  for (const Operand& o : c.out) out.push_back(o.absent ? OPTIMA_NONE : b.value(judged ? o.dtype : OPTIMA_UNDEFINED, judged ? &o.dims : nullptr));
  std::vector<image::Attr> attrs = c.attrs;
  for (image::Attr& a : attrs)
    if (a.type == OPTIMA_ATTR_TENSOR)
      for (uint32_t& ref : a.refs) ref = b.constant(c.tensors[ref]);
  const uint32_t node = b.node(c.op, c.since, in, out, attrs);
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k] == OPTIMA_NONE) continue;
    if (c.stored(c.out[k]) == c.out[k].dtype) {
      b.graph().outputs.push_back(out[k]);
      continue;
    }
    const Coding how = random.once_in(2) ? Coding{0.03125, 128, OPTIMA_U8} : Coding{0.07, 90, OPTIMA_U8};
    b.graph().outputs.push_back(quantized(b, out[k], judged ? &c.out[k].dims : nullptr, how, false));
  }
  std::vector<optima_blob> blobs;
  b.built.node = node;
  for (const std::string& bytes : b.built.bytes) blobs.push_back(seam::blob_of(bytes.data(), bytes.size(), blobs.size() + 1));
  b.built.model = std::make_unique<seam::Model>(image::pack(b.contents), std::move(blobs));
  for (uint32_t k = 0; k < b.built.model->blobs.size(); ++k) b.built.model->blobs[k].data = b.built.bytes[k].data();
  return std::move(b.built);
}

bool infer_outputs(Case& c, std::vector<Tensor>* results) {
  if (c.coded) {
    c.coded = false;
    const bool can = infer_outputs(c, nullptr);
    c.coded = true;
    if (!can) return false;
    const Built b = build(c);
    if (!b.model->verify().empty()) return false;
    try {
      const std::vector<Tensor> made = optima::reference::run(b.model->raw, b.inputs);
      if (results) *results = made;
      return true;
    } catch (const optima::sdk::Error&) {
      return false;
    }
  }
  for (Operand& o : c.out) o.dtype = OPTIMA_F32;
  const Built b = build(c, false);
  if (!b.model->verify().empty()) return false;
  try {
    const std::vector<Tensor> made = optima::reference::run(b.model->raw, b.inputs);
    size_t next = 0;
    for (Operand& o : c.out)
      if (!o.absent) o.dtype = made[next].dtype, o.dims = made[next].dims, ++next;
    if (results) *results = made;
    return true;
  } catch (const optima::sdk::Error&) {
    return false;
  }
}

bool is_small(const Case& c) {
  const auto large = [](double x) { return !(std::fabs(x) <= 64); };
  for (const Operand& o : c.in) {
    for (const int64_t d : o.dims)
      if (d > 64) return false;
    for (const double x : o.numbers)
      if (large(x)) return false;
  }
  for (const image::Attr& a : c.attrs) {
    if (a.type == OPTIMA_ATTR_INT && large(static_cast<double>(a.i))) return false;
    for (const int64_t x : a.ints)
      if (large(static_cast<double>(x))) return false;
  }
  return true;
}

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

int64_t odd_number(Random& random) {
  return random.of(std::vector<int64_t>{-1, 0, 1, 2, 7, -7, 1 << 16, int64_t{1} << 31, -(int64_t{1} << 31), int64_t{1} << 62, kLeast, kMost});
}

Dims odd_dims(Random& random) {
  Dims d(static_cast<size_t>(random(0, 6)));
  for (int64_t& x : d) x = random.once_in(40) ? int64_t{1} << random.of(std::vector<int>{20, 31, 40, 62}) : random(0, 4);
  return d;
}

Operand* any_operand(Case& c, Random& random) {
  std::vector<Operand*> all;
  for (Operand& o : c.in) all.push_back(&o);
  for (Operand& o : c.out) all.push_back(&o);
  return all.empty() ? nullptr : random.of(all);
}

void damage_attribute(Case& c, Random& random) {
  if (c.attrs.empty() || random.once_in(4)) {
    image::Attr a;
    a.name = random.of(std::vector<std::string>{"axis", "axes", "batch_dims", "auto_pad", "pads", "strides", "dilations", "kernel_shape", "group", "perm", "mode", "p",
                                                "blocksize", "direction", "hidden_size", "reduction", "block_size", "start", "end", "output_shape", "output_padding"});
    for (const image::Attr& old : c.attrs)
      if (old.name == a.name) return;
    a.type = random.of(std::vector<int32_t>{OPTIMA_ATTR_INT, OPTIMA_ATTR_INTS, OPTIMA_ATTR_STRING, OPTIMA_ATTR_FLOAT});
    a.i = odd_number(random), a.s = "NOTSUCH", a.f = 0.5;
    a.ints.assign(static_cast<size_t>(random(0, 5)), odd_number(random));
    c.attrs.push_back(a);
    return;
  }
  const auto at = static_cast<size_t>(random(0, static_cast<int64_t>(c.attrs.size()) - 1));
  image::Attr& a = c.attrs[at];
  switch (random(0, 3)) {
    case 0: c.attrs.erase(c.attrs.begin() + static_cast<std::ptrdiff_t>(at)); return;
    case 1:
      a.i = odd_number(random), a.s = "NOTSUCH";
      a.f = random.of(std::vector<double>{0, -1, 1e30, std::nan(""), std::numeric_limits<double>::infinity()});
      if (!a.ints.empty()) a.ints[static_cast<size_t>(random(0, static_cast<int64_t>(a.ints.size()) - 1))] = odd_number(random);
      return;
    case 2: a.ints.resize(static_cast<size_t>(random(0, 6)), 1); return;
    default: a.type = random.of(std::vector<int32_t>{OPTIMA_ATTR_INT, OPTIMA_ATTR_INTS, OPTIMA_ATTR_STRING, OPTIMA_ATTR_FLOAT}), a.refs.clear();
  }
}

void damage_operand(Operand& o, Random& random) {
  switch (random(0, 6)) {
    case 0: o.absent = !o.absent; return;
    case 1: o.dims = odd_dims(random); return;
    case 2: o.dtype = random.of(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 21, 99}); return;
    case 3: o.constant = !o.constant; return;
    case 4:
      if (!o.numbers.empty()) o.numbers[static_cast<size_t>(random(0, static_cast<int64_t>(o.numbers.size()) - 1))] = static_cast<double>(odd_number(random));
      return;
    case 5:
      if (!o.dims.empty()) o.dims[static_cast<size_t>(random(0, static_cast<int64_t>(o.dims.size()) - 1))] += random(0, 1) * 2 - 1;
      for (int64_t& d : o.dims) d = std::max<int64_t>(0, d);
      return;
    default:
      if (o.dims.empty()) o.dims = {1};
      else o.dims.pop_back();
  }
}

}  // namespace

void damage(Case& c, Random& random) {
  for (int64_t times = random(1, 2); times > 0; --times) switch (random(0, 9)) {
    case 0: if (!c.in.empty()) c.in.pop_back(); break;
    case 1: c.in.push_back(Operand{OPTIMA_F32, odd_dims(random), {}, random.once_in(2)}); break;
    case 2: c.out.push_back(Operand{random.of(std::vector<int32_t>{OPTIMA_F32, OPTIMA_I64}), odd_dims(random), {}}); break;
    case 3: c.since = static_cast<int32_t>(random(0, 26)); break;
    case 4: case 5: case 6: damage_attribute(c, random); break;
    default: if (Operand* o = any_operand(c, random)) damage_operand(*o, random);
  }
  for (Operand& o : c.in)  // what has no bytes here can be no constant
    if (elements(o.dims) > 1 << 20 || optima_dtype_bits(o.dtype) < 4 || o.dtype == OPTIMA_STRING || o.dtype >= OPTIMA_C64) o.constant = false;
  for (Operand& o : c.out) o.constant = false;
  c.conv_before = c.conv_before && !c.in.empty() && !c.in[0].absent && !c.in[0].constant && c.in[0].dtype == OPTIMA_F32 && c.in[0].dims.size() >= 3 && c.in[0].dims.size() <= 5 && elements(c.in[0].dims) > 0 && elements(c.in[0].dims) < 4096;
}

}  // namespace llvm_cpu_fuzz
