// SPDX-License-Identifier: Apache-2.0
#include "core/config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kLargest = size_t{16} << 20;

struct Refusal {  // thrown by the builder, caught in parse_yaml
  uint32_t line, column;
  std::string message;
};

uint32_t from_one(int zero_based) { return zero_based < 0 ? 1 : static_cast<uint32_t>(zero_based) + 1; }

// Builds the tree from the parser's events.
class Builder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "found a second document, wanted one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, YamlNode::Kind::Null); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "aliases are not supported"); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse(mark, "anchors are not supported"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    refuse_tag(mark, tag);
    if (takes_key()) return add_key(mark, value);
    YamlNode& node = add(mark, anchor, YamlNode::Kind::Scalar);
    node.text = value;
    node.quoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::List);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::Map);
  }
  void OnMapEnd() override { open_.pop_back(); }

  YamlNode take() { return std::move(root_); }

 private:
  struct Open {
    YamlNode* node;
    bool has_key = false;
    std::map<std::string, std::pair<uint32_t, uint32_t>> keys;
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, std::string message) {
    throw Refusal{from_one(mark.line), from_one(mark.column), std::move(message)};
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, cat("tag ", quote(tag), " is not supported"));
  }
  bool takes_key() const { return !open_.empty() && open_.back().node->kind == YamlNode::Kind::Map && !open_.back().has_key; }

  void add_key(const YAML::Mark& mark, const std::string& key) {
    const uint32_t line = from_one(mark.line), column = from_one(mark.column);
    Open& open = open_.back();
    const auto [first, fresh] = open.keys.try_emplace(key, line, column);
    if (!fresh) refuse(mark, cat("key ", quote(key), " appears twice, first at line ", first->second.first, " column ", first->second.second));
    open.node->members.push_back({key, line, column, {}});
    open.has_key = true;
  }

  // A parent's list of children does not grow while a child is open, so pointers into it stay good.
  YamlNode& add(const YAML::Mark& mark, YAML::anchor_t, YamlNode::Kind kind) {
    if (takes_key()) refuse(mark, "a key must be a name");
    YamlNode* node = &root_;
    if (!open_.empty()) {
      Open& parent = open_.back();
      node = parent.node->kind == YamlNode::Kind::List ? &parent.node->items.emplace_back() : &parent.node->members.back().value;
      parent.has_key = false;
    }
    node->kind = kind;
    node->line = from_one(mark.line);
    node->column = from_one(mark.column);
    return *node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    refuse_tag(mark, tag);
    if (open_.size() >= kDeepest) refuse(mark, cat("nested deeper than ", kDeepest));
    YamlNode& node = add(mark, anchor, kind);
    open_.push_back({&node, false, {}});
  }

  YamlNode root_;
  std::vector<Open> open_;
  int documents_ = 0;
};

Json number_or_string(const std::string& text) {
  const char *first = text.data(), *last = first + text.size();
  if (first != last && *first == '+') ++first;
  int64_t whole = 0;
  if (const auto [end, error] = std::from_chars(first, last, whole); error == std::errc() && end == last) return whole;
  double real = 0;
  if (const auto [end, error] = std::from_chars(first, last, real); error == std::errc() && end == last && std::isfinite(real)) return real;
  return text;
}

Json to_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::Null: return nullptr;
    case YamlNode::Kind::List: {
      Json out = Json::array();
      for (const YamlNode& item : node.items) out.push_back(to_json(item));
      return out;
    }
    case YamlNode::Kind::Map: {
      Json out = Json::object();
      for (const auto& member : node.members) append_member(out, member.key, to_json(member.value));  // keys are unique already
      return out;
    }
    case YamlNode::Kind::Scalar: break;
  }
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  return number_or_string(node.text);
}

}  // namespace

Status yaml_error(std::string_view what, uint32_t line, uint32_t column, std::string_view message) {
  return invalid_input(cat(what, ":", line, ":", column, ": ", message));
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view what) {
  if (text.size() > kLargest) return invalid_input(cat(what, ": is ", human_bytes(text.size()), ", wanted at most ", human_bytes(kLargest)));
  std::istringstream stream{std::string(text)};
  Builder builder;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return yaml_error(what, refusal.line, refusal.column, refusal.message);
  } catch (const YAML::Exception& e) {
    return yaml_error(what, from_one(e.mark.line), from_one(e.mark.column), cat("is not valid YAML: ", e.msg));
  } catch (const std::exception& e) {
    return invalid_input(cat(what, ": is not valid YAML: ", e.what()));
  }
  return builder.take();
}

Result<Json> yaml_to_json(std::string_view text, std::string_view what) {
  OPTIMA_ASSIGN(const YamlNode root, parse_yaml(text, what));
  return to_json(root);
}

Result<Json> read_yaml(const std::string& path) {
  OPTIMA_ASSIGN(const std::string text, read_file(path));
  return yaml_to_json(text, path);
}

}  // namespace optima
