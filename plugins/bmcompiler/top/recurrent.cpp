// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "pieces.hpp"
#include "unrolled.hpp"

namespace bmcompiler_plugin::top {
namespace of_recurrent {

constexpr uint32_t kLengths = 4, kState = 5, kCell = 6, kPeepholes = 7;

std::string lower_case(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

/// Other functions than ONNX's defaults, in turns of one direction.
std::string other_activation(const sdk::Node& node, const std::vector<std::string_view>& usual) {
  const std::vector<std::string_view> given = node.strings("activations");
  for (size_t k = 0; k < given.size(); ++k)
    if (lower_case(given[k]) != usual[k % usual.size()]) return "activation \"" + std::string(given[k]) + "\" at place " + std::to_string(k) + ", wanted \"" + std::string(usual[k % usual.size()]) + "\"";
  return {};
}

/// Empty where the tools' own cell says it, else what that lacks.
std::string other_cell(const sdk::Node& node, const std::vector<std::string_view>& usual) {
  if (std::string why = other_activation(node, usual); !why.empty()) return why;
  if (node.has("clip")) return "clip is set, wanted no bound";
  if (node.integer("layout", 0) != 0) return "layout is 1, wanted 0";
  const sdk::Value lengths = node.input(kLengths);
  if (!lengths) return {};
  if (!lengths.is_constant()) return "sequence_lens is computed, wanted a constant";
  for (const int64_t n : Lowering::integers(lengths))
    if (n != dims_of(node.input(0))[0]) return "sequence_lens has " + std::to_string(n) + ", wanted whole sequences of " + std::to_string(dims_of(node.input(0))[0]);
  return {};
}
std::string other_lstm(const sdk::Node& node) {
  if (node.input(kPeepholes)) return "it has peepholes, wanted none";
  if (node.integer("input_forget", 0) != 0) return "input_forget is set, wanted gates of their own";
  return other_cell(node, {"sigmoid", "tanh", "tanh"});
}
/// Both computed wrongly: the tools take 0 for 1 (1.5 off); bm1684's emulator is 2 off both ways.
std::string other_gru(const sdk::Node& node, const Chip& chip) {
  if (node.integer("linear_before_reset", 0) == 0) return "linear_before_reset is 0, wanted 1";
  if (chip.name == "bm1684" && node.string("direction", "forward") == "bidirectional") return "direction is \"bidirectional\", wanted one direction";
  return other_cell(node, {"sigmoid", "tanh"});
}
std::string other_form(const sdk::Node& node, const Chip& chip) {
  if (node.op() == "RNN") return "the tools have no RNN";
  return node.op() == "LSTM" ? other_lstm(node) : other_gru(node, chip);
}

std::string refuses_cell(const sdk::Node& node, const Chip& chip) {
  for (const uint32_t k : {1u, 2u, 3u})
    if (std::string why = wants_constant(node, k, "weight"); !why.empty()) return why;
  const std::string why = other_form(node, chip);
  return why.empty() ? why : refuses_unrolled(node, why);
}

/// A state that is not given begins with zeros.
Piece state(Pieces& make, const sdk::Node& node, uint32_t k, const std::vector<int64_t>& dims) {
  return node.input(k) ? make.read(k) : make.weight(dims, std::vector<float>(static_cast<size_t>(product(dims)), 0.0f));
}

/// The last state out of all: BM1684's tools have no cell of which only the last is asked for.
Piece last_of(Pieces& make, const Piece& all, bool both) {
  const int64_t steps = all.dims[0];
  const std::vector<int64_t> dims(all.dims.begin() + 1, all.dims.end());
  const auto at = [&](int64_t step) { return make.reshaped(make.sliced(all, 0, step, step + 1), dims); };
  if (!both) return at(steps - 1);
  return make.joined({make.sliced(at(steps - 1), 0, 0, 1), make.sliced(at(0), 0, 1, 2)}, 0);
}

/// Both cells: backwards alone is forwards over the turned sequence.
void write_cell(Lowering& to, const sdk::Node& node) {
  if (!other_form(node, to.chip()).empty()) return write_unrolled(to, node);
  Pieces make(to, node);
  const bool lstm = node.op() == "LSTM", backwards = node.string("direction", "forward") == "reverse", both = node.string("direction", "forward") == "bidirectional";
  Piece x = make.read(0);
  const int64_t hidden = dims_of(node.input(2)).back();
  const std::vector<int64_t> states{both ? 2 : 1, x.dims[1], hidden}, sequence{x.dims[0], states[0], x.dims[1], hidden};
  if (backwards) x = make.flipped(x, 0);
  std::vector<Value> operands{x.value, to.read(node.input(1)), to.read(node.input(2)), to.read(node.input(3))};
  const bool begun = node.input(kState) || (lstm && node.input(kCell));
  for (uint32_t k = kState; k < (lstm ? kPeepholes : kCell); ++k) operands.push_back(begun ? state(make, node, k, states).value : to.module().none());
  if (lstm) operands.push_back(to.module().none());
  Attributes a = Attributes().i64("hidden_size", hidden).flag("bidirectional", both);
  if (!lstm) a.flag("linear_before_reset", true);
  a.flag("batch_first", false);
  std::vector<Result> results{{to.inner(node, "sequence"), sequence}, {to.inner(node, "state"), states}};
  if (lstm) results.push_back({to.inner(node, "cell"), states});
  const std::vector<Value> made = to.module().op(node.op(), operands, a, results);
  for (uint32_t k = 0; k < made.size(); ++k) {
    if (!node.output(k)) continue;
    const bool from_all = k == 1 && to.chip().name == "bm1684";
    const Piece out = from_all ? last_of(make, {made[0], sequence}, both) : Piece{made[k], results[k].dims};
    make.finish(k == 0 && backwards ? make.flipped(out, 0) : out, k);
  }
}

constexpr Row kRows[] = {
    {"LSTM", refuses_cell, write_cell},
    {"GRU", refuses_cell, write_cell},
    {"RNN", refuses_cell, write_cell},
};

}  // namespace of_recurrent

sdk::Span<const Row> recurrent() { return of_recurrent::kRows; }

}  // namespace bmcompiler_plugin::top
