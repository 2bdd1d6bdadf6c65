// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see specialise.hpp. Steps: load lazily, wrap, keep what is reached, retarget, optimise, emit, look.
#include "plugins/llvm_cpu/codegen/specialise.hpp"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include <memory>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/bitcode.hpp"
#include "plugins/llvm_cpu/codegen/expression.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"

namespace optima::llvm_cpu {
namespace {

[[noreturn]] void fail(const KernelSpec& spec, const std::string& why) {
  throw sdk::Error(OPTIMA_INTERNAL, "kernel " + to_text(spec) + ": " + why);
}

/// Warnings say that a loop marked UNROLL has a trip count of the run, which is fine.
struct ErrorsOnly : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& d) override { return d.getSeverity() != llvm::DS_Error; }
};

std::string message(llvm::Error error) { return llvm::toString(std::move(error)); }

/// The template with room for the literals. Those that an expression names follow its own.
llvm::Function* template_of(llvm::Module& m, const KernelSpec& spec) {
  llvm::Function* f = m.getFunction(spec.entry);
  if (!f) fail(spec, "there is no such template");
  const uint64_t given = spec.literals.size() * sizeof(int64_t), wanted = f->arg_empty() ? 0 : f->getArg(0)->getDereferenceableBytes();
  if (given != wanted && (spec.expression.empty() || given < wanted))
    fail(spec, "literals of " + std::to_string(given) + " bytes given, wanted " + std::to_string(wanted));
  for (size_t i = 0; i < spec.slots.size(); ++i)
    if (spec.slots[i] >= spec.literals.size() || (i && spec.slots[i] <= spec.slots[i - 1])) fail(spec, "slots must rise and name literals");
  return f;
}

/// What templates know of a general kernel at once: HINT and IS_SLOT in kernels/parts/vec.hpp.
void define_slots(llvm::Module& m, const KernelSpec& spec) {
  std::vector<uint64_t> made_for(spec.literals.begin(), spec.literals.end()), is_slot(spec.literals.size(), 0);
  for (const uint32_t slot : spec.slots) is_slot[slot] = 1;
  for (const auto& [name, words] : {std::pair("k_made_for", &made_for), std::pair("k_is_slot", &is_slot)}) {
    llvm::Constant* all = llvm::ConstantDataArray::get(m.getContext(), *words);
    auto* own = new llvm::GlobalVariable(m, all->getType(), true, llvm::GlobalValue::PrivateLinkage, all, std::string(name) + ".words");
    own->setAlignment(llvm::Align(alignof(int64_t)));
    if (llvm::GlobalVariable* declared = m.getGlobalVariable(name)) declared->replaceAllUsesWith(own);
  }
}

/// The literals on the stack, slots from the row by args[-1]: optimisation makes them numbers in registers.
llvm::Value* literals_of_run(llvm::IRBuilder<>& b, const KernelSpec& spec, llvm::Value* args) {
  llvm::Type *word = b.getInt64Ty(), *pointer = b.getPtrTy();
  llvm::Value* literals = b.CreateAlloca(llvm::ArrayType::get(word, spec.literals.size()));
  llvm::Value* row = b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, args, uint64_t(-1)));
  size_t slot = 0;
  for (size_t i = 0; i < spec.literals.size(); ++i) {
    const bool is_slot = slot < spec.slots.size() && spec.slots[slot] == i;
    llvm::Value* value = b.getInt64(uint64_t(spec.literals[i]));
    if (is_slot) value = b.CreateLoad(word, b.CreateConstInBoundsGEP1_64(word, row, slot++));
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(word, literals, i));
  }
  return literals;
}

/// Adds `kernel`, which calls the template with a constant of its literals: optimisation reads it away.
void wrap(llvm::Module& m, const KernelSpec& spec) {
  llvm::Function* f = template_of(m, spec);
  if (!spec.slots.empty()) define_slots(m, spec);
  llvm::LLVMContext& ctx = m.getContext();
  const std::vector<llvm::Type*> params(f->getFunctionType()->param_begin() + 1, f->getFunctionType()->param_end());
  const std::vector<uint64_t> bits(spec.literals.begin(), spec.literals.end());
  llvm::Constant* words = llvm::ConstantDataArray::get(ctx, bits);
  auto* literals = new llvm::GlobalVariable(m, words->getType(), true, llvm::GlobalValue::PrivateLinkage, words, "literals");
  literals->setAlignment(llvm::Align(alignof(int64_t)));
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(ctx), params, false),
                                        llvm::Function::ExternalLinkage, "kernel", m);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(ctx, "", kernel));
  std::vector<llvm::Value*> values{spec.slots.empty() ? literals : literals_of_run(b, spec, kernel->getArg(0))};
  for (llvm::Argument& a : kernel->args()) values.push_back(&a);
  b.CreateCall(f, values);
  b.CreateRetVoid();
  kernel->addFnAttr(llvm::Attribute::NoUnwind);
}

/// Reads the bodies that the roots reach and drops the rest: most of the module is other kernels.
void materialise(llvm::Module& m, const KernelSpec& spec) {
  std::vector<llvm::Function*> todo{m.getFunction("kernel")};
  if (llvm::Function* e = m.getFunction("k_expression"); e && !e->isDeclaration()) todo.push_back(e);
  std::vector<llvm::Function*> seen;
  while (!todo.empty()) {
    llvm::Function* fn = todo.back();
    todo.pop_back();
    if (std::find(seen.begin(), seen.end(), fn) != seen.end()) continue;
    seen.push_back(fn);
    if (auto error = fn->materialize()) fail(spec, message(std::move(error)));
    for (llvm::BasicBlock& block : *fn)
      for (llvm::Instruction& i : block)
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i))
          if (llvm::Function* callee = call->getCalledFunction()) todo.push_back(callee);
  }
  for (llvm::Function& fn : llvm::make_early_inc_range(m))
    if (fn.isMaterializable()) fn.deleteBody(), fn.setLinkage(llvm::GlobalValue::ExternalLinkage), fn.setComdat(nullptr);
  if (auto error = m.materializeAll()) fail(spec, message(std::move(error)));
  std::string why;
  llvm::raw_string_ostream os(why);
  if (llvm::verifyModule(m, &os)) fail(spec, why);
}

/// Hides everything but `kernel` and replaces the build machine's target attributes by the wanted CPU's. Of what is kept only: attributes
/// of a thousand templates take longer than a small kernel.
void retarget(llvm::Module& m, const Target& target) {
  for (llvm::Function& fn : m) {
    if (fn.isDeclaration()) continue;
    if (fn.getName() != "kernel") fn.setLinkage(llvm::GlobalValue::InternalLinkage), fn.setComdat(nullptr);
    for (const char* name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width", "prefer-vector-width"})
      fn.removeFnAttr(name);
    fn.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty()) fn.addFnAttr("target-features", target.features);
    if (target.vector_width == 16) {
      fn.addFnAttr("min-legal-vector-width", "512");
      fn.addFnAttr("prefer-vector-width", "512");
    }
  }
}

void optimise(llvm::Module& m, llvm::TargetMachine& machine) {
  llvm::PassBuilder pb(&machine);
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cam;
  llvm::ModuleAnalysisManager mam;
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cam, mam);
  llvm::ModulePassManager pm;
  pm.addPass(llvm::GlobalDCEPass());
  pm.addPass(pb.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3));
  pm.run(m, mam);
}

/// The passes of TargetMachine::addPassesToEmitFile(), without the scheduler where the template's order stays. True when the target cannot.
bool add_passes(llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& os, llvm::TargetMachine& machine, Order order) {
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);  // as all that generate code are
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  if (order == Order::AsWritten) config->disablePass(&llvm::MachineSchedulerID);
  passes.add(config);
  auto* module_info = new llvm::MachineModuleInfoWrapperPass(&target);
  passes.add(module_info);
  if (config->addISelPasses()) return true;
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile, module_info->getMMI().getContext())) return true;
  passes.add(llvm::createFreeMachineFunctionPass());
  return false;
}

std::string emit(llvm::Module& m, llvm::TargetMachine& machine, const KernelSpec& spec, Order order) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (add_passes(passes, os, machine, order)) fail(spec, "the target cannot write object files");
  passes.run(m);
  return {bytes.begin(), bytes.end()};
}

/// A kernel runs without a C library of its own: anything but these three is a mistake in a template.
void check_undefined(const std::string& object, const KernelSpec& spec) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) fail(spec, message(file.takeError()));
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) fail(spec, "unreadable symbol table");
    if (*flags & llvm::object::SymbolRef::SF_Undefined && !name->empty() && *name != "memcpy" && *name != "memmove" &&
        *name != "memset")
      fail(spec, "needs the function " + name->str() + ", which kernels do not have");
  }
}

}  // namespace

std::string to_text(const KernelSpec& spec) {
  std::string out = spec.entry + "(";
  auto slot = spec.slots.begin();
  for (size_t i = 0; i < spec.literals.size(); ++i) {
    const bool is_slot = slot != spec.slots.end() && *slot == i;
    out += (i ? "," : "") + std::string(is_slot ? "?" : "") + (is_slot && !spec.literals[i] ? "" : std::to_string(spec.literals[i]));
    if (is_slot) ++slot;
  }
  return out + ")" + (spec.expression.empty() ? "" : " " + spec.expression);
}

std::string specialise(const KernelSpec& spec, const Target& target, Order order) {
  const llvm::Triple triple(target.triple);
  const std::string_view bitcode = kernel_bitcode(llvm::Triple::getArchTypeName(triple.getArch()).str(), target.vector_width, !spec.slots.empty());
  if (bitcode.empty()) fail(spec, "no bitcode for " + target.triple + " with " + std::to_string(target.vector_width) + " floats per vector");
  llvm::LLVMContext ctx;
  ctx.setDiagnosticHandler(std::make_unique<ErrorsOnly>());
  auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef({bitcode.data(), bitcode.size()}, "kernels"), ctx);
  if (!module) fail(spec, message(module.takeError()));
  llvm::Module& m = **module;
  m.setTargetTriple(target.triple);
  const auto machine = target_machine(target);
  m.setDataLayout(machine->createDataLayout());
  wrap(m, spec);
  if (!spec.expression.empty()) define_expression(m, spec);
  materialise(m, spec);
  retarget(m, target);
  optimise(m, *machine);
  std::string object = emit(m, *machine, spec, order);
  check_undefined(object, spec);
  return object;
}

}  // namespace optima::llvm_cpu
