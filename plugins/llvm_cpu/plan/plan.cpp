// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/plan: the .meta file: magic, then little-endian fields in the order of the structs, strings and lists with a
// u32 count in front. Format 1; anything else is refused.
#include "plugins/llvm_cpu/plan/plan.hpp"

#include <algorithm>

#include "optima/abi.h"
#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/plan/bytes.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr std::string_view kMagic = "OptimaLlvmCpu\0\0\1";
constexpr uint64_t kMost = uint64_t{1} << 46;  // no size is larger: sums cannot overflow
constexpr int64_t kMostPieces = int64_t{1} << 40;  // of a step

template <class Io, class P>
void visit_pack(Io& io, P& p) {
  io.number(p.kind), io.number(p.source);
  for (auto* v : {&p.vector_width, &p.oc_blocks, &p.in_block, &p.tile, &p.groups, &p.diagonal, &p.oc, &p.ic, &p.kd, &p.kh, &p.kw,
                  &p.offset, &p.group_stride, &p.diagonal_stride, &p.oc_stride, &p.ic_stride, &p.kd_stride, &p.kh_stride, &p.kw_stride})
    io.number(*v);
}

template <class Io, class P>
void visit(Io& io, P& plan) {
  const auto tensor = [&](auto& t) {
    io.text(t.name), io.number(t.dtype), io.number(t.bytes);
    io.list(t.dims, [&](auto& d) { io.number(d); });
  };
  io.text(plan.triple), io.text(plan.cpu);
  io.list(plan.features, [&](auto& f) { io.text(f); });
  io.number(plan.arena_bytes), io.number(plan.scratch_bytes);
  io.list(plan.inputs, tensor), io.list(plan.outputs, tensor);
  io.list(plan.kernels, [&](auto& k) { io.text(k); });
  io.list(plan.constants, [&](auto& c) {
    io.text(c.weight), io.number(c.offset), io.number(c.size), visit_pack(io, c.pack), io.number(c.scale), io.number(c.packed_bytes);
  });
  io.list(plan.steps, [&](auto& s) {
    io.number(s.kernel), io.number(s.units), io.number(s.turns), io.number(s.slices), io.number(s.work), io.number(s.grain);
    io.list(s.args, [&](auto& a) { io.number(a.kind), io.number(a.index), io.number(a.offset); });
    io.list(s.node_ids, [&](auto& n) { io.number(n); });
    io.text(s.label);
  });
}

void check_tensor(const Plan::Tensor& t) {
  const uint64_t bits = optima_dtype_bits(t.dtype);
  if (bits < 8 && bits != 4) corrupt_plan("tensor " + t.name + " has dtype " + std::to_string(t.dtype));
  uint64_t all = bits;
  for (const int64_t d : t.dims) {
    if (d < 0 || (d && all > 8 * kMost / static_cast<uint64_t>(d))) corrupt_plan("tensor " + t.name + " has dim " + std::to_string(d));
    all *= static_cast<uint64_t>(d);
  }
  const uint64_t bytes = (all + 7) / 8;
  if (bytes != t.bytes && bytes + kSlack != t.bytes) corrupt_plan("tensor " + t.name + " says " + std::to_string(t.bytes) + " bytes, its shape " + std::to_string(bytes));
}

void check_constant(const Plan& plan, const Plan::Constant& c) {
  if (c.offset > kMost || c.size > kMost || c.packed_bytes > kMost) corrupt_plan("a constant's size is out of range");
  if (c.scale != UINT32_MAX) {
    if (c.scale >= plan.constants.size()) corrupt_plan("scale constant " + std::to_string(c.scale) + " does not exist");
    const Plan::Constant& scale = plan.constants[c.scale];
    if (scale.pack.kind != Pack::None || scale.pack.source != Pack::F32 || scale.scale != UINT32_MAX) corrupt_plan("a scale constant is itself packed");
    if (c.pack.kind == Pack::None) corrupt_plan("an unpacked constant has a scale");
  }
  check_pack(c.pack, c.size, c.scale == UINT32_MAX ? UINT64_MAX : plan.constants[c.scale].size, c.packed_bytes);
}

void check_arg(const Plan& plan, const Plan::Arg& a) {
  const auto within = [&](uint64_t size) {
    if (a.offset > size) corrupt_plan("operand offset " + std::to_string(a.offset) + " is past " + std::to_string(size));
  };
  switch (a.kind) {
    case Plan::Arg::Null: return;
    case Plan::Arg::Arena: return within(plan.arena_bytes);
    case Plan::Arg::Input:
      if (a.index >= plan.inputs.size()) corrupt_plan("input " + std::to_string(a.index) + " does not exist");
      return within(plan.inputs[a.index].bytes);
    case Plan::Arg::Output:
      if (a.index >= plan.outputs.size()) corrupt_plan("output " + std::to_string(a.index) + " does not exist");
      return within(plan.outputs[a.index].bytes);
    case Plan::Arg::Constant:
      if (a.index >= plan.constants.size()) corrupt_plan("constant " + std::to_string(a.index) + " does not exist");
      return within(plan.constants[a.index].packed_bytes);
  }
  corrupt_plan("operand kind " + std::to_string(a.kind));
}

void check(const Plan& plan) {
  if (plan.arena_bytes > kMost || plan.scratch_bytes > kMost) corrupt_plan("memory size is out of range");
  for (const Plan::Tensor& t : plan.inputs) check_tensor(t);
  for (const Plan::Tensor& t : plan.outputs) check_tensor(t);
  for (const std::string& k : plan.kernels) check_kernel_name(k);
  for (const Plan::Constant& c : plan.constants) check_constant(plan, c);
  for (const Plan::Step& s : plan.steps) {
    if (s.kernel >= plan.kernels.size()) corrupt_plan("kernel " + std::to_string(s.kernel) + " does not exist");
    if (s.units < 1 || s.units > kMostPieces) corrupt_plan("step with " + std::to_string(s.units) + " units");
    if (s.turns < 1 || s.slices < 1 || s.turns > kMostPieces || s.slices > kMostPieces / s.turns || s.units > kMostPieces / (s.turns * s.slices))
      corrupt_plan("step with " + std::to_string(s.turns) + " turns of " + std::to_string(s.slices) + " slices");
    if (s.work < 0 || s.grain < 1) corrupt_plan("step with work " + std::to_string(s.work) + " and grain " + std::to_string(s.grain));
    for (const Plan::Arg& a : s.args) check_arg(plan, a);
  }
}

}  // namespace

void check_kernel_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  if (name.size() < 4 || name.size() > 100 || !plain || name.front() == '.' || name.substr(name.size() - 3) != ".so")
    corrupt_plan("\"" + name + "\" is no name of a kernel file");
}

uint64_t Plan::Tensor::dense_bytes() const {
  uint64_t bits = optima_dtype_bits(dtype);
  for (const int64_t d : dims) bits *= static_cast<uint64_t>(d);
  return (bits + 7) / 8;
}

std::string key_of(const Pack& pack) {
  Writer w;
  visit_pack(w, pack);
  return std::move(w.bytes);
}

std::string to_bytes(const Plan& plan) {
  Writer w;
  w.bytes = kMagic;
  visit(w, plan);
  return std::move(w.bytes);
}

Plan parse_plan(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) corrupt_plan("not a plan of format 1");
  Reader r(bytes.substr(kMagic.size()));
  Plan plan;
  visit(r, plan);
  if (!r.at_end()) corrupt_plan("bytes after the end");
  check(plan);
  return plan;
}

}  // namespace optima::llvm_cpu
