// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see program.hpp.
#include "plugins/llvm_cpu/lower/parts/program.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/elementwise.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kUnit = 8192;  // elements of a unit: some tens of KB, microseconds of work

/// In C notation.
std::string number(int32_t dtype, double value) {
  const bool real = dtype == OPTIMA_F32 || dtype == OPTIMA_F64 || dtype == OPTIMA_F16 || dtype == OPTIMA_BF16;
  char text[40];
  if (real) std::snprintf(text, sizeof text, "%a", value);
  else std::snprintf(text, sizeof text, "%" PRId64, static_cast<int64_t>(value));
  return text;
}

bool same(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.index == b.index && a.offset == b.offset && a.written == b.written && a.pack == b.pack && a.scale == b.scale;
}

}  // namespace

Program::Id Program::made(int32_t dtype) {
  types_.push_back(dtype);
  return static_cast<Id>(types_.size() - 1);
}

/// Computed constants are operands of their own, equal ones too: that they are equal is chance, and a kernel must not hang on it.
size_t Program::argument(const Operand& operand) {
  for (size_t i = 0; i < args_.size() && operand.kind != Operand::Bytes; ++i)
    if (same(args_[i], operand)) return i;
  args_.push_back(operand);
  return args_.size() - 1;
}

Program::Id Program::load(const Operand& from, int32_t dtype, const Dims& steps, std::optional<double> known) {
  const size_t arg = argument(from);
  for (const Access& a : accesses_)
    if (!a.is_store && a.arg == arg && a.dtype == dtype && a.steps == steps) return a.value;
  const Id id = made(dtype);
  accesses_.push_back({false, arg, dtype, id, steps, known});
  lines_.push_back({Line::Load, accesses_.size() - 1});
  return id;
}

void Program::store(const Operand& to, Id from, const Dims& steps) {
  accesses_.push_back({true, argument(to), types_[from], from, steps});
  lines_.push_back({Line::Store, accesses_.size() - 1});
}

Program::Id Program::constant(int32_t dtype, double value) {
  lines_.push_back({Line::Constant, 0, dtype, value});
  return made(dtype);
}

Program::Id Program::apply(Operation operation, std::vector<Id> operands) {
  const int32_t dtype = compares(operation) ? OPTIMA_BOOL : types_[operands[operation == "where"_op ? 1 : 0]];
  lines_.push_back({Line::Apply, 0, dtype, 0, operation, std::move(operands)});
  return made(dtype);
}

Program::Id Program::cast(int32_t dtype, Id from) {
  if (types_[from] == dtype) return from;
  lines_.push_back({Line::Cast, 0, dtype, 0, {}, {from}});
  return made(dtype);
}

std::string Program::Words::add(int64_t number) {
  literals.push_back(number);
  return "$" + std::to_string(literals.size() - 1);
}
std::string Program::Words::add(const Dims& numbers) {
  std::string out;
  for (const int64_t n : numbers) out += (out.empty() ? "" : ",") + add(n);
  return out;
}
/// Code depends on whether the last step is 0 or 1.
std::string Program::Words::steps(const Dims& steps) {
  const int64_t last = steps.back();
  if (last != 0 && last != 1) return add(steps);
  const std::string before = add(Dims(steps.begin(), steps.end() - 1));
  return before + (before.empty() ? "" : ",") + std::to_string(last);
}

std::string Program::text(const Line& line, Words& words) const {
  const Access access = line.kind == Line::Load || line.kind == Line::Store ? accesses_[line.access] : Access();
  std::string out;
  if (line.kind == Line::Load) out = "load " + std::to_string(access.arg) + " " + sdk::dtype_name(access.dtype) + " " + words.steps(access.steps);
  else if (line.kind == Line::Store) out = "store " + std::to_string(access.arg) + " " + std::to_string(access.value) + " " + words.steps(access.steps);
  else if (line.kind == Line::Constant) out = "const " + sdk::dtype_name(line.dtype) + " " + number(line.dtype, line.number);
  else out = line.kind == Line::Cast ? "cast " + sdk::dtype_name(line.dtype) : std::string(to_text(line.operation));
  for (const Id id : line.operands) out += " " + std::to_string(id);
  return out;
}

/// Dims of size 1 go; neighbours that every operand walks as one become one.
void Program::merge_dims() {
  Dims dims;
  std::vector<Dims> steps(accesses_.size());
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d] == 1) continue;
    bool joins = !dims.empty();
    for (size_t a = 0; a < accesses_.size() && joins; ++a) joins = steps[a].back() == accesses_[a].steps[d] * dims_[d];
    if (joins) dims.back() *= dims_[d];
    else dims.push_back(dims_[d]);
    for (size_t a = 0; a < accesses_.size(); ++a) {
      if (joins) steps[a].back() = accesses_[a].steps[d];
      else steps[a].push_back(accesses_[a].steps[d]);
    }
  }
  if (dims.empty()) dims = {1}, steps.assign(accesses_.size(), {1});
  dims_ = dims;
  for (size_t a = 0; a < accesses_.size(); ++a) accesses_[a].steps = steps[a];
}

RowWords row_words(std::string_view expression) {
  const std::string_view head = expression.substr(0, expression.find(';'));  // as finish() writes it: mode, split, chunk, dims
  const auto word = [](std::string_view name) { return static_cast<uint32_t>(std::strtoul(std::string(name).c_str(), nullptr, 10)); };
  return {word(head.substr(head.rfind('$') + 1)), word(head.substr(head.find('$', head.find('$') + 1) + 1))};
}

Op Program::finish(const Target& target) {
  if (count(dims_) == 0) {
    Op nothing;
    nothing.units = 0;
    return nothing;
  }
  merge_dims();
  const size_t last = dims_.size() - 1;
  size_t split = last;
  int64_t inside = dims_[last], units = 1;
  while (split > 0 && inside * dims_[split - 1] <= kUnit) inside *= dims_[--split];
  const int64_t chunk = split == last && dims_[last] > 2 * kUnit ? kUnit / target.vector_width * target.vector_width : 0;
  for (size_t d = 0; d < split; ++d) units *= dims_[d];
  if (chunk) units *= (dims_[last] + chunk - 1) / chunk;

  Words words{{static_cast<int64_t>(args_.size())}};
  std::string text = strict_ ? "strict " : "loop ";
  text += words.add(static_cast<int64_t>(split)) + " " + words.add(chunk) + " ";
  text += words.add(dims_);
  for (const Line& line : lines_) text += "; " + this->text(line, words);
  Op op;
  op.kernel = {k::Elementwise{.operands = words.literals[0]}, text};
  op.kernel.literals = words.literals;
  op.args = args_;
  op.units = units;
  op.work = count(dims_) * static_cast<int64_t>(types_.size()) * work::kComputed;
  return op;
}

Dims row_major(const Dims& dims) {
  Dims steps(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) steps[d - 1] = steps[d] * dims[d];
  return steps;
}

Dims broadcast_steps(const Dims& dims, const Dims& space) {
  const Dims own = row_major(dims);
  Dims steps(space.size(), 0);
  for (size_t d = 0; d < dims.size() && d < space.size(); ++d) {
    const size_t from = dims.size() - 1 - d, to = space.size() - 1 - d;
    steps[to] = dims[from] == 1 ? 0 : own[from];
  }
  return steps;
}

}  // namespace optima::llvm_cpu
