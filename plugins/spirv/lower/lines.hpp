// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: what reductions and normalisations have in common: the lines of a tensor that they run along, and how invocations share them.
#pragma once

#include <algorithm>
#include <cctype>

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

  /// The number of the line, which may reach past the last.
  std::string line() const { return shared_ ? "int(gl_WorkGroupID.x+gl_WorkGroupID.y*gl_NumWorkGroups.x)" : grid(lines_.count(), local_).id; }
  /// Statements that name the line, `row`, and its first element, `base`. Ahead of all others.
  std::string begin() const {
    return "int row=" + line() + ";if(row>=" + std::to_string(lines_.count()) + ")return;int base=" + strided_index("row", lines_.kept, lines_.kept_strides) + ";";
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
          "[0];for(uint j=1u;j<min(gl_NumSubgroups," + std::to_string(local_) + "u);++j){" + type + " b=" + part + "[j];a=" + joined + ";}return a;}");
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

/// What all elements of a line come to, as GLSL: `each` is of element `x`, number `k` of line `row`, `joined` of two parts `a` and `b`.
struct Fold {
  std::string name;     ///< what it is called behind it
  std::string type;     ///< "float" or "int"
  std::string start, each, joined;
  std::string ahead{};  ///< statements ahead of `each`
  std::string done{};   ///< statements behind the last part: they may change it
};

/// A value of each line, at `row` of a tensor of its own.
struct LineValue {
  std::string value;
  Tensor into;
};

/// What is computed along lines of `x`. Texts may name folds ahead of them and read operand n at an index by at<n>(INDEX).
struct LineProgram {
  Lines lines;
  Tensor x;
  std::vector<Tensor> operands{};
  std::vector<Fold> folds{};
  bool by_row = false;  ///< `value` is stored once per line, at `row`; else for each element, at `o`, the index in x
  std::string value{};  ///< of `x`, `k`, `row` and `o`
  std::string added{};  ///< to value, of the same names; empty = nothing
  std::vector<LineValue> values{};  ///< what is stored in place of `value`, where there are such
};

namespace along {

/// Longer lines are folded by many workgroups in parts, each in a step of its own: one would take long, and its loops are bounded (kMostIterations).
constexpr int64_t kLongest = int64_t{1} << 18;
/// Elements of a part.
constexpr int64_t kPart = int64_t{1} << 15;

/// Whether the text has the name as a word.
inline bool names(const std::string& text, const std::string& name) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_word(text[at - 1])) && (at + name.size() == text.size() || !is_word(text[at + name.size()]))) return true;
  return false;
}

inline std::string operand(size_t k) { return "at" + std::to_string(k); }

/// at<k>(), of a tensor that is bound.
inline void write_operand(Shader& s, size_t k, const Tensor& t, int binding) { s.top(std::string(type_of(t.element)) + " " + operand(k) + "(const int i){return " + s.load(binding, "i") + ";}"); }

/// Binds the operands that the texts name.
inline void bind_operands(Shader& s, const LineProgram& of, const std::string& texts) {
  for (size_t k = 0; k < of.operands.size(); ++k)
    if (names(texts, operand(k))) write_operand(s, k, of.operands[k], s.in(of.operands[k]));
}

/// The statement that joins an element with what is there of a fold, and the functions for it.
inline void write_joining(Shader& s, const Walk& walk, const Fold& f) {
  walk.fold(s, f.name + "_of", f.type, f.joined);
  s.top(f.type + " " + f.name + "_with(const " + f.type + " a,const " + f.type + " b){return " + f.joined + ";}");
}
inline std::string joining(const Fold& f) { return f.ahead + f.name + "=" + f.name + "_with(" + f.name + "," + f.each + ");"; }

/// Where the folds from `first` on that one loop joins end: none of them names another.
inline size_t end_of_loop(const std::vector<Fold>& folds, size_t first) {
  size_t end = first + 1;
  const auto is_free = [&](const Fold& f) {
    for (size_t k = first; k < end; ++k)
      if (names(f.ahead + f.each, folds[k].name)) return false;
    return f.ahead.empty() || folds[first].ahead.empty();
  };
  while (end < folds.size() && is_free(folds[end])) ++end;
  return end;
}

/// Statements of one way of the kernel that does it all.
inline void write_short(Shader& s, const Walk& walk, const LineProgram& of, int x, const std::vector<int>& outs, const Lowering::Tail& tail) {
  const std::string element = std::string(type_of(of.x.element)) + " x=";
  for (size_t first = 0, end = 0; first < of.folds.size(); first = end) {
    end = end_of_loop(of.folds, first);
    std::string starts, joins, wholes;
    for (size_t k = first; k < end; ++k) {
      const Fold& f = of.folds[k];
      write_joining(s, walk, f);
      starts += f.type + " " + f.name + "=" + f.start + ";", joins += joining(f), wholes += f.name + "=" + f.name + "_of(" + f.name + ");" + f.done;
    }
    s.line(starts + walk.each() + "{" + element + s.load(x, walk.at()) + ";" + joins + "}" + wholes);
  }
  if (!of.values.empty()) {
    std::string stores;
    for (size_t k = 0; k < outs.size(); ++k) stores += s.store(outs[k], "row", of.values[k].value);
    return s.line(walk.once() + "{" + stores + "}");
  }
  const int out = outs[0];
  const std::string value = of.added.empty() ? of.value : of.value + "+" + of.added;
  if (of.by_row) s.line(walk.once() + "{" + s.store(out, "row", tail(value, "row")) + "}");
  else s.line(walk.each() + "{int o=" + walk.at() + ";" + element + s.load(x, "o") + ";" + s.store(out, "o", tail(value, "o")) + "}");
}

/// A program along long lines, step by step. What lines come to lies in two tensors, of floats and of integers: [fold of the type][line].
class Steps {
 public:
  Steps(Lowering& to, const Group& group, const LineProgram& of, Work work) : to_(to), group_(group), of_(of), work_(work) {
    int64_t slots[2] = {0, 0};
    for (const Fold& f : of.folds) slots_.push_back(slots[f.type == "int"]++);
    for (const bool whole : {false, true})
      if (slots[whole] > 0) wholes_[whole] = to.scratch(group.root, whole ? Element::I32 : Element::F32, {slots[whole], lines().count()});
    for (size_t k = 0; k < of.folds.size(); ++k) join_parts(k, fold_parts(k));
  }

  /// The group's output, or `given`.
  void finish(const Tensor* given) {
    for (const LineValue& v : of_.values) store(of_.x, true, v.value, &v.into);
    if (!of_.values.empty()) return;
    const Tensor* from = &of_.x;
    Tensor made;
    if (!of_.by_row && (!of_.added.empty() || (!given && !group_.tail.empty()))) {  // each step binds few buffers
      made = to_.scratch(group_.root, Element::F32, of_.x.dims);
      store(*from, false, of_.value, &made);
      from = &made;
    }
    store(*from, of_.by_row, from == &of_.x ? of_.value : of_.added.empty() ? "x" : "x+" + of_.added, given);
  }

 private:
  static constexpr uint32_t kLocal = 64;
  const Lines& lines() const { return of_.lines; }

  /// Statements that name the folds ahead of `end` which the texts name.
  std::string named(Shader& s, const std::string& texts, size_t end) const {
    std::string out;
    int bound[2] = {-1, -1};
    for (size_t k = 0; k < end; ++k) {
      const Fold& f = of_.folds[k];
      if (!names(texts, f.name)) continue;
      const bool whole = f.type == "int";
      if (bound[whole] < 0) bound[whole] = s.in(*wholes_[whole]);
      out += f.type + " " + f.name + "=" + s.load(bound[whole], text(slots_[k] * lines().count()) + "+row") + ";";
    }
    return out;
  }

  /// [line][part]
  Tensor fold_parts(size_t k) const {
    const Fold& f = of_.folds[k];
    const int64_t parts = (lines().length() + kPart - 1) / kPart;
    const Tensor made = to_.scratch(group_.root, f.type == "int" ? Element::I32 : Element::F32, {lines().count(), parts});
    Lines part{{lines().count() * parts}, {0}, {kPart}, {1}};
    Walk walk(part);
    Shader s(walk.local());
    const int x = s.in(of_.x);
    bind_operands(s, of_, f.ahead + f.each);
    const std::string known = named(s, f.ahead + f.each, k);
    const int out = s.out(made);
    const auto write = [&] {
      write_joining(s, walk, f);
      s.line("int id=" + walk.line() + ";if(id>=" + text(made.elements()) + ")return;int row=id/" + text(parts) + ",first=id%" + text(parts) + "*" + text(kPart) + ",base=" +
             strided_index("row", lines().kept, lines().kept_strides) + ";" + known + f.type + " " + f.name + "=" + f.start + ";");
      s.line("for(int i=int(gl_LocalInvocationID.x);i<min(" + text(kPart) + "," + text(lines().length()) + "-first);i+=" + std::to_string(walk.local()) + "){int k=first+i;" + type_of(of_.x.element) +
             " x=" + s.load(x, "base+" + strided_index("k", lines().run, lines().run_strides)) + ";" + joining(f) + "}");
      s.line(f.name + "=" + f.name + "_of(" + f.name + ");" + walk.once() + "{" + s.store(out, "id", f.name) + "}");
    };
    to_.step(group_, ways_along(to_.limits(), walk, s, write), work_);
    return made;
  }

  void join_parts(size_t k, const Tensor& parts) const {
    const Fold& f = of_.folds[k];
    const bool whole = f.type == "int";
    Walk walk(lines_along(parts.dims, 1));
    Shader s(walk.local());
    const int from = s.in(parts);
    bind_operands(s, of_, f.done);
    const std::string known = named(s, f.done, k);
    const int out = s.out(*wholes_[whole]);
    const auto write = [&] {
      write_joining(s, walk, f);
      s.line(walk.begin() + known + f.type + " " + f.name + "=" + f.start + ";" + walk.each() + f.name + "=" + f.name + "_with(" + f.name + "," + s.load(from, walk.at()) + ");" + f.name + "=" + f.name + "_of(" + f.name +
             ");" + f.done + walk.once() + "{" + s.store(out, text(slots_[k] * lines().count()) + "+row", f.name) + "}");
    };
    const auto n = static_cast<uint64_t>(parts.elements());
    to_.step(group_, ways_along(to_.limits(), walk, s, write), {n, 4 * n});
  }

  /// An invocation for each line (`by_row`), or for each element of `from`; with the tail where it goes to the group's output.
  void store(const Tensor& from, bool by_row, const std::string& value, const Tensor* into) const {
    Shader s(kLocal);
    const int x = by_row ? -1 : s.in(from);
    bind_operands(s, of_, value);
    const std::string known = named(s, value, of_.folds.size());
    const Lowering::Tail tail = into ? [](const std::string& v, const std::string&) { return v; } : to_.tail(s, group_);
    const Tensor y = into ? *into : to_.made(group_.end().output(0));
    const int out = s.out(y);
    const int64_t n = y.elements(), length = lines().length();
    const Grid g = grid(n, kLocal);
    if (by_row) s.line("int row=" + g.id + ";if(row>=" + text(n) + ")return;" + known + s.store(out, "row", tail(value, "row")));
    else s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int row=id/" + text(length) + ",k=id%" + text(length) + ",o=" + strided_index("row", lines().kept, lines().kept_strides) + "+" +
                strided_index("k", lines().run, lines().run_strides) + ";" + known + type_of(from.element) + " x=" + s.load(x, "o") + ";" + s.store(out, "o", tail(value, "o")));
    to_.step(group_, std::move(s), g.groups, {2 * static_cast<uint64_t>(n), 8 * static_cast<uint64_t>(n)});
  }

  Lowering& to_;
  const Group& group_;
  const LineProgram& of_;
  Work work_;
  std::vector<int64_t> slots_;
  std::optional<Tensor> wholes_[2];  // floats, integers
};

}  // namespace along

/// The steps of a program along lines: one, or where lines are long a few. They make the group's output, with its tail, or fill `given`. Where that has no
/// elements there is none.
inline void lower_along(Lowering& to, const Group& group, const LineProgram& of, Work work, const Tensor* given = nullptr) {
  if (of.values.empty() && (given ? given->elements() : group.end().output(0).elements()) == 0) {
    if (!given) to.made(group.end().output(0));
    return;
  }
  if (of.lines.length() > along::kLongest) return along::Steps(to, group, of, work).finish(given);
  Walk walk(of.lines);
  Shader s(walk.local());
  const int x = s.in(of.x);
  for (size_t k = 0; k < of.operands.size(); ++k) along::write_operand(s, k, of.operands[k], s.in(of.operands[k]));
  const bool is_output = !given && of.values.empty();
  const Lowering::Tail tail = is_output ? to.tail(s, group) : [](const std::string& v, const std::string&) { return v; };
  std::vector<int> outs;
  for (const LineValue& v : of.values) outs.push_back(s.out(v.into));
  if (outs.empty()) outs.push_back(s.out(given ? *given : to.made(group.end().output(0))));
  s.line(walk.begin());
  to.step(group, ways_along(to.limits(), walk, s, [&] { along::write_short(s, walk, of, x, outs, tail); }), work);
}

}  // namespace spirv_plugin
