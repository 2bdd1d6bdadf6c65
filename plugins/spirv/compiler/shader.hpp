// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: the text of one compute kernel: its buffers, and a body that reads and writes them.
#pragma once

#include "plan/plan.hpp"

namespace spirv_plugin {

/// A tensor of the draft, as families pass it around. Dense, row-major.
struct Tensor {
  uint32_t id = 0;
  Element element = Element::F32;
  std::vector<int64_t> dims{};
  int64_t elements() const { return elements_of(dims); }
};

/// GLSL's type of what an element is read as: "float" or "int".
constexpr const char* type_of(Element e) { return e == Element::I32 ? "int" : "float"; }

using Dims = std::vector<int64_t>;

inline std::string text(int64_t n) { return std::to_string(n); }
/// As GLSL writes it, exactly: infinities and NaN too.
std::string literal(double value);
std::string literal(int64_t value);

class Shader {
 public:
  /// Invocations of a workgroup.
  explicit Shader(uint32_t x, uint32_t y = 1, uint32_t z = 1) : local_{x, y, z} {}
  /// The same for another workgroup: ways of a step may differ in it.
  void regroup(uint32_t x, uint32_t y) { local_ = {x, y, 1}; }

  /// Binds a tensor: its number. `width`: elements that one index reaches, 1, 2 or 4; a wide load is a vec2 or vec4.
  int in(const Tensor& t, int width = 1) { return bind(t, width, false); }
  int out(const Tensor& t, int width = 1) { return bind(t, width, true); }
  /// What the tensor of a binding lies in.
  Element element(int binding) const { return bound_[static_cast<size_t>(binding)].element; }
  /// From here on one index of the binding reaches so many elements: ways of a step may differ in it.
  void widen(int binding, int width) { bound_[static_cast<size_t>(binding)].width = width; }
  /// The element at an index expression, as float or int (or vector of width).
  std::string load(int binding, const std::string& index) const;
  /// The statement that stores `value` there.
  std::string store(int binding, const std::string& index, const std::string& value) const;

  /// An extension of GLSL that the text wants, each once.
  void extend(const std::string& extension) { extensions_.insert(extension); }
  bool is_extended() const { return !extensions_.empty(); }
  /// A line before main(): a function, shared memory.
  void top(const std::string& line) { top_ += line + "\n"; }
  /// A line of main().
  void line(const std::string& line) { body_ += line + "\n"; }

  /// The shader. Functions of the library (erf_, tanh_, ...) that it calls come with it. `guarded`: every index is looked at, and those outside of
  /// their buffer are counted in one more buffer, at the next binding; they load 0 and store nothing.
  std::string text(bool guarded = false) const;

  std::vector<uint32_t> tensors() const;
  std::vector<uint32_t> written() const;
  const std::array<uint32_t, 3>& local() const { return local_; }

 private:
  struct Bound {
    uint32_t tensor;
    Element element;
    int width;
    bool writes;
  };
  int bind(const Tensor& t, int width, bool writes);

  std::array<uint32_t, 3> local_;
  std::vector<Bound> bound_;
  std::set<std::string> extensions_;
  std::string top_, body_;
};

/// How many workgroups cover `n` invocations along x, folded into y where more than 65535 would be wanted. With it comes the number of the
/// invocation, as an expression that may reach past n.
struct Grid {
  std::array<uint32_t, 3> groups;
  std::string id;
};
Grid grid(int64_t n, uint32_t local);

/// The linear index in an operand of dims `from` for the linear index `at` in dims `to`, to which it is broadcast as ONNX does.
std::string broadcast_index(const std::string& at, const std::vector<int64_t>& to, const std::vector<int64_t>& from);
/// The same for any strides, one per dim of `to`: sum of coordinate times stride, plus `offset`.
std::string strided_index(const std::string& at, const std::vector<int64_t>& to, const std::vector<int64_t>& strides, int64_t offset = 0);
/// Row-major strides.
std::vector<int64_t> strides_of(const std::vector<int64_t>& dims);

}  // namespace spirv_plugin
