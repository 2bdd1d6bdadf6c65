// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace bmcompiler_plugin::top {
namespace {

/// In quotes. All that is not printable ASCII as its hexadecimal byte, which the parser of MLIR takes for any byte.
std::string quoted(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      s += c;
      continue;
    }
    char hex[4];
    std::snprintf(hex, sizeof hex, "\\%02X", byte);
    s += hex;
  }
  return s + "\"";
}

/// Shortest text that reads back as the same number; MLIR wants a point in it.
std::string number(double v) {
  char text[40];
  if (!std::isfinite(v)) {
    uint64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    std::snprintf(text, sizeof text, "0x%016llX", static_cast<unsigned long long>(bits));
    return text;
  }
  const auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific).ptr;
  std::string s(text, end);
  if (s.find('.') == std::string::npos) s.insert(s.find('e'), ".0");
  return s;
}

template <class T, class F>
std::string joined(const T& items, F one) {
  std::string s;
  for (const auto& item : items) {
    if (!s.empty()) s += ", ";
    s += one(item);
  }
  return s;
}

std::string tensor(const std::vector<int64_t>& dims, const std::string& type) {
  if (type == "none") return type;
  std::string s = "tensor<";
  for (const int64_t d : dims) s += std::to_string(d) + "x";
  return s + type + ">";
}

/// Several results have several names; those that are not asked for have none.
std::string location(const std::vector<Result>& results) {
  if (results.size() == 1) return " loc(" + quoted(results[0].name) + ")\n";
  std::vector<Result> named;
  for (const Result& r : results)
    if (r.type != "none") named.push_back(r);
  return " loc(fused[" + joined(named, [](const Result& r) { return quoted(r.name); }) + "])\n";
}

}  // namespace

void Attributes::add(std::string_view name, const std::string& value) {
  if (!text_.empty()) text_ += ", ";
  text_ += std::string(name) + " = " + value;
}
Attributes& Attributes::i64(std::string_view name, int64_t v) { return add(name, std::to_string(v) + " : i64"), *this; }
Attributes& Attributes::i32(std::string_view name, int32_t v) { return add(name, std::to_string(v) + " : i32"), *this; }
Attributes& Attributes::si32(std::string_view name, int32_t v) { return add(name, std::to_string(v) + " : si32"), *this; }
Attributes& Attributes::f64(std::string_view name, double v) { return add(name, number(v) + " : f64"), *this; }
Attributes& Attributes::flag(std::string_view name, bool v) { return add(name, v ? "true" : "false"), *this; }
Attributes& Attributes::text(std::string_view name, std::string_view v) { return add(name, quoted(v)), *this; }
Attributes& Attributes::i64s(std::string_view name, const std::vector<int64_t>& v) {
  return add(name, "[" + joined(v, [](int64_t n) { return std::to_string(n); }) + "]"), *this;
}
Attributes& Attributes::f64s(std::string_view name, const std::vector<double>& v) {
  return add(name, "[" + joined(v, [](double n) { return number(n) + " : f64"; }) + "]"), *this;
}

Value Module::input(const Result& what) {
  const std::string argument = "%arg" + std::to_string(arguments_.size()), outside = tensor(what.dims, what.type), inside = tensor(what.dims, "f32");
  const Value v{static_cast<uint32_t>(values_.size())};
  values_.push_back({"%" + std::to_string(v.id), inside, what.name});
  arguments_.push_back(outside);
  body_ += "    " + values_.back().ssa + " = \"top.Input\"(" + argument + ") : (" + outside + ") -> " + inside + location({what});
  locations_.push_back(what.name), taken_.insert(what.name);
  operations_.push_back({"Input", {}, {v}});
  return v;
}

Value Module::weight(Weight what) {
  const Value v{static_cast<uint32_t>(values_.size())};
  values_.push_back({"%" + std::to_string(v.id), tensor(what.dims, what.type), what.name});
  body_ += "    " + values_.back().ssa + " = \"top.Weight\"() : () -> " + values_.back().type + location({{what.name, {}}});
  taken_.insert(what.name);
  weights_.push_back(std::move(what));
  operations_.push_back({"Weight", {}, {v}});
  return v;
}

Value Module::weight(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return weight(Weight{name, dims, "f32", std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))});
}

Value Module::op(std::string_view op, const std::vector<Value>& operands, const Attributes& attributes, const Result& result) {
  return this->op(op, operands, attributes, std::vector<Result>{result}).front();
}

std::vector<Value> Module::op(std::string_view op, const std::vector<Value>& operands, const Attributes& attributes, const std::vector<Result>& results) {
  const std::string ssa = "%" + std::to_string(values_.size());
  std::string text = "    " + ssa + (results.size() > 1 ? ":" + std::to_string(results.size()) : "") + " = \"top." + std::string(op) + "\"(";
  text += joined(operands, [&](Value v) { return values_.at(v.id).ssa; }) + ")";
  if (!attributes.str().empty()) text += " {" + attributes.str() + "}";
  text += " : (" + joined(operands, [&](Value v) { return values_.at(v.id).type; }) + ") -> ";
  const std::string types = joined(results, [](const Result& r) { return tensor(r.dims, r.type); });
  body_ += text + (results.size() > 1 ? "(" + types + ")" : types) + location(results);
  std::vector<Value> made;
  for (size_t k = 0; k < results.size(); ++k) {
    made.push_back({static_cast<uint32_t>(values_.size())});
    values_.push_back({results.size() > 1 ? ssa + "#" + std::to_string(k) : ssa, tensor(results[k].dims, results[k].type), results[k].name});
    if (results[k].type == "none") continue;
    locations_.push_back(results[k].name), taken_.insert(results[k].name);
  }
  Operation& written = operations_.emplace_back(Operation{std::string(op), operands, made});
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k].type == "none") written.results[k] = none();
  return made;
}

void Module::output(Value v) { outputs_.push_back(v); }

std::string Module::unique(const std::string& name) {
  std::string tried = name;
  for (uint64_t n = 1; !taken_.insert(tried).second; ++n) tried = name + "_" + std::to_string(n);
  return tried;
}

std::string Module::text(std::string_view weight_file) const {
  const std::string types = joined(outputs_, [&](Value v) { return values_.at(v.id).type; });
  std::string s = "module @" + quoted(name_) + " attributes {module.chip = \"ALL\", module.platform = \"ONNX\", module.state = \"TOP_F32\", ";
  s += "module.top_run_mode = \"STATIC\", module.weight_file = " + quoted(weight_file) + "} {\n  func.func @main(";
  size_t k = 0;
  s += joined(arguments_, [&](const std::string& type) { return "%arg" + std::to_string(k++) + ": " + type; });
  s += ") -> " + (outputs_.size() == 1 ? types : "(" + types + ")") + " {\n    %none = \"top.None\"() : () -> none loc(unknown)\n" + body_;
  return s + "    return " + joined(outputs_, [&](Value v) { return values_.at(v.id).ssa; }) + " : " + types + "\n  }\n}\n";
}

}  // namespace bmcompiler_plugin::top
