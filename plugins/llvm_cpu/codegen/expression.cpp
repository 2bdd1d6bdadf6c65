// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see expression.hpp. The loop nest around the operations of operation.hpp.
#include "plugins/llvm_cpu/codegen/expression.hpp"

#include <llvm/IR/Module.h>

#include <functional>
#include <map>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/operation.hpp"

namespace optima::llvm_cpu {
namespace {

class Nest {
 public:
  Nest(llvm::Module& m, const Expression& e, llvm::Function* f, unsigned lanes)
      : e_(e), b_(m.getContext()), ops_(b_, m, lanes), f_(f), lanes_(lanes) {}

  void emit(size_t slots) {
    b_.SetInsertPoint(llvm::BasicBlock::Create(f_->getContext(), "", f_));
    load_row(slots);
    llvm::FastMathFlags contract;
    contract.setAllowContract(!e_.strict);
    b_.setFastMathFlags(contract);
    for (const Statement& s : e_.statements)
      if (!s.steps.empty() && !pointers_.count(s.arg))
        pointers_[s.arg] = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), f_->getArg(0), uint64_t(s.arg)));
    loop(f_->getArg(1), f_->getArg(2), 1, [&](llvm::Value* unit) { one_unit(unit); });
    b_.CreateRetVoid();
  }

 private:
  using Values = std::vector<llvm::Value*>;

  llvm::Value* number(int64_t x) { return b_.getInt64(uint64_t(x)); }
  llvm::Value* number(const Size& x) { return x.slot < 0 ? number(x.value) : row_[size_t(x.slot)]; }
  int64_t inner() const { return e_.dims.back().value; }
  bool any_cut() const { return e_.split.slot >= 0 || e_.chunk.slot >= 0 || e_.dims.back().slot >= 0; }

  /// Slots of the row that args[-1] points to.
  void load_row(size_t slots) {
    if (!slots) return;
    llvm::Value* row = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), f_->getArg(0), uint64_t(-1)));
    for (size_t i = 0; i < slots; ++i) row_.push_back(b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), row, i)));
  }

  /// for (i = from; i < to; i += step) body(i)
  void loop(llvm::Value* from, llvm::Value* to, int64_t step, const std::function<void(llvm::Value*)>& body) {
    llvm::LLVMContext& c = f_->getContext();
    auto *before = b_.GetInsertBlock(), *head = llvm::BasicBlock::Create(c, "", f_), *inside = llvm::BasicBlock::Create(c, "", f_),
         *after = llvm::BasicBlock::Create(c, "", f_);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(from, before);
    b_.CreateCondBr(b_.CreateICmpSLT(i, to), inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateNSWAdd(i, number(step)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  /// Adds index * step of dim d to every operand's offset; returns the offsets before.
  Values advance(size_t d, llvm::Value* index) {
    const Values before = offsets_;
    for (size_t s = 0; s < e_.statements.size(); ++s)
      if (!e_.statements[s].steps.empty() && !e_.statements[s].steps[d].is(0))
        offsets_[s] = b_.CreateNSWAdd(offsets_[s], b_.CreateNSWMul(index, number(e_.statements[s].steps[d])));
    return before;
  }

  void one_unit(llvm::Value* unit) {
    offsets_.assign(e_.statements.size(), number(0));
    if (any_cut()) return one_unit_of_any_cut(unit);
    llvm::Value *rest = unit, *first = number(0);
    if (chunk()) {
      const int64_t pieces = (inner() + chunk() - 1) / chunk();
      first = b_.CreateNSWMul(b_.CreateURem(rest, number(pieces)), number(chunk()));
      rest = b_.CreateUDiv(rest, number(pieces));
    }
    for (int64_t d = e_.split.value - 1; d >= 0; --d) {
      advance(size_t(d), b_.CreateURem(rest, number(e_.dims[size_t(d)])));
      rest = b_.CreateUDiv(rest, number(e_.dims[size_t(d)]));
    }
    rows(size_t(e_.split.value), first);
  }
  int64_t chunk() const { return e_.chunk.value; }

  /// Split and chunk may be anything: of every dim but the last the unit's own index, or all of them; of the last one a piece.
  void one_unit_of_any_cut(llvm::Value* unit) {
    llvm::Value *inner = number(e_.dims.back()), *zero = number(0), *one = number(1);
    llvm::Value *whole = b_.CreateICmpEQ(number(e_.chunk), zero), *piece = b_.CreateSelect(whole, inner, number(e_.chunk));
    llvm::Value* pieces = b_.CreateUDiv(b_.CreateNSWAdd(inner, b_.CreateNSWSub(piece, one)), piece);
    llvm::Value *first = b_.CreateNSWMul(b_.CreateURem(unit, pieces), piece), *rest = b_.CreateUDiv(unit, pieces);
    std::vector<Range> ranges(e_.dims.size() - 1);
    for (size_t d = ranges.size(); d-- > 0;) {
      llvm::Value *inside = b_.CreateICmpSLT(number(int64_t(d)), number(e_.split)), *dim = number(e_.dims[d]), *index = b_.CreateURem(rest, dim);
      ranges[d] = {b_.CreateSelect(inside, index, zero), b_.CreateSelect(inside, b_.CreateNSWAdd(index, one), dim)};
      rest = b_.CreateSelect(inside, b_.CreateUDiv(rest, dim), rest);
    }
    rows_between(0, ranges, first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWAdd(first, piece), inner));
  }
  struct Range {
    llvm::Value *from, *to;
  };
  void rows_between(size_t d, const std::vector<Range>& ranges, llvm::Value* first, llvm::Value* last) {
    if (d == ranges.size()) return row_between(first, last);
    loop(ranges[d].from, ranges[d].to, 1, [&](llvm::Value* i) {
      const Values before = advance(d, i);
      rows_between(d + 1, ranges, first, last);
      offsets_ = before;
    });
  }
  /// Whole vectors, then what remains under a mask.
  void row_between(llvm::Value* first, llvm::Value* last) {
    load_repeated();
    llvm::Value* full = b_.CreateNSWAdd(first, b_.CreateAnd(b_.CreateNSWSub(last, first), number(-int64_t(lanes_))));
    loop(first, full, lanes_, [&](llvm::Value* j) { body(j, lanes_); });
    some_ = b_.CreateNSWSub(last, full);
    llvm::Value* lanes = b_.CreateStepVector(llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_));
    mask_ = b_.CreateICmpSLT(lanes, b_.CreateVectorSplat(lanes_, some_));
    // a loop of at most one round: lanes that are there exist inside it
    loop(full, last, lanes_, [&](llvm::Value* j) { body(j, lanes_); });
    some_ = mask_ = nullptr;
  }

  void rows(size_t d, llvm::Value* first) {
    if (d + 1 == e_.dims.size()) return row(first);
    loop(number(0), number(e_.dims[d]), 1, [&](llvm::Value* i) {
      const Values before = advance(d, i);
      rows(d + 1, first);
      offsets_ = before;
    });
  }

  /// The last dim: whole vectors, then what remains, whose number of lanes is known here.
  void row(llvm::Value* first) {
    load_repeated();
    const int64_t full = inner() / lanes_ * lanes_, rest = inner() - full;
    llvm::Value* end = number(full);
    if (chunk()) end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWAdd(first, number(chunk() / lanes_ * lanes_)), end);
    if (full) loop(first, end, lanes_, [&](llvm::Value* j) { body(j, lanes_); });
    if (!rest) return;
    if (!chunk()) return body(number(full), unsigned(rest));
    auto* last = llvm::BasicBlock::Create(f_->getContext(), "", f_);
    auto* after = llvm::BasicBlock::Create(f_->getContext(), "", f_);
    b_.CreateCondBr(b_.CreateICmpSGE(b_.CreateNSWAdd(first, number(chunk())), number(inner())), last, after);
    b_.SetInsertPoint(last);
    body(number(full), unsigned(rest));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  void load_repeated() {
    repeated_.assign(e_.statements.size(), Typed());
    for (size_t s = 0; s < e_.statements.size(); ++s)
      if (e_.statements[s].name == "load" && e_.statements[s].steps.back().is(0)) repeated_[s] = load_one(s);
  }

  void body(llvm::Value* j, unsigned n) {
    std::vector<Typed> values;
    for (size_t s = 0; s < e_.statements.size(); ++s) {
      const Statement& x = e_.statements[s];
      if (x.name == "store") store(s, values[x.values[0]], j, n);
      else if (x.name == "load") values.push_back(repeated_[s].value ? repeated_[s] : load(s, j, n));
      else if (x.name == "const") values.push_back(ops_.constant(x.type, x.number));
      else values.push_back(ops_.apply(x, values));
    }
  }

  llvm::Value* address(size_t s, llvm::Value* j) {
    const Statement& x = e_.statements[s];
    llvm::Value* at = b_.CreateNSWAdd(offsets_[s], b_.CreateNSWMul(j, number(x.steps.back())));
    return b_.CreateGEP(memory_type(f_->getContext(), x.name == "load" ? x.type : stored_[s]), pointers_[x.arg], at);
  }

  Typed load_one(size_t s) {
    const int32_t type = e_.statements[s].type;
    llvm::Value* v = b_.CreateLoad(memory_type(f_->getContext(), type), address(s, number(0)));
    return ops_.from_memory(b_.CreateVectorSplat(lanes_, v), type);
  }

  Typed load(size_t s, llvm::Value* j, unsigned n) {
    const Statement& x = e_.statements[s];
    llvm::Type* element = memory_type(f_->getContext(), x.type);
    const llvm::Align align(element->getScalarSizeInBits() / 8);
    // Lanes that are not there hold 1: it divides well.
    llvm::Type* whole = llvm::FixedVectorType::get(element, lanes_);
    llvm::Constant* one = element->isFloatingPointTy() ? llvm::ConstantFP::get(whole, 1) : llvm::ConstantInt::get(whole, 1);
    if (mask_) return ops_.from_memory(x.steps.back().is(1) ? b_.CreateMaskedLoad(whole, address(s, j), align, mask_, one) : gather(s, j, whole), x.type);
    if (!x.steps.back().is(1)) {
      llvm::Value* v = one;
      for (unsigned l = 0; l < n; ++l)
        v = b_.CreateInsertElement(v, b_.CreateAlignedLoad(element, address(s, b_.CreateNSWAdd(j, number(l))), align), uint64_t(l));
      return ops_.from_memory(v, x.type);
    }
    llvm::Value* v = b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, n), address(s, j), align);
    if (n < lanes_) {
      std::vector<int> wide, merge;
      for (unsigned l = 0; l < lanes_; ++l) wide.push_back(l < n ? int(l) : -1), merge.push_back(l < n ? int(l) : int(lanes_ + l));
      v = b_.CreateShuffleVector(b_.CreateShuffleVector(v, wide), one, merge);
    }
    return ops_.from_memory(v, x.type);
  }

  /// Lanes that are not there hold the last one that is.
  llvm::Value* gather(size_t s, llvm::Value* j, llvm::Type* whole) {
    llvm::Value *v = llvm::PoisonValue::get(whole), *last = b_.CreateNSWSub(some_, number(1));
    for (unsigned l = 0; l < lanes_; ++l) {
      llvm::Value* at = b_.CreateNSWAdd(j, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(int64_t(l)), last));
      v = b_.CreateInsertElement(v, b_.CreateAlignedLoad(whole->getScalarType(), address(s, at), llvm::Align(whole->getScalarSizeInBits() / 8)), uint64_t(l));
    }
    return v;
  }
  void scatter(size_t s, llvm::Value* v, llvm::Value* j, llvm::Align align) {
    llvm::Value* at = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getPtrTy(), lanes_));
    for (unsigned l = 0; l < lanes_; ++l) at = b_.CreateInsertElement(at, address(s, b_.CreateNSWAdd(j, number(int64_t(l)))), uint64_t(l));
    b_.CreateMaskedScatter(v, at, align, mask_);
  }

  void store(size_t s, Typed value, llvm::Value* j, unsigned n) {
    const Statement& x = e_.statements[s];
    stored_[s] = value.type;
    llvm::Value* v = ops_.to_memory(value);
    llvm::Type* element = memory_type(f_->getContext(), value.type);
    const llvm::Align align(element->getScalarSizeInBits() / 8);
    if (mask_) {
      if (x.steps.back().is(1)) b_.CreateMaskedStore(v, address(s, j), align, mask_);
      else scatter(s, v, j, align);
      return;
    }
    if (!x.steps.back().is(1)) {
      for (unsigned l = 0; l < n; ++l) b_.CreateAlignedStore(b_.CreateExtractElement(v, uint64_t(l)), address(s, b_.CreateNSWAdd(j, number(l))), align);
      return;
    }
    if (n < lanes_) {
      std::vector<int> narrow;
      for (unsigned l = 0; l < n; ++l) narrow.push_back(int(l));
      v = b_.CreateShuffleVector(v, narrow);
    }
    b_.CreateAlignedStore(v, address(s, j), align);
  }

  const Expression& e_;
  llvm::IRBuilder<> b_;
  Operations ops_;
  llvm::Function* f_;
  unsigned lanes_;
  std::map<int64_t, llvm::Value*> pointers_;
  std::map<size_t, int32_t> stored_;
  Values offsets_;               // by statement, in elements
  Values row_;                   // by slot
  llvm::Value *some_ = nullptr, *mask_ = nullptr;  // lanes that are there, where that is a number of the run
  std::vector<Typed> repeated_;  // by statement: one element in all lanes, loaded once per row
};

}  // namespace

void define_expression(llvm::Module& m, const KernelSpec& spec) {
  const Expression e = read_expression(spec.expression, spec.literals, spec.slots);
  llvm::Function *f = m.getFunction("k_expression"), *example = m.getFunction("e_exp");
  const auto* vector = example ? llvm::dyn_cast<llvm::FixedVectorType>(example->getReturnType()) : nullptr;
  if (!f || !vector) throw sdk::Error(OPTIMA_INTERNAL, "the kernel templates lack k_expression or e_exp");
  const unsigned lanes = vector->getNumElements();
  if (e.chunk.value % lanes) throw sdk::Error(OPTIMA_INTERNAL, "expression chunk " + std::to_string(e.chunk.value) + " is not a multiple of " + std::to_string(lanes));
  Nest(m, e, f, lanes).emit(spec.slots.size());
  f->setLinkage(llvm::GlobalValue::InternalLinkage);
  f->addFnAttr(llvm::Attribute::AlwaysInline);
}

}  // namespace optima::llvm_cpu
