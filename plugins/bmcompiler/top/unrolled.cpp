// SPDX-License-Identifier: Apache-2.0
// Equations of the ONNX operator pages. The products with the input are one for the whole sequence, those with the state one a step.
#include "unrolled.hpp"

#include <algorithm>
#include <cctype>

#include "chain.hpp"
#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace {

constexpr uint32_t kBias = 3, kLengths = 4, kState = 5, kCell = 6, kPeepholes = 7;
constexpr int64_t kMostSteps = 64;  // both directions together: some 15 operators each

struct Function {
  std::string_view name;
  bool has_alpha, has_beta;
  double alpha, beta;  // where none is given
};
constexpr Function kFunctions[] = {
    {"relu", false, false, 0, 0},        {"tanh", false, false, 0, 0},      {"sigmoid", false, false, 0, 0},    {"affine", true, true, 1, 0},
    {"leakyrelu", true, false, 0.01, 0}, {"scaledtanh", true, true, 1, 1},  {"hardsigmoid", true, true, 0.2, 0.5}, {"elu", true, false, 1, 0},
    {"softsign", false, false, 0, 0},    {"softplus", false, false, 0, 0},  {"thresholdedrelu", true, false, 1, 0},
};

const Function* find_function(std::string_view name) {
  const auto same = [&](const Function& f) {
    return std::equal(f.name.begin(), f.name.end(), name.begin(), name.end(), [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  };
  const auto* at = std::find_if(std::begin(kFunctions), std::end(kFunctions), same);
  return at == std::end(kFunctions) ? nullptr : at;
}

std::vector<std::string_view> usual_functions(const sdk::Node& node) {
  if (node.op() == "LSTM") return {"Sigmoid", "Tanh", "Tanh"};
  if (node.op() == "GRU") return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}
int64_t gates_of(const sdk::Node& node) { return node.op() == "LSTM" ? 4 : node.op() == "GRU" ? 3 : 1; }
size_t directions_of(const sdk::Node& node) { return node.string("direction", "forward") == "bidirectional" ? 2 : 1; }

/// Names for all directions; the schema's own default of RNN has one too many.
std::vector<std::string_view> names_of(const sdk::Node& node) {
  std::vector<std::string_view> names, usual = usual_functions(node), given = node.strings("activations");
  for (size_t d = 0; d < directions_of(node); ++d) names.insert(names.end(), usual.begin(), usual.end());
  for (size_t k = 0; k < std::min(names.size(), given.size()); ++k) names[k] = given[k];
  return names;
}

/// Alphas and betas are used up in order by the functions that have them.
std::vector<Function> functions_of(const sdk::Node& node) {
  const std::vector<double> alphas = node.reals("activation_alpha"), betas = node.reals("activation_beta");
  size_t a = 0, b = 0;
  std::vector<Function> all;
  for (const std::string_view name : names_of(node)) {
    Function f = *find_function(name);
    if (f.has_alpha && a < alphas.size()) f.alpha = alphas[a++];
    if (f.has_beta && b < betas.size()) f.beta = betas[b++];
    all.push_back(f);
  }
  return all;
}

/// One node, written.
class Cell {
 public:
  Cell(Lowering& to, const sdk::Node& node) : to_(to), node_(node), make_(to, node), functions_(functions_of(node)) {
    const std::vector<int64_t> x = dims_of(node.input(0));
    by_batch_ = node.integer("layout", 0) != 0;
    steps_ = x[by_batch_ ? 1 : 0], batch_ = x[by_batch_ ? 0 : 1], width_ = x[2];
    hidden_ = dims_of(node.input(2)).back(), gates_ = gates_of(node);
    lengths_.assign(static_cast<size_t>(batch_), steps_);
    if (node.input(kLengths)) lengths_ = Lowering::integers(node.input(kLengths));
    clip_ = node.has("clip") ? node.real("clip", 0) : 0;
  }

  void write() {
    Piece x = make_.read(0);
    if (by_batch_) x = make_.transposed(x, {1, 0, 2});
    x = make_.reshaped(x, {steps_ * batch_, width_});
    std::vector<Piece> sequences, states, cells;
    for (size_t d = 0; d < directions_of(node_); ++d) {
      const bool back = d == 1 || node_.string("direction", "forward") == "reverse";
      const Piece all = run(back ? turned(x) : x, d);
      sequences.push_back(make_.reshaped(back ? turned(all) : all, {steps_, 1, batch_, hidden_}));
      states.push_back(make_.reshaped(*state_, {1, batch_, hidden_}));
      if (cell_) cells.push_back(make_.reshaped(*cell_, {1, batch_, hidden_}));
    }
    if (node_.output(0)) finish(make_.joined(sequences, 1), {2, 0, 1, 3}, 0);
    if (node_.output(1)) finish(make_.joined(states, 0), {1, 0, 2}, 1);
    if (node_.output(2)) finish(make_.joined(cells, 0), {1, 0, 2}, 2);
  }

 private:
  /// Where one value is several outputs, each wants an operator of its own: the border sees to that.
  void finish(const Piece& made, const std::vector<int64_t>& by_batch, uint32_t k) { make_.finish(by_batch_ ? make_.transposed(made, by_batch) : made, k); }

  /// Rows of [steps * batch, …], each sequence turned within its length.
  Piece turned(const Piece& x) {
    std::vector<int64_t> rows;
    for (int64_t t = 0; t < steps_; ++t)
      for (int64_t b = 0; b < batch_; ++b) {
        const int64_t length = lengths_[static_cast<size_t>(b)];
        rows.push_back((t < length ? length - 1 - t : t) * batch_ + b);
      }
    return make_.picked(x, 0, rows);
  }

  /// Rows `first` to `last` of the weights of a direction [rows, columns], turned.
  Piece weights(uint32_t input, size_t d, int64_t columns, int64_t first, int64_t last) {
    const std::vector<float> all = Lowering::floats(node_.input(input));
    const size_t begin = d * static_cast<size_t>(gates_ * hidden_ * columns);
    std::vector<float> out;
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = first; r < last; ++r) out.push_back(all[begin + static_cast<size_t>(r * columns + c)]);
    return make_.weight({columns, last - first}, out);
  }
  /// Of the input's and the state's products: 0 and 1. Zeros where none is given.
  std::vector<float> bias(size_t d, size_t which) {
    const auto size = static_cast<size_t>(gates_ * hidden_);
    if (!node_.input(kBias)) return std::vector<float>(size, 0.0f);
    const std::vector<float> all = Lowering::floats(node_.input(kBias));
    const auto begin = all.begin() + static_cast<ptrdiff_t>((2 * d + which) * size);
    return {begin, begin + static_cast<ptrdiff_t>(size)};
  }
  bool resets_product() const { return node_.op() == "GRU" && node_.integer("linear_before_reset", 0) != 0; }

  Piece product(const Piece& x, const Piece& w, const Piece& bias) {
    return make_.op("product", "MatMul", {x, w, bias}, matmul(), {x.dims[0], w.dims[1]});
  }
  Piece product(const Piece& x, const Piece& w) { return product(x, w, {to_.module().none(), {}}); }

  /// A given state of this direction; none where it begins with zeros.
  std::optional<Piece> begin(uint32_t input, size_t d) {
    if (!node_.input(input)) return {};
    if (node_.input(input).is_constant()) {
      const std::vector<float> all = Lowering::floats(node_.input(input));
      if (std::all_of(all.begin(), all.end(), [](float v) { return v == 0; })) return {};
    }
    const auto at = static_cast<int64_t>(d);
    return make_.reshaped(make_.sliced(make_.read(input), by_batch_ ? 1 : 0, at, at + 1), {batch_, hidden_});
  }

  /// All states of a direction, [steps * batch, hidden]; the last is left in state_ and cell_.
  Piece run(const Piece& x, size_t d) {
    std::vector<float> added = bias(d, 0);
    const std::vector<float> more = bias(d, 1);
    const size_t beside = resets_product() ? static_cast<size_t>(2 * hidden_) : added.size();
    for (size_t k = 0; k < beside; ++k) added[k] += more[k];
    const Piece inputs = product(x, weights(1, d, width_, 0, gates_ * hidden_), make_.weight({gates_ * hidden_}, added));
    function_ = functions_.data() + d * usual_functions(node_).size();
    prepare(d);
    state_ = begin(kState, d), cell_ = node_.op() == "LSTM" ? begin(kCell, d) : std::nullopt;
    std::vector<Piece> all;
    for (int64_t t = 0; t < steps_; ++t) {
      const std::optional<Piece> before = state_, cell_before = cell_;
      step(make_.sliced(inputs, 0, t * batch_, (t + 1) * batch_));
      all.push_back(held(t, before, cell_before));
    }
    return make_.joined(all, 0);
  }

  /// Sequences that have ended keep their states; what they give is zeros.
  Piece held(int64_t t, const std::optional<Piece>& before, const std::optional<Piece>& cell_before) {
    std::vector<float> goes_on, ended;
    for (const int64_t length : lengths_) goes_on.push_back(t < length), ended.push_back(t >= length);
    if (std::find(ended.begin(), ended.end(), 1.0f) == ended.end()) return *state_;
    const Piece yes = make_.weight({batch_, 1}, goes_on), no = make_.weight({batch_, 1}, ended);
    const auto kept = [&](const Piece& now, const std::optional<Piece>& then) {
      const Piece part = make_.both("Mul", now, yes);
      return then ? make_.both("Add", part, make_.both("Mul", *then, no)) : part;
    };
    const Piece out = make_.both("Mul", *state_, yes);
    state_ = kept(*state_, before);
    if (cell_) cell_ = kept(*cell_, cell_before);
    return out;
  }

  /// Weights of the steps of a direction, once for all.
  void prepare(size_t d) {
    const bool apart = node_.op() == "GRU" && !resets_product();
    const int64_t size = gates_ * hidden_, first = apart ? 2 * hidden_ : size;
    recurrence_ = weights(2, d, hidden_, 0, first);
    if (apart) last_recurrence_ = weights(2, d, hidden_, first, size);
    if (resets_product()) {
      const std::vector<float> all = bias(d, 1);
      reset_bias_ = make_.weight({1, hidden_}, {all.begin() + static_cast<ptrdiff_t>(2 * hidden_), all.end()});
    }
    if (!node_.input(kPeepholes)) return;
    const std::vector<float> all = Lowering::floats(node_.input(kPeepholes));
    peepholes_.clear();
    for (size_t k = 0; k < 3; ++k) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>((3 * d + k) * static_cast<size_t>(hidden_));
      peepholes_.push_back(make_.weight({1, hidden_}, {begin, begin + static_cast<ptrdiff_t>(hidden_)}));
    }
  }

  void step(const Piece& input) {
    const std::optional<Piece> from_state = state_ ? std::optional(product(*state_, recurrence_)) : std::nullopt;
    if (node_.op() == "RNN") state_ = apply(0, from_state ? make_.both("Add", input, *from_state) : input);
    else if (node_.op() == "GRU") step_gru(input, from_state);
    else step_lstm(input, from_state);
  }

  Piece gate(const Piece& all, int64_t k) { return make_.sliced(all, 1, k * hidden_, (k + 1) * hidden_); }
  /// A gate's sum of what comes from input and state.
  Piece gate_sum(const Piece& input, const std::optional<Piece>& from_state, int64_t k) {
    return from_state ? make_.both("Add", gate(input, k), gate(*from_state, k)) : gate(input, k);
  }
  Piece less(const Piece& x) { return make_.scaled(x, -1, 1); }  // 1 - x

  /// Update z, reset r, hidden h.
  void step_gru(const Piece& input, const std::optional<Piece>& from_state) {
    const Piece z = apply(0, gate_sum(input, from_state, 0)), r = apply(0, gate_sum(input, from_state, 1));
    Piece sum = gate(input, 2);
    if (resets_product()) {
      const Piece inner = from_state ? make_.both("Add", gate(*from_state, 2), reset_bias_) : reset_bias_;
      sum = make_.both("Add", sum, make_.both("Mul", r, inner));
    } else if (state_) {
      sum = make_.both("Add", sum, product(make_.both("Mul", r, *state_), last_recurrence_));
    }
    const Piece fresh = make_.both("Mul", less(z), apply(1, sum));
    state_ = state_ ? make_.both("Add", fresh, make_.both("Mul", z, *state_)) : fresh;
  }

  Piece peeped(const Piece& sum, const std::optional<Piece>& cell, size_t k) {
    return cell && !peepholes_.empty() ? make_.both("Add", sum, make_.both("Mul", *cell, peepholes_[k])) : sum;
  }
  /// Gates in the order input, output, forget, cell; peepholes input, output, forget.
  void step_lstm(const Piece& input, const std::optional<Piece>& from_state) {
    const Piece in = apply(0, peeped(gate_sum(input, from_state, 0), cell_, 0));
    Piece cell = make_.both("Mul", in, apply(1, gate_sum(input, from_state, 3)));
    if (cell_) {
      const Piece forget = node_.integer("input_forget", 0) != 0 ? less(in) : apply(0, peeped(gate_sum(input, from_state, 2), cell_, 2));
      cell = make_.both("Add", make_.both("Mul", forget, *cell_), cell);
    }
    cell_ = cell;
    const Piece out = apply(0, peeped(gate_sum(input, from_state, 1), cell_, 1));
    state_ = make_.both("Mul", out, make(2, {to_.copied(node_, cell.value, cell.dims), cell.dims}));
  }

  Piece unary(std::string_view op, const Piece& x, const Attributes& a = {}) { return make_.op(op, op, {x}, a, x.dims); }
  Piece most(const Piece& x, double c) { return unary("MinConst", x, Attributes().f64("const_val", c).flag("is_scalar", false)); }
  Piece least(const Piece& x, double c) { return unary("MaxConst", x, Attributes().f64("const_val", c).flag("is_scalar", false)); }

  /// Function k of a sum, which `clip` bounds first.
  Piece apply(size_t k, const Piece& sum) { return make(k, clip_ > 0 ? most(least(sum, -clip_), clip_) : sum); }
  Piece make(size_t k, const Piece& x) {
    const Function& f = function_[k];
    if (f.name == "sigmoid") return unary("Sigmoid", x, sigmoid());
    if (f.name == "tanh") return unary("Tanh", x);
    if (f.name == "relu") return least(x, 0);
    if (f.name == "softsign") return make_.both("Mul", x, unary("Reciprocal", make_.scaled(unary("Abs", x), 1, 1), fused().f64("const_val", 1)));
    if (f.name == "softplus") return unary("Softplus", x);
    if (f.name == "affine") return make_.scaled(x, f.alpha, f.beta);
    if (f.name == "scaledtanh") return make_.scaled(unary("Tanh", make_.scaled(x, f.beta)), f.alpha);
    if (f.name == "hardsigmoid") return most(least(make_.scaled(x, f.alpha, f.beta), 0), 1);
    if (f.name == "leakyrelu") return make_.both("Add", least(x, 0), make_.scaled(most(x, 0), f.alpha));
    if (f.name == "elu") return make_.both("Add", least(x, 0), make_.scaled(unary("Exp", most(x, 0)), f.alpha, -f.alpha));
    const Attributes reached = Attributes().text("mode", "GreaterOrEqual").f64("const_val", f.alpha).flag("inversed", false).flag("is_scalar", false);
    return make_.both("Mul", x, unary("CompareConst", x, reached));  // thresholdedrelu
  }

  Lowering& to_;
  const sdk::Node& node_;
  Pieces make_;
  std::vector<Function> functions_;
  const Function* function_ = nullptr;  // of the direction in hand
  bool by_batch_ = false;
  int64_t steps_ = 0, batch_ = 0, width_ = 0, hidden_ = 0, gates_ = 0;
  std::vector<int64_t> lengths_;
  double clip_ = 0;
  Piece recurrence_, last_recurrence_, reset_bias_;
  std::vector<Piece> peepholes_;
  std::optional<Piece> state_, cell_;
};

}  // namespace

std::string refuses_unrolled(const sdk::Node& node, const std::string& why) {
  for (const uint32_t k : {1u, 2u, kBias, kPeepholes})
    if (std::string no = wants_constant(node, k, "weight"); !no.empty()) return no;
  for (const std::string_view name : names_of(node))
    if (!find_function(name)) return "activation \"" + std::string(name) + "\" is none of ONNX's";
  if (std::string no = wants_constant(node, kLengths, "sequence_lens"); !no.empty()) return no;
  const int64_t steps = dims_of(node.input(0))[node.integer("layout", 0) != 0 ? 1 : 0] * static_cast<int64_t>(directions_of(node));
  if (steps > kMostSteps) return why + ", which is written step by step here, " + std::to_string(kMostSteps) + " steps at most, found " + std::to_string(steps);
  return {};
}

void write_unrolled(Lowering& to, const sdk::Node& node) { Cell(to, node).write(); }

}  // namespace bmcompiler_plugin::top
