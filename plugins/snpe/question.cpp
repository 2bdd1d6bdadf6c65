// SPDX-License-Identifier: Apache-2.0
#include "question.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

#include "optima/plugin/checksum.hpp"

namespace snpe_plugin {
namespace {

constexpr uint64_t kSmall = 4096;  // bytes; larger constants are weights, of which the tools look at type and shape

bool is(const sdk::Node& n, std::string_view op) { return n.op() == op && n.domain().empty(); }

/// Who reads a value, by its number in the image.
using Readers = std::unordered_map<uint32_t, std::vector<sdk::Node>>;

class Finder {
 public:
  Finder(const sdk::Graph& graph, const std::vector<sdk::Node>& nodes) {
    for (const sdk::Node& n : nodes) among_.insert(&n.raw());
    for (uint32_t k = 0; k < graph.size(); ++k)
      for (uint32_t i = 0; i < graph[k].input_count(); ++i)
        if (graph[k].input(i)) readers_[graph[k].input(i).index()].push_back(graph[k]);
    for (uint32_t k = 0; k < graph.output_count(); ++k) outputs_.insert(graph.output(k).index());
  }

  Piece around(const sdk::Node& op) const {
    if (const sdk::Node user = served_by(op)) {
      Piece whole = around(user);
      whole.asked = op;
      if (std::any_of(whole.nodes.begin(), whole.nodes.end(), [&](const sdk::Node& n) { return &n.raw() == &op.raw(); })) return whole;
    }
    Piece piece{op, {op}};
    if (is(op, "DequantizeLinear") || is(op, "QuantizeLinear")) return piece;
    if (is(op, "Erf") && add_gelu(piece)) return in_order(std::move(piece));
    for (uint32_t k = 0; k < op.input_count(); ++k)
      if (const sdk::Node from = op.input(k) ? op.input(k).producer() : sdk::Node(); from && is(from, "DequantizeLinear") && has(from)) piece.nodes.push_back(from);
    if (piece.nodes.size() > 1) add_way_out(piece);
    return in_order(std::move(piece));
  }

 private:
  /// The operator that a node brings codes to or takes them from, by whose side alone the tools know it: DequantizeLinear of weights is nothing to
  /// them without the product. False for other nodes and where there is none.
  sdk::Node served_by(const sdk::Node& n) const {
    if (is(n, "DequantizeLinear"))
      for (const sdk::Node& reader : readers(n))
        if (has(reader) && !is(reader, "QuantizeLinear")) return reader;
    if (!is(n, "QuantizeLinear")) return {};
    sdk::Node from = n.input(0).producer();
    for (int steps = 0; from && steps < 4; ++steps) {
      if (!has(from) || is(from, "DequantizeLinear")) return {};
      for (uint32_t k = 0; k < from.input_count(); ++k)
        if (const sdk::Node before = from.input(k) ? from.input(k).producer() : sdk::Node(); before && is(before, "DequantizeLinear") && has(before)) return from;
      from = from.input(0) ? from.input(0).producer() : sdk::Node();
    }
    return {};
  }

  static Piece in_order(Piece piece) {
    std::sort(piece.nodes.begin(), piece.nodes.end(), [](const sdk::Node& a, const sdk::Node& b) { return &a.raw() < &b.raw(); });
    const auto same = [](const sdk::Node& a, const sdk::Node& b) { return &a.raw() == &b.raw(); };
    piece.nodes.erase(std::unique(piece.nodes.begin(), piece.nodes.end(), same), piece.nodes.end());
    return piece;
  }

  /// The node of the operator that alone reads the other's result; false when there is none.
  sdk::Node only_reader(const sdk::Node& n, std::string_view op) const {
    if (!n || outputs_.count(n.output(0).index())) return {};
    const std::vector<sdk::Node> all = readers(n);
    return all.size() == 1 && is(all[0], op) && has(all[0]) ? all[0] : sdk::Node();
  }

  static bool has_constant(const sdk::Node& n) { return n.input(0).is_constant() || n.input(1).is_constant(); }

  /// x / sqrt(2) -> Erf -> + 1 -> * x -> * 0.5, or x * 0.5 in place of the last two.
  bool add_gelu(Piece& piece) const {
    const sdk::Node scale = piece.asked.input(0).producer(), plus = only_reader(piece.asked, "Add"), times = only_reader(plus, "Mul");
    if (!scale || !has(scale) || !(is(scale, "Div") || is(scale, "Mul")) || !has_constant(scale) || !times || !has_constant(plus)) return false;
    if (!only_reader(scale, "Erf")) return false;
    sdk::Node half = only_reader(times, "Mul");
    for (uint32_t k = 0; k < 2 && !(half && has_constant(half)); ++k) {
      half = times.input(k).producer();
      if (half && !(is(half, "Mul") && has(half))) half = {};
    }
    if (!half || !has_constant(half)) return false;
    piece.nodes.insert(piece.nodes.end(), {scale, plus, times, half});
    return piece.as_one = true;
  }

  bool has(const sdk::Node& n) const { return among_.count(&n.raw()) > 0; }

  std::vector<sdk::Node> readers(const sdk::Node& n) const {
    std::vector<sdk::Node> all;
    for (uint32_t k = 0; k < n.output_count(); ++k)
      if (const auto at = n.output(k) ? readers_.find(n.output(k).index()) : readers_.end(); at != readers_.end()) all.insert(all.end(), at->second.begin(), at->second.end());
    return all;
  }

  void add_way_out(Piece& piece) const {
    std::vector<sdk::Node> way;
    for (sdk::Node at = piece.asked; way.size() < 4;) {
      const std::vector<sdk::Node> next = readers(at);
      const bool ends = !next.empty() && std::all_of(next.begin(), next.end(), [&](const sdk::Node& n) { return is(n, "QuantizeLinear") && has(n); });
      if (ends) {
        piece.nodes.insert(piece.nodes.end(), way.begin(), way.end());
        piece.nodes.insert(piece.nodes.end(), next.begin(), next.end());
        return;
      }
      if (next.size() != 1 || !has(next[0]) || outputs_.count(at.output(0).index()) || next[0].output_count() != 1) return;
      way.push_back(at = next[0]);
    }
  }

  std::set<const optima_node*> among_;
  std::set<uint32_t> outputs_;
  Readers readers_;
};

class Writer {
 public:
  std::string write(const Piece& piece) {
    for (const sdk::Node& n : piece.nodes) node(n, &n.raw() == &piece.asked.raw());
    return std::move(out_);
  }

 private:
  void number(int64_t n) { out_ += ' ' + std::to_string(n); }
  void real(double d) {
    char digits[40];
    std::snprintf(digits, sizeof digits, " %a", d);
    out_ += digits;
  }
  void text(std::string_view s) { number(static_cast<int64_t>(s.size())), out_ += ':', out_ += s; }

  void constant(const sdk::Constant& c) {
    out_ += " const";
    number(c.dtype());
    for (int64_t d : c.shape()) number(d);
    if (c.blob().size > kSmall) return;
    const sdk::Elements<char> bytes(c.blob());
    text({bytes.data(), bytes.size()});
  }

  /// A value is told of once; then by its number.
  void value(const sdk::Value& v) {
    if (!v) return void(out_ += " -");
    const auto [at, fresh] = seen_.try_emplace(v.index(), seen_.size());
    out_ += " v" + std::to_string(at->second);
    if (!fresh) return;
    if (v.is_constant()) return constant(v.constant());
    number(v.kind()), number(v.dtype()), number(v.rank());
    for (int64_t d : v.shape()) number(d);
  }

  void attribute(const sdk::Attr& a) {
    text(a.name()), number(a.type());
    if (a.type() == OPTIMA_ATTR_FLOAT) real(a.real());
    else if (a.type() == OPTIMA_ATTR_STRING) text(a.string());
    else if (a.type() == OPTIMA_ATTR_TENSOR) constant(a.tensor());
    else number(a.integer());
    for (uint32_t k = 0; k < a.size(); ++k) {
      if (a.type() == OPTIMA_ATTR_INTS) number(a.integer(k));
      if (a.type() == OPTIMA_ATTR_FLOATS) real(a.real(k));
      if (a.type() == OPTIMA_ATTR_STRINGS) text(a.string(k));
    }
  }

  void node(const sdk::Node& n, bool asked) {
    out_ += asked ? "? " : "";
    out_ += n.domain(), out_ += '.', out_ += n.op();
    number(n.since_version());
    for (uint32_t k = 0; k < n.input_count(); ++k) value(n.input(k));
    out_ += " ->";
    for (uint32_t k = 0; k < n.output_count(); ++k) value(n.output(k));
    for (uint32_t k = 0; k < n.attr_count(); ++k) attribute(n.attr(k));
    out_ += '\n';
  }

  std::string out_;
  std::map<uint32_t, size_t> seen_;
};

}  // namespace

std::vector<Piece> pieces_of(const sdk::Graph& graph, const std::vector<sdk::Node>& nodes) {
  const Finder finder(graph, nodes);
  std::vector<Piece> pieces;
  for (const sdk::Node& n : nodes) pieces.push_back(finder.around(n));
  return pieces;
}

std::string signature(const Piece& piece) { return Writer().write(piece); }

}  // namespace snpe_plugin
