// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: what comes from the input for all times in one step, then a workgroup per sequence that walks through time with its state in
// shared memory, then the outputs.
#include <algorithm>
#include <cctype>

#include "compiler/lowering.hpp"

namespace spirv_plugin {
namespace of_recurrent {

constexpr uint32_t kLocal = 64;

Work work_of(int64_t flops, int64_t elements) { return {static_cast<uint64_t>(flops), static_cast<uint64_t>(elements) * 4}; }

/// Inputs by number, as the three operators have them.
enum Input : uint32_t { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeepholes };

struct Sequence {
  int64_t gates, directions, steps, batch, width, hidden;
  bool by_batch, reverse_first;
  int64_t rows() const { return gates * hidden; }
  int64_t states() const { return directions * batch * hidden; }
  /// Invocations of a workgroup, and how often they turn to go through the state.
  uint32_t local() const { return hidden > 64 ? 128 : 64; }
  int64_t turns() const { return (hidden + local() - 1) / local(); }
  /// The head of the loop over an invocation's own of the state, `j`.
  std::string each() const { return "for(int j=int(gl_LocalInvocationID.x);j<" + text(hidden) + ";j+=" + text(local()) + ")"; }
  /// The index of the first element of a step's hidden state in Y, and of a sequence's in Y_h.
  std::string output_at(const std::string& t) const {
    return by_batch ? "((b*" + text(steps) + "+" + t + ")*" + text(directions) + "+d)*" + text(hidden) : "((" + t + "*" + text(directions) + "+d)*" + text(batch) + "+b)*" + text(hidden);
  }
  std::string state_at() const { return by_batch ? "(b*" + text(directions) + "+d)*" + text(hidden) : "(d*" + text(batch) + "+b)*" + text(hidden); }
};

Sequence sequence_of(const sdk::Node& node) {
  const Dims x = node.input(kX).shape(), r = node.input(kR).shape();
  const bool by_batch = node.integer("layout", 0) != 0;
  return {r[1] / r[2], r[0], x[by_batch ? 1 : 0], x[by_batch ? 0 : 1], x[2], r[2], by_batch, node.string("direction", "forward") == "reverse"};
}

struct Activation {
  const char* name;
  bool has_alpha, has_beta;
  double alpha, beta;
  const char* text;  ///< of x, A and B
};
constexpr Activation kActivations[] = {
    {"relu", false, false, 0, 0, "relu_(x)"}, {"tanh", false, false, 0, 0, "tanh_(x)"}, {"sigmoid", false, false, 0, 0, "sigmoid_(x)"}, {"affine", true, true, 1, 0, "A*x+B"},
    {"leakyrelu", true, false, 0.01, 0, "x>=0.0?x:A*x"}, {"thresholdedrelu", true, false, 1, 0, "x>=A?x:0.0"}, {"scaledtanh", true, true, 1, 1, "A*tanh_(B*x)"},
    {"hardsigmoid", true, true, 0.2, 0.5, "min_(max_(A*x+B,0.0),1.0)"}, {"elu", true, false, 1, 0, "x>=0.0?x:A*expm1_(x)"}, {"softsign", false, false, 0, 0, "x/(1.0+abs(x))"},
    {"softplus", false, false, 0, 0, "softplus_(x)"},
};

const Activation* find_activation(std::string_view name) {
  std::string low(name);
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  for (const Activation& a : kActivations)
    if (low == a.name) return &a;
  return nullptr;
}

/// Names for all directions: those asked for, else the operator's own.
std::vector<std::string_view> activation_names(const sdk::Node& node, int64_t directions) {
  const std::vector<std::string_view> own = node.op() == "LSTM" ? std::vector<std::string_view>{"Sigmoid", "Tanh", "Tanh"}
                                            : node.op() == "GRU" ? std::vector<std::string_view>{"Sigmoid", "Tanh"} : std::vector<std::string_view>{"Tanh"};
  std::vector<std::string_view> names = node.strings("activations");
  const size_t wanted = own.size() * static_cast<size_t>(directions);
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), own.begin(), own.end());
  if (names.size() > wanted) names.resize(wanted);  // RNN's default has two for any direction
  return names;
}

/// Functions act0, act1, ... of (direction, x); alphas and betas are used up in order by those that have them.
std::string activation_functions(const sdk::Node& node, int64_t directions) {
  const std::vector<std::string_view> names = activation_names(node, directions);
  const std::vector<double> alphas = node.reals("activation_alpha"), betas = node.reals("activation_beta");
  size_t a = 0, b = 0;
  std::vector<std::string> texts;
  for (const std::string_view name : names) {
    const Activation& kind = *find_activation(name);
    const std::string alpha = literal(kind.has_alpha && a < alphas.size() ? alphas[a++] : kind.alpha), beta = literal(kind.has_beta && b < betas.size() ? betas[b++] : kind.beta);
    std::string t;
    for (const char c : std::string_view(kind.text)) t += c == 'A' ? alpha : c == 'B' ? beta : std::string(1, c);
    texts.push_back("(" + t + ")");
  }
  const size_t each = texts.size() / static_cast<size_t>(directions);
  std::string out;
  for (size_t k = 0; k < each; ++k) {
    const std::string& first = texts[k];
    const std::string& last = texts[(static_cast<size_t>(directions) - 1) * each + k];
    out += "float act" + text(static_cast<int64_t>(k)) + "(int d,float x){return " + (first == last ? first : "d==0?" + first + ":" + last) + ";}\n";
  }
  const double clip = node.real("clip", 0);
  return out + "float bounded(float x){return " + (clip > 0 ? "min_(max_(x," + literal(-clip) + ")," + literal(clip) + ")" : "x") + ";}";
}

std::vector<double> constant_of(const sdk::Value& v) { return v ? reals_of(v.constant()) : std::vector<double>{}; }

bool is_linear_first(const sdk::Node& node) { return node.op() == "GRU" && node.integer("linear_before_reset", 0) != 0; }

/// Per direction what is added to a row's product with the input: both biases, but for the one that GRU's reset gate multiplies.
std::vector<float> input_bias(const sdk::Node& node, const Sequence& q) {
  const std::vector<double> b = constant_of(node.input(kB));
  const int64_t n = q.rows();
  std::vector<float> out(static_cast<size_t>(q.directions * n));
  for (int64_t d = 0; !b.empty() && d < q.directions; ++d)
    for (int64_t r = 0; r < n; ++r) {
      const bool later = is_linear_first(node) && r >= 2 * q.hidden;
      out[static_cast<size_t>(d * n + r)] = static_cast<float>(b[static_cast<size_t>(2 * d * n + r)] + (later ? 0 : b[static_cast<size_t>((2 * d + 1) * n + r)]));
    }
  return out;
}

/// What the walk through time reads, in one tensor: R turned so that rows lie side by side, then peepholes or the bias of GRU's hidden gate, then lengths.
struct Packed {
  std::vector<float> all{};
  int64_t extra = 0, lengths = 0;  ///< where these begin
};
Packed packed(const sdk::Node& node, const Sequence& q) {
  Packed out;
  const std::vector<double> r = constant_of(node.input(kR)), b = constant_of(node.input(kB)), peepholes = constant_of(node.input(kPeepholes)), lengths = node.input(kLengths) && node.input(kLengths).is_constant() ? constant_of(node.input(kLengths)) : std::vector<double>();
  const int64_t n = q.rows(), h = q.hidden;
  out.all.resize(r.size());
  for (int64_t d = 0; d < q.directions; ++d)
    for (int64_t row = 0; row < n; ++row)
      for (int64_t k = 0; k < h; ++k) out.all[static_cast<size_t>((d * h + k) * n + row)] = static_cast<float>(r[static_cast<size_t>((d * n + row) * h + k)]);
  out.extra = static_cast<int64_t>(out.all.size());
  for (const double v : peepholes) out.all.push_back(static_cast<float>(v));
  if (is_linear_first(node))
    for (int64_t d = 0; d < q.directions; ++d)
      for (int64_t j = 0; j < h; ++j) out.all.push_back(b.empty() ? 0.0f : static_cast<float>(b[static_cast<size_t>((2 * d + 1) * n + 2 * h + j)]));
  out.lengths = static_cast<int64_t>(out.all.size());
  for (const double v : lengths) out.all.push_back(static_cast<float>(v));
  return out;
}

/// [direction][time][image][row]: products of the input with W, and biases.
Tensor lower_input(Lowering& to, const Group& group, const Sequence& q) {
  const sdk::Node& node = group.root;
  const Tensor into = to.scratch(node, Element::F32, {q.directions, q.steps, q.batch, q.rows()});
  const int64_t n = into.elements(), rows = q.rows();
  Shader s(kLocal);
  const int x = s.in(to.read(node.input(kX))), w = s.in(to.read(node.input(kW))), out = s.out(into);
  const int bias = node.input(kB) ? s.in(to.weight(std::string(node.input(kB).name()) + "/summed", {q.directions, rows}, input_bias(node, q))) : -1;
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;int r=o%" + text(rows) + ",b=o/" + text(rows) + "%" + text(q.batch) + ",t=o/" + text(rows * q.batch) + "%" + text(q.steps) + ",d=o/" +
         text(rows * q.batch * q.steps) + ";");
  s.line("int xa=" + (q.by_batch ? "(b*" + text(q.steps) + "+t)*" : "(t*" + text(q.batch) + "+b)*") + text(q.width) + ",wa=(d*" + text(rows) + "+r)*" + text(q.width) + ";");
  s.line("float v=" + (bias < 0 ? "0.0" : s.load(bias, "d*" + text(rows) + "+r")) + ";for(int k=0;k<" + text(q.width) + ";++k)v+=" + s.load(x, "xa+k") + "*" + s.load(w, "wa+k") + ";");
  s.line(s.store(out, "o", "v"));
  to.step(group, std::move(s), g.groups, work_of(2 * n * q.width, 2 * n));
  return into;
}

/// A copy of `count` elements, from and to any place of two tensors; whole numbers become floats.
void lower_copy(Lowering& to, const Group& group, const Tensor& from, int64_t from_at, const Tensor& into, int64_t into_at, int64_t count) {
  Shader s(kLocal);
  const int x = s.in(from), out = s.out(into);
  const Grid g = grid(count, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(count) + ")return;" + s.store(out, "o+" + text(into_at), s.load(x, "o+" + text(from_at))));
  to.step(group, std::move(s), g.groups, work_of(0, 2 * count));
}

/// The sum over the state of a gate's row of R, as an expression loop: `into` += state[k] * R.
std::string product(const Shader& s, int packed, const Sequence& q, const std::vector<int64_t>& gates, const std::string& state) {
  std::string out = "for(int k=0;k<" + text(q.hidden) + ";++k){float x=" + state + ";int ra=(d*" + text(q.hidden) + "+k)*" + text(q.rows()) + "+j;";
  for (const int64_t gate : gates) out += "s" + text(gate) + "+=x*" + s.load(packed, "ra+" + text(gate * q.hidden)) + ";";
  return out + "}";
}

/// Names s0, s1, ...: what comes from the input.
std::string begun(const Shader& s, int input, const Sequence& q, const std::vector<int64_t>& gates) {
  std::string out;
  for (const int64_t gate : gates) out += "float s" + text(gate) + "=" + s.load(input, "ga+j+" + text(gate * q.hidden)) + ";";
  return out;
}

/// One step of time, from shared h[old+..] to h[fresh+..].
std::string lstm_step(const Shader& s, int input, int packed, const Sequence& q, const sdk::Node& node, int64_t peepholes) {
  const auto peep = [&](int64_t gate, const char* c) {
    return node.input(kPeepholes) ? "+" + s.load(packed, text(peepholes) + "+(d*3+" + text(gate) + ")*" + text(q.hidden) + "+j") + "*" + c : std::string();
  };
  return q.each() + "{" + begun(s, input, q, {0, 1, 2, 3}) + product(s, packed, q, {0, 1, 2, 3}, "h[old+k]") + "float before=c[j],in_=act0(d,bounded(s0" + peep(0, "before") + "));" +
         "float keep=" + (node.integer("input_forget", 0) ? "1.0-in_" : "act0(d,bounded(s2" + peep(2, "before") + "))") + ";float cell=keep*before+in_*act1(d,bounded(s3));" +
         "c[j]=cell;h[fresh+j]=act0(d,bounded(s1" + peep(1, "cell") + "))*act2(d,cell);}";
}

std::string gru_step(const Shader& s, int input, int packed, const Sequence& q, const sdk::Node& node, int64_t bias) {
  const bool linear_first = is_linear_first(node);
  std::string out = q.each() + "{" + begun(s, input, q, {0, 1}) + product(s, packed, q, {0, 1}, "h[old+k]");
  out += "c[j]=act0(d,bounded(s0));float r=act0(d,bounded(s1));reset[j]=" + std::string(linear_first ? "r" : "r*h[old+j]") + ";}barrier();" + q.each() + "{";
  if (linear_first)
    out += "float s2=" + s.load(packed, text(bias) + "+d*" + text(q.hidden) + "+j") + ";" + product(s, packed, q, {2}, "h[old+k]") +
           "s2=s2*reset[j]+" + s.load(input, "ga+j+" + text(2 * q.hidden)) + ";";
  else out += begun(s, input, q, {2}) + product(s, packed, q, {2}, "reset[k]");
  return out + "h[fresh+j]=(1.0-c[j])*act1(d,bounded(s2))+c[j]*h[old+j];}";
}

std::string rnn_step(const Shader& s, int input, int packed, const Sequence& q) {
  return q.each() + "{" + begun(s, input, q, {0}) + product(s, packed, q, {0}, "h[old+k]") + "h[fresh+j]=act0(d,bounded(s0));}";
}

/// Zeros, from `at` on.
void lower_zeros(Lowering& to, const Group& group, const Tensor& into, int64_t at, int64_t count) {
  Shader s(kLocal);
  const int out = s.out(into);
  const Grid g = grid(count, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(count) + ")return;" + s.store(out, "o+" + text(at), "0.0"));
  to.step(group, std::move(s), g.groups, work_of(0, count));
}

/// Steps of time of one kernel: as many as its loops may go through (kMostIterations). Those of GRU walk over the state twice.
int64_t most_steps(const sdk::Node& node, const Sequence& q) {
  constexpr int64_t kMost = 50000;
  const int64_t walks = node.op() == "GRU" ? 2 : 1;
  return std::max<int64_t>(1, kMost / (2 + q.turns() * (walks * (1 + q.hidden) + 2)));
}

/// Y, then Y_h, then Y_c, in one tensor. Sequences that are too long for one kernel are walked through in several steps of the same kernel: each goes on
/// where Y_h and Y_c say, from the step of time that is counted behind them.
Tensor lower_walk(Lowering& to, const Group& group, const Sequence& q, const Tensor& gates) {
  const sdk::Node& node = group.root;
  const int64_t n = q.hidden, sequences = q.directions * q.batch, outputs = q.steps * q.states(), counts = outputs + 2 * q.states(), most = std::min(q.steps, most_steps(node, q));
  const bool goes_on = most < q.steps;
  const Tensor result = to.scratch(node, Element::F32, {counts + (goes_on ? sequences : 0)});
  const Packed weights = packed(node, q);
  Shader s(q.local());
  const int input = s.in(gates), r = s.in(to.weight(std::string(node.input(kR).name()) + "/packed", {static_cast<int64_t>(weights.all.size())}, weights.all));
  std::string hidden = "0.0", cell = "0.0", length = text(q.steps);
  const bool known = node.input(kLengths) && node.input(kLengths).is_constant();
  if (known) length = "int(" + s.load(r, text(weights.lengths) + "+b") + ")";
  if (node.input(kHidden) || node.input(kCell) || (node.input(kLengths) && !known)) {  // what else comes in, in one tensor
    const Tensor begin = to.scratch(node, Element::F32, {2 * q.states() + q.batch});
    if (node.input(kLengths) && !known) lower_copy(to, group, to.read(node.input(kLengths)), 0, begin, 2 * q.states(), q.batch);
    if (node.input(kHidden)) lower_copy(to, group, to.read(node.input(kHidden)), 0, begin, 0, q.states());
    if (node.input(kCell)) lower_copy(to, group, to.read(node.input(kCell)), 0, begin, q.states(), q.states());
    const int at = s.in(begin);
    if (node.input(kHidden)) hidden = s.load(at, "sa+j");
    if (node.input(kCell)) cell = s.load(at, text(q.states()) + "+sa+j");
    if (node.input(kLengths) && !known) length = "clamp(int(" + s.load(at, text(2 * q.states()) + "+b") + "),0," + text(q.steps) + ")";
  }
  const int out = s.out(result);
  if (goes_on) {
    lower_zeros(to, group, result, counts, sequences);
    hidden = "first==0?" + hidden + ":" + s.load(out, text(outputs) + "+sa+j"), cell = "first==0?" + cell + ":" + s.load(out, text(outputs + q.states()) + "+sa+j");
  }
  s.top("shared float h[" + text(2 * n) + "],c[" + text(n) + "],reset[" + text(n) + "];");
  s.top(activation_functions(node, q.directions));
  s.line("int at=int(gl_WorkGroupID.x+gl_WorkGroupID.y*gl_NumWorkGroups.x);if(at>=" + text(sequences) + ")return;int d=at/" + text(q.batch) + ",b=at%" + text(q.batch) + ",sa=" + q.state_at() + ";");
  s.line("int n=" + length + ";");
  s.line("int first=" + (goes_on ? "int(" + s.load(out, text(counts) + "+at") + "),last=min(first+" + text(most) + "," + text(q.steps) + ")" : "0,last=" + text(q.steps)) + ",here=clamp(n-first,0,last-first);");
  s.line(q.each() + "{h[j]=" + hidden + ";c[j]=" + cell + ";}barrier();");
  s.line("for(int k=0;k<min(here," + text(most) + ");++k){int i=first+k,t=" + std::string(q.reverse_first ? "n-1-i" : "d==1?n-1-i:i") + ",old=(k&1)*" + text(n) + ",fresh=" + text(n) + "-old;");
  s.line("int ga=((d*" + text(q.steps) + "+t)*" + text(q.batch) + "+b)*" + text(q.rows()) + ";");
  s.line(node.op() == "LSTM" ? lstm_step(s, input, r, q, node, weights.extra) : node.op() == "GRU" ? gru_step(s, input, r, q, node, weights.extra) : rnn_step(s, input, r, q));
  s.line("barrier();" + q.each() + s.store(out, q.output_at("t") + "+j", "h[fresh+j]") + "}");
  s.line("for(int k=here;k<min(last-first," + text(most) + ");++k){int t=first+k;" + q.each() + s.store(out, q.output_at("t") + "+j", "0.0") + "}");
  s.line(q.each() + "{" + s.store(out, text(outputs) + "+sa+j", "h[(here&1)*" + text(n) + "+j]") + s.store(out, text(outputs + q.states()) + "+sa+j", "c[j]") + "}");
  if (goes_on) s.line("if(gl_LocalInvocationID.x==0u)" + s.store(out, text(counts) + "+at", "float(last)"));
  for (int64_t first = 0; first < q.steps; first += most)
    to.step(group, s, grid(sequences, 1).groups, work_of(2 * std::min(most, q.steps - first) * sequences * q.rows() * n, outputs));
  return result;
}

void lower_recurrent(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Sequence q = sequence_of(node);
  const Tensor all = lower_walk(to, group, q, lower_input(to, group, q));
  int64_t at = 0;
  for (uint32_t k = 0; k < 3; ++k) {
    const int64_t count = k == 0 ? q.steps * q.states() : q.states();
    if (node.output(k)) lower_copy(to, group, all, at, to.made(node.output(k)), 0, count);
    at += count;
  }
}

std::string no_sequence(const sdk::Node& node) {
  constexpr int64_t kMostHidden = 1024, kMostSteps = 4096, kMostSequences = 65535;
  if (node.input(kX).rank() != 3 || node.input(kW).rank() != 3 || node.input(kR).rank() != 3) return "inputs of other ranks than 3";
  const Sequence q = sequence_of(node);
  const int64_t gates = node.op() == "LSTM" ? 4 : node.op() == "GRU" ? 3 : 1;
  if (node.input(kX).elements() == 0 || q.hidden < 1) return "a sequence of no elements";
  if (q.gates != gates || node.input(kR).dim(1) != gates * q.hidden) return "R has " + text(node.input(kR).dim(1)) + " rows, wanted " + text(gates * q.hidden);
  if (q.hidden > kMostHidden) return "hidden size of " + text(q.hidden) + ", wanted at most " + text(kMostHidden);
  if (q.steps > kMostSteps) return text(q.steps) + " steps, wanted at most " + text(kMostSteps);
  if (q.directions * q.batch > kMostSequences) return text(q.directions * q.batch) + " sequences, wanted at most " + text(kMostSequences);
  constexpr int64_t kMostProducts = int64_t{1} << 31, kMostInputs = int64_t{1} << 25;  // seconds of one workgroup, and what every GPU reaches in one buffer
  if (q.steps * q.rows() * q.hidden > kMostProducts) return text(q.steps) + " steps of " + text(q.rows() * q.hidden) + " products, wanted at most " + text(kMostProducts) + " in all";
  if (q.steps * q.directions * q.batch * q.rows() > kMostInputs) return "gates of " + text(q.steps * q.directions * q.batch * q.rows()) + " elements, wanted at most " + text(kMostInputs);
  const std::vector<std::string_view> names = activation_names(node, q.directions);
  if (names.size() != static_cast<size_t>(q.directions) * (gates == 4 ? 3 : gates == 3 ? 2 : 1)) return text(static_cast<int64_t>(names.size())) + " activations";
  for (const std::string_view name : names)
    if (!find_activation(name)) return "activation '" + std::string(name) + "' is unknown";
  if (node.input(kLengths) && node.input(kLengths).is_constant())
    for (const int64_t n : integers_of(node.input(kLengths).constant()))
      if (n < 0 || n > q.steps) return "a sequence of length " + text(n) + ", wanted at most " + text(q.steps);
  return "";
}

constexpr Row row(std::string_view name) {
  constexpr sdk::Types F = kFloats;
  constexpr uint32_t kConstants = 1u << kR | 1u << kB | 1u << kPeepholes;
  Row r;
  r.op = op(name, 7, 22, {F, F, F, F, sdk::types(OPTIMA_I32), F, F, F}, {F}, kConstants);
  r.lower = lower_recurrent, r.refuse = no_sequence;
  return r;
}
constexpr Row kRows[] = {row("LSTM"), row("GRU"), row("RNN")};

}  // namespace of_recurrent

Family recurrent_family() { return of_recurrent::kRows; }

}  // namespace spirv_plugin
