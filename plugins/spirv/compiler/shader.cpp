// SPDX-License-Identifier: Apache-2.0
#include "shader.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "library.hpp"

namespace spirv_plugin {
namespace {

std::string vector_type(Element e, int width) {
  if (width == 1) return e == Element::F16 ? "float16_t" : type_of(e);
  const std::string n = std::to_string(width);
  return e == Element::F16 ? "f16vec" + n : e == Element::I32 ? "ivec" + n : "vec" + n;
}

/// The type that loads and stores have outside of the buffer.
std::string outer_type(Element e, int width) { return vector_type(e == Element::F16 ? Element::F32 : e, width); }

std::string name_of_buffer(int binding) { return "b" + std::to_string(binding); }

}  // namespace

std::string literal(double value) {
  const auto f = static_cast<float>(value);
  if (std::isnan(f)) return "uintBitsToFloat(0x7fc00000u)";
  if (std::isinf(f)) return f > 0 ? "uintBitsToFloat(0x7f800000u)" : "uintBitsToFloat(0xff800000u)";
  if (f != 0 && (std::fabs(f) > 1e38f || std::fabs(f) < 1e-37f)) {  // decimals near the ends of the range are refused
    char bits[40];
    std::snprintf(bits, sizeof bits, "uintBitsToFloat(0x%08xu)", std::bit_cast<uint32_t>(f));
    return bits;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(f));
  std::string out = text;
  if (out.find_first_of(".e") == out.npos) out += ".0";
  return f < 0 || std::signbit(f) ? "(" + out + ")" : out;
}

std::string literal(int64_t value) {
  if (value <= INT32_MIN) return "(-2147483647-1)";
  if (value > INT32_MAX) value = INT32_MAX;
  return value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value);
}

int Shader::bind(const Tensor& t, int width, bool writes) {
  bound_.push_back({t.id, t.element, width, writes});
  return static_cast<int>(bound_.size()) - 1;
}

std::string Shader::load(int binding, const std::string& index) const {
  const Bound& b = bound_[static_cast<size_t>(binding)];
  const std::string got = "L" + std::to_string(binding) + "(" + index + ")";
  return b.element == Element::F16 ? outer_type(b.element, b.width) + "(" + got + ")" : got;
}

std::string Shader::store(int binding, const std::string& index, const std::string& value) const {
  const Bound& b = bound_[static_cast<size_t>(binding)];
  const std::string put = b.element == Element::F16 ? vector_type(b.element, b.width) + "(" + value + ")" : value;
  return "S" + std::to_string(binding) + "(" + index + "," + put + ");";
}

std::string Shader::text(bool guarded) const {
  std::string out = "#version 450\n";
  const bool halves = std::any_of(bound_.begin(), bound_.end(), [](const Bound& b) { return b.element == Element::F16; });
  if (halves) out += "#extension GL_EXT_shader_16bit_storage : require\n";
  for (const std::string& e : extensions_) out += "#extension " + e + " : require\n";
  out += "layout(local_size_x=" + std::to_string(local_[0]) + ",local_size_y=" + std::to_string(local_[1]) + ",local_size_z=" + std::to_string(local_[2]) + ") in;\n";
  for (int k = 0; k < static_cast<int>(bound_.size()); ++k) {
    const Bound& b = bound_[static_cast<size_t>(k)];
    const std::string n = std::to_string(k), type = vector_type(b.element, b.width), name = name_of_buffer(k);
    out += "layout(std430,set=0,binding=" + n + ") " + (b.writes ? "" : "readonly ") + "buffer B" + n + "{" + type + " " + name + "[];};\n";
    if (guarded) {
      const std::string check = "(uint(i)<uint(" + name + ".length())";
      out += "#define L" + n + "(i) " + name + "[" + check + "?(i):int(atomicAdd(violations,1u)&0u))]\n";
      out += "#define S" + n + "(i,v) {if" + check + ") " + name + "[i]=v; else atomicAdd(violations,1u);}\n";
    } else {
      out += "#define L" + n + "(i) " + name + "[i]\n#define S" + n + "(i,v) " + name + "[i]=v\n";
    }
  }
  if (guarded) out += "layout(std430,set=0,binding=" + std::to_string(bound_.size()) + ") buffer Violations{uint violations;};\n";
  return out + library_for(top_ + body_) + top_ + "void main(){\n" + body_ + "}\n";
}

std::vector<uint32_t> Shader::tensors() const {
  std::vector<uint32_t> out;
  for (const Bound& b : bound_) out.push_back(b.tensor);
  return out;
}

std::vector<uint32_t> Shader::written() const {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < bound_.size(); ++k)
    if (bound_[k].writes) out.push_back(k);
  return out;
}

Grid grid(int64_t n, uint32_t local) {
  constexpr int64_t kMost = 65535;
  const int64_t groups = std::max<int64_t>(1, (n + local - 1) / local), y = (groups + kMost - 1) / kMost, x = (groups + y - 1) / y;
  Grid out{{static_cast<uint32_t>(x), static_cast<uint32_t>(y), 1}, "int(gl_GlobalInvocationID.x)"};
  if (y > 1) out.id = "(int(gl_GlobalInvocationID.x)+int(gl_WorkGroupID.y)*" + std::to_string(x * local) + ")";
  return out;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims) {
  std::vector<int64_t> out(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) out[k - 1] = out[k] * dims[k];
  return out;
}

std::string strided_index(const std::string& at, const std::vector<int64_t>& to, const std::vector<int64_t>& strides, int64_t offset) {
  struct Part {
    int64_t size, stride;
  };
  std::vector<Part> parts;  // neighbours that one stride walks through are one
  for (size_t k = 0; k < to.size(); ++k) {
    if (to[k] == 1) continue;
    if (!parts.empty() && parts.back().stride == strides[k] * to[k]) parts.back() = {parts.back().size * to[k], strides[k]};
    else parts.push_back({to[k], strides[k]});
  }
  std::string out;
  int64_t behind = 1;
  for (size_t k = parts.size(); k-- > 0; behind *= parts[k].size) {
    if (parts[k].stride == 0) continue;
    std::string one = behind == 1 ? at : "(" + at + "/" + std::to_string(behind) + ")";
    if (k > 0) one = "(" + one + "%" + std::to_string(parts[k].size) + ")";
    if (parts[k].stride != 1) one += "*" + literal(parts[k].stride);
    out += (out.empty() ? "" : "+") + one;
  }
  if (out.empty()) return std::to_string(offset);
  return offset == 0 ? out : out + "+" + literal(offset);
}

std::string broadcast_index(const std::string& at, const std::vector<int64_t>& to, const std::vector<int64_t>& from) {
  const std::vector<int64_t> own = strides_of(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t ahead = to.size() - from.size();
  for (size_t k = 0; k < from.size(); ++k) strides[ahead + k] = from[k] == 1 ? 0 : own[k];
  return strided_index(at, to, strides);
}

}  // namespace spirv_plugin
