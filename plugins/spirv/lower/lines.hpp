// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: what reductions and normalisations have in common: the lines of a tensor that they run along, and how invocations share them.
#pragma once

#include <algorithm>

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// Dims that are kept tell which line; dims that are run along tell where in it. Both row-major, with the strides of the tensor.
struct Lines {
  std::vector<int64_t> kept{}, kept_strides{}, run{}, run_strides{};
  int64_t count() const { return elements_of(kept); }
  int64_t length() const { return elements_of(run); }
  /// True where the elements of a line lie side by side, and lines one behind the other.
  bool dense() const {
    int64_t behind = 1;
    for (size_t k = run.size(); k-- > 0; behind *= run[k])
      if (run[k] != 1 && run_strides[k] != behind) return false;
    return true;
  }
};

inline Lines lines_along(const std::vector<int64_t>& dims, const std::vector<bool>& runs) {
  const std::vector<int64_t> strides = strides_of(dims);
  Lines out;
  for (size_t k = 0; k < dims.size(); ++k) {
    (runs[k] ? out.run : out.kept).push_back(dims[k]);
    (runs[k] ? out.run_strides : out.kept_strides).push_back(strides[k]);
  }
  return out;
}
/// Along one axis; a negative one counts from the end.
inline Lines lines_along(const std::vector<int64_t>& dims, int64_t axis) {
  std::vector<bool> runs(dims.size(), false);
  if (!dims.empty()) runs[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] = true;
  return lines_along(dims, runs);
}

/// How a kernel walks along its line: all invocations of a workgroup together where lines are long, else each its own.
class Walk {
 public:
  explicit Walk(Lines lines) : lines_(std::move(lines)) {
    const int64_t n = lines_.length();
    shared_ = n >= 4096 || (n >= 128 && (lines_.dense() || lines_.count() < 1024));
    local_ = shared_ && n >= 4096 ? 128 : 64;
  }
  uint32_t local() const { return local_; }
  const Lines& lines() const { return lines_; }
  std::array<uint32_t, 3> groups() const { return grid(lines_.count(), shared_ ? 1 : local_).groups; }

  /// Statements that name the line, `row`, and its first element, `base`. Ahead of all others.
  std::string begin() const {
    const std::string row = shared_ ? "int(gl_WorkGroupID.x+gl_WorkGroupID.y*gl_NumWorkGroups.x)" : grid(lines_.count(), local_).id;
    return "int row=" + row + ";if(row>=" + std::to_string(lines_.count()) + ")return;int base=" + strided_index("row", lines_.kept, lines_.kept_strides) + ";";
  }
  /// The head of the loop over the elements that are the invocation's own, `k` along the line.
  std::string each() const {
    const std::string first = shared_ ? "int(gl_LocalInvocationID.x)" : "0", step = shared_ ? std::to_string(local_) : "1";
    return "for(int k=" + first + ";k<" + std::to_string(lines_.length()) + ";k+=" + step + ")";
  }
  /// The index of element k.
  std::string at() const { return "base+" + strided_index("k", lines_.run, lines_.run_strides); }
  /// The invocation that stores what there is one of per line.
  std::string once() const { return shared_ ? "if(gl_LocalInvocationID.x==0u)" : ""; }
  bool shared() const { return shared_; }

  /// From here on fold() joins within subgroups by their arithmetic, where that has a word for it.
  void use_subgroups(bool uses) { subgroups_ = uses; }

  /// Adds a function `name` of an invocation's own part that gives what all parts together come to: `joined` says how, of `a` and `b`.
  void fold(Shader& s, const std::string& name, const std::string& type, const std::string& joined) const {
    if (!shared_) return s.top(type + " " + name + "(" + type + " v){return v;}");
    if (const std::string joins = subgroups_ ? by_subgroup(type, joined) : ""; !joins.empty()) return fold_subgroups(s, name, type, joined, joins);
    const std::string part = name + "_part";
    s.top("shared " + type + " " + part + "[" + std::to_string(local_) + "];");
    s.top(type + " " + name + "(" + type + " v){uint l=gl_LocalInvocationID.x;barrier();" + part + "[l]=v;barrier();for(uint j=" + std::to_string(local_ / 2) +
          "u;j>0u;j>>=1){if(l<j){" + type + " a=" + part + "[l],b=" + part + "[l+j];" + part + "[l]=" + joined + ";}barrier();}return " + part + "[0];}");
  }

 private:
  /// What the parts `v` of a subgroup come to; empty where its arithmetic has no word for it. What it makes of NaN is open: that is looked for first.
  static std::string by_subgroup(const std::string& type, const std::string& joined) {
    if (joined == "a+b") return "subgroupAdd(v)";
    if (joined == "a*b") return "subgroupMul(v)";
    if (joined == "max(a,b)") return "subgroupMax(v)";
    if (joined == "min(a,b)") return "subgroupMin(v)";
    for (const char* which : {"max", "min"})
      if (joined == std::string(which) + "_(a,b)") {
        const std::string of_all = std::string("subgroup") + (which[1] == 'a' ? "Max" : "Min") + "(v)";
        return type == "int" ? of_all : "(subgroupMax(nan_(v)?1:0)!=0?uintBitsToFloat(0x7fc00000u):" + of_all + ")";
      }
    return "";
  }
  /// Subgroups of any size: one part of each in shared memory, which every invocation joins in the same order; nothing is shared where there is but one.
  void fold_subgroups(Shader& s, const std::string& name, const std::string& type, const std::string& joined, const std::string& joins) const {
    s.extend("GL_KHR_shader_subgroup_arithmetic");
    const std::string part = name + "_part";
    s.top("shared " + type + " " + part + "[" + std::to_string(local_) + "];");
    s.top(type + " " + name + "(const " + type + " v){" + type + " a=" + joins + ";if(gl_NumSubgroups==1u)return a;barrier();if(subgroupElect())" + part + "[gl_SubgroupID]=a;barrier();a=" + part +
          "[0];for(uint j=1u;j<gl_NumSubgroups;++j){" + type + " b=" + part + "[j];a=" + joined + ";}return a;}");
  }

  Lines lines_;
  bool subgroups_ = false;
  bool shared_;  ///< a workgroup a line
  uint32_t local_;
};

/// The ways of a kernel along lines, which `write` finishes in `s`; it is called for each: subgroups where the target promises their arithmetic, then shared
/// memory.
inline std::vector<Way> ways_along(const Limits& limits, Walk& walk, Shader& s, const std::function<void()>& write) {
  const Shader begun = s;
  std::vector<Way> ways;
  if (walk.shared() && limits.features.count("subgroupArithmetic")) {
    walk.use_subgroups(true);
    write();
    if (s.is_extended()) ways.push_back({std::move(s), walk.groups()});
    walk.use_subgroups(false);
    s = begun;
  }
  write();
  ways.push_back({std::move(s), walk.groups()});
  return ways;
}

/// A kernel along the lines of the root's input, `x`. Bind what else it reads, then finish().
struct AlongLines {
  Lowering& to;
  const Group& group;
  Walk walk;
  Shader s{walk.local()};
  int x = s.in(to.read(group.root.input(0)));
  int out = -1;
  Lowering::Tail tail{};

  /// Element k of the line.
  std::string element() const { return s.load(x, walk.at()); }
  /// Adds the tail and the step; `write` the statements behind those that name `row` and `base`: it is called for each way. An output without elements
  /// has no step.
  void finish(Work work, const std::function<void()>& write) {
    tail = to.tail(s, group);
    const Tensor y = to.made(group.end().output(0));
    if (y.elements() == 0) return;
    out = s.out(y);
    s.line(walk.begin());
    to.step(group, ways_along(to.limits(), walk, s, write), work);
  }
  /// For finish(): stores what there is one of per line.
  void store_row(const std::string& value) { s.line(walk.once() + "{" + s.store(out, "row", tail(value, "row")) + "}"); }
  /// For finish(): stores each element of the line, at `o`.
  void store_elements(const std::string& value) { s.line(walk.each() + "{int o=" + walk.at() + ";" + s.store(out, "o", tail(value, "o")) + "}"); }
};

}  // namespace spirv_plugin
