// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see operation.hpp.
#include "plugins/llvm_cpu/codegen/operation.hpp"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <cstdlib>

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {
namespace {

using llvm::Intrinsic::ID;
using Values = std::vector<llvm::Value*>;

[[noreturn]] void unknown(std::string_view name) {
  throw sdk::Error(OPTIMA_INTERNAL, "expression operation " + std::string(name) + " does not exist for these operands");
}

/// Held in a vector of another type than in memory.
bool is_half(int32_t type) { return type == OPTIMA_F16 || type == OPTIMA_BF16; }

}  // namespace

bool is_float(int32_t t) { return t == OPTIMA_F32 || t == OPTIMA_F64 || is_half(t); }
bool is_signed(int32_t t) { return t == OPTIMA_I8 || t == OPTIMA_I16 || t == OPTIMA_I32 || t == OPTIMA_I64; }

llvm::Type* memory_type(llvm::LLVMContext& c, int32_t t) {
  switch (t) {
    case OPTIMA_F32: return llvm::Type::getFloatTy(c);
    case OPTIMA_F64: return llvm::Type::getDoubleTy(c);
    case OPTIMA_F16: return llvm::Type::getHalfTy(c);
    case OPTIMA_I64: case OPTIMA_U64: return llvm::Type::getInt64Ty(c);
    case OPTIMA_I32: case OPTIMA_U32: return llvm::Type::getInt32Ty(c);
    case OPTIMA_I16: case OPTIMA_U16: case OPTIMA_BF16: return llvm::Type::getInt16Ty(c);
    default: return llvm::Type::getInt8Ty(c);
  }
}

llvm::Type* Operations::held_type(int32_t t) const {
  llvm::Type* element = t == OPTIMA_BOOL ? llvm::Type::getInt1Ty(m_.getContext())
                        : is_half(t)      ? llvm::Type::getFloatTy(m_.getContext())
                                          : memory_type(m_.getContext(), t);
  return llvm::FixedVectorType::get(element, lanes_);
}

Typed Operations::from_memory(llvm::Value* v, int32_t t) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
  const auto vector = [&](llvm::Type* element) { return llvm::FixedVectorType::get(element, lanes); };
  if (t == OPTIMA_BOOL) return {b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())), t};
  if (t == OPTIMA_F16) return {b_.CreateFPExt(v, vector(b_.getFloatTy())), t};
  if (t == OPTIMA_BF16) return {b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, vector(b_.getInt32Ty())), 16), vector(b_.getFloatTy())), t};
  return {v, t};
}

llvm::Value* Operations::to_memory(Typed v) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(v.value->getType())->getNumElements();
  const auto vector = [&](llvm::Type* element) { return llvm::FixedVectorType::get(element, lanes); };
  if (v.type == OPTIMA_BOOL) return b_.CreateZExt(v.value, vector(b_.getInt8Ty()));
  if (v.type == OPTIMA_F16) return b_.CreateFPTrunc(v.value, vector(b_.getHalfTy()));
  if (v.type != OPTIMA_BF16) return v.value;
  // To nearest, ties to even; NaN stays NaN.
  llvm::Value* bits = b_.CreateBitCast(v.value, vector(b_.getInt32Ty()));
  const auto word = [&](uint32_t x) { return llvm::ConstantInt::get(bits->getType(), x); };
  llvm::Value* even = b_.CreateAnd(b_.CreateLShr(bits, word(16)), word(1));
  llvm::Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(even, word(0x7FFF))), word(16));
  llvm::Value* quiet = b_.CreateOr(b_.CreateLShr(bits, word(16)), word(0x40));
  return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(v.value, v.value), quiet, rounded), vector(b_.getInt16Ty()));
}

Typed Operations::constant(int32_t t, const std::string& number) {
  llvm::Type* type = held_type(t);
  if (is_float(t)) {
    const double v = std::strtod(number.c_str(), nullptr);
    return {llvm::ConstantFP::get(type, v), t};
  }
  return {llvm::ConstantInt::get(type, static_cast<uint64_t>(std::strtoll(number.c_str(), nullptr, 10)), is_signed(t)), t};
}

/// To 8 or 16 bits by way of 32, because LLVM takes vectors apart when it saturates to such. NaN becomes 0.
llvm::Value* Operations::saturated(llvm::Value* x, int32_t to) {
  const int bits = static_cast<int>(optima_dtype_bits(to)), lowest = is_signed(to) ? -(1 << (bits - 1)) : 0, highest = lowest + (1 << bits) - 1;
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  llvm::Value *low = llvm::ConstantFP::get(x->getType(), lowest), *high = llvm::ConstantFP::get(x->getType(), highest);
  llvm::Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(x, low), x, low);
  inside = b_.CreateSelect(b_.CreateFCmpOLT(inside, high), inside, high);
  inside = b_.CreateSelect(b_.CreateFCmpORD(x, x), inside, llvm::Constant::getNullValue(x->getType()));
  return b_.CreateTrunc(b_.CreateFPToSI(inside, llvm::FixedVectorType::get(b_.getInt32Ty(), lanes)), held_type(to));
}

/// To 32 or 64 bits; LLVM's own saturation takes vectors apart, too. NaN becomes 0.
llvm::Value* Operations::saturated_whole(llvm::Value* x, int32_t to) {
  const unsigned bits = static_cast<unsigned>(optima_dtype_bits(to)) - (is_signed(to) ? 1 : 0);
  const double past = std::ldexp(1.0, static_cast<int>(bits)), lowest = is_signed(to) ? -past : 0;
  const bool exact = x->getType()->getScalarType()->isDoubleTy();
  const double highest = exact ? std::nextafter(past, 0.0) : static_cast<double>(std::nextafter(static_cast<float>(past), 0.f));
  llvm::Type* type = held_type(to);
  const auto number = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
  llvm::Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(x, number(lowest)), x, number(lowest));
  inside = b_.CreateSelect(b_.CreateFCmpOLT(inside, number(highest)), inside, number(highest));
  llvm::Value* out = is_signed(to) ? b_.CreateFPToSI(inside, type) : b_.CreateFPToUI(inside, type);
  out = b_.CreateSelect(b_.CreateFCmpOGE(x, number(past)), llvm::ConstantInt::get(type, llvm::APInt::getLowBitsSet(type->getScalarSizeInBits(), bits)), out);
  return b_.CreateSelect(b_.CreateFCmpORD(x, x), out, llvm::Constant::getNullValue(type));
}

Typed Operations::cast(Typed v, int32_t to) {
  if (v.type == to) return v;
  llvm::Type* type = held_type(to);
  if (to == OPTIMA_BOOL) {
    llvm::Value* zero = llvm::Constant::getNullValue(v.value->getType());
    return {is_float(v.type) ? b_.CreateFCmpUNE(v.value, zero) : b_.CreateICmpNE(v.value, zero), to};
  }
  if (is_float(v.type) && is_float(to)) {
    Typed out{b_.CreateFPCast(v.value, type), to};
    return is_half(to) ? from_memory(to_memory(out), to) : out;  // rounds as a store would
  }
  if (is_float(to)) {
    Typed out{is_signed(v.type) ? b_.CreateSIToFP(v.value, type) : b_.CreateUIToFP(v.value, type), to};
    return is_half(to) ? from_memory(to_memory(out), to) : out;
  }
  if (is_float(v.type) && optima_dtype_bits(to) < 32) return {saturated(v.value, to), to};
  if (is_float(v.type)) return {saturated_whole(v.value, to), to};
  return {b_.CreateIntCast(v.value, type, is_signed(v.type)), to};
}

llvm::Value* Operations::call(Operation o, const Values& a) {
  llvm::Function* f = m_.getFunction("e_" + std::string(to_text(o)));
  if (!f || f->arg_size() != a.size() || f->getReturnType() != a[0]->getType()) unknown(to_text(o));
  for (unsigned i = 0; i < a.size(); ++i)
    if (f->getArg(i)->getType() != a[i]->getType()) unknown(to_text(o));
  return b_.CreateCall(f, a);
}

llvm::Value* Operations::power(llvm::Value* x, llvm::Value* y, int32_t type) {
  llvm::Function* f = m_.getFunction(is_float(type) ? "e_power_real" : "e_power_whole");
  if (!f || f->arg_size() != 3) unknown("pow");
  llvm::IRBuilder<> top(&b_.GetInsertBlock()->getParent()->getEntryBlock(), b_.GetInsertBlock()->getParent()->getEntryBlock().begin());
  const auto in_memory = [&](llvm::Value* v) {
    llvm::Value* at = top.CreateAlloca(v->getType());
    b_.CreateStore(v, at);
    return at;
  };
  llvm::Value* out = in_memory(x);
  b_.CreateCall(f, {out, in_memory(y), b_.getInt64(is_signed(type))});
  return b_.CreateLoad(x->getType(), out);
}

llvm::Value* Operations::float_op(Operation o, const Values& a) {
  llvm::Value *x = a[0], *y = a.size() > 1 ? a[1] : nullptr;
  if (o == "fma"_op && a.size() == 3) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, a[2]});
  if (a.size() == 2) {
    if (o == "add"_op) return b_.CreateFAdd(x, y);
    if (o == "sub"_op) return b_.CreateFSub(x, y);
    if (o == "mul"_op) return b_.CreateFMul(x, y);
    if (o == "div"_op) return b_.CreateFDiv(x, y);
    // NaN when either is: the first one's NaN is chosen, the second one's is what a false comparison leaves.
    if (o == "max"_op) return b_.CreateSelect(b_.CreateOr(b_.CreateFCmpOGT(x, y), b_.CreateFCmpUNO(x, x)), x, y);
    if (o == "min"_op) return b_.CreateSelect(b_.CreateOr(b_.CreateFCmpOLT(x, y), b_.CreateFCmpUNO(x, x)), x, y);
    // One instruction: the second operand when either is NaN. For limits, x being the limit.
    if (o == "atleast"_op) return b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y);
    if (o == "atmost"_op) return b_.CreateSelect(b_.CreateFCmpOLT(x, y), x, y);
    return call(o, a);
  }
  const auto unary = [&](ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  if (o == "neg"_op) return b_.CreateFNeg(x);
  if (o == "abs"_op) return unary(llvm::Intrinsic::fabs);
  if (o == "sqrt"_op) return unary(llvm::Intrinsic::sqrt);
  if (o == "floor"_op) return unary(llvm::Intrinsic::floor);
  if (o == "ceil"_op) return unary(llvm::Intrinsic::ceil);
  if (o == "round"_op) return unary(llvm::Intrinsic::rint);
  if (o == "sign"_op) {
    llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
    llvm::Value* below = b_.CreateSelect(b_.CreateFCmpOLT(x, zero), llvm::ConstantFP::get(x->getType(), -1), x);
    return b_.CreateSelect(b_.CreateFCmpOGT(x, zero), llvm::ConstantFP::get(x->getType(), 1), below);
  }
  return call(o, a);
}

/// Signed, towards zero. Processors divide vectors of doubles, not of integers: those of 32 bits have exact quotients there, once they are cut.
llvm::Value* Operations::quotient_of(llvm::Value* x, llvm::Value* y) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector || vector->getScalarSizeInBits() != 32) return b_.CreateSDiv(x, y);
  llvm::Type* doubles = llvm::FixedVectorType::get(b_.getDoubleTy(), vector->getNumElements());
  return b_.CreateFPToSI(b_.CreateFDiv(b_.CreateSIToFP(x, doubles), b_.CreateSIToFP(y, doubles)), x->getType());
}

/// Towards zero; by zero gives zero, and the most negative number by -1 gives itself: nothing traps.
llvm::Value* Operations::divide(llvm::Value* x, llvm::Value* y, bool with_sign, bool remainder) {
  llvm::Type* type = x->getType();
  llvm::Value *zero = llvm::Constant::getNullValue(type), *one = llvm::ConstantInt::get(type, 1);
  llvm::Value* by_zero = b_.CreateICmpEQ(y, zero);
  if (!with_sign) {
    llvm::Value* safe = b_.CreateSelect(by_zero, one, y);
    return b_.CreateSelect(by_zero, zero, remainder ? b_.CreateURem(x, safe) : b_.CreateUDiv(x, safe));
  }
  llvm::Value* by_minus_one = b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type));
  llvm::Value* safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, y);
  llvm::Value* quotient = quotient_of(x, safe);
  llvm::Value* out = remainder ? b_.CreateSub(x, b_.CreateMul(quotient, safe)) : b_.CreateSelect(by_minus_one, b_.CreateNeg(x), quotient);
  return b_.CreateSelect(by_zero, zero, out);
}

llvm::Value* Operations::integer_op(Operation o, const Values& a, bool with_sign) {
  llvm::Value *x = a[0], *y = a.size() > 1 ? a[1] : nullptr, *zero = llvm::Constant::getNullValue(x->getType());
  const auto pick = [&](ID yes, ID no) { return b_.CreateBinaryIntrinsic(with_sign ? yes : no, x, y); };
  if (a.size() == 1) {
    if (o == "neg"_op) return b_.CreateNeg(x);
    if (o == "not"_op) return b_.CreateNot(x);
    if (o == "abs"_op) return with_sign ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse()) : x;
    if (o == "sign"_op) {
      llvm::Value* one = llvm::ConstantInt::get(x->getType(), 1);
      llvm::Value* below = with_sign ? b_.CreateSelect(b_.CreateICmpSLT(x, zero), llvm::Constant::getAllOnesValue(x->getType()), zero) : zero;
      return b_.CreateSelect(with_sign ? b_.CreateICmpSGT(x, zero) : b_.CreateICmpNE(x, zero), one, below);
    }
    unknown(to_text(o));
  }
  if (o == "add"_op) return b_.CreateAdd(x, y);
  if (o == "sub"_op) return b_.CreateSub(x, y);
  if (o == "mul"_op) return b_.CreateMul(x, y);
  if (o == "div"_op) return divide(x, y, with_sign, false);
  if (o == "rem"_op) return divide(x, y, with_sign, true);
  if (o == "mod"_op) {  // the sign of y
    llvm::Value* r = divide(x, y, with_sign, true);
    if (!with_sign) return r;
    llvm::Value* wrong = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, y), zero));
    return b_.CreateSelect(wrong, b_.CreateAdd(r, y), r);
  }
  if (o == "max"_op || o == "atleast"_op) return pick(llvm::Intrinsic::smax, llvm::Intrinsic::umax);
  if (o == "min"_op || o == "atmost"_op) return pick(llvm::Intrinsic::smin, llvm::Intrinsic::umin);
  if (o == "shl"_op || o == "shr"_op) {
    llvm::Value* wide = llvm::ConstantInt::get(y->getType(), y->getType()->getScalarSizeInBits());
    llvm::Value* inside = b_.CreateICmpULT(y, wide);
    llvm::Value* by = b_.CreateSelect(inside, y, zero);
    return b_.CreateSelect(inside, o == "shl"_op ? b_.CreateShl(x, by) : b_.CreateLShr(x, by), zero);
  }
  return logic_op(o, a);
}

llvm::Value* Operations::logic_op(Operation o, const Values& a) {
  if (o == "not"_op && a.size() == 1) return b_.CreateNot(a[0]);
  if (a.size() != 2) unknown(to_text(o));
  if (o == "and"_op) return b_.CreateAnd(a[0], a[1]);
  if (o == "or"_op) return b_.CreateOr(a[0], a[1]);
  if (o == "xor"_op) return b_.CreateXor(a[0], a[1]);
  unknown(to_text(o));
}

llvm::Value* Operations::compare(Operation o, llvm::Value* x, llvm::Value* y, int32_t t) {
  using P = llvm::CmpInst;
  const bool f = is_float(t), s = is_signed(t);
  const auto make = [&](P::Predicate real, P::Predicate with_sign, P::Predicate without) {
    return f ? b_.CreateFCmp(real, x, y) : b_.CreateICmp(s ? with_sign : without, x, y);
  };
  if (o == "eq"_op) return make(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
  if (o == "lt"_op) return make(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
  if (o == "le"_op) return make(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
  if (o == "gt"_op) return make(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
  if (o == "ge"_op) return make(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  return nullptr;
}

Typed Operations::apply(const Statement& s, const std::vector<Typed>& all) {
  Values a;
  for (const uint32_t v : s.values) a.push_back(all[v].value);
  const int32_t type = all[s.values[0]].type;
  if (s.name == "cast") return cast(all[s.values[0]], s.type);
  const Operation o = *s.operation;
  if (o == "where"_op) {
    const int32_t result = all[s.values[1]].type;
    if (a.size() != 3 || type != OPTIMA_BOOL || result != all[s.values[2]].type) unknown(s.name);
    return {b_.CreateSelect(a[0], a[1], a[2]), result};
  }
  for (const uint32_t v : s.values)
    if (all[v].type != type) unknown(s.name);
  if (a.size() == 2)
    if (llvm::Value* flag = compare(o, a[0], a[1], type)) return {flag, OPTIMA_BOOL};
  if (a.size() == 1 && is_float(type) && o == "isnan"_op) return {b_.CreateFCmpUNO(a[0], a[0]), OPTIMA_BOOL};
  if (o == "pow"_op && a.size() == 2 && (type == OPTIMA_I64 || type == OPTIMA_U64 || type == OPTIMA_F64)) return {power(a[0], a[1], type), type};
  if (type == OPTIMA_BOOL) return {logic_op(o, a), type};
  if (is_float(type)) return {float_op(o, a), type};
  return {integer_op(o, a, is_signed(type)), type};
}

}  // namespace optima::llvm_cpu
