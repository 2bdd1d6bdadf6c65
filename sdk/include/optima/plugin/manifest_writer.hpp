// SPDX-License-Identifier: Apache-2.0
// optima/plugin/manifest_writer.hpp: Info -> manifest (sdk/manifest.schema.json). Runs at build time only; no plugin links it.
#pragma once

#include <cstdio>

#include "optima/plugin/manifest.hpp"
#include "optima/plugin/sanitizer.hpp"

namespace optima::sdk {
inline namespace v0_1 {

class ManifestWriter {
 public:
  /// The manifest of one file of the plugin. Same input, same bytes.
  std::string write(const Info& info, bool compiler, bool runtime) {
    out_ = "{\n  \"manifest\": 1";
    member("abi", "[[" + std::to_string(OPTIMA_ABI_MAJOR) + ", " + std::to_string(OPTIMA_ABI_MINOR) + "]]");
    member("min_host_minor", std::to_string(OPTIMA_TARGET_MINOR));
    member("sanitizer", quoted(kSanitizerName));
    member("id", quoted(info.id)), member("vendor", quoted(info.vendor));
    member("version", quoted(info.version)), member("build_id", quoted(info.build_id));
    member("roles", std::string("[") + (compiler ? "\"compiler\"" : "") + (compiler && runtime ? ", " : "") + (runtime ? "\"runtime\"" : "") + "]");
    member("devices", list(info.devices, device));
    member("priority", std::to_string(info.priority));
    member("flags", flags(info));
    member("opsets", list(info.opsets, opset));
    member("domains", words(info.domains)), member("formats", words(info.formats));
    member("limits", limits(info.limits));
    member("operators", list(info.operators, op, "\n    "));
    member("options", list(info.options, option, "\n    "));
    return out_ + "\n}\n";
  }

 private:
  static std::string quoted(std::string_view s) {
    static constexpr char hex[] = "0123456789abcdef";
    std::string q = "\"";
    for (char c : s) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') (q += '\\') += c;
      else if (u < 0x20) ((q += "\\u00") += hex[u >> 4]) += hex[u & 15];
      else q += c;
    }
    return q + '"';
  }
  void member(const char* name, const std::string& value) { out_ += ",\n  " + quoted(name) + ": " + value; }

  template <class T, class F>
  static std::string list(Span<T> items, F one, const char* gap = "") {
    std::string all = "[";
    for (size_t i = 0; i < items.size(); ++i) all += (i == 0 ? "" : *gap ? "," : ", ") + (gap + one(items[i]));
    return all + "]";
  }
  static std::string words(std::string_view rest) {
    std::string all = "[";
    while (!rest.empty()) {
      const size_t n = rest.find(' ') == std::string_view::npos ? rest.size() : rest.find(' ');
      if (n > 0) all += (all.size() > 1 ? ", " : "") + quoted(rest.substr(0, n));
      rest.remove_prefix(n < rest.size() ? n + 1 : n);
    }
    return all + "]";
  }
  static std::string range(int32_t min, int32_t max) { return "[" + std::to_string(min) + ", " + std::to_string(max) + "]"; }

  static std::string device(const DeviceKind& d) {
    return "{\"kind\": " + quoted(d.kind) + ", \"class\": " + quoted(d.device_class) + (d.is_virtual ? ", \"flags\": [\"virtual\"]" : "") +
           (d.quantizes_all ? ", \"quantizes\": \"all\"}" : "}");
  }
  static std::string opset(const OpsetRange& o) {
    return "{\"domain\": " + quoted(o.domain) + ", \"min\": " + std::to_string(o.min) + ", \"max\": " + std::to_string(o.max) + "}";
  }
  static std::string flags(const Info& i) {
    return words(std::string(i.only_when_named ? "only_when_named " : "") + (i.single_instance ? "single_instance " : "") + (i.cancel_by_kill ? "cancel_by_kill" : ""));
  }
  static std::string limits(const Limits& l) {
    std::string all;
    const auto add = [&](const char* name, const std::string& value) { all += (all.empty() ? "" : ", ") + quoted(name) + ": " + value; };
    if (l.max_subgraphs) add("max_subgraphs", std::to_string(l.max_subgraphs));
    if (l.max_nodes) add("max_nodes", std::to_string(l.max_nodes));
    if (l.max_io) add("max_io", std::to_string(l.max_io));
    if (l.memory) add("memory", std::to_string(l.memory));
    if (l.connected_only) add("connected_only", "true");
    if (!l.not_first.empty()) add("not_first", words(l.not_first));
    if (!l.not_last.empty()) add("not_last", words(l.not_last));
    return "{" + all + "}";
  }

  static std::string sets(const std::array<Types, 8>& sets) {
    std::string all = "[";
    for (size_t i = 0; i < sets.size() && sets[i]; ++i) {
      all += i ? ", [" : "[";
      bool first = true;
      for (int d = 0; d < 64; ++d)
        if (sets[i] >> d & 1) all += (first ? "" : ", ") + std::to_string(d), first = false;
      all += "]";
    }
    return all + "]";
  }
  /// `rank` is that of input 0; `ranks` appears when a later input is bounded too.
  static std::string ranks(const std::array<Range, 8>& r) {
    std::string all = "\"rank\": " + range(r[0].min, r[0].max);
    size_t bounded = 0;
    for (size_t i = 0; i < r.size(); ++i)
      if (r[i].min != 0 || r[i].max != 64) bounded = i + 1;
    if (bounded < 2) return all;
    all += ", \"ranks\": [";
    for (size_t i = 0; i < bounded; ++i) all += (i ? ", " : "") + range(r[i].min, r[i].max);
    return all + "]";
  }
  static std::string op(const Op& o) {
    std::string all = "{\"domain\": " + quoted(o.domain) + ", \"op\": " + quoted(o.name) + ", \"since_version\": " + range(o.since_min, o.since_max);
    all += ", \"inputs\": " + sets(o.in) + ", \"outputs\": " + sets(o.out) + ", " + ranks(o.ranks);
    all += std::string(", \"static_shape\": ") + (o.static_shape ? "true" : "false") + ", \"const_inputs\": " + std::to_string(o.const_inputs);
    if (!o.kinds.empty()) all += ", \"kinds\": " + words(o.kinds);
    const std::string marks = std::string(o.batch_only ? "batch_only " : "") + (o.needs_layout ? "needs_layout " : "") + (o.stateful ? "stateful" : "");
    if (!marks.empty()) all += ", \"flags\": " + words(marks);
    if (!o.note.empty()) all += ", \"note\": " + quoted(o.note);
    return all + "}";
  }

  static bool is_text(std::string_view type) { return type == "string" || type == "enum" || type == "path" || type == "bytes"; }
  static std::string number(double d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", d);
    return text;
  }
  static std::string option(const OptionSpec& o) {
    std::string all = "{\"name\": " + quoted(o.name) + ", \"type\": " + quoted(o.type) + ", \"scope\": " + quoted(o.scope);
    if (!o.values.empty()) all += ", \"values\": " + words(o.values);
    if (o.min != o.max) all += ", \"min\": " + number(o.min) + ", \"max\": " + number(o.max);
    all += ", \"default\": " + (is_text(o.type) ? quoted(o.def) : std::string(o.def));
    all += ", \"doc\": " + quoted(o.doc) + ", \"changes_artifact\": " + (o.changes_artifact ? "true" : "false");
    return all + (o.secret ? ", \"secret\": true}" : "}");
  }

  std::string out_;
};

/// The main() of a manifest program: prints the manifest of the role named by argv[1] (compiler, runtime or both).
inline int print_manifest(const Info& info, int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "both";
  if (role != "compiler" && role != "runtime" && role != "both") {
    std::fprintf(stderr, "role is '%s', wanted compiler, runtime or both\n", argv[1]);
    return 2;
  }
  const std::string text = ManifestWriter().write(info, role != "runtime", role != "compiler");
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0;
}

}  // namespace v0_1
}  // namespace optima::sdk
