// SPDX-License-Identifier: Apache-2.0
#include "core/support/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/support/file.hpp"
#include "core/support/repeated.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr int kDeepest = 200;

std::string line_and_column(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const size_t start = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return cat("line ", lines + 1, " column ", at - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

// Counts how deep brackets nest outside strings; the library's parser would overflow the stack when destroying deep trees.
size_t first_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

// Builds the tree and remembers the first duplicate key of the first object that has one. The library's own builder lets the last of
// two equal keys win without a word, and searches all members of an object for each new one: quadratic in hostile files. And its
// objects copy all they hold when they grow, so each is filled when its size is known.
class Builder {
 public:
  explicit Builder(Json& out) : out_(out) {}

  bool null() { return place(nullptr); }
  bool boolean(bool v) { return place(v); }
  bool number_integer(Json::number_integer_t v) { return place(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return place(v); }
  bool number_float(Json::number_float_t v, const std::string&) { return place(v); }
  bool string(std::string& v) { return place(std::move(v)); }
  bool binary(Json::binary_t& v) { return place(std::move(v)); }
  bool start_object(size_t) { return open(true); }
  bool end_object() {
    Open done = close();
    if (duplicate_.empty()) find_duplicate(done.members);
    Json object = Json::object();
    auto& members = object.get_ref<Json::object_t&>();
    members.reserve(done.members.size());
    for (auto& [key, value] : done.members) members.emplace_back(std::move(key), std::move(value));
    return place(std::move(object));
  }
  bool start_array(size_t) { return open(false); }
  bool end_array() {
    Json array = Json::array();
    array.get_ref<Json::array_t&>() = close().elements;
    return place(std::move(array));
  }
  bool key(std::string& k) {
    open_.back().key = std::move(k);
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) {
    error_at_ = at;
    return false;
  }
  const std::string& duplicate() const { return duplicate_; }
  size_t error_at() const { return error_at_; }

 private:
  using Members = std::vector<std::pair<std::string, Json>>;
  struct Open {
    bool is_object = false;
    std::string key;  // of the value to come
    Members members;
    Json::array_t elements;
  };

  bool place(Json value) {
    if (open_.empty()) out_ = std::move(value);
    else if (Open& to = open_.back(); to.is_object) to.members.emplace_back(std::move(to.key), std::move(value));
    else to.elements.push_back(std::move(value));
    return true;
  }
  bool open(bool is_object) {
    open_.emplace_back().is_object = is_object;
    return true;
  }
  Open close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return done;
  }
  void find_duplicate(const Members& members) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : members) keys.push_back(key);
    if (const size_t at = first_repeated(keys); at < keys.size()) duplicate_ = quote(keys[at]);
  }

  Json& out_;
  std::vector<Open> open_;
  std::string duplicate_;
  size_t error_at_ = 0;
};

constexpr std::string_view kIntegers = "an array of integers";

bool are_integers(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& e) { return e.is_number_integer(); });
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  if (const size_t deep = first_too_deep(text); deep != std::string_view::npos)
    return invalid_input(cat(what, ": nested deeper than ", kDeepest, " at ", line_and_column(text, deep)));
  Json out;
  Builder builder(out);
  try {
    if (!Json::sax_parse(text, &builder)) {
      if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return invalid_input(cat(what, ": is empty, wanted JSON"));
      const size_t at = builder.error_at();
      return invalid_input(cat(what, ": is not valid JSON at ", line_and_column(text, at ? at - 1 : 0)));
    }
  } catch (const std::exception& e) {
    return invalid_input(cat(what, ": is not valid JSON: ", e.what()));
  }
  if (!builder.duplicate().empty()) return invalid_input(cat(what, ": key ", builder.duplicate(), " appears twice in one object"));
  return out;
}

Result<Json> read_json(const std::string& path) {
  OPTIMA_ASSIGN(const std::string text, read_file(path));
  return parse_json(text, quote(path));
}

void append_member(Json& object, std::string key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::move(key), std::move(value));
}

std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }
std::string to_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool JsonReader::has(std::string_view key) const { return json_->is_object() && json_->contains(key); }

Result<const Json*> JsonReader::member(std::string_view key, std::string_view wanted, bool (*is)(const Json&)) const {
  if (!json_->is_object()) return invalid_input(cat(place_, ": found ", json_->type_name(), ", wanted an object"));
  const auto it = json_->find(key);
  if (it == json_->end()) return invalid_input(cat(place_, ": member '", key, "' is missing, wanted ", wanted));
  if (!is(*it)) return invalid_input(cat(place_, ".", key, ": found ", it->type_name(), ", wanted ", wanted));
  return &*it;
}

Result<JsonReader> JsonReader::object(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "an object", [](const Json& x) { return x.is_object(); }));
  return JsonReader(*j, cat(place_, ".", key));
}

Result<std::vector<JsonReader>> JsonReader::array(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "an array", [](const Json& x) { return x.is_array(); }));
  std::vector<JsonReader> out;
  for (size_t i = 0; i < j->size(); ++i) out.emplace_back((*j)[i], cat(place_, ".", key, "[", i, "]"));
  return out;
}

Result<std::vector<std::pair<std::string, JsonReader>>> JsonReader::members(std::string_view key) const {
  OPTIMA_ASSIGN(const JsonReader at, object(key));
  std::vector<std::pair<std::string, JsonReader>> out;
  for (const auto& [name, value] : at.json_->get_ref<const Json::object_t&>()) out.emplace_back(name, JsonReader(value, cat(at.place_, ".", name)));
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> JsonReader::string_members(std::string_view key) const {
  OPTIMA_ASSIGN(const auto all, members(key));
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : all) {
    if (!value.json().is_string()) return invalid_input(cat(value.place(), ": found ", value.json().type_name(), ", wanted a string"));
    out.emplace_back(name, value.json().get<std::string>());
  }
  return out;
}

Result<std::string> JsonReader::string(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "a string", [](const Json& x) { return x.is_string(); }));
  return j->get<std::string>();
}

Result<int64_t> JsonReader::integer(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "an integer", [](const Json& x) {
    return x.is_number_integer() && !(x.is_number_unsigned() && x.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  }));
  return j->get<int64_t>();
}

Result<double> JsonReader::number(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "a number", [](const Json& x) { return x.is_number(); }));
  return j->get<double>();
}

Result<bool> JsonReader::boolean(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "true or false", [](const Json& x) { return x.is_boolean(); }));
  return j->get<bool>();
}

Result<std::string> JsonReader::string_or(std::string_view key, std::string fallback) const {
  if (!has(key)) return fallback;
  return string(key);
}
Result<int64_t> JsonReader::integer_or(std::string_view key, int64_t fallback) const {
  if (!has(key)) return fallback;
  return integer(key);
}
Result<bool> JsonReader::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  return boolean(key);
}

Result<std::vector<std::string>> JsonReader::strings(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, "an array of strings", [](const Json& x) {
    return x.is_array() && std::all_of(x.begin(), x.end(), [](const Json& e) { return e.is_string(); });
  }));
  return j->get<std::vector<std::string>>();
}

Result<std::vector<int64_t>> JsonReader::integers(std::string_view key) const {
  OPTIMA_ASSIGN(const Json* j, member(key, kIntegers, are_integers));
  return j->get<std::vector<int64_t>>();
}

Result<std::vector<int64_t>> JsonReader::integers() const {
  if (!are_integers(*json_)) return invalid_input(cat(place_, ": found ", json_->type_name(), ", wanted ", kIntegers));
  return json_->get<std::vector<int64_t>>();
}

Status JsonReader::only(std::initializer_list<std::string_view> known) const {
  if (!json_->is_object()) return invalid_input(cat(place_, ": found ", json_->type_name(), ", wanted an object"));
  for (const auto& [key, value] : json_->items())
    if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end()) {
      const std::vector<std::string> names(known.begin(), known.end());
      return invalid_input(cat(place_, ": unknown member ", quote(key), nearest_hint(key, names)));
    }
  return {};
}

}  // namespace optima
