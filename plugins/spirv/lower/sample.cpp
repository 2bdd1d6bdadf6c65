// SPDX-License-Identifier: Apache-2.0
// Samples at places that are computed: GridSample over one to three axes, and AffineGrid, which makes such places. An invocation makes one element.
#include "elements.hpp"

namespace spirv_plugin {
namespace of_sample {

enum class Mode { Nearest, Linear, Cubic };
enum class Outside { Zeros, Border, Reflection };

/// Names changed with version 20.
std::optional<Mode> mode_of(const sdk::Node& node) {
  const std::string_view name = node.string("mode", "linear");
  if (name == "nearest") return Mode::Nearest;
  if (name == "linear" || name == "bilinear") return Mode::Linear;
  if (name == "cubic" || name == "bicubic") return Mode::Cubic;
  return std::nullopt;
}

std::optional<Outside> outside_of(const sdk::Node& node) {
  const std::string_view name = node.string("padding_mode", "zeros");
  if (name == "zeros") return Outside::Zeros;
  if (name == "border") return Outside::Border;
  if (name == "reflection") return Outside::Reflection;
  return std::nullopt;
}

bool by_corners(const sdk::Node& node) { return node.integer("align_corners", 0) != 0; }

/// Functions of the shader, after the operator's text. place(): position of a coordinate from -1 to 1 on an axis of n elements; element(): the element to
/// read for a position, -1 where it is zero. A coordinate that is no number is outside. A cubic that is told to read the border leans on it: its place stays outside.
void write_functions(Shader& s, Mode mode, Outside outside, bool corners) {
  const std::string low = corners ? "0.0" : "-0.5", high = corners ? "n-1.0" : "n-0.5";
  if (outside == Outside::Reflection)
    s.top("float mirrored(float x,float low,float high){float range=high-low;if(range<=0.0)return low;float away=abs(x-low),turns=floor(away/range),rest=away-turns*range;"
          "return clamp(mod(turns,2.0)==0.0?low+rest:high-rest,low,high);}");
  const std::string x = corners ? "(g+1.0)*0.5*(n-1.0)" : "((g+1.0)*n-1.0)*0.5";
  const std::string beyond = outside == Outside::Border && mode != Mode::Cubic ? "clamp(x,0.0,n-1.0)" : outside == Outside::Reflection ? "mirrored(x," + low + "," + high + ")" : "clamp(x,-8.0,n+8.0)";
  s.top("float place(float g,float n){float x=" + x + ";if(nan_(x)||inf_(x))x=-1.0;" + (mode == Mode::Nearest ? "x=roundEven(x);" : "") + "return x>=" + low + "&&x<=" + high + "?x:" + beyond + ";}");
  const std::string other = outside == Outside::Zeros    ? "-1"
                            : outside == Outside::Border ? "clamp(i,0,int(n)-1)"
                                                         : "clamp(int(mirrored(float(i)," + low + "," + high + ")),0,int(n)-1)";
  s.top("int element(int i,float n){return uint(i)<uint(n)?i:" + other + ";}");
  if (mode == Mode::Cubic)  // Keys' kernel, a = -0.75: elements nearer than one, and nearer than two
    s.top("float near(float d){return (1.25*d-2.25)*d*d+1.0;}float far(float d){return ((-0.75*d+3.75)*d-6.0)*d+3.0;}");
}

/// Statements that leave an axis' elements in e0.. and their shares in w0.., with the axis as their prefix. Returns how many.
int write_taps(Shader& s, Mode mode, const std::string& axis, const std::string& at, int64_t size) {
  const std::string n = literal(static_cast<double>(size)), p = "p" + axis, t = "t" + axis, i = "i" + axis;
  s.line("float " + p + "=place(" + at + "," + n + ");");
  if (mode == Mode::Nearest) {
    s.line("int e" + axis + "0=element(int(roundEven(" + p + "))," + n + ");");
    return 1;
  }
  s.line("int " + i + "=int(floor(" + p + "));float " + t + "=" + p + "-float(" + i + ");");
  const std::vector<std::string> weights = mode == Mode::Linear ? std::vector<std::string>{"1.0-" + t, t}
                                                                : std::vector<std::string>{"far(" + t + "+1.0)", "near(" + t + ")", "near(1.0-" + t + ")", "far(2.0-" + t + ")"};
  const int first = mode == Mode::Linear ? 0 : -1;
  for (size_t k = 0; k < weights.size(); ++k) {
    const std::string name = axis + std::to_string(k);
    s.line("int e" + name + "=element(" + i + "+" + literal(static_cast<int64_t>(k) + first) + "," + n + ");float w" + name + "=" + weights[k] + ";");
  }
  return static_cast<int>(weights.size());
}

/// What the samples of the axes from `axis` on add up to; `at` is the index of those before, `known` says which of their elements have to be there.
std::string sum_of(const Shader& s, int x, const Dims& in, size_t axis, int taps, const std::string& at, const std::string& known, bool zeros) {
  if (axis == in.size()) return zeros ? "((" + known + ")<0?0.0:" + s.load(x, "plane+" + at) + ")" : s.load(x, "plane+" + at);
  std::string sum;
  for (int k = 0; k < taps; ++k) {
    const std::string name = std::to_string(axis) + std::to_string(k), e = "e" + name;
    const std::string inner = sum_of(s, x, in, axis + 1, taps, at.empty() ? e : "(" + at + ")*" + text(in[axis]) + "+" + e, known.empty() ? e : known + "|" + e, zeros);
    sum += (k ? "+" : "") + (taps == 1 ? inner : "w" + name + "*" + inner);
  }
  return taps == 1 ? sum : "(" + sum + ")";
}

/// The grid names the last axis first.
void lower_grid_sample(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape(), in(dims.begin() + 2, dims.end()), grid = node.input(1).shape();
  const auto axes = static_cast<int64_t>(in.size()), points = elements_of({grid.begin() + 1, grid.end() - 1});
  const Mode mode = *mode_of(node);
  const Outside outside = *outside_of(node);
  const auto taps = static_cast<uint64_t>(mode == Mode::Nearest ? 1 : mode == Mode::Linear ? 2 : 4);
  Elements e{to, group};
  const int x = e.in(node.input(0)), at = e.in(node.input(1));
  write_functions(e.s, mode, outside, by_corners(node));
  e.finish(
      [&] {
        e.s.line("int plane=o/" + text(points) + "*" + text(elements_of(in)) + ",point=(o/" + text(points * dims[1]) + "*" + text(points) + "+o%" + text(points) + ")*" + text(axes) + ";");
        int each = 0;
        for (size_t k = 0; k < in.size(); ++k)
          each = write_taps(e.s, mode, std::to_string(k), e.s.load(at, "point+" + text(axes - 1 - static_cast<int64_t>(k))), in[k]);
        return sum_of(e.s, x, in, 0, each, "", "", outside == Outside::Zeros);
      },
      16 * static_cast<uint64_t>(axes) + 4 * taps * taps);
}

std::string no_grid_sample(const sdk::Node& node) {
  const sdk::Value x = node.input(0), grid = node.input(1);
  const int64_t axes = x.rank() - 2;
  if (axes < 1 || axes > 3) return "GridSample over " + text(axes) + " axes, wanted one to three";
  if (grid.rank() != x.rank() || grid.shape().back() != axes || grid.dim(0) != x.dim(0)) return "grid of other dims than the input wants";
  Dims made = grid.shape();
  made.insert(made.begin() + 1, x.dim(1)), made.pop_back();
  if (node.output(0).shape() != made) return "output of other dims than the input and the grid want";
  if (!mode_of(node)) return "mode is " + std::string(node.string("mode", "")) + ", wanted nearest, linear or cubic";
  if (!outside_of(node)) return "padding_mode is " + std::string(node.string("padding_mode", "")) + ", wanted zeros, border or reflection";
  return x.elements() == 0 && node.output(0).elements() != 0 ? "input 0 is empty" : "";
}

/// Rows of theta are x, y and z, columns the same and 1; the grid's axes are z, y, x.
void lower_affine_grid(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.output(0).shape(), strides = strides_of(dims);
  const int64_t axes = dims.back();
  Elements e{to, group};
  const int theta = e.in(node.input(0));
  e.finish(
      [&] {
        e.s.line("int row=(o/" + text(strides[0]) + "*" + text(axes) + "+o%" + text(axes) + ")*" + text(axes + 1) + ";float v=" + e.s.load(theta, "row+" + text(axes)) + ";");
        for (int64_t k = 0; k < axes; ++k) {  // column
          const auto axis = static_cast<size_t>(axes - k);
          const std::string i = "float(o/" + text(strides[axis]) + "%" + text(dims[axis]) + ")", n = literal(static_cast<double>(dims[axis]));
          const std::string place = by_corners(node) ? dims[axis] == 1 ? "-1.0" : "(2.0*" + i + "/" + literal(static_cast<double>(dims[axis] - 1)) + "-1.0)" : "((2.0*" + i + "+1.0)/" + n + "-1.0)";
          e.s.line("v+=" + e.s.load(theta, "row+" + text(k)) + "*" + place + ";");
        }
        return std::string("v");
      },
      static_cast<uint64_t>(6 * axes));
}

std::string no_affine_grid(const sdk::Node& node) {
  const sdk::Value theta = node.input(0), y = node.output(0);
  const int64_t axes = y.rank() - 2;
  if (axes < 2 || axes > 3) return "AffineGrid over " + text(axes) + " axes, wanted two or three";
  return theta.shape() != Dims{y.dim(0), axes, axes + 1} || y.shape().back() != axes ? "theta of other dims than the grid wants" : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&), uint32_t buffers = 0) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = true, r.buffers = buffers;
  return r;
}
constexpr sdk::Types F = kFloats;
constexpr Row kRows[] = {row(op("GridSample", 16, 22, {F, F}, {F}), lower_grid_sample, no_grid_sample),
                         row(op("AffineGrid", 20, 20, {F, sdk::types(OPTIMA_I64)}, {F}), lower_affine_grid, no_affine_grid, 2)};

}  // namespace of_sample

Family sample_family() { return of_sample::kRows; }

}  // namespace spirv_plugin
