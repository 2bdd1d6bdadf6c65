// SPDX-License-Identifier: Apache-2.0
// Softmax and its kin along one axis: a workgroup per row where rows are long and dense, else an invocation per row.
#include <cmath>

#include "compiler/lowering.hpp"

namespace spirv_plugin {
namespace {

/// [outer][length][inner], the operator runs along length.
struct Rows {
  int64_t outer = 1, length = 1, inner = 1;
};

Rows rows_of(const sdk::Node& node) {
  const std::vector<int64_t> dims = node.input(0).shape();
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.integer("axis", node.since_version() >= 13 ? -1 : 1);
  if (axis < 0) axis += rank;
  Rows r;
  for (int64_t k = 0; k < rank; ++k) (k < axis ? r.outer : k == axis ? r.length : r.inner) *= dims[static_cast<size_t>(k)];
  if (node.since_version() < 13) r.length *= r.inner, r.inner = 1;  // dims from the axis on are one
  return r;
}

std::string text(int64_t n) { return std::to_string(n); }

/// What is stored of exp(x - m) with the sum s of a row.
std::string result(bool is_log, const std::string& x) { return is_log ? x + "-m-log(s)" : "exp(" + x + "-m)/s"; }

/// One workgroup per row, a tree in shared memory.
Shader by_workgroup(const Rows& r, bool is_log, const Tensor& from, const Tensor& into, uint32_t local) {
  Shader s(local);
  const int x = s.in(from), y = s.out(into);
  const std::string n = text(r.length), step = text(local);
  s.top("shared float part[" + step + "];");
  s.top("float tree(float v,bool largest){uint l=gl_LocalInvocationID.x;barrier();part[l]=v;barrier();for(uint k=" + text(local / 2) +
        ";k>0u;k>>=1){if(l<k)part[l]=largest?max_(part[l],part[l+k]):part[l]+part[l+k];barrier();}return part[0];}");
  s.line("int base=int(gl_WorkGroupID.x+gl_WorkGroupID.y*gl_NumWorkGroups.x);if(base>=" + text(r.outer) + ")return;base*=" + n + ";int l=int(gl_LocalInvocationID.x);");
  s.line("float m=" + literal(-HUGE_VAL) + ";for(int k=l;k<" + n + ";k+=" + step + ")m=max_(m," + s.load(x, "base+k") + ");m=tree(m,true);");
  s.line("float s=0.0;for(int k=l;k<" + n + ";k+=" + step + ")s+=exp(" + s.load(x, "base+k") + "-m);s=tree(s,false);");
  s.line("for(int k=l;k<" + n + ";k+=" + step + ")" + s.store(y, "base+k", result(is_log, s.load(x, "base+k"))));
  return s;
}

Shader by_invocation(const Rows& r, bool is_log, const Tensor& from, const Tensor& into, const Grid& g, uint32_t local) {
  Shader s(local);
  const int x = s.in(from), y = s.out(into);
  const std::string n = text(r.length), in = text(r.inner), at = "base+k*" + in;
  s.line("int id=" + g.id + ";if(id>=" + text(r.outer * r.inner) + ")return;int base=id/" + in + "*" + text(r.length * r.inner) + "+id%" + in + ";");
  s.line("float m=" + s.load(x, "base") + ";for(int k=1;k<" + n + ";++k)m=max_(m," + s.load(x, at) + ");");
  s.line("float s=0.0;for(int k=0;k<" + n + ";++k)s+=exp(" + s.load(x, at) + "-m);");
  s.line("for(int k=0;k<" + n + ";++k)" + s.store(y, at, result(is_log, s.load(x, at))));
  return s;
}

void lower_softmax(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Rows r = rows_of(node);
  const bool is_log = node.op() == "LogSoftmax";
  const Tensor x = to.read(node.input(0)), y = to.made(node.output(0));
  if (y.elements() == 0) return;
  const Work work{static_cast<uint64_t>(y.elements()) * 12, static_cast<uint64_t>(y.elements()) * 8};
  if (r.inner == 1 && r.length >= 2 * kLocal) return to.step(group, by_workgroup(r, is_log, x, y, kLocal), grid(r.outer, 1).groups, work);
  const Grid g = grid(r.outer * r.inner, kLocal);
  to.step(group, by_invocation(r, is_log, x, y, g, kLocal), g.groups, work);
}

constexpr Row row(std::string_view name) {
  Row r;
  r.op = op(name, 1, 13, {kFloats}, {kFloats});
  r.lower = lower_softmax;
  return r;
}
constexpr Row kRows[] = {row("Softmax"), row("LogSoftmax")};

}  // namespace

Family softmax_family() { return kRows; }

}  // namespace spirv_plugin
