// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see spill_guard.hpp.
#include "plugins/llvm_cpu/codegen/spill_guard.hpp"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"

namespace optima::llvm_cpu {
namespace {

struct Line {
  uint64_t address, target;  // target: of a branch, else 0
  bool multiply_add, stack;
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// LLVM's disassembler of one architecture.
class Reader {
 public:
  explicit Reader(const Target& t) : triple_(t.triple) {
    target_machine(t);  // registers the targets
    std::string why;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(t.triple, why);
    if (!target) throw sdk::Error(OPTIMA_INTERNAL, why);
    registers_.reset(target->createMCRegInfo(t.triple));
    assembly_.reset(target->createMCAsmInfo(*registers_, t.triple, llvm::MCTargetOptions()));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(t.triple, t.cpu, t.features));
    context_ = std::make_unique<llvm::MCContext>(triple_, assembly_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    analysis_.reset(target->createMCInstrAnalysis(instructions_.get()));
    printer_.reset(target->createMCInstPrinter(triple_, assembly_->getAssemblerDialect(), *assembly_, *instructions_, *registers_));
  }

  std::vector<Line> lines(llvm::StringRef code) const {
    std::vector<Line> out;
    const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(code.data()), code.size());
    for (uint64_t at = 0; at < bytes.size();) {
      llvm::MCInst inst;
      uint64_t size = 0;
      if (disassembler_->getInstruction(inst, size, bytes.slice(at), at, llvm::nulls()) != llvm::MCDisassembler::Success) {
        at += std::max<uint64_t>(size, 1);
        continue;
      }
      uint64_t target = 0;
      if (analysis_->isBranch(inst) && !analysis_->evaluateBranch(inst, at, size, target)) target = 0;
      std::string text;
      llvm::raw_string_ostream os(text);
      printer_->printInst(&inst, at, "", *subtarget_, os);
      out.push_back({at, target, is_multiply_add(text), is_stack(text)});
      at += size;
    }
    return out;
  }

 private:
  static bool is_multiply_add(const std::string& text) {
    return (contains(text, "vfmadd") || contains(text, "vfnmadd") || contains(text, "vfmsub") || contains(text, "fmla") ||
            contains(text, "fmls") || contains(text, "vpdpbusd") || contains(text, "vpmaddwd") || contains(text, "sdot") ||
            contains(text, "smull")) && !contains(text, "ss\t");
  }
  static bool is_stack(const std::string& text) {
    const bool x86 = contains(text, "(%rsp") && (contains(text, "ymm") || contains(text, "zmm"));
    const bool arm = contains(text, "[sp") && contains(text, "\tq");
    return x86 || arm;
  }

  llvm::Triple triple_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

struct Loop {
  size_t first, last;  // lines, both inside
};

std::vector<Loop> innermost_loops(const std::vector<Line>& lines) {
  std::vector<Loop> all, inner;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].target || lines[i].target > lines[i].address) continue;
    const auto to = std::lower_bound(lines.begin(), lines.end(), lines[i].target,
                                     [](const Line& l, uint64_t address) { return l.address < address; });
    all.push_back({static_cast<size_t>(to - lines.begin()), i});
  }
  for (const Loop& l : all) {
    const bool outer = std::any_of(all.begin(), all.end(), [&](const Loop& o) {
      return (o.first != l.first || o.last != l.last) && l.first <= o.first && o.last <= l.last;
    });
    if (!outer) inner.push_back(l);
  }
  return inner;
}

}  // namespace

LoopReport inspect_loops(std::string_view object, const Target& target) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef({object.data(), object.size()}, "kernel"));
  if (!file) throw sdk::Error(OPTIMA_INTERNAL, llvm::toString(file.takeError()));
  const Reader reader(target);
  LoopReport worst;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (!section.isText()) continue;
    auto code = section.getContents();
    if (!code) throw sdk::Error(OPTIMA_INTERNAL, llvm::toString(code.takeError()));
    const std::vector<Line> lines = reader.lines(*code);
    for (const Loop& loop : innermost_loops(lines)) {
      LoopReport r;
      for (size_t i = loop.first; i <= loop.last; ++i) r.multiply_adds += lines[i].multiply_add, r.stack_accesses += lines[i].stack;
      const bool worse = uint64_t{r.stack_accesses} * worst.multiply_adds > uint64_t{worst.stack_accesses} * r.multiply_adds;
      if (r.multiply_adds && (!worst.multiply_adds || worse)) worst = r;
    }
  }
  return worst;
}

}  // namespace optima::llvm_cpu
