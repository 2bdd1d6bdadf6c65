// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see statement.hpp.
#include "plugins/llvm_cpu/codegen/statement.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "optima/plugin/error.hpp"
#include "optima/plugin/manifest.hpp"

namespace optima::llvm_cpu {
namespace {

class Reader {
 public:
  Reader(std::string_view statement, const std::vector<int64_t>& literals, const std::vector<uint32_t>& slots)
      : whole_(statement), rest_(statement), literals_(literals), slots_(slots) {}

  std::string_view word() {
    const size_t end = rest_.find(' ');
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (out.empty()) fail("a word is missing");
    return out;
  }
  bool done() const { return rest_.empty(); }
  int64_t integer() { return parse(word()); }
  Size size() { return parse_size(word()); }
  std::vector<Size> sizes() {
    std::vector<Size> out;
    std::string_view text = word();
    for (;;) {
      const size_t comma = text.find(',');
      out.push_back(parse_size(text.substr(0, comma)));
      if (comma == std::string_view::npos) return out;
      text.remove_prefix(comma + 1);
    }
  }
  int32_t type() {
    const std::string_view name = word();
    for (const int32_t type : {OPTIMA_F32, OPTIMA_F64, OPTIMA_F16, OPTIMA_BF16, OPTIMA_I8, OPTIMA_I16, OPTIMA_I32, OPTIMA_I64, OPTIMA_U8, OPTIMA_U16,
                               OPTIMA_U32, OPTIMA_U64, OPTIMA_BOOL})
      if (sdk::dtype_name(type) == name) return type;
    fail("the type is unknown");
  }
  uint32_t value(size_t made) {
    const int64_t v = integer();
    if (v < 0 || static_cast<size_t>(v) >= made) fail("it uses a value that is not made yet");
    return static_cast<uint32_t>(v);
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw sdk::Error(OPTIMA_INTERNAL, "expression statement \"" + std::string(whole_) + "\" cannot be read: " + why);
  }

 private:
  int64_t parse(std::string_view text) const {
    int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size()) fail("a number is malformed");
    return out;
  }
  Size parse_size(std::string_view text) const {
    if (!text.starts_with('$')) return {parse(text)};
    const int64_t at = parse(text.substr(1));
    if (at < 0 || static_cast<size_t>(at) >= literals_.size()) fail("there is no literal " + std::string(text));
    const auto slot = std::lower_bound(slots_.begin(), slots_.end(), static_cast<uint32_t>(at));
    if (slot == slots_.end() || *slot != at) return {literals_[static_cast<size_t>(at)]};
    return {0, static_cast<int32_t>(slot - slots_.begin())};
  }
  std::string_view whole_, rest_;
  const std::vector<int64_t>& literals_;
  const std::vector<uint32_t>& slots_;
};

Statement read_statement(Reader& r, std::string name, size_t made, size_t rank) {
  Statement s;
  s.name = std::move(name);
  if (s.name == "load") {
    s.arg = r.integer(), s.type = r.type(), s.steps = r.sizes();
  } else if (s.name == "store") {
    s.arg = r.integer(), s.values = {r.value(made)}, s.steps = r.sizes();
  } else if (s.name == "const") {
    s.type = r.type(), s.number = r.word();
  } else {
    if (s.name == "cast") s.type = r.type();
    else if (s.operation = find_operation(s.name); !s.operation) r.fail("there is no such operation");
    while (!r.done()) s.values.push_back(r.value(made));
    if (s.values.empty() || s.values.size() > 3) r.fail("it needs 1 to 3 values");
  }
  if (!s.steps.empty() && s.steps.size() != rank) r.fail("it needs one step per dim");
  if (!r.done()) r.fail("it is too long");
  return s;
}

}  // namespace

Expression read_expression(std::string_view text, const std::vector<int64_t>& literals, const std::vector<uint32_t>& slots) {
  Expression e;
  size_t made = 0;
  for (bool first = true; !text.empty(); first = false) {
    const size_t end = text.find("; ");
    Reader r(text.substr(0, end), literals, slots);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    std::string name(r.word());
    if (first != (name == "loop" || name == "strict")) r.fail("the first statement, and no other, is \"loop\" or \"strict\"");
    if (first) {
      e.strict = name == "strict";
      e.split = r.size(), e.chunk = r.size(), e.dims = r.sizes();
      const int64_t rank = static_cast<int64_t>(e.dims.size()), split = e.split.value;
      if (split < 0 || split >= rank || (e.chunk.value > 0 && e.split.slot < 0 && split != rank - 1) || e.chunk.value < 0) r.fail("units do not fit the dims");
      for (const Size& d : e.dims)
        if (d.slot < 0 && d.value < 1) r.fail("dims must be positive");
      continue;
    }
    e.statements.push_back(read_statement(r, std::move(name), made, e.dims.size()));
    if (e.statements.back().name != "store") ++made;
  }
  if (e.statements.empty()) throw sdk::Error(OPTIMA_INTERNAL, "an expression without statements");
  return e;
}

}  // namespace optima::llvm_cpu
