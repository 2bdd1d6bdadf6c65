// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Program::map(): what an element-wise computation makes of each of 256 codes, without LLVM and without running it.
#include <cmath>
#include <limits>

#include "plugins/llvm_cpu/lower/parts/program.hpp"

namespace optima::llvm_cpu {
namespace {

bool is_byte(int32_t t) { return t == OPTIMA_U8 || t == OPTIMA_I8; }
bool is_known(int32_t t) { return t == OPTIMA_F32 || t == OPTIMA_BOOL || is_byte(t); }

/// As ONNX Cast, to integers with saturation.
double cast_to(int32_t dtype, double x) {
  if (dtype == OPTIMA_F32) return static_cast<double>(static_cast<float>(x));
  if (dtype == OPTIMA_BOOL) return x != 0;
  const double low = dtype == OPTIMA_I8 ? -128 : 0, high = dtype == OPTIMA_I8 ? 127 : 255;
  return std::isnan(x) ? 0 : std::fmin(high, std::fmax(low, std::trunc(x)));
}
/// Between bytes nothing saturates: the bits stay.
double byte_as(int32_t dtype, double x) {
  const auto bits = static_cast<uint8_t>(static_cast<int>(x));
  return dtype == OPTIMA_I8 ? static_cast<double>(static_cast<int8_t>(bits)) : static_cast<double>(bits);
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double mish(double x) { return x * std::tanh(softplus(x)); }

struct Unary {
  Operation operation;
  double (*of)(double);
};
const Unary kUnary[] = {
    {"neg"_op, [](double x) { return -x; }}, {"abs"_op, [](double x) { return std::fabs(x); }}, {"sign"_op, sign},
    {"sqrt"_op, [](double x) { return std::sqrt(x); }}, {"floor"_op, [](double x) { return std::floor(x); }},
    {"ceil"_op, [](double x) { return std::ceil(x); }}, {"round"_op, [](double x) { return std::nearbyint(x); }},
    {"not"_op, [](double x) { return x == 0 ? 1.0 : 0.0; }}, {"isnan"_op, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
    {"exp"_op, [](double x) { return std::exp(x); }}, {"expm1"_op, [](double x) { return std::expm1(x); }},
    {"log"_op, [](double x) { return std::log(x); }}, {"sigmoid"_op, sigmoid}, {"tanh"_op, [](double x) { return std::tanh(x); }},
    {"erf"_op, [](double x) { return std::erf(x); }}, {"softplus"_op, softplus}, {"gelu"_op, gelu}, {"gelu_tanh"_op, gelu_tanh}, {"mish"_op, mish},
    {"sin"_op, [](double x) { return std::sin(x); }}, {"cos"_op, [](double x) { return std::cos(x); }}, {"tan"_op, [](double x) { return std::tan(x); }},
    {"asin"_op, [](double x) { return std::asin(x); }}, {"acos"_op, [](double x) { return std::acos(x); }},
    {"atan"_op, [](double x) { return std::atan(x); }}, {"sinh"_op, [](double x) { return std::sinh(x); }},
    {"cosh"_op, [](double x) { return std::cosh(x); }}, {"asinh"_op, [](double x) { return std::asinh(x); }},
    {"acosh"_op, [](double x) { return std::acosh(x); }}, {"atanh"_op, [](double x) { return std::atanh(x); }}};

struct Binary {
  Operation operation;
  double (*of)(double, double);
};
const Binary kBinary[] = {
    {"add"_op, [](double x, double y) { return x + y; }}, {"sub"_op, [](double x, double y) { return x - y; }},
    {"mul"_op, [](double x, double y) { return x * y; }}, {"div"_op, [](double x, double y) { return x / y; }},
    {"pow"_op, [](double x, double y) { return std::pow(x, y); }}, {"mod"_op, [](double x, double y) { return std::fmod(x, y); }},
    {"max"_op, [](double x, double y) { return std::isnan(x) || x > y ? x : y; }},
    {"min"_op, [](double x, double y) { return std::isnan(x) || x < y ? x : y; }},
    {"atleast"_op, [](double x, double y) { return x > y ? x : y; }}, {"atmost"_op, [](double x, double y) { return x < y ? x : y; }},
    {"eq"_op, [](double x, double y) { return x == y ? 1.0 : 0.0; }}, {"lt"_op, [](double x, double y) { return x < y ? 1.0 : 0.0; }},
    {"le"_op, [](double x, double y) { return x <= y ? 1.0 : 0.0; }}, {"gt"_op, [](double x, double y) { return x > y ? 1.0 : 0.0; }},
    {"ge"_op, [](double x, double y) { return x >= y ? 1.0 : 0.0; }}};

std::optional<double> apply_to_bytes(Operation o, int32_t dtype, const std::vector<double>& a) {
  if (o != "xor"_op || a.size() != 2) return std::nullopt;
  return byte_as(dtype, static_cast<double>((static_cast<int>(a[0]) ^ static_cast<int>(a[1])) & 0xFF));
}

/// Nothing for what is not worked out here.
std::optional<double> applied(Operation o, int32_t operand_type, const std::vector<double>& a) {
  if (o == "where"_op) return a[0] != 0 ? a[1] : a[2];
  if (is_byte(operand_type)) return apply_to_bytes(o, operand_type, a);
  if (o == "fma"_op) return a[0] * a[1] + a[2];
  if (operand_type == OPTIMA_BOOL && a.size() == 2) {
    if (o == "and"_op) return a[0] * a[1];
    if (o == "or"_op) return a[0] + a[1] > 0;
    if (o == "xor"_op) return a[0] != a[1];
    return std::nullopt;
  }
  if (a.size() == 1)
    for (const Unary& u : kUnary)
      if (u.operation == o) return u.of(a[0]);
  if (a.size() == 2)
    for (const Binary& b : kBinary)
      if (b.operation == o) return b.of(a[0], a[1]);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Program::table(size_t load, size_t store) const {
  const int32_t from = accesses_[load].dtype, to = accesses_[store].dtype;
  std::string out;
  for (int byte = 0; byte < 256; ++byte) {
    std::vector<double> made;
    for (const Line& line : lines_) {
      if (line.kind == Line::Store) continue;
      std::vector<double> a;
      for (const Id id : line.operands) a.push_back(made[id]);
      const Id id = static_cast<Id>(made.size());
      if (!is_known(types_[id])) return std::nullopt;
      if (line.kind == Line::Load) made.push_back(line.access == load ? byte_as(from, byte) : *accesses_[line.access].known);
      else if (line.kind == Line::Constant) made.push_back(line.number);
      else if (line.kind == Line::Cast && is_byte(line.dtype) && is_byte(types_[line.operands[0]])) made.push_back(byte_as(line.dtype, a[0]));
      else if (line.kind == Line::Cast) made.push_back(cast_to(line.dtype, a[0]));
      else if (const auto v = applied(line.operation, types_[line.operands[line.operation == "where"_op ? 1 : 0]], a)) made.push_back(*v);
      else return std::nullopt;
      if (ends_.count(id)) made.back() = cast_to(types_[id], made.back());
    }
    out += static_cast<char>(static_cast<uint8_t>(static_cast<int>(made[accesses_[store].value])));
  }
  return is_byte(to) ? std::optional(out) : std::nullopt;
}

std::optional<Program::Map> Program::map() const {
  std::optional<size_t> load, store;
  for (size_t a = 0; a < accesses_.size(); ++a) {
    if (accesses_[a].known) continue;
    auto& which = accesses_[a].is_store ? store : load;
    if (which || !is_byte(accesses_[a].dtype)) return std::nullopt;
    which = a;
  }
  if (!load || !store) return std::nullopt;
  const auto bytes = table(*load, *store);
  if (!bytes) return std::nullopt;
  return Map{{dims_, accesses_[*load].steps, accesses_[*store].steps}, args_[accesses_[*load].arg], args_[accesses_[*store].arg], *bytes};
}

}  // namespace optima::llvm_cpu
