// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see codes.hpp.
#include "plugins/llvm_cpu/lower/parts/codes.hpp"

#include <algorithm>
#include <cmath>

#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

bool is_scalable(k::Act act) { return act == k::Act::None || act == k::Act::Relu || act == k::Act::Leaky || act == k::Act::Clip; }

/// How the pixels of an operand follow those of the result.
struct Reach {
  bool fits = false, is_vector = false;  ///< is_vector: one number per channel, or one for all, that are known here
  int64_t per = 1;
};

/// Numbers that are known here, one per channel or one for all.
bool is_channel_vector(const GraphView& g, uint32_t value, const Dims& dims, size_t axis, const Dims& result) {
  if (!g.floats(value)) return false;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1 && d + result.size() - dims.size() != axis) return false;
  return true;
}

Reach reach_of(const Unit& u, const UnitInput& other, Layout layout) {
  const GraphView& g = u.op.graph;
  const Dims result = g.dims(u.out), dims = g.dims(stored_value(other));
  const size_t axis = layout == Layout::Last ? 1 : result.size() - 1;
  if (is_channel_vector(g, other.value, dims, axis, result)) return {true, true, int64_t{1} << 40};
  if (other.codes ? !is_simple(other.codes) : g.dtype(other.value) != OPTIMA_F32) return {};
  if (dims == result) return {true, false, 1};
  const int64_t channels = result[axis], pixels = count(result) / channels;
  if (layout == Layout::Plain) return {count(dims) == channels && !dims.empty() && dims.back() == channels, false, pixels};
  const bool gate = dims.size() == result.size() && dims[1] == channels && count(dims) == dims[0] * channels;
  return {gate, false, gate && dims[0] == result[0] ? pixels / result[0] : pixels};
}

std::pair<float, float> range_of(int32_t dtype) { return dtype == OPTIMA_U8 ? std::pair{0.f, 255.f} : std::pair{-128.f, 127.f}; }

/// Writes the steps one after the other.
class Tail {
 public:
  Tail(const Unit& unit, Layout layout, LowerContext& ctx) : unit_(unit), layout_(layout), ctx_(ctx) {}

  CodesEnd run() {
    out_.divisor = first_scale();
    scaled_ = out_.divisor != 1;
    for (const UnitStep& s : unit_.tail) {
      if (s.kind == UnitStep::Activate) activate(s.act);
      else if (s.kind == UnitStep::Requantize) requantize(s.codes);
      else join(s);
    }
    end();
    return std::move(out_);
  }

 private:
  /// Of the first quantization, when nothing before it minds that values are divided by it.
  float first_scale() const {
    for (const UnitStep& s : unit_.tail) {
      if (s.kind == UnitStep::Requantize) return s.codes.scale[0];
      if (s.kind != UnitStep::Activate || !is_scalable(s.act.kind)) return 1;
    }
    return unit_.output ? unit_.output->scale[0] : 1;
  }

  k::CodesStep& add(k::StepKind kind, std::array<float, 4> numbers) {
    k::CodesStep& step = out_.literals.at[out_.literals.steps++];
    step = {kind, k::Act::None, k::Stored::Floats, 1, 0, 0};
    out_.numbers.insert(out_.numbers.end(), numbers.begin(), numbers.end());
    out_.operands.push_back(LowerContext::null());
    return step;
  }

  void activate(const k::Activation& act) {
    float lo = static_cast<float>(act.lo), hi = static_cast<float>(act.hi);
    if (scaled_ && act.kind == k::Act::Clip) lo /= out_.divisor, hi /= out_.divisor;
    add(k::StepKind::Activate, {lo, hi, 0, 0}).act = act.kind;
  }

  /// Limits of a quantization, narrowed by a limit that stands right before it, which goes.
  std::pair<float, float> limits(const Codes& codes) {
    auto [lo, hi] = range_of(codes.dtype);
    const float zero = static_cast<float>(codes.zero[0]);
    lo -= zero, hi -= zero;
    if (out_.literals.steps == 0) return {lo, hi};
    const k::CodesStep& last = out_.literals.at[out_.literals.steps - 1];
    if (last.kind != k::StepKind::Activate || (last.act != k::Act::Relu && last.act != k::Act::Clip)) return {lo, hi};
    const float* numbers = &out_.numbers[out_.numbers.size() - k::kStepNumbers];
    const float by = scaled_ ? 1 : codes.scale[0];
    lo = std::max(lo, last.act == k::Act::Relu ? 0 : std::nearbyint(numbers[0] / by));
    if (last.act == k::Act::Clip) hi = std::min(hi, std::nearbyint(numbers[1] / by));
    --out_.literals.steps;
    out_.numbers.resize(out_.numbers.size() - k::kStepNumbers);
    out_.operands.pop_back();
    return {lo, hi};
  }

  void requantize(const Codes& codes) {
    const auto [lo, hi] = limits(codes);
    add(k::StepKind::Requantize, {codes.scale[0], 1 / codes.scale[0], lo, hi}).in_steps = scaled_;
    scaled_ = false;
  }

  void join(const UnitStep& s) {
    const Reach reach = reach_of(unit_, s.other, layout_);
    const Dims result = unit_.op.graph.dims(unit_.out);
    const int64_t channels = layout_ == Layout::Last ? result[1] : result.back();
    std::array<float, 4> numbers{};
    std::optional<Codes> codes = reach.is_vector ? std::nullopt : s.other.codes;
    if (codes && layout_ == Layout::Last) codes = as_last(*codes, ctx_.target());
    if (codes) numbers = {codes->scale[0], static_cast<float>(codes->zero[0]), 0, 0};
    k::CodesStep& step = add(s.kind == UnitStep::Add ? k::StepKind::Add : k::StepKind::Mul, numbers);
    step.per = reach.per;
    if (reach.is_vector) {
      std::vector<float> all = *unit_.op.graph.floats(s.other.value);
      if (all.size() == 1) all.assign(static_cast<size_t>(channels), all[0]);
      out_.operands.back() = ctx_.bytes(raw_bytes(all));
      return;
    }
    const uint32_t value = stored_value(s.other);
    if (codes) step.stored = codes->dtype == OPTIMA_U8 ? k::Stored::Unsigned : k::Stored::Signed;
    step.pixel = layout_ == Layout::Last ? ctx_.pixel(value) : channels;
    out_.operands.back() = ctx_.read(value, layout_);
  }

  void end() {
    if (!unit_.output) {
      out_.literals.stored = k::Stored::Floats;
      return;
    }
    const Codes codes = layout_ == Layout::Last ? as_last(*unit_.output, ctx_.target()) : *unit_.output;
    const auto [lo, hi] = limits(codes);
    out_.literals.stored = codes.dtype == OPTIMA_U8 ? k::Stored::Unsigned : k::Stored::Signed;
    out_.literals.in_steps = scaled_;
    const auto [least, most] = range_of(codes.dtype);
    const float zero = static_cast<float>(codes.zero[0]);
    out_.natural = scaled_ && out_.literals.steps == 0 && lo + zero == least && hi + zero == most;
    for (const float v : {codes.scale[0], 1 / codes.scale[0], lo, hi, static_cast<float>(codes.zero[0]), 0.f, 0.f, 0.f}) out_.numbers.push_back(v);
  }

  const Unit& unit_;
  Layout layout_;
  LowerContext& ctx_;
  CodesEnd out_;
  bool scaled_ = false;
};

}  // namespace

bool is_byte_scalar(const std::optional<Codes>& codes) {
  return codes && codes->is_scalar() && (codes->dtype == OPTIMA_U8 || codes->dtype == OPTIMA_I8);
}

bool is_simple(const std::optional<Codes>& codes) { return is_byte_scalar(codes) && codes->scale[0] > 0x1p-60f && codes->scale[0] < 0x1p60f; }

bool have_inverses(const std::vector<float>& scales) {
  return std::all_of(scales.begin(), scales.end(), [](float s) { return s > 1e-30f && s < 1e30f; });
}

uint32_t stored_value(const UnitInput& input) { return input.codes ? input.codes->value : input.value; }

bool takes_tail(const Unit& u, Layout layout) {
  if (u.tail.size() > k::kMostSteps || (u.output && !is_simple(u.output))) return false;
  if (!u.output && u.op.graph.dtype(u.out) != OPTIMA_F32) return false;
  return std::all_of(u.tail.begin(), u.tail.end(), [&](const UnitStep& s) {
    if (s.kind == UnitStep::Activate) return true;
    return s.kind == UnitStep::Requantize ? is_simple(s.codes) : reach_of(u, s.other, layout).fits;
  });
}

CodesEnd lower_tail(const Unit& unit, Layout layout, LowerContext& ctx) { return Tail(unit, layout, ctx).run(); }

}  // namespace optima::llvm_cpu
