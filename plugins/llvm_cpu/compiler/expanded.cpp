// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see expanded.hpp.
#include "plugins/llvm_cpu/compiler/expanded.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "optima/plugin/repack.hpp"

namespace optima::llvm_cpu {
namespace {

using Dims = std::vector<int64_t>;

/// Ids of nodes inside: this and greater ones.
constexpr uint32_t kInside = 0xF0000000;

enum AttentionInput : uint32_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };
enum RotaryInput : uint32_t { kX, kCosines, kSines, kPlaces };

/// -1: not known.
int64_t dim(const sdk::Value& v, uint32_t d) { return v.ranked() && d < static_cast<uint32_t>(v.rank()) ? v.dim(d) : -1; }

/// How many heads a tensor has, [batch, heads, length, size] or [batch, length, heads * size], and their size; -1: not known.
struct Heads {
  int64_t count = -1, size = -1;
  bool flat = false, given = false;  ///< given: of floats, and told apart
};
bool is_real(int32_t dtype) { return dtype == OPTIMA_F32 || dtype == OPTIMA_F16 || dtype == OPTIMA_BF16; }
Heads heads_of(const sdk::Value& v, int64_t asked) {
  if (!v || !v.ranked() || !is_real(v.dtype())) return {};
  if (v.rank() == 4) return {v.dim(1), v.dim(3), false, true};
  if (v.rank() != 3 || asked < 1 || v.dim(2) < 1 || v.dim(2) % asked != 0) return {};
  return {asked, v.dim(2) / asked, true, true};
}
bool may_be_equal(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

struct AttentionHeads {
  Heads q, k, v;
  explicit AttentionHeads(const sdk::Node& n)
      : q(heads_of(n.input(kQuery), n.integer("q_num_heads", 0))), k(heads_of(n.input(kKey), n.integer("kv_num_heads", 0))), v(heads_of(n.input(kValue), n.integer("kv_num_heads", 0))) {}
  /// By the node alone; what of counts and sizes is open may yet not fit, which is the run's error.
  bool fit() const {
    if (!q.given || !k.given || !v.given || q.flat != k.flat || q.flat != v.flat || !may_be_equal(k.count, v.count) || !may_be_equal(q.size, k.size)) return false;
    return q.count < 0 || k.count < 0 || (q.count > 0 && k.count > 0 && q.count % k.count == 0);
  }
  /// Several heads of queries may read one of keys.
  bool grouped() const { return q.count < 0 || q.count != k.count; }
};

bool is_given(const sdk::Node& n, uint32_t input) { return input < n.input_count() && n.input(input); }
bool is_wanted(const sdk::Node& n, uint32_t output) { return output < n.output_count() && n.output(output); }

bool is_plain_mask(const sdk::Node& n) {
  if (!is_given(n, kMask)) return true;
  const sdk::Value mask = n.input(kMask);
  if (!mask.ranked() || mask.rank() < 2 || mask.rank() > 4 || (!is_real(mask.dtype()) && mask.dtype() != OPTIMA_BOOL)) return false;
  const int64_t keys = dim(mask, static_cast<uint32_t>(mask.rank()) - 1), own = dim(n.input(kKey), n.input(kKey).rank() == 4 ? 2 : 1);
  return keys < 0 || own < 0 || keys == 1 || is_given(n, kPastKey) || keys == own;  // a shorter one hides what it does not reach
}

bool is_plain_attention(const sdk::Node& n) {
  if (n.integer("left_window_size", -1) >= 0 || n.integer("right_window_size", -1) >= 0 || is_given(n, kLengths) || is_wanted(n, 3)) return false;
  const AttentionHeads heads(n);
  return is_given(n, kPastKey) == is_given(n, kPastValue) && heads.fit() && (heads.q.size > 0 || n.has("scale")) && is_plain_mask(n);
}

/// Elements of a head that are turned; -1: not known, or not in whole pairs.
int64_t turned_of(const sdk::Node& n, const Heads& x) {
  const int64_t asked = n.integer("rotary_embedding_dim", 0), turned = asked == 0 ? x.size : asked;
  return turned > 0 && turned % 2 == 0 && turned <= x.size ? turned : -1;
}

bool is_plain_rotation(const sdk::Node& n) {
  const Heads x = heads_of(n.input(kX), n.integer("num_heads", 0));
  const int64_t turned = turned_of(n, x);
  for (const uint32_t k : {kCosines, kSines}) {
    const sdk::Value v = n.input(k);
    if (!v || !v.ranked() || !is_real(v.dtype()) || v.rank() != (is_given(n, kPlaces) ? 2 : 3) || dim(v, static_cast<uint32_t>(v.rank()) - 1) != turned / 2) return false;
  }
  return x.given && turned > 0;
}

/// A graph being copied.
class Copy {
 public:
  struct Scope {
    size_t graph;
    std::unordered_map<uint32_t, uint32_t> values{};  ///< by index in the origin
  };

  Copy(const optima_graph& from, std::deque<std::vector<char>>& own, std::vector<optima_blob>& blobs) : from_(from), own_(own), blobs_(blobs) {}

  image::Bytes whole() {
    for (uint32_t k = 0; k < from_.image->constants.count; ++k) {
      const sdk::Constant c(&from_, k);
      contents_.constants.push_back({c.dtype(), c.shape(), c.blob_index()});
    }
    copy(sdk::Graph(&from_), nullptr);
    sdk::repack_opsets(from_.image, contents_);
    return image::pack(contents_);
  }

  uint32_t value(const sdk::Value& v, Scope& in) {
    if (!v) return OPTIMA_NONE;
    const auto [at, fresh] = in.values.try_emplace(v.index(), static_cast<uint32_t>(graph(in).values.size()));
    if (!fresh) return at->second;
    image::Value out = sdk::repacked(v);
    if (v.is_constant()) out.constant = v.raw().constant;
    graph(in).values.push_back(std::move(out));
    return at->second;
  }
  uint32_t inner(const sdk::Node& of, int32_t dtype, Scope& in) {
    image::Value v;
    v.name = std::string(of.name()) + "/" + std::to_string(graph(in).values.size()), v.dtype = dtype;
    graph(in).values.push_back(std::move(v));
    return static_cast<uint32_t>(graph(in).values.size() - 1);
  }
  template <class T>
  uint32_t constant(const sdk::Node& of, int32_t dtype, const Dims& dims, const std::vector<T>& elements, Scope& in) {
    const char* bytes = reinterpret_cast<const char*>(elements.data());
    own_.emplace_back(bytes, bytes + elements.size() * sizeof(T));
    optima_blob blob{};
    blob.struct_size = sizeof blob, blob.data = own_.back().data(), blob.size = own_.back().size(), blob.fd = -1;
    contents_.constants.push_back({dtype, dims, static_cast<uint32_t>(blobs_.size())});
    blobs_.push_back(blob);
    const uint32_t v = inner(of, dtype, in);
    image::Value& out = graph(in).values[v];
    out.constant = static_cast<uint32_t>(contents_.constants.size() - 1), out.dims.emplace();
    for (const int64_t d : dims) out.dims->push_back({d, {}});
    return v;
  }
  void put(const sdk::Node& of, bool last, std::string op, int32_t since, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, std::vector<image::Attr> attrs, Scope& in) {
    image::Node out{std::string(of.name()), std::move(op), "", last ? of.id() : inside_++, since, std::move(inputs), std::move(outputs), std::move(attrs)};
    graph(in).nodes.push_back(std::move(out));
  }

 private:
  image::Graph& graph(const Scope& in) { return contents_.graphs[in.graph]; }

  uint32_t copy(const sdk::Graph& g, Scope* outer) {
    Scope in{contents_.graphs.size()};
    contents_.graphs.emplace_back().name = std::string(g.name());
    for (uint32_t k = 0; outer && k < g.capture_count(); ++k) {
      const uint32_t outside = value(g.captured(k), *outer);
      graph(in).captures.push_back({outside, value(g.capture_of(k), in)});
    }
    for (uint32_t k = 0; k < g.input_count(); ++k) graph(in).inputs.push_back(value(g.input(k), in));
    for (uint32_t k = 0; k < g.size(); ++k) add(g[k], in);
    for (uint32_t k = 0; k < g.output_count(); ++k) graph(in).outputs.push_back(value(g.output(k), in));
    return static_cast<uint32_t>(in.graph);
  }

  void add(const sdk::Node& n, Scope& in);

  image::Attr attribute(const sdk::Attr& a, Scope& in) {
    image::Attr out = sdk::repacked(a, [this](const sdk::Constant& c) {
      contents_.constants.push_back({c.dtype(), c.shape(), c.blob_index()});
      return static_cast<uint32_t>(contents_.constants.size() - 1);
    });
    if (a.type() == OPTIMA_ATTR_GRAPH) out.refs.push_back(copy(a.body(), &in));
    for (uint32_t k = 0; a.type() == OPTIMA_ATTR_GRAPHS && k < a.size(); ++k) out.refs.push_back(copy(a.body(k), &in));
    return out;
  }

  const optima_graph& from_;
  std::deque<std::vector<char>>& own_;
  std::vector<optima_blob>& blobs_;
  image::Contents contents_;
  uint32_t inside_ = kInside;
};

image::Attr number(const char* name, int64_t v) {
  image::Attr a;
  a.name = name, a.i = v;
  return a;
}
image::Attr numbers(const char* name, Dims v) {
  image::Attr a;
  a.name = name, a.type = OPTIMA_ATTR_INTS, a.ints = std::move(v);
  return a;
}

/// The operators that stand for one node. Values are those of the copy.
class Parts {
 public:
  Parts(Copy& to, Copy::Scope& in, const sdk::Node& n) : to_(to), in_(in), n_(n) {}

  void attention() {
    const AttentionHeads heads(n_);
    const uint32_t q = by_heads(numbers_of(kQuery), heads.q), k = all_rows(kKey, kPastKey, 1, heads.k), v = all_rows(kValue, kPastValue, 2, heads.v);
    const bool grouped = heads.grouped();  // rows of the heads that share keys lie one behind the other
    const auto with_heads = [&](uint32_t of, int64_t count, uint32_t counted) { return op("Reshape", 21, {of, count > 0 ? shape({0, count, -1, 0}) : shape_with(size(counted, 1))}); };
    const uint32_t rows = grouped ? with_heads(q, heads.k.count, k) : q;
    uint32_t scores = op("MatMul", 13, {rows, turned(k, {0, 1, 3, 2})});
    const double scale = n_.has("scale") ? n_.real("scale", 1) : 1 / std::sqrt(static_cast<double>(heads.q.size));
    scores = op("Mul", 14, {scores, real(scale)});
    if (const double cap = n_.real("softcap", 0); cap > 0) scores = op("Mul", 14, {op("Tanh", 13, {op("Div", 14, {scores, real(cap)})}), real(cap)});
    if (grouped) scores = with_heads(scores, heads.q.count, q);
    uint32_t p = softmax(scores, q, k);
    if (grouped) p = with_heads(p, heads.k.count, k);
    uint32_t y = op("MatMul", 13, {p, v});
    if (grouped) y = with_heads(y, heads.q.count, q);
    if (heads.q.flat) y = op("Reshape", 21, {turned(y, {0, 2, 1, 3}), shape({0, 0, heads.q.count * heads.v.size})});
    hand_on(y, 0);
  }

  void rotary_embedding() {
    const Heads heads = heads_of(n_.input(kX), n_.integer("num_heads", 0));
    const int64_t turned_size = turned_of(n_, heads), half = turned_size / 2, head_axis = heads.flat ? 2 : 1;
    uint32_t x = numbers_of(kX);
    if (heads.flat) x = op("Reshape", 21, {x, shape({0, 0, heads.count, heads.size})});
    const auto angles = [&](uint32_t input) {
      const uint32_t rows = is_given(n_, kPlaces) ? op("Gather", 13, {numbers_of(input), read(kPlaces)}, {number("axis", 0)}) : numbers_of(input);
      return op("Unsqueeze", 21, {rows, shape({head_axis})});
    };
    const uint32_t cosines = angles(kCosines), sines = angles(kSines);
    const bool whole = turned_size == heads.size, neighbours = n_.integer("interleaved", 0) != 0;
    const uint32_t first = whole ? x : slice(x, 0, turned_size, 3);
    const uint32_t pairs = neighbours ? op("Reshape", 21, {first, shape({0, 0, 0, half, 2})}) : first;
    const auto side = [&](int64_t k) {
      return neighbours ? op("Squeeze", 21, {slice(pairs, k, k + 1, 4), shape({4})}) : slice(pairs, k * half, (k + 1) * half, 3);
    };
    const uint32_t a = side(0), b = side(1);
    uint32_t real_part = op("Sub", 14, {op("Mul", 14, {a, cosines}), op("Mul", 14, {b, sines})});
    uint32_t other_part = op("Add", 14, {op("Mul", 14, {a, sines}), op("Mul", 14, {b, cosines})});
    uint32_t y;
    if (neighbours) {
      real_part = op("Unsqueeze", 21, {real_part, shape({4})}), other_part = op("Unsqueeze", 21, {other_part, shape({4})});
      y = op("Reshape", 21, {op("Concat", 13, {real_part, other_part}, {number("axis", 4)}), shape({0, 0, 0, turned_size})});
      if (!whole) y = op("Concat", 13, {y, slice(x, turned_size, heads.size, 3)}, {number("axis", 3)});
    } else {
      std::vector<uint32_t> parts{real_part, other_part};
      if (!whole) parts.push_back(slice(x, turned_size, heads.size, 3));
      y = op("Concat", 13, parts, {number("axis", 3)});
    }
    if (heads.flat) y = op("Reshape", 21, {y, shape({0, 0, heads.count * heads.size})});
    hand_on(y, 0);
  }

 private:
  uint32_t read(uint32_t input) { return to_.value(n_.input(input), in_); }
  uint32_t op(const char* type, int32_t since, std::vector<uint32_t> inputs, std::vector<image::Attr> attrs = {}, int32_t dtype = OPTIMA_F32) {
    const uint32_t v = to_.inner(n_, dtype, in_);
    to_.put(n_, false, type, since, std::move(inputs), {v}, std::move(attrs), in_);
    return v;
  }
  uint32_t shape(Dims dims) { return to_.constant<int64_t>(n_, OPTIMA_I64, {static_cast<int64_t>(dims.size())}, dims, in_); }
  uint32_t integer(int64_t v) { return to_.constant<int64_t>(n_, OPTIMA_I64, {}, {v}, in_); }
  uint32_t real(double v) { return to_.constant<float>(n_, OPTIMA_F32, {}, {static_cast<float>(v)}, in_); }
  uint32_t turned(uint32_t v, Dims order, int32_t dtype = OPTIMA_F32) { return op("Transpose", 21, {v}, {numbers("perm", std::move(order))}, dtype); }
  uint32_t slice(uint32_t v, int64_t from, int64_t to, int64_t axis) { return op("Slice", 13, {v, shape({from}), shape({to}), shape({axis})}); }
  /// What is inside is of single precision, whatever comes in and goes out.
  uint32_t single(uint32_t v, int32_t dtype) { return dtype == OPTIMA_F32 ? v : op("Cast", 13, {v}, {number("to", OPTIMA_F32)}); }
  uint32_t numbers_of(uint32_t input) { return single(read(input), n_.input(input).dtype()); }
  void hand_on(uint32_t v, uint32_t output) {
    const int32_t dtype = n_.output(output).dtype();
    const bool as_is = output != 0 || dtype == OPTIMA_F32;
    to_.put(n_, output == 0, as_is ? "Identity" : "Cast", 13, {v}, {to_.value(n_.output(output), in_)}, as_is ? std::vector<image::Attr>() : std::vector{number("to", dtype)}, in_);
  }

  uint32_t by_heads(uint32_t v, const Heads& h, int32_t dtype = OPTIMA_F32) {
    return h.flat ? turned(op("Reshape", 21, {v, shape({0, 0, h.count, h.size})}, {}, dtype), {0, 2, 1, 3}, dtype) : v;
  }

  /// Keys or values by heads, behind those of the past.
  uint32_t all_rows(uint32_t input, uint32_t past, uint32_t output, const Heads& h) {
    const int32_t dtype = n_.input(input).dtype();
    uint32_t v = by_heads(read(input), h, dtype);
    if (is_given(n_, past)) v = op("Concat", 13, {read(past), v}, {number("axis", 2)}, dtype);
    if (is_wanted(n_, output)) hand_on(v, output);
    return single(v, dtype);
  }

  /// A list of one.
  uint32_t size(uint32_t v, int64_t axis) { return op("Shape", 21, {v}, {number("start", axis), number("end", axis + 1)}, OPTIMA_I64); }
  /// A scalar.
  uint32_t length(uint32_t v, int64_t axis) { return op("Squeeze", 21, {size(v, axis)}, {}, OPTIMA_I64); }
  /// [0, heads, -1, 0]: batch and the last size as they are.
  uint32_t shape_with(uint32_t heads) { return op("Concat", 13, {shape({0}), heads, shape({-1, 0})}, {number("axis", 0)}, OPTIMA_I64); }

  /// The mask of a causal node: true for keys behind the query's own place, which is counted from the past's end.
  uint32_t later(uint32_t q, uint32_t k) {
    const auto places = [&](uint32_t count) { return op("Range", 11, {integer(0), count, integer(1)}, {}, OPTIMA_I64); };
    uint32_t own = places(length(q, 2));
    if (is_given(n_, kPastKey)) own = op("Add", 14, {own, length(read(kPastKey), 2)}, {}, OPTIMA_I64);
    return op("Greater", 13, {places(length(k, 2)), op("Unsqueeze", 21, {own, shape({1})}, {}, OPTIMA_I64)}, {}, OPTIMA_BOOL);
  }

  /// Of the scores that the masks leave. A row of which they leave nothing is not a number, and zeros then; without a mask each query sees the first key.
  uint32_t softmax(uint32_t scores, uint32_t q, uint32_t k) {
    const uint32_t hidden = real(-std::numeric_limits<double>::infinity());
    const bool causal = n_.integer("is_causal", 0) != 0, masked = is_given(n_, kMask), adds = masked && n_.input(kMask).dtype() != OPTIMA_BOOL;
    const auto probabilities = [&] { return op("Softmax", 13, {scores}, {number("axis", -1)}); };
    if (!masked) {
      if (causal) scores = op("Where", 16, {later(q, k), hidden, scores});
      return probabilities();
    }
    const uint32_t mask = adds ? numbers_of(kMask) : read(kMask);
    uint32_t seen = adds ? op("Greater", 13, {mask, hidden}, {}, OPTIMA_BOOL) : mask;
    if (causal) seen = op("And", 7, {seen, op("Not", 1, {later(q, k)}, {}, OPTIMA_BOOL)}, {}, OPTIMA_BOOL);
    if (adds) scores = op("Add", 14, {scores, mask});
    scores = op("Where", 16, {seen, scores, hidden});
    return op("Where", 16, {seen, probabilities(), real(0)});
  }

  Copy& to_;
  Copy::Scope& in_;
  const sdk::Node& n_;
};

void Copy::add(const sdk::Node& n, Scope& in) {
  if (is_expanded(n)) {
    Parts parts(*this, in, n);
    return n.op() == "Attention" ? parts.attention() : parts.rotary_embedding();
  }
  image::Node out{std::string(n.name()), std::string(n.op()), std::string(n.domain()), n.id(), n.since_version(), {}, {}, {}, n.raw().flags};
  for (uint32_t k = 0; k < n.input_count(); ++k) out.inputs.push_back(value(n.input(k), in));
  for (uint32_t k = 0; k < n.output_count(); ++k) out.outputs.push_back(value(n.output(k), in));
  for (uint32_t k = 0; k < n.attr_count(); ++k) out.attrs.push_back(attribute(n.attr(k), in));
  graph(in).nodes.push_back(std::move(out));
}

}  // namespace

bool is_expanded(const sdk::Node& n) {
  if (!n.domain().empty() || n.input_count() < 3) return false;
  return n.op() == "Attention" ? is_plain_attention(n) : n.op() == "RotaryEmbedding" && is_plain_rotation(n);
}

bool has_expanded(const optima_graph& graph) {
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n)
    if (is_expanded(sdk::Node(&graph, optima_get_node(graph.image, n)))) return true;
  return false;
}

uint32_t id_outside(const optima_graph& graph, uint32_t id) {
  if (id < kInside || id == OPTIMA_NONE) return id;
  const auto find = [&](auto is) {
    for (uint32_t n = 0; n < graph.image->nodes.count; ++n)
      if (const sdk::Node node(&graph, optima_get_node(graph.image, n)); is(node)) return node;
    return sdk::Node(&graph, nullptr);
  };
  const sdk::Node inside = find([&](const sdk::Node& n) { return n.id() == id; });
  const sdk::Node last = inside ? find([&](const sdk::Node& n) { return n.id() < kInside && n.name() == inside.name(); }) : inside;
  return last ? last.id() : OPTIMA_NONE;
}

Expanded::Expanded(const optima_graph& from) : blobs_(from.blobs, from.blobs + from.blob_count) {
  bytes_.emplace(Copy(from, own_, blobs_).whole());
  raw_ = std::make_unique<optima_graph>(optima_graph{sizeof(optima_graph), 0, bytes_->image(), blobs_.data(), static_cast<uint32_t>(blobs_.size()), 0, {}});
}

}  // namespace optima::llvm_cpu
