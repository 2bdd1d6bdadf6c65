// SPDX-License-Identifier: Apache-2.0
#include "core/session/describe.hpp"

#include <algorithm>

#include "core/backend/describer.hpp"
#include "core/support/json_value.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

// One per plugin: of one in two files that which runs, which loads sooner.
std::vector<Backend*> plugins_of(const Registry& registry, std::string_view id) {
  std::vector<Backend*> all = registry.runtimes();
  for (Backend* b : registry.compilers())
    if (!registry.runtime(b->manifest().id)) all.push_back(b);
  if (!id.empty()) std::erase_if(all, [&](const Backend* b) { return b->manifest().id != id; });
  return all;
}

Result<std::optional<Json>> ask(Backend& plugin, const ArtifactFile& file) {
  auto* describer = dynamic_cast<Describer*>(&plugin);
  if (!describer) return std::optional<Json>();
  OPTIMA_ASSIGN(const std::optional<std::string> text, describer->describe(file));
  if (!text) return std::optional<Json>();
  const std::string who = cat("plugin ", quote(plugin.manifest().id), ": what it says of file ", quote(file.name));
  Result<Json> json = parse_json(*text, who);
  if (!json.ok()) return plugin_error(json.status().message());
  if (!json->is_object()) return plugin_error(cat(who, " is no JSON object"));
  return std::optional<Json>(std::move(*json));
}

bool is_scalar(const Json& v) { return !v.is_object() && !v.is_array(); }

std::string scalar_text(const Json& v) { return v.is_string() ? plain_line(v.get_ref<const std::string&>()) : to_line(v); }

/// Of a scalar or a list of scalars.
std::string cell(const Json& v) {
  if (is_scalar(v)) return scalar_text(v);
  if (v.is_object()) return cat(v.size(), v.size() == 1 ? " member" : " members");
  std::vector<std::string> all;
  for (const Json& one : v) all.push_back(cell(one));
  return all.size() <= 8 ? join(all) : join_few(all);
}

bool is_table(const Json& v) {
  const auto flat = [](const Json& row) { return row.is_object() && std::none_of(row.begin(), row.end(), [](const Json& c) { return c.is_object(); }); };
  return v.is_array() && !v.empty() && std::all_of(v.begin(), v.end(), flat);
}

/// Columns in the order in which rows bring them.
std::string rows_text(const Json& rows, const std::string& indent) {
  std::vector<std::vector<std::string>> cells(1);
  for (const Json& row : rows)
    for (const auto& [key, value] : row.items())
      if (std::find(cells[0].begin(), cells[0].end(), key) == cells[0].end()) cells[0].push_back(key);
  const std::vector<std::string> columns = cells[0];
  for (const Json& row : rows) {
    cells.emplace_back();
    for (const std::string& c : columns) cells.back().push_back(row.contains(c) ? cell(row.at(c)) : "");
  }
  for (std::string& c : cells[0]) c = plain_line(c);
  return table(cells, {indent, {}});
}

std::string members_text(const Json& object, const std::string& indent);

bool has_tables(const Json& v) {
  return v.is_array() && !v.empty() && std::all_of(v.begin(), v.end(), [](const Json& e) { return e.is_object(); }) &&
         std::any_of(v.begin(), v.end(), [](const Json& e) { return std::any_of(e.begin(), e.end(), [](const Json& m) { return m.is_object() || is_table(m); }); });
}

// One of several, marked so that it is seen where it begins.
std::string item_text(const Json& one, const std::string& indent) {
  std::string text = members_text(one, indent + "  ");
  if (!text.empty()) text[indent.size()] = '-';
  return text;
}

std::string member_text(const std::string& key, const Json& value, const std::string& indent) {
  const std::string head = cat(indent, plain_line(key), ":"), deeper = indent + "  ";
  if (value.is_object()) return cat(head, "\n", members_text(value, deeper));
  if (has_tables(value)) {
    std::string out = head + "\n";
    for (const Json& one : value) out += value.size() == 1 ? members_text(one, deeper) : item_text(one, deeper);
    return out;
  }
  if (is_table(value)) return cat(head, "\n", rows_text(value, deeper));
  if (value.is_array() && value.empty()) return cat(head, " none\n");
  return cat(head, " ", cell(value), "\n");
}

// As deep as parse_json() lets anything be.
std::string members_text(const Json& object, const std::string& indent) {
  std::string out;
  for (const auto& [key, value] : object.items()) out += member_text(key, value, indent);
  return out;
}

}  // namespace

Result<std::optional<Json>> describe_file(const Registry& registry, const std::string& name, const Blob& bytes, std::string_view plugin) {
  for (Backend* b : plugins_of(registry, plugin)) {
    OPTIMA_ASSIGN(std::optional<Json> said, ask(*b, {name, bytes}));
    if (said) return said;
  }
  return std::optional<Json>();
}

std::string description_text(const Json& description) { return members_text(description, ""); }

}  // namespace optima
