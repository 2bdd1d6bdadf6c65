// SPDX-License-Identifier: Apache-2.0
#include "core/config/config.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/config/yaml.hpp"
#include "core/support/file.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using Kind = YamlNode::Kind;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Null: return "nothing";
    case Kind::Scalar: return "a value";
    case Kind::List: return "a list";
    case Kind::Map: return "a map";
  }
  return "nothing";
}

// Walks the tree; every message has the place of what it complains about.
class Reader {
 public:
  explicit Reader(std::string_view what) : what_(what) {}

  Result<Config> config(const YamlNode& root) {
    Config out;
    if (root.kind == Kind::Null) return out;  // an empty file changes nothing
    OPTIMA_RETURN_IF_ERROR(map(root, "the file", {"devices", "links", "plugins", "objective", "costs", "dims", "shapes"}));
    for (const auto& [key, line, column, value] : root.members) {
      Status status;
      if (key == "devices") status = devices(value, out);
      if (key == "links") status = links(value, out);
      if (key == "plugins") status = plugins(value, out);
      if (key == "objective") status = objective(value, out);
      if (key == "dims") status = dims(value, out);
      if (key == "shapes") status = shapes(value, out);
      if (key == "costs") status = words(value, "costs", "file", out.costs);
      OPTIMA_RETURN_IF_ERROR(status);
    }
    return out;
  }

 private:
  Status error(const YamlNode& at, std::string_view message) const { return yaml_error(what_, at.line, at.column, message); }
  Status wrong(const YamlNode& at, std::string_view name, std::string_view wanted) const {
    const std::string found = at.kind == Kind::Scalar ? quote(at.text) : std::string(name_of(at.kind));
    return error(at, cat(name, ": found ", found, ", wanted ", wanted));
  }

  Status map(const YamlNode& at, std::string_view name, std::initializer_list<std::string_view> known) const {
    if (at.kind != Kind::Map) return wrong(at, name, "a map");
    for (const auto& member : at.members)
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        return yaml_error(what_, member.line, member.column,
                          cat("unknown key ", quote(member.key), " in ", name, nearest_hint(member.key, std::vector<std::string>(known.begin(), known.end()))));
    return {};
  }
  static const YamlNode* find(const YamlNode& map, std::string_view key) {
    for (const auto& member : map.members)
      if (member.key == key) return &member.value;
    return nullptr;
  }

  Status text(const YamlNode& at, std::string_view name, std::string_view wanted, std::string& out) const {
    if (at.kind != Kind::Scalar || at.text.empty()) return wrong(at, name, wanted);
    out = at.text;
    return {};
  }
  // A list of different words, each a `thing`.
  Status words(const YamlNode& at, std::string_view name, std::string_view thing, std::vector<std::string>& out) const {
    if (at.kind != Kind::List) return wrong(at, name, cat("a list of ", thing, "s"));
    for (const YamlNode& item : at.items) {
      std::string word;
      OPTIMA_RETURN_IF_ERROR(text(item, name, cat("a ", thing), word));
      if (std::find(out.begin(), out.end(), word) != out.end()) return error(item, cat(name, ": ", thing, " ", quote(word), " appears twice"));
      out.push_back(word);
    }
    return {};
  }
  Status number(const YamlNode& at, std::string_view name, std::string_view wanted, double& out) const {
    const char* end = at.text.data() + at.text.size();
    const auto [stop, problem] = std::from_chars(at.text.data(), end, out);
    const bool good = at.kind == Kind::Scalar && !at.quoted && problem == std::errc() && stop == end && std::isfinite(out) && out >= 0;
    return good ? Status() : wrong(at, name, wanted);
  }
  Status byte_count(const YamlNode& at, std::string_view name, uint64_t& out) const {
    const std::optional<uint64_t> bytes = at.kind == Kind::Scalar ? parse_bytes(at.text) : std::nullopt;
    if (bytes) out = *bytes;
    if (bytes) return {};
    return wrong(at, name, "bytes, as 1048576 or 512MiB");
  }
  Status device(const YamlNode& at, std::string_view name, DeviceName& out) const {
    std::string written;
    OPTIMA_RETURN_IF_ERROR(text(at, name, "a device, as KIND:index", written));
    Result<DeviceName> parsed = parse_device(written);
    if (!parsed.ok()) return error(at, cat(name, ": ", parsed.status().message()));
    out = *parsed;
    return {};
  }
  Status options(const YamlNode& at, std::string_view name, const std::string& prefix, OptionValues& out) const {
    if (at.kind == Kind::Null) return {};
    if (at.kind != Kind::Map) return wrong(at, name, "a map of options");
    for (const auto& member : at.members) {
      if (member.value.kind != Kind::Scalar) return wrong(member.value, cat(name, ".", member.key), "a value");
      out[prefix + member.key] = member.value.text;
    }
    return {};
  }

  Status devices(const YamlNode& at, Config& out) const {
    if (at.kind != Kind::List) return wrong(at, "devices", "a list");
    for (const YamlNode& item : at.items) {
      DeviceConfig one;
      OPTIMA_RETURN_IF_ERROR(one_device(item, one));
      for (const DeviceConfig& other : out.devices)
        if (other.name == one.name) return error(item, cat("device ", quote(one.name.text()), " appears twice"));
      out.devices.push_back(std::move(one));
    }
    return {};
  }
  Status one_device(const YamlNode& at, DeviceConfig& out) const {
    if (at.kind == Kind::Scalar) return device(at, "device", out.name);
    OPTIMA_RETURN_IF_ERROR(map(at, "device", {"name", "plugin", "target", "memory_limit", "launch_us", "gflops", "gflops_half", "gops_int8", "gbytes_per_s"}));
    const YamlNode* name = find(at, "name");
    if (!name) return error(at, "device: key 'name' is missing, wanted as KIND:index");
    OPTIMA_RETURN_IF_ERROR(device(*name, "name", out.name));
    if (const YamlNode* plugin = find(at, "plugin")) {
      std::string id;
      OPTIMA_RETURN_IF_ERROR(text(*plugin, "plugin", "a plugin id", id));
      if (!out.name.plugin.empty() && out.name.plugin != id)
        return error(*plugin, cat("plugin: found ", quote(id), ", but the name says ", quote(out.name.plugin)));
      out.name.plugin = id;
      if (!parse_device(out.name.text()).ok()) return wrong(*plugin, "plugin", "a plugin id");
    }
    if (const YamlNode* target = find(at, "target")) OPTIMA_RETURN_IF_ERROR(options(*target, "target", "", out.target));
    if (const YamlNode* limit = find(at, "memory_limit")) OPTIMA_RETURN_IF_ERROR(byte_count(*limit, "memory_limit", out.memory_limit));
    if (const YamlNode* launch = find(at, "launch_us")) OPTIMA_RETURN_IF_ERROR(number(*launch, "launch_us", "microseconds, 0 or more", out.launch_us));
    if (const YamlNode* rate = find(at, "gflops")) OPTIMA_RETURN_IF_ERROR(number(*rate, "gflops", "1e9 operations per second, 0 or more", out.gflops));
    if (const YamlNode* rate = find(at, "gflops_half"))
      OPTIMA_RETURN_IF_ERROR(number(*rate, "gflops_half", "1e9 operations per second, 0 or more", out.gflops_half));
    if (const YamlNode* rate = find(at, "gops_int8")) OPTIMA_RETURN_IF_ERROR(number(*rate, "gops_int8", "1e9 operations per second, 0 or more", out.gops_int8));
    if (const YamlNode* rate = find(at, "gbytes_per_s")) return number(*rate, "gbytes_per_s", "gigabytes per second, 0 or more", out.gbytes_per_s);
    return {};
  }

  Status links(const YamlNode& at, Config& out) const {
    if (at.kind != Kind::List) return wrong(at, "links", "a list");
    for (const YamlNode& item : at.items) {
      LinkConfig one;
      OPTIMA_RETURN_IF_ERROR(one_link(item, one));
      for (const LinkConfig& other : out.links)
        if (other.from == one.from && other.to == one.to)
          return error(item, cat("link from ", quote(one.from.text()), " to ", quote(one.to.text()), " appears twice"));
      out.links.push_back(std::move(one));
    }
    return {};
  }
  Status one_link(const YamlNode& at, LinkConfig& out) const {
    OPTIMA_RETURN_IF_ERROR(map(at, "link", {"from", "to", "latency_us", "gbytes_per_s"}));
    for (const auto& [key, place] : {std::pair{"from", &out.from}, std::pair{"to", &out.to}}) {
      const YamlNode* end = find(at, key);
      if (!end) return error(at, cat("link: key '", key, "' is missing, wanted a device"));
      OPTIMA_RETURN_IF_ERROR(device(*end, key, *place));
    }
    if (const YamlNode* latency = find(at, "latency_us"))
      OPTIMA_RETURN_IF_ERROR(number(*latency, "latency_us", "microseconds, 0 or more", out.latency_us));
    if (const YamlNode* rate = find(at, "gbytes_per_s")) return number(*rate, "gbytes_per_s", "gigabytes per second, 0 or more", out.gbytes_per_s);
    return {};
  }

  Status plugins(const YamlNode& at, Config& out) const {
    OPTIMA_RETURN_IF_ERROR(map(at, "plugins", {"options", "order", "allow"}));
    if (const YamlNode* order = find(at, "order")) OPTIMA_RETURN_IF_ERROR(words(*order, "order", "plugin id", out.plugin_order));
    if (const YamlNode* allow = find(at, "allow")) OPTIMA_RETURN_IF_ERROR(words(*allow, "allow", "plugin id", out.plugin_allow));
    const YamlNode* by_plugin = find(at, "options");
    if (!by_plugin || by_plugin->kind == Kind::Null) return {};
    if (by_plugin->kind != Kind::Map) return wrong(*by_plugin, "options", "a map from plugin ids to options");
    for (const auto& member : by_plugin->members)
      OPTIMA_RETURN_IF_ERROR(options(member.value, cat("options.", member.key), member.key + ".", out.plugin_options));
    return {};
  }

  // A value is what --dim takes, as text; a list of sizes may be one.
  Status dims(const YamlNode& at, Config& out) const {
    if (at.kind != Kind::Map) return wrong(at, "dims", "a map from names of dims to sizes");
    for (const auto& member : at.members) {
      const std::string name = cat("dims.", member.key);
      std::string text = member.value.text;
      if (member.value.kind == Kind::List) {
        OPTIMA_RETURN_IF_ERROR(joined(member.value, name, text));
      } else if (member.value.kind != Kind::Scalar) {
        return wrong(member.value, name, "sizes as 320, [1, 4, 8] or 32..960:32@320");
      }
      Result<SizeRange> range = parse_size_range(text);
      if (!range.ok()) return error(member.value, cat(name, ": ", range.status().message()));
      out.dims.emplace(member.key, *std::move(range));
    }
    return {};
  }
  Status joined(const YamlNode& list, std::string_view name, std::string& out) const {
    std::vector<std::string> items;
    for (const YamlNode& item : list.items) {
      if (item.kind != Kind::Scalar) return wrong(item, name, "a list of sizes");
      items.push_back(item.text);
    }
    out = join(items, ",");
    return {};
  }
  Status shapes(const YamlNode& at, Config& out) const {
    if (at.kind != Kind::Map) return wrong(at, "shapes", "a map from inputs to lists of sizes");
    for (const auto& member : at.members) {
      const std::string name = cat("shapes.", member.key);
      if (member.value.kind != Kind::List) return wrong(member.value, name, "a list of sizes");
      std::vector<int64_t>& shape = out.shapes[member.key];
      for (const YamlNode& item : member.value.items) {
        const std::optional<int64_t> size = item.kind == Kind::Scalar ? parse_number<int64_t>(item.text) : std::nullopt;
        const bool open = item.kind == Kind::Scalar && item.text == "?";
        if (!open && (!size || *size < 0)) return wrong(item, name, "a size of 0 or more, or '?' for one that stays open");
        shape.push_back(open ? -1 : *size);
      }
    }
    return {};
  }

  Status objective(const YamlNode& at, Config& out) const {
    if (at.kind != Kind::Scalar || (at.text != "parts" && at.text != "latency")) return wrong(at, "objective", "'parts' or 'latency'");
    out.objective = at.text;
    return {};
  }

  std::string_view what_;
};

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view what) {
  OPTIMA_ASSIGN(const YamlNode root, parse_yaml(text, what));
  return Reader(what).config(root);
}

Result<Config> read_config(const std::string& path) {
  const std::string expanded = expand_home(path);
  OPTIMA_ASSIGN(const std::string text, read_file(expanded));
  return parse_config(text, expanded);
}

}  // namespace optima
