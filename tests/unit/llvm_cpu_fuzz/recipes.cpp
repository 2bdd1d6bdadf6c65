// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fuzz: a recipe per operator: operands and attributes that fit together. Operators without one are unary.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "tests/unit/llvm_cpu_fuzz/random_node.hpp"

namespace llvm_cpu_fuzz {
namespace {

using optima::llvm_cpu::Lowering;
using optima::llvm_cpu::Types;

/// A case in the making.
struct Maker {
  Case& c;
  Random& random;
  const Lowering& row;

  std::vector<int32_t> types_at(size_t k, bool output = false) const {
    const auto& sets = output ? row.out : row.in;
    Types set = 0;
    for (size_t i = 0; i <= k && i < sets.size() && sets[i]; ++i) set = sets[i];
    std::vector<int32_t> all;
    for (int32_t d = 0; d < 64; ++d)
      if (set >> d & 1) all.push_back(d);
    return all;
  }
  int32_t type(size_t k) { return random.of(types_at(k)); }
  Dims dims(int64_t low, int64_t high, int64_t most = 6) {
    Dims d(static_cast<size_t>(random(low, high)));
    for (int64_t& x : d) x = random.once_in(30) ? 0 : random.once_in(12) ? random(14, 20) : random(1, most);
    return d;
  }
  Dims any_dims(int64_t low = 0, int64_t high = 5) { return dims(std::max<int64_t>(low, row.rank_min), std::min<int64_t>(high, row.rank_max)); }

  Operand& add(int32_t dtype, Dims d, std::vector<double> numbers = {}, bool constant = false) {
    c.in.push_back({dtype, std::move(d), std::move(numbers), constant || (row.const_inputs >> c.in.size() & 1)});
    return c.in.back();
  }
  Operand& integers(const Dims& v, bool scalar = false) {
    return add(OPTIMA_I64, scalar ? Dims() : Dims{static_cast<int64_t>(v.size())}, {v.begin(), v.end()}, !random.once_in(20));
  }
  void absent() { c.in.push_back({OPTIMA_F32, {}, {}, false, true}); }

  void integer(const char* name, int64_t v) { attr(name, OPTIMA_ATTR_INT).i = v; }
  void real(const char* name, double v) { attr(name, OPTIMA_ATTR_FLOAT).f = v; }
  void text(const char* name, std::string v) { attr(name, OPTIMA_ATTR_STRING).s = std::move(v); }
  void ints(const char* name, Dims v) { attr(name, OPTIMA_ATTR_INTS).ints = std::move(v); }
  bool maybe() { return random.once_in(2); }
  /// An axis of this rank, from either end; none when there is none.
  int64_t axis(const Dims& d) { return d.empty() ? 0 : random(-static_cast<int64_t>(d.size()), static_cast<int64_t>(d.size()) - 1); }
  int64_t size_on(const Dims& d, int64_t axis) const { return d[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(d.size()) : axis)]; }

 private:
  image::Attr& attr(const char* name, int32_t type) {
    c.attrs.emplace_back();
    c.attrs.back().name = name, c.attrs.back().type = type;
    return c.attrs.back();
  }
};

int64_t count(const Dims& d) { return std::accumulate(d.begin(), d.end(), int64_t{1}, std::multiplies<>()); }

/// Repeated along some dims, perhaps of lower rank.
Dims thinned(Maker& m, Dims d) {
  for (int64_t& x : d)
    if (m.random.once_in(4)) x = 1;
  if (!d.empty() && m.random.once_in(3)) d.erase(d.begin(), d.begin() + m.random(0, static_cast<int64_t>(d.size())));
  return d;
}

void unary(Maker& m) {
  m.add(m.type(0), m.any_dims());
  for (const char* name : {"alpha", "beta", "gamma", "bias", "lambd"})
    if (m.random.once_in(4)) m.real(name, static_cast<double>(m.random(1, 12)) / 8);
}
void binary(Maker& m, bool mixed = false) {
  const Dims all = m.any_dims();
  const int32_t type = m.type(0);
  m.add(type, thinned(m, all), {}, m.random.once_in(6));
  if (m.random.once_in(4)) m.c.in[0].dims = all;
  m.add(mixed ? m.type(1) : type, m.random.once_in(4) ? Dims(m.random(0, 1), 1) : thinned(m, all), {}, m.random.once_in(3));
}
void variadic(Maker& m) {
  const Dims all = m.any_dims();
  const int32_t type = m.type(0);
  for (int64_t k = m.random(1, 4); k > 0; --k) m.add(type, thinned(m, all), {}, m.random.once_in(5));
}
void divide(Maker& m) {
  binary(m);
  if (m.c.op == "Mod") m.integer("fmod", m.random(0, 1));
  for (int64_t k = 0; k < 24; ++k) m.c.in[1].numbers.push_back(static_cast<double>(m.random(1, 7)));
}
void shift(Maker& m) {
  binary(m);
  m.text("direction", m.maybe() ? "LEFT" : "RIGHT");
}
void power(Maker& m) {
  binary(m, true);
  Operand& exponent = m.c.in[1];
  const bool fraction = exponent.dtype == OPTIMA_F32 && m.random.once_in(3);
  for (int64_t k = count(exponent.dims); k > 0; --k) exponent.numbers.push_back(fraction ? static_cast<double>(m.random(0, 6)) / 2 : static_cast<double>(m.random(m.random.once_in(4) ? -3 : 0, 7)));
  if (m.maybe())
    for (int64_t k = 0; k < 8; ++k) m.c.in[0].numbers.push_back(static_cast<double>(m.random(0, 5003)));
}
void where(Maker& m) {
  const Dims all = m.any_dims();
  const int32_t type = m.type(1);
  m.add(OPTIMA_BOOL, thinned(m, all)), m.add(type, thinned(m, all)), m.add(type, thinned(m, all));
}
void clip(Maker& m) {
  const int32_t type = m.type(0);
  m.add(type, m.any_dims());
  if (m.c.since < 11) return m.real("min", -1), m.real("max", 1);
  if (m.maybe()) m.add(type, {}, {-1}, m.maybe());
  else m.absent();
  if (m.maybe()) m.add(type, {}, {1}, m.maybe());
}
void cast(Maker& m) {
  m.add(m.type(0), m.any_dims());
  if (m.c.op == "Cast") m.integer("to", m.random.of(m.types_at(0, true)));
  else m.add(m.type(1), {});
}
void quantize(Maker& m) {
  const bool to = m.c.op == "QuantizeLinear";
  const Dims d = m.dims(1, 4);
  const bool along = m.maybe();
  const int64_t axis = m.axis(d), block = m.c.since >= 21 && m.random.once_in(3) ? m.random(1, 4) : 0;
  Dims scale = along ? Dims{m.size_on(d, axis)} : Dims(static_cast<size_t>(m.random(0, 1)), 1);
  if (block) {
    scale = d;
    int64_t& cut = scale[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(d.size()) : axis)];
    cut = (cut + block - 1) / block;
    m.integer("block_size", block);
  }
  const int32_t small = m.random.of(m.types_at(2));
  m.add(to ? OPTIMA_F32 : small, d), m.add(OPTIMA_F32, scale, {0.125, 0.25, 0.5}, m.maybe());
  if (m.maybe()) m.add(small, scale, {0, 3, 1}, m.maybe());
  else if (to) m.c.in[1].numbers = {0.125};
  if (along || block || m.maybe()) m.integer("axis", axis);
}
/// Codes or sums: scales and zero points of one element, or one per row or column.
void quantities(Maker& m, int32_t type, Dims zeros, bool scaled) {
  if (scaled) m.add(OPTIMA_F32, m.maybe() ? Dims() : zeros, {0.125, 0.25, 0.5}, m.maybe());
  m.add(type, m.maybe() ? Dims() : std::move(zeros), {3, 0, 5}, m.maybe());
}
void integer_operands(Maker& m, const Dims& x, const Dims& w, int64_t rows, int64_t columns) {
  const bool scaled = m.c.op.starts_with("QLinear");
  const int32_t a = m.type(0), b = scaled ? m.random.of(m.types_at(2)) : m.type(1);
  m.add(a, x);
  if (!scaled) {
    m.add(b, w, {}, m.maybe());
    if (m.maybe()) quantities(m, a, {rows}, false);
    else if (m.maybe()) m.absent();
    else return;
    if (m.maybe()) quantities(m, b, {columns}, false);
    return;
  }
  quantities(m, a, {1}, true);
  m.add(b, w, {}, m.maybe()), quantities(m, b, {columns}, true), quantities(m, m.random.of(std::vector<int32_t>{OPTIMA_U8, OPTIMA_I8}), {1}, true);
}
void dynamic_quantize(Maker& m) {
  m.add(OPTIMA_F32, m.any_dims());
  m.c.out.resize(3);
}
void integer_product(Maker& m) {
  const int64_t M = m.random(1, 9), K = m.random(1, 20), N = m.random(1, 20);
  Dims x{M, K}, w{K, N};
  if (m.random.once_in(3)) x.insert(x.begin(), m.random(1, 3)), x.insert(x.begin(), m.random(1, 3));
  if (m.random.once_in(4)) w.insert(w.begin(), x.size() == 4 ? x[1] : m.random(1, 3));
  integer_operands(m, x, w, m.c.op == "MatMulInteger" ? M : 1, N);
}
void batch_norm(Maker& m) {
  const Dims d = m.any_dims(2);
  m.add(OPTIMA_F32, d);
  for (int k = 1; k < 5; ++k) m.add(OPTIMA_F32, {d[1]}, k == 4 ? std::vector<double>{0.5, 1, 2} : std::vector<double>{});
  if (m.maybe()) m.real("epsilon", 0.01);
}
void dropout(Maker& m) {
  m.add(m.type(0), m.any_dims());
  if (m.maybe()) m.add(OPTIMA_F32, {}, {0.5}, true);
}

/// Attributes of a window over these spatial dims; returns the kernel.
Dims window(Maker& m, const Dims& in, const Dims& kernel, bool dilates = true) {
  Dims stride, dilation, begin, end;
  for (size_t d = 0; d < kernel.size(); ++d) {
    const int64_t most = m.c.op == "ConvTranspose" ? 6 : in[d + 2];
    stride.push_back(m.random(1, 3)), dilation.push_back(dilates && m.random.once_in(4) && 2 * kernel[d] <= most + 2 ? 2 : 1);
    const int64_t reach = (kernel[d] - 1) * dilation[d] + 1;
    begin.push_back(m.random(0, reach - 1)), end.push_back(std::max(m.random(0, reach - 1), m.c.op == "ConvTranspose" ? 0 : reach - in[d + 2] - begin[d]));
  }
  if (m.maybe()) m.ints("strides", stride);
  if (dilates && m.maybe()) m.ints("dilations", dilation);
  else dilation.assign(kernel.size(), 1);
  if (m.random.once_in(5)) {
    m.text("auto_pad", m.random.of(std::vector<std::string>{"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}));
  } else if (m.random.once_in(6)) {
    m.text("auto_pad", "NOTSET");
  } else {
    begin.insert(begin.end(), end.begin(), end.end());
    m.ints("pads", begin);
  }
  return kernel;
}
Dims small_kernel(Maker& m, size_t n) {
  Dims k;
  for (size_t d = 0; d < n; ++d) k.push_back(m.random(1, 3));
  return k;
}
void conv(Maker& m) {
  const bool transposed = m.c.op == "ConvTranspose";
  const int64_t group = m.random.once_in(2) ? 1 : m.random(2, 5), in = m.random.once_in(3) ? 1 : m.random(1, 5), out = m.random.once_in(3) ? 1 : m.random(1, 5);
  Dims x = m.dims(3, 5), w{transposed ? group * in : group * out, transposed ? out : in};
  x[0] = m.random(1, 2), x[1] = group * in;
  const Dims kernel = window(m, x, small_kernel(m, x.size() - 2));
  w.insert(w.end(), kernel.begin(), kernel.end());
  if (m.c.op == "Conv" || transposed) {
    m.add(OPTIMA_F32, x), m.add(OPTIMA_F32, w);
    if (m.maybe()) m.add(OPTIMA_F32, {group * out});
  } else {
    integer_operands(m, x, w, 1, group * out);
    if (m.c.op == "QLinearConv" && m.maybe()) m.add(OPTIMA_I32, {group * out}, {}, m.maybe());
  }
  if (m.maybe()) m.ints("kernel_shape", kernel);
  if (group > 1 || m.maybe()) m.integer("group", group);
  if (transposed && m.random.once_in(4)) m.ints("output_padding", Dims(kernel.size(), m.random(0, 1)));
}
void pool(Maker& m) {
  Dims x = m.dims(3, 5);
  x[0] = std::min<int64_t>(x[0], 2);
  m.add(OPTIMA_F32, x);
  m.ints("kernel_shape", window(m, x, small_kernel(m, x.size() - 2), m.c.since >= 18 || m.c.op == "MaxPool"));
  if (m.maybe()) m.integer("ceil_mode", m.random(0, 1));
  if (m.c.op == "AveragePool" && m.maybe()) m.integer("count_include_pad", m.random(0, 1));
  if (m.c.op == "LpPool" && m.maybe()) m.integer("p", m.random(1, 3));
  if (m.c.op == "MaxPool" && m.random.once_in(3)) m.c.out.push_back({});
}
void global_pool(Maker& m) {
  m.add(OPTIMA_F32, m.dims(3, 5));
  if (m.c.op == "GlobalLpPool" && m.maybe()) m.integer("p", m.random(1, 3));
}

void along_axis(Maker& m) {  // softmax, norms, arg
  const Dims d = m.any_dims(1);
  m.add(m.type(0), d);
  if (m.maybe() || (m.c.since < 13 && d.size() < 2)) m.integer("axis", m.axis(d));
  if (m.c.op == "LpNormalization" && m.maybe()) m.integer("p", m.random(1, 2));
  if (m.c.op == "LRN") m.c.attrs.clear(), m.integer("size", m.random(1, 5)), m.real("bias", m.random(0, 2)), m.real("alpha", 0.5), m.real("beta", static_cast<double>(m.random(1, 3)) / 4);
  if (m.c.op == "ArgMax" || m.c.op == "ArgMin") m.integer("keepdims", m.random(0, 1)), m.integer("select_last_index", m.random(0, 1));
}
void layer_norm(Maker& m) {
  const Dims d = m.any_dims(1);
  const int64_t axis = m.axis(d);
  m.add(OPTIMA_F32, d);
  const Dims tail(d.begin() + (axis < 0 ? axis + static_cast<int64_t>(d.size()) : axis), d.end());
  m.add(OPTIMA_F32, tail);
  if (m.c.op == "LayerNormalization" && m.maybe()) m.add(OPTIMA_F32, tail);
  m.integer("axis", axis), m.real("epsilon", 0.01);
}
void channel_norm(Maker& m) {
  Dims d = m.any_dims(3);
  if (m.maybe()) std::fill(d.begin() + 2, d.end(), 1);
  const int64_t groups = m.random(1, 3);
  if (m.c.op == "GroupNormalization") d[1] *= groups, m.integer("num_groups", groups);
  m.add(OPTIMA_F32, d), m.add(OPTIMA_F32, {d[1]}), m.add(OPTIMA_F32, {d[1]});
  m.real("epsilon", 0.01);
}
void reduce(Maker& m) {
  const Dims d = m.any_dims();
  m.add(m.type(0), d);
  if (m.c.op == "ReduceLogSum") m.c.in[0].numbers = {1, 2, 3, 4, 5};
  Dims axes;
  for (size_t k = 0; k < d.size(); ++k)
    if (m.maybe()) axes.push_back(static_cast<int64_t>(k) - (m.maybe() ? static_cast<int64_t>(d.size()) : 0));
  const bool as_input = m.c.since >= (m.c.op == "ReduceSum" ? 13 : 18);
  if (!axes.empty()) as_input ? static_cast<void>(m.integers(axes)) : m.ints("axes", axes);
  if (m.maybe()) m.integer("keepdims", m.random(0, 1));
  if (axes.empty() && m.random.once_in(3) && as_input) m.integer("noop_with_empty_axes", 1);
}
void top_k(Maker& m) {
  const Dims d = m.any_dims(1);
  const int64_t axis = m.axis(d);
  m.add(m.type(0), d);
  m.integers({m.random(0, m.size_on(d, axis))});
  m.integer("axis", axis), m.integer("largest", m.random(0, 1));
  m.c.out.push_back({});
  if (m.random.once_in(5)) m.c.out[static_cast<size_t>(m.random(0, 1))].absent = true;
}
void cum_sum(Maker& m) {
  const Dims d = m.any_dims(1);
  m.add(m.type(0), d), m.integers({m.axis(d)}, true);
  if (m.maybe()) m.integer("exclusive", m.random(0, 1)), m.integer("reverse", m.random(0, 1));
}

void reshape(Maker& m) {
  const Dims d = m.any_dims();
  m.add(m.type(0), d);
  Dims to;
  int64_t rest = count(d);
  while (rest > 1 && m.maybe())
    for (const int64_t f : {2, 3, 5})
      if (rest % f == 0) to.push_back(f), rest /= f;
  to.push_back(rest);
  if (m.c.since >= 5) m.integers(to);
  else m.ints("shape", to);
  if (count(d) == 0) m.integer("allowzero", 1);
}
void squeeze(Maker& m) {
  Dims d = m.any_dims(1);
  const int64_t at = m.random(0, static_cast<int64_t>(d.size()) - 1);
  if (m.c.op == "Squeeze") d[static_cast<size_t>(at)] = 1;
  m.add(m.type(0), d);
  if (m.c.since >= 13) m.integers({at});
  else m.ints("axes", {at});
}
void flatten(Maker& m) {
  const Dims d = m.any_dims();
  m.add(m.type(0), d);
  if (!d.empty() && m.maybe()) m.integer("axis", m.axis(d));
  else m.integer("axis", 0);
}
void transpose(Maker& m) {
  const Dims d = m.any_dims(0, 6);
  m.add(m.type(0), d);
  Dims perm(d.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::shuffle(perm.begin(), perm.end(), m.random.engine);
  if (!m.random.once_in(4)) m.ints("perm", perm);
}
void slice(Maker& m) {
  const Dims d = m.any_dims(1);
  m.add(m.type(0), d);
  Dims starts, ends, axes, steps;
  for (size_t k = 0; k < d.size(); ++k) {
    if (m.random.once_in(3)) continue;
    steps.push_back(m.random.of(Dims{1, 1, 2, 3, -1, -2}));
    const int64_t a = m.random(-d[k] - 1, d[k] + 1), b = m.random(-d[k] - 1, d[k] + 1);
    starts.push_back(a), ends.push_back(b), axes.push_back(static_cast<int64_t>(k) - (m.maybe() ? static_cast<int64_t>(d.size()) : 0));
    if (m.random.once_in(5)) ends.back() = steps.back() > 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
  }
  m.integers(starts), m.integers(ends), m.integers(axes);
  if (std::any_of(steps.begin(), steps.end(), [](int64_t s) { return s != 1; })) m.integers(steps);
}
void split(Maker& m) {
  const Dims d = m.any_dims(1);
  const int64_t axis = m.axis(d), size = m.size_on(d, axis), pieces = m.random(1, 3);
  m.add(m.type(0), d);
  Dims sizes;
  for (int64_t k = 0, left = size; k < pieces; ++k) sizes.push_back(k + 1 < pieces ? m.random(0, left) : left), left -= sizes.back();
  if (m.c.since >= 13) m.integers(sizes);
  else m.ints("split", sizes);
  m.integer("axis", axis);
  m.c.out.resize(static_cast<size_t>(pieces));
}
void concat(Maker& m) {
  const Dims d = m.any_dims(1);
  const int64_t axis = m.axis(d);
  const int32_t type = m.type(0);
  for (int64_t k = m.random(1, 4); k > 0; --k) {
    Dims own = d;
    own[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(d.size()) : axis)] = m.random.once_in(4) ? 16 : m.random(0, 4);
    m.add(type, own, {}, m.random.once_in(6));
  }
  m.integer("axis", axis);
}
void expand(Maker& m) {
  const Dims d = m.any_dims();
  m.add(m.type(0), thinned(m, d)), m.integers(d);
}
void tile(Maker& m) {
  const Dims d = m.any_dims(1);
  Dims times;
  for (size_t k = 0; k < d.size(); ++k) times.push_back(m.random(0, 6) ? m.random(1, 3) : 0);
  m.add(m.type(0), d), m.integers(times);
}
void blocks(Maker& m) {
  Dims d = m.dims(4, 4, 3);
  const int64_t b = m.random(1, 3);
  if (m.c.op == "DepthToSpace") d[1] *= b * b, m.text("mode", m.maybe() ? "DCR" : "CRD");
  else d[2] *= b, d[3] *= b;
  m.add(m.type(0), d), m.integer("blocksize", b);
}

/// Indices of [-n, n), or zeros where there is nothing to name.
std::vector<double> places(Maker& m, int64_t how_many, int64_t n) {
  std::vector<double> v;
  for (int64_t k = 0; k < how_many; ++k) v.push_back(n ? static_cast<double>(m.random(-n, n - 1)) : 0.0);
  return v;
}
void gather(Maker& m) {
  const Dims d = m.any_dims(1);
  const int64_t axis = m.axis(d), n = m.size_on(d, axis);
  m.add(m.type(0), d);
  Dims indices = m.dims(0, 2);
  if (m.c.op != "Gather") {
    indices = d;
    for (int64_t& x : indices) x = m.random(std::min<int64_t>(x, 1), x);
  }
  Operand& where = m.add(m.type(1), indices, places(m, count(indices), n), m.maybe());
  if (m.maybe() && !indices.empty() && indices.back() > 1)  // repeated along rows
    for (size_t i = 0; i < where.numbers.size(); ++i) where.numbers[i] = where.numbers[i - i % static_cast<size_t>(indices.back())];
  if (m.c.op == "ScatterElements") {
    m.add(m.c.in[0].dtype, indices);
    if (m.maybe()) m.text("reduction", m.random.of(std::vector<std::string>{"none", "add", "mul", "max", "min"}));
  }
  m.integer("axis", axis);
}
void tuples(Maker& m) {
  const Dims d = m.any_dims(1);
  const bool scatter = m.c.op == "ScatterND";
  const int64_t rank = static_cast<int64_t>(d.size()), batch = scatter ? 0 : m.random(0, std::min<int64_t>(rank - 1, 2)), width = m.random(1, rank - batch);
  Dims indices(d.begin(), d.begin() + batch);
  for (int64_t k = m.random(0, 2); k > 0; --k) indices.push_back(m.random(1, 3));
  const int64_t how_many = count(indices);
  indices.push_back(width);
  std::vector<double> numbers;
  for (int64_t k = 0; k < how_many; ++k)
    for (int64_t w = 0; w < width; ++w) numbers.push_back(places(m, 1, d[static_cast<size_t>(batch + w)])[0]);
  m.add(m.type(0), d), m.add(OPTIMA_I64, indices, numbers, m.maybe());
  if (!scatter) return m.integer("batch_dims", batch);
  Dims updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), d.begin() + width, d.end());
  m.add(m.c.in[0].dtype, updates);
  if (m.maybe()) m.text("reduction", m.random.of(std::vector<std::string>{"none", "add", "mul", "max", "min"}));
}
void rows_of_a_cache(Maker& m) {
  const Dims d = m.dims(2, 4, 4);
  const int64_t axis = m.random(1, static_cast<int64_t>(d.size()) - 1), rows = d[static_cast<size_t>(axis)];
  const bool turns = m.maybe();
  Dims updates = d;
  updates[static_cast<size_t>(axis)] = m.random(0, rows);
  m.add(m.type(0), d), m.add(m.c.in[0].dtype, updates);
  if (m.maybe()) {
    std::vector<double> begin;
    for (int64_t b = 0; b < d[0]; ++b) begin.push_back(static_cast<double>(m.random(0, turns ? rows - 1 : rows - updates[static_cast<size_t>(axis)])));
    m.add(OPTIMA_I64, {d[0]}, begin, m.maybe());
  }
  m.integer("axis", m.maybe() ? axis : axis - static_cast<int64_t>(d.size())), m.text("mode", turns ? "circular" : "linear");
}
void one_hot(Maker& m) {
  const Dims d = m.dims(0, 3);
  const int64_t depth = m.random(1, 5);
  m.add(OPTIMA_I64, d, places(m, std::max<int64_t>(1, count(d)), depth)), m.integers({depth}, true);
  m.add(m.type(2), {2});
  if (m.maybe()) m.integer("axis", m.random(-static_cast<int64_t>(d.size()) - 1, static_cast<int64_t>(d.size())));
}

void pad(Maker& m) {
  const Dims d = m.any_dims(1);
  const std::string mode = m.random.of(std::vector<std::string>{"constant", "reflect", "edge", "wrap"});
  Dims pads(2 * d.size());
  for (size_t k = 0; k < pads.size(); ++k) pads[k] = m.random(m.random.once_in(4) && mode == "constant" ? -1 : 0, std::min<int64_t>(3, mode == "constant" ? 3 : d[k % d.size()] - 1));
  const int32_t type = m.type(0);
  m.add(type, d), m.integers(pads);
  if (m.maybe()) m.add(type, {}, {1}, m.maybe());
  if (mode != "constant" || m.maybe()) m.text("mode", mode);
}
void trilu(Maker& m) {
  m.add(m.type(0), m.any_dims(2));
  if (m.maybe()) m.integers({m.random(-4, 4)}, true);
  if (m.maybe()) m.integer("upper", m.random(0, 1));
}
void range(Maker& m) {
  const int32_t type = m.type(0);
  const int64_t start = m.random(-5, 5), step = m.random(1, 3);
  m.add(type, {}, {static_cast<double>(start)}, true), m.add(type, {}, {static_cast<double>(start + m.random(0, 9))}, true), m.add(type, {}, {static_cast<double>(step)}, true);
}
void constant_of_shape(Maker& m) {
  const Dims d = m.dims(0, 4);
  m.integers(d);
  if (m.random.once_in(4)) return;
  Operand value{m.random.of(m.types_at(0, true)), {1}, {1}, true};
  void* data = nullptr;
  m.c.tensors.push_back(Tensor::make(value.dtype, value.dims, &data));
  image::Attr a;
  a.name = "value", a.type = OPTIMA_ATTR_TENSOR, a.refs = {0};
  m.c.attrs.push_back(a);
}
void shape(Maker& m) {
  m.add(m.type(0), m.any_dims());
  if (m.c.op == "Shape" && m.maybe()) m.integer("start", m.random(-3, 3));
  if (m.c.op == "Shape" && m.maybe()) m.integer("end", m.random(-3, 6));
}
void grid_sample(Maker& m) {
  const Dims d = m.dims(4, 4);
  m.add(m.type(0), d), m.add(m.type(1), {d[0], m.random(0, 9), m.random(1, 30), 2});
  const bool is_new = m.c.since >= 20;
  m.text("mode", m.random.of(std::vector<std::string>{"nearest", is_new ? "linear" : "bilinear"}));
  m.text("padding_mode", m.random.of(std::vector<std::string>{"zeros", "border", "reflection"}));
  m.integer("align_corners", m.random(0, 1));
}
/// The pictures of n regions, now and then one that there is not.
std::vector<double> pictures(Maker& m, int64_t n, int64_t batch) {
  std::vector<double> all;
  for (int64_t k = 0; k < n; ++k) all.push_back(static_cast<double>(m.random.once_in(200) ? m.random(-2, 6) : m.random(0, std::max<int64_t>(1, batch) - 1)));
  return all;
}
void roi_align(Maker& m) {
  const Dims d = m.dims(4, 4);
  const int64_t n = m.random.once_in(12) ? 0 : m.random(1, 9);
  m.add(m.type(0), d), m.add(m.type(1), {n, 4}), m.add(OPTIMA_I64, {n}, pictures(m, n, d[0]), true);
  if (m.maybe()) m.text("mode", m.random.of(std::vector<std::string>{"avg", "max"}));
  if (m.c.since >= 16 && m.maybe()) m.text("coordinate_transformation_mode", m.random.of(std::vector<std::string>{"half_pixel", "output_half_pixel"}));
  if (m.maybe()) m.integer("sampling_ratio", m.random(0, 3));
  m.integer("output_height", m.random(1, 4)), m.integer("output_width", m.random(1, 4)), m.real("spatial_scale", static_cast<double>(m.random(1, 8)));
}
void max_roi_pool(Maker& m) {
  const Dims d = m.dims(4, 4);
  const int64_t n = m.random.once_in(12) ? 0 : m.random(1, 9);
  std::vector<double> regions;
  for (const double picture : pictures(m, n, d[0])) {
    regions.push_back(picture);
    for (int k = 0; k < 4; ++k) regions.push_back(static_cast<double>(m.random(-8, 40)) / 4);
  }
  m.add(m.type(0), d), m.add(m.type(1), {n, 5}, regions, m.maybe());
  m.ints("pooled_shape", {m.random(1, 4), m.random(1, 4)});
  if (m.maybe()) m.real("spatial_scale", static_cast<double>(m.random(1, 8)) / 4);
}
void deform_conv(Maker& m) {
  const int64_t groups = m.random(1, 2), out = m.random(1, 20), high = m.random(1, 8), wide = m.random(1, 8), batch = m.random(1, 2), tall = m.random(1, 3), broad = m.random(1, 3);
  const Dims x{batch, groups * (m.random.once_in(8) ? m.random(1, 20) : 16), high + tall - 1, wide + broad - 1};
  m.add(m.type(0), x), m.add(m.type(0), {out, x[1], tall, broad}), m.add(m.type(0), {batch, 2 * groups * tall * broad, high, wide});
  const bool masked = m.maybe();
  if (m.maybe()) m.add(m.type(0), {out});
  else if (masked) m.absent();
  if (masked) m.add(m.type(0), {batch, groups * tall * broad, high, wide});
  m.integer("offset_group", groups);
}
void col2im(Maker& m) {
  const bool flat = m.random.once_in(4);
  Dims image, block, strides, dilations, pads, along;
  for (int d = 0; d < (flat ? 1 : 2); ++d) {
    block.push_back(m.random(1, 4)), strides.push_back(m.random(1, 3)), dilations.push_back(m.random(1, 2)), along.push_back(m.random(1, 20));
    pads.push_back(m.random(0, 2));
    image.push_back(std::max<int64_t>(1, (along[d] - 1) * strides[d] + (block[d] - 1) * dilations[d] + 1 - 2 * pads[d]));
  }
  const Dims after = pads;
  pads.insert(pads.end(), after.begin(), after.end());
  m.add(m.type(0), {m.random(1, 2), m.random(1, 3) * count(block), count(along)});
  m.add(OPTIMA_I64, {static_cast<int64_t>(image.size())}, {image.begin(), image.end()}, true), m.add(OPTIMA_I64, {static_cast<int64_t>(block.size())}, {block.begin(), block.end()}, true);
  m.ints("strides", strides), m.ints("dilations", dilations), m.ints("pads", pads);
}
void max_unpool(Maker& m) {
  const Dims d = m.dims(3, 5);
  const Dims kernel(d.size() - 2, m.random(1, 3));
  Dims to = d;
  for (size_t k = 2; k < d.size(); ++k) to[k] = d[k] * kernel[0];
  std::vector<double> places;
  for (int64_t k = 0; k < count(d); ++k) places.push_back(static_cast<double>(m.random.once_in(500) ? m.random(-1, count(to)) : m.random(0, count(to) - 1)));
  m.add(m.type(0), d), m.add(OPTIMA_I64, d, places, true);
  m.ints("kernel_shape", kernel), m.ints("strides", kernel);
}
void resize(Maker& m) {
  const Dims d = m.any_dims(1, 4);
  m.add(OPTIMA_F32, d);
  const std::string coordinates = m.random.of(std::vector<std::string>{"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize"});
  const bool crop = coordinates == "tf_crop_and_resize";
  if (crop) m.add(OPTIMA_F32, {static_cast<int64_t>(2 * d.size())}, [&] {
    std::vector<double> roi(d.size(), 0.25);
    roi.resize(2 * d.size(), 0.75);
    return roi;
  }(), true);
  else m.absent();
  if (m.maybe() || crop) {
    m.absent();
    Dims to;
    for (const int64_t x : d) to.push_back(m.maybe() ? x : m.random(1, 8));
    m.integers(to);
  } else {
    std::vector<double> scales;
    for (size_t k = 0; k < d.size(); ++k) scales.push_back(m.maybe() ? 1 : static_cast<double>(m.random(4, 20)) / 8);
    m.add(OPTIMA_F32, {static_cast<int64_t>(d.size())}, scales, true);
  }
  m.text("coordinate_transformation_mode", coordinates);
  m.text("mode", m.random.of(std::vector<std::string>{"nearest", "linear", "cubic"}));
  m.text("nearest_mode", m.random.of(std::vector<std::string>{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (m.c.since >= 18 && m.random.once_in(3) && !crop) m.integer("antialias", 1);
  if (m.random.once_in(3)) m.integer("exclude_outside", m.random(0, 1));
}
void recurrent(Maker& m) {
  const int64_t gates = m.c.op == "LSTM" ? 4 : m.c.op == "GRU" ? 3 : 1, dirs = m.random(1, 2);
  const int64_t seq = m.random(1, 3), batch = m.random(1, 3), in = m.random(1, 5), hidden = m.random.once_in(4) ? 17 : m.random(1, 5);
  m.add(OPTIMA_F32, {seq, batch, in}), m.add(OPTIMA_F32, {dirs, gates * hidden, in}), m.add(OPTIMA_F32, {dirs, gates * hidden, hidden});
  if (m.maybe()) m.add(OPTIMA_F32, {dirs, 2 * gates * hidden});
  else m.absent();
  if (m.maybe()) m.add(OPTIMA_I32, {batch}, {static_cast<double>(seq), 1}, m.maybe());
  else m.absent();
  if (m.maybe()) m.add(OPTIMA_F32, {dirs, batch, hidden});
  else m.absent();
  if (gates == 4 && m.maybe()) m.add(OPTIMA_F32, {dirs, batch, hidden});
  m.integer("hidden_size", hidden);
  m.text("direction", dirs == 2 ? "bidirectional" : m.maybe() ? "forward" : "reverse");
  if (gates == 3) m.integer("linear_before_reset", m.random(0, 1));
  m.c.out.resize(static_cast<size_t>(m.random(1, gates == 4 ? 3 : 2)));
}
/// Two terms of up to four letters, one now and then twice, and a result of some of them.
void einsum(Maker& m) {
  const std::string letters = "abcdef";
  Dims sizes;
  for (size_t k = 0; k < letters.size(); ++k) sizes.push_back(m.random.once_in(3) ? m.random(14, 20) : m.random(1, 6));
  const auto shuffled = [&](std::string some, int64_t most) {
    std::shuffle(some.begin(), some.end(), m.random.engine);
    return some.substr(0, static_cast<size_t>(m.random(0, std::min<int64_t>(most, static_cast<int64_t>(some.size())))));
  };
  std::string all, terms;
  for (int k = 0; k < 2; ++k) {
    std::string term = shuffled(letters, 4);
    if (!term.empty() && m.random.once_in(8)) term += term[0];
    Dims d;
    for (const char c : term) {
      d.push_back(m.random.once_in(20) ? 1 : sizes[letters.find(c)]);
      if (all.find(c) == all.npos) all += c;
    }
    m.add(OPTIMA_F32, d, {}, k == 1 && m.maybe());
    terms += (k ? "," : "") + term;
  }
  m.text("equation", m.random.once_in(8) ? terms : terms + "->" + shuffled(all, 5));
}
void matmul(Maker& m) {
  const int64_t k = m.random(1, 20);
  if (m.c.op == "Gemm") {
    const int64_t rows = m.random(1, 9), columns = m.random(1, 20);
    const bool ta = m.maybe(), tb = m.maybe();
    m.add(OPTIMA_F32, ta ? Dims{k, rows} : Dims{rows, k}), m.add(OPTIMA_F32, tb ? Dims{columns, k} : Dims{k, columns}, {}, m.maybe());
    m.integer("transA", ta), m.integer("transB", tb);
    if (m.maybe()) m.add(OPTIMA_F32, m.random.of(std::vector<Dims>{{}, {1}, {columns}, {1, columns}, {rows, 1}, {rows, columns}}), {}, m.maybe());
    if (m.random.once_in(3)) m.real("alpha", 0.5), m.real("beta", 2);
    return;
  }
  const Dims batch = m.dims(0, 3, 3);
  Dims a = thinned(m, batch), b = thinned(m, batch);
  if (!m.random.once_in(6)) a.push_back(m.random(1, 9));
  else a.clear();
  a.push_back(k), b.push_back(k);
  if (!m.random.once_in(6)) b.push_back(m.random(1, 20));
  else b = {k};
  m.add(OPTIMA_F32, a), m.add(OPTIMA_F32, b, {}, m.maybe());
}

using Recipe = void (*)(Maker&);
const std::map<std::string, Recipe>& recipes() {
  static const std::map<std::string, Recipe> all = [] {
    std::map<std::string, Recipe> r;
    const auto give = [&](Recipe recipe, std::initializer_list<const char*> ops) { for (const char* op : ops) r[op] = recipe; };
    const Recipe plain_binary = [](Maker& m) { binary(m); };
    give(plain_binary, {"Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"});
    give([](Maker& m) { binary(m), m.c.in[1].dims = thinned(m, m.c.in[0].dims); }, {"PRelu"});
    give(variadic, {"Max", "Min", "Sum", "Mean"}), give(divide, {"Div", "Mod"}), give(shift, {"BitShift"}), give(power, {"Pow"}), give(where, {"Where"});
    give(clip, {"Clip"}), give(cast, {"Cast", "CastLike"}), give(quantize, {"QuantizeLinear", "DequantizeLinear"}), give(batch_norm, {"BatchNormalization"});
    give(dropout, {"Dropout"}), give(conv, {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv"}), give(pool, {"MaxPool", "AveragePool", "LpPool"});
    give(global_pool, {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}), give(along_axis, {"Softmax", "LogSoftmax", "LpNormalization", "LRN", "ArgMax", "ArgMin"});
    give(layer_norm, {"LayerNormalization", "RMSNormalization"}), give(channel_norm, {"InstanceNormalization", "GroupNormalization"});
    give(reduce, {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"});
    give(top_k, {"TopK"}), give(cum_sum, {"CumSum"}), give(reshape, {"Reshape"}), give(squeeze, {"Squeeze", "Unsqueeze"}), give(flatten, {"Flatten"});
    give(transpose, {"Transpose"}), give(slice, {"Slice"}), give(split, {"Split"}), give(concat, {"Concat"}), give(expand, {"Expand"}), give(tile, {"Tile"});
    give(blocks, {"DepthToSpace", "SpaceToDepth"}), give(gather, {"Gather", "GatherElements", "ScatterElements"}), give(tuples, {"GatherND", "ScatterND"});
    give(rows_of_a_cache, {"TensorScatter"}), give(one_hot, {"OneHot"}), give(pad, {"Pad"}), give(trilu, {"Trilu"}), give(range, {"Range"}), give(constant_of_shape, {"ConstantOfShape"});
    give(shape, {"Shape", "Size"}), give(resize, {"Resize"}), give(grid_sample, {"GridSample"}), give(roi_align, {"RoiAlign"}), give(max_roi_pool, {"MaxRoiPool"}), give(deform_conv, {"DeformConv"}),
    give(col2im, {"Col2Im"}), give(max_unpool, {"MaxUnpool"}), give(recurrent, {"LSTM", "GRU", "RNN"}), give(matmul, {"MatMul", "Gemm"}), give(einsum, {"Einsum"});
    give(integer_product, {"MatMulInteger", "QLinearMatMul"}), give(dynamic_quantize, {"DynamicQuantizeLinear"});
    return r;
  }();
  return all;
}

/// Versions of the operator within the row that the reference computes.
const std::vector<int32_t>& versions_of(const Lowering& row) {
  static std::map<const Lowering*, std::vector<int32_t>> known;
  std::vector<int32_t>& all = known[&row];
  if (!all.empty()) return all;
  for (int32_t since = row.since_min; since <= row.since_max; ++since) {
    Case c;
    c.op = row.op, c.since = since;
    const Built b = build(c);
    if (optima::reference::can_evaluate(b.model->raw, b.raw())) all.push_back(since);
  }
  if (all.empty()) all.push_back(row.since_max);
  return all;
}

}  // namespace

Case random_case(const Lowering& row, uint64_t seed) {
  Random random(seed);
  Case c;
  c.seed = seed, c.op = row.op;
  c.since = random.once_in(6) ? static_cast<int32_t>(random(row.since_min, row.since_max)) : random.of(versions_of(row));
  c.special = random.once_in(6) && row.tail == optima::llvm_cpu::Tails::None;
  c.out.resize(1);
  Maker m{c, random, row};
  const auto at = recipes().find(c.op);
  (at == recipes().end() ? unary : at->second)(m);
  const Dims first = c.in.empty() ? Dims() : c.in[0].dims;
  c.conv_before = random.once_in(3) && !c.in[0].constant && c.in[0].dtype == OPTIMA_F32 && first.size() >= 3 && first.size() <= 5 && count(first) > 0;
  return c;
}

}  // namespace llvm_cpu_fuzz
