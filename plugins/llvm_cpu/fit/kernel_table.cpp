// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see kernel_table.hpp.
#include "plugins/llvm_cpu/fit/kernel_table.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/plan/bytes.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr std::string_view kMagic("OptimaLlvmFit\0\0\3", 16);

template <class Io, class F>
void visit(Io& io, F& file) {
  auto& t = file.target;
  io.text(t.triple), io.text(t.cpu), io.text(t.features);
  io.number(t.vector_width), io.number(t.registers), io.number(t.bf16), io.number(t.threads), io.number(t.dot);
  io.number(t.amx), io.number(t.permutes_bytes), io.number(t.rounds_to_bytes);
  io.list(file.features, [&](auto& f) { io.text(f); });
  io.number(file.winograd);
  io.list(file.kernels, [&](auto& k) {
    io.text(k.spec.entry), io.text(k.spec.expression), io.text(k.file);
    io.list(k.spec.literals, [&](auto& n) { io.number(n); });
    io.list(k.spec.slots, [&](auto& n) { io.number(n); });
  });
  const auto shapes = [&](auto& all) { io.list(all, [&](auto& dims) { io.list(dims, [&](auto& d) { io.number(d); }); }); };
  shapes(file.first), io.list(file.also, shapes);
}

/// A byte that is no bool would be undefined behaviour to look at.
void check_flag(const bool& flag) {
  unsigned char byte;
  std::memcpy(&byte, &flag, 1);
  if (byte > 1) corrupt_plan("a flag is " + std::to_string(byte));
}

void check_shapes(const std::vector<std::vector<int64_t>>& shapes) {
  for (const std::vector<int64_t>& dims : shapes)
    for (const int64_t d : dims)
      if (d < 0 || d > INT32_MAX) corrupt_plan("an input's dim is " + std::to_string(d));
}

void check(const FitFile& file) {
  const Target& t = file.target;
  check_flag(t.amx), check_flag(t.permutes_bytes), check_flag(t.rounds_to_bytes), check_flag(file.winograd);
  if (t.vector_width != 4 && t.vector_width != 8 && t.vector_width != 16) corrupt_plan("vectors of " + std::to_string(t.vector_width) + " floats");
  if (t.registers < 8 || t.registers > 64) corrupt_plan(std::to_string(t.registers) + " registers");
  if (t.bf16 > Bf16::Tiles || t.dot < k::Dot::Pairs || t.dot > k::Dot::Widened || t.threads < 1) corrupt_plan("the target is none");
  for (const FitFile::Kernel& kernel : file.kernels) {
    check_kernel_name(kernel.file);
    uint32_t next = 0;
    for (const uint32_t slot : kernel.spec.slots) {
      if (slot < next || slot >= kernel.spec.literals.size()) corrupt_plan("kernel " + kernel.file + " has slot " + std::to_string(slot));
      next = slot + 1;
    }
  }
  check_shapes(file.first);
  if (file.also.size() > kMostAlso) corrupt_plan(std::to_string(file.also.size()) + " further sets of sizes to plan first");
  for (const auto& shapes : file.also) check_shapes(shapes);
}

}  // namespace

bool is_fit_file(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

std::string to_bytes(const FitFile& file) {
  Writer w;
  w.bytes = kMagic;
  visit(w, file);
  return std::move(w.bytes);
}

FitFile parse_fit_file(std::string_view bytes) {
  if (!is_fit_file(bytes)) corrupt_plan("not a file of kernels for sizes that come at run time");
  Reader r(bytes.substr(kMagic.size()));
  FitFile file;
  visit(r, file);
  if (!r.at_end()) corrupt_plan("bytes after the end");
  check(file);
  return file;
}

KernelTable::KernelTable(const std::vector<FitFile::Kernel>& kernels) : kernels_(kernels) {
  for (uint32_t k = 0; k < kernels.size(); ++k) by_entry_[kernels[k].spec.entry].push_back(k);
  for (auto& [entry, all] : by_entry_)
    std::stable_sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return kernels[a].spec.slots.size() < kernels[b].spec.slots.size(); });
}

std::optional<uint32_t> KernelTable::find(const KernelSpec& spec) const {
  const auto at = by_entry_.find(spec.entry);
  if (at == by_entry_.end()) return std::nullopt;
  std::optional<uint32_t> found;
  for (const uint32_t k : at->second) {
    const KernelSpec& kernel = kernels_[k].spec;
    if (found && kernel.slots.size() > kernels_[*found].spec.slots.size()) break;
    if (!matches(kernel, spec)) continue;
    if (suits(kernel, spec)) return k;
    if (!found || (!covers(kernels_[*found].spec, spec) && covers(kernel, spec))) found = k;
  }
  return found;
}

}  // namespace optima::llvm_cpu
