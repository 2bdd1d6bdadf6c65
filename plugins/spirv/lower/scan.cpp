// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd: running sums and products of lines, an invocation for each line, or where lines are long for each block of one.
#include "lines.hpp"

namespace spirv_plugin {
namespace of_scan {

constexpr uint32_t kLocal = 64;
/// Longer lines are blocks of this many elements. Floats are added in the order of the line within a block, and what is before it as one number.
constexpr int64_t kLongest = 8192, kBlock = 1024;

/// A running fold along lines.
struct Scan {
  Lines lines;
  std::string type, start, joined;  ///< GLSL; joined: of `t` and `x`
  bool exclusive;                   ///< an element's own is left out
  bool reverse;                     ///< from the end
};

/// The statement that walks over `count` elements from `first` on, in the order of the scan: `x` is one, at `o` of x.
std::string walk(const Shader& s, const Scan& scan, int x, const std::string& first, const std::string& count, const std::string& each) {
  const std::string n = text(scan.lines.length());
  return "for(int i=0;i<" + count + ";++i){int k=" + (scan.reverse ? n + "-1-" : "") + "(" + first + "+i),o=base+" + strided_index("k", scan.lines.run, scan.lines.run_strides) + ";" + scan.type + " x=" + s.load(x, "o") +
         ";" + each + "}";
}

std::string base_of(const Lines& lines) { return "base=" + strided_index("row", lines.kept, lines.kept_strides); }

void write_lines(Lowering& to, const Group& group, const Scan& scan, const Tensor& from, const Tensor& into) {
  const int64_t n = scan.lines.count();
  Shader s(kLocal);
  const int x = s.in(from), out = s.out(into);
  const Grid g = grid(n, kLocal);
  const std::string put = s.store(out, "o", "t"), next = "t=" + scan.joined + ";";
  s.line("int row=" + g.id + ";if(row>=" + text(n) + ")return;int " + base_of(scan.lines) + ";" + scan.type + " t=" + scan.start + ";");
  s.line(walk(s, scan, x, "0", text(scan.lines.length()), scan.exclusive ? put + next : next + put));
  const auto all = static_cast<uint64_t>(into.elements());
  to.step(group, std::move(s), g.groups, {all, 8 * all});
}

/// What each block comes to, what all before each do, and the elements from there on (Blelloch, Prefix Sums and Their Applications, 1990, with a line
/// of blocks in place of a tree).
void write(Lowering& to, const Group& group, const Scan& scan, const Tensor& from, const Tensor& into) {
  const int64_t length = scan.lines.length(), lines = scan.lines.count(), blocks = (length + kBlock - 1) / kBlock, n = lines * blocks;
  if (length <= kLongest) return write_lines(to, group, scan, from, into);
  const Tensor wholes = to.scratch(group.root, from.element == Element::I32 ? Element::I32 : Element::F32, {lines, blocks}), starts = to.scratch(group.root, wholes.element, wholes.dims);
  const Grid g = grid(n, kLocal);
  const std::string head = "int id=" + g.id + ";if(id>=" + text(n) + ")return;int row=id/" + text(blocks) + ",first=id%" + text(blocks) + "*" + text(kBlock) + "," + base_of(scan.lines) + ";";
  const std::string count = "min(" + text(kBlock) + "," + text(length) + "-first)", next = "t=" + scan.joined + ";";
  const auto all = static_cast<uint64_t>(into.elements());
  Shader folded(kLocal);
  const int x = folded.in(from), whole = folded.out(wholes);
  folded.line(head + scan.type + " t=" + scan.start + ";" + walk(folded, scan, x, "first", count, next) + folded.store(whole, "id", "t"));
  to.step(group, std::move(folded), g.groups, {all, 4 * all});
  write(to, group, {lines_along(wholes.dims, 1), scan.type, scan.start, scan.joined, true, false}, wholes, starts);
  Shader s(kLocal);
  const int again = s.in(from), start = s.in(starts), out = s.out(into);
  const std::string put = s.store(out, "o", "t");
  s.line(head + scan.type + " t=" + s.load(start, "id") + ";" + walk(s, scan, again, "first", count, scan.exclusive ? put + next : next + put));
  to.step(group, std::move(s), g.groups, {all, 8 * all});
}

void lower_scan(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Tensor from = to.read(node.input(0)), y = to.made(node.output(0));
  if (y.elements() == 0) return;
  const bool whole = element_of(node.output(0).dtype()) == Element::I32, sums = node.op() == "CumSum";
  const std::string start = sums ? "0" : "1", joined = sums ? sum_of(node.output(0).dtype(), "t", "x") : product_of(node.output(0).dtype(), "t", "x");
  write(to, group, {lines_along(from.dims, integers_of(node.input(1).constant())[0]), whole ? "int" : "float", whole ? start : start + ".0", joined,
                    node.integer("exclusive", 0) != 0, node.integer("reverse", 0) != 0}, from, y);
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_scan;
  return r;
}
constexpr Row kRows[] = {row(op("CumSum", 11, 14, {kNumbers, sdk::types(OPTIMA_I64, OPTIMA_I32)}, {kNumbers}, 2)), row(op("CumProd", 26, 26, {kNumbers, kIntegers}, {kNumbers}, 2))};

}  // namespace of_scan

Family scan_family() { return of_scan::kRows; }

}  // namespace spirv_plugin
