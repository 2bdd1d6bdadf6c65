// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fuzz: random nodes that check() lets through are compiled and run between pages that nobody may touch, and give
// the reference's answer.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "reference/tensor.hpp"
#include "tests/unit/llvm_cpu/session.hpp"
#include "tests/unit/llvm_cpu_fuzz/random_node.hpp"

using namespace llvm_cpu_fuzz;
namespace cpu = optima::llvm_cpu;
using llvm_cpu_test::Bench;
using llvm_cpu_test::Fenced;

namespace {

constexpr uint64_t kRounds = 3;  // of every operator

optima_tensor view(const Tensor& t, void* data) {
  optima_tensor r{};
  r.struct_size = sizeof r, r.dtype = t.dtype, r.rank = static_cast<int32_t>(t.dims.size()), r.shape = t.dims.data();
  r.data = data, r.size = t.size, r.fd = -1;
  return r;
}

/// Largest allowed difference of a result in units of the largest finite wanted number.
double tolerance(const Case& c, int32_t dtype) {
  if (dtype == OPTIMA_F16) return 2e-3;
  if (dtype == OPTIMA_BF16) return 2e-2;
  if (c.op == "LSTM" || c.op == "GRU" || c.op == "RNN" || c.op == "ConvTranspose" || c.op == "Conv" || c.conv_before) return 1e-4;
  return 2e-5;
}

/// Empty, or the first element that differs.
std::string differs(const Case& c, const Tensor& got, const Tensor& want) {
  const std::vector<double> a = optima::reference::load<double>(got), b = optima::reference::load<double>(want);
  const bool real = optima::reference::is_float(want.dtype);
  double scale = 1e-3;
  for (const double x : b) scale = std::isfinite(x) ? std::max(scale, std::fabs(x)) : scale;
  const double most = real ? tolerance(c, want.dtype) * scale : c.op == "QuantizeLinear" || c.coded ? 1 : 0;  // ties may fall to either side
  for (size_t i = 0; i < b.size(); ++i)
    if (!(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]) || std::fabs(a[i] - b[i]) <= most))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", wanted " + std::to_string(b[i]);
  return "";
}

struct Runner {
  Bench bench;

  /// Empty, or what went wrong.
  std::string run(const Case& c, const Built& b, const std::vector<Tensor>* want) {
    seam::MemorySink sink;
    seam::Status status;
    if (seam::compile(*bench.compiler, *b.model, seam::device("X64"), sink, status, {})) return "compile: " + status.message;
    const seam::Artifact artifact(sink, b.model.get());
    bench.write_files(artifact);
    const optima_runtime& rt = bench.runtime->runtime();
    const optima_option threads = llvm_cpu_test::number_option(OPTIMA_OPTION_THREADS, 2);
    const optima_device device = seam::device("X64");
    optima_program* program = nullptr;
    optima_context* context = nullptr;
    if (rt.load(bench.runtime->self, &artifact.raw, &device, &threads, 1, &program, &status.raw)) return "load: " + status.message;
    std::string wrong;
    if (rt.context_create(program, &context, &status.raw)) wrong = "context: " + status.message;
    else wrong = execute(rt, context, c, b, want);
    if (context) rt.context_destroy(context);
    rt.program_destroy(program);
    return wrong;
  }

  std::string execute(const optima_runtime& rt, optima_context* context, const Case& c, const Built& b, const std::vector<Tensor>* want) {
    std::vector<std::unique_ptr<Fenced>> fences;
    std::vector<optima_tensor> in, out;
    const auto fenced = [&](const Tensor& t) {
      fences.push_back(std::make_unique<Fenced>(t.size));
      return fences.back()->data();
    };
    for (const Tensor& t : b.inputs) {
      char* data = fenced(t);
      if (t.size) std::memcpy(data, t.data, t.size);
      in.push_back(view(t, data));
    }
    std::vector<Tensor> made;
    for (const Operand& o : c.out) {
      if (o.absent) continue;
      void* ignored = nullptr;
      made.push_back(Tensor::make(c.stored(o), o.dims, &ignored));
      char* data = fenced(made.back());
      std::memset(data, 0xFF, made.back().size);
      made.back().data = data;
    }
    for (const Tensor& t : made) out.push_back(view(t, const_cast<void*>(t.data)));
    seam::Status status;
    if (rt.execute(context, in.data(), static_cast<uint32_t>(in.size()), out.data(), static_cast<uint32_t>(out.size()), &status.raw)) return "execute: " + status.message;
    for (size_t k = 0; want && k < made.size(); ++k)
      if (const std::string d = differs(c, made[k], (*want)[k]); !d.empty()) return "output " + std::to_string(k) + ": " + d;
    return "";
  }
};

/// Whether a number a little off may give another answer altogether: of a comparison, a place, a step.
bool sorts(const Case& c) {
  for (const Operand& o : c.out)
    if (o.dtype != OPTIMA_F32) return true;
  static const std::set<std::string> steep{"TopK", "Floor", "Ceil", "Round", "Sign", "Mod", "Div", "Reciprocal", "Pow", "ThresholdedRelu", "Shrink", "Tan", "Log", "Atanh", "Acosh",
                                           "Asin", "Acos", "Sqrt", "LpNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"};
  return steep.count(c.op) > 0;
}

bool accepted(const Built& b) { return !cpu::judge({{&b.model->raw}, &b.raw()}); }

}  // namespace

TEST_CASE("random nodes of every operator on floats, between codes, give the reference's codes") {
  Runner runner;
  for (const cpu::Lowering& row : cpu::all_lowerings()) {
    if (!(row.in[0] >> OPTIMA_F32 & 1) || row.op == "QuantizeLinear") continue;
    for (uint64_t round = 0, ran = 0; ran < kRounds && round < 20 * kRounds; ++round) {
      Case c = random_case(row, 104729 * round + 3);
      c.coded = true, c.special = false;
      std::vector<Tensor> want;
      if (c.in.empty() || c.in[0].dtype != OPTIMA_F32 || !infer_outputs(c, &want)) continue;
      const Built b = build(c);
      if (!b.model->verify().empty() || !accepted(b)) continue;
      INFO(c.text());
      const std::string wrong = runner.run(c, b, sorts(c) ? nullptr : &want);
      CHECK_MESSAGE(wrong.empty(), c.text() << ": " << wrong);
      ++ran;
    }
  }
}

TEST_CASE("random nodes of every operator give the reference's answer and stay inside their tensors") {
  Runner runner;
  for (const cpu::Lowering& row : cpu::all_lowerings()) {
    uint64_t ran = 0;
    for (uint64_t round = 0; ran < kRounds && round < 40 * kRounds; ++round) {
      Case c = random_case(row, 7919 * round + 5);
      std::vector<Tensor> want;
      bool valid = infer_outputs(c, &want);
      Random random(round);
      if (round % 4 == 3) {  // damaged, and still taken: then it runs, and is right where the reference can say so
        damage(c, random);
        Case again = c;
        valid = valid && is_small(c) && infer_outputs(again, &want) && again.text() == c.text();
      } else if (!valid) {
        continue;
      }
      const Built b = build(c);
      if (!b.model->verify().empty() || !accepted(b)) continue;
      INFO(c.text());
      const std::string wrong = runner.run(c, b, valid ? &want : nullptr);
      CHECK_MESSAGE(wrong.empty(), c.text() << ": " << wrong);
      ++ran;
    }
    CHECK_MESSAGE(ran > 0, std::string(row.op) << " never ran");
  }
}
