// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/arguments.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "core/support/number.hpp"
#include "core/support/text.hpp"

namespace po = boost::program_options;

namespace optima::host {

struct Arguments::State {
  struct Positional {
    std::string name, doc;
    bool required;
  };
  std::string verb, summary;
  po::options_description options;
  std::vector<std::string> names;
  std::vector<Positional> positionals;
  po::variables_map values;

  explicit State(std::string v, std::string s) : verb(std::move(v)), summary(std::move(s)), options("options", 110, 60) {}

  // "verb", or nothing for the program's own options.
  std::string where() const { return verb.empty() ? "" : cat(" for '", verb, "'"); }
};

Arguments::Arguments(std::string verb, std::string summary) : state_(std::make_unique<State>(std::move(verb), std::move(summary))) {
  flag("help", "print this");
}
Arguments::~Arguments() = default;

namespace {
std::string long_name(const std::string& name) { return name.substr(0, name.find(',')); }
}  // namespace

Arguments& Arguments::flag(const std::string& name, const std::string& doc) {
  state_->options.add_options()(name.c_str(), po::bool_switch(), doc.c_str());
  state_->names.push_back(long_name(name));
  return *this;
}

Arguments& Arguments::option(const std::string& name, const std::string& value, const std::string& doc) {
  state_->options.add_options()(name.c_str(), po::value<std::string>()->value_name(value), doc.c_str());
  state_->names.push_back(long_name(name));
  return *this;
}

Arguments& Arguments::list(const std::string& name, const std::string& value, const std::string& doc) {
  state_->options.add_options()(name.c_str(), po::value<std::vector<std::string>>()->composing()->value_name(value), doc.c_str());
  state_->names.push_back(long_name(name));
  return *this;
}

Arguments& Arguments::positional(const std::string& name, bool required, const std::string& doc) {
  state_->positionals.push_back({name, doc, required});
  return *this;
}

Arguments& Arguments::with_globals() {
  return list("plugins", "DIR", "folder of plugins; replaces the default (the environment's OPTIMA_PLUGINS, else ../lib/optima/plugins beside the program), may be repeated")
      .option("config", "FILE", "optima.yaml: devices, links, plugin options and order")
      .option("log-level", "LEVEL", "trace, debug, info, warn or error (default warn)")
      .option("log-json", "FILE", "also write the log to FILE, one JSON object a line")
      .option("progress", "STYLE", "of long work, on stderr: bar, lines, json (one object a line, \"progress\" 0..1 and \"stage\") or none; without this a bar on a terminal, lines elsewhere, none with --json")
      .flag("json", "print one JSON document on stdout instead of text")
      .flag("allow-writable-plugins", "load plugin files that others than root and you may change: writable by everybody, or another user's");
}

Status Arguments::parse(const std::vector<std::string>& words) {
  std::vector<std::string> all_names;
  for (const std::string& n : state_->names) all_names.push_back("--" + n);
  try {
    po::options_description everything;
    everything.add(state_->options);
    everything.add_options()("__words", po::value<std::vector<std::string>>());
    po::positional_options_description positional;
    positional.add("__words", -1);
    // No guessing from prefixes: an abbreviation would change its meaning when an option is added.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(words).options(everything).positional(positional).style(style).run(), state_->values);
  } catch (const po::unknown_option& e) {
    return usage_error(cat("unknown option ", quote(e.get_option_name()), state_->where(), nearest_hint(e.get_option_name(), all_names)));
  } catch (const po::error& e) {
    return usage_error(cat(e.what(), state_->where()));
  }
  if (has("help")) return {};
  const std::vector<std::string> given = texts("__words");
  if (given.size() > state_->positionals.size())
    return usage_error(cat("unexpected word ", quote(given[state_->positionals.size()]), state_->where()));
  for (size_t i = given.size(); i < state_->positionals.size(); ++i)
    if (state_->positionals[i].required) return usage_error(cat("'", state_->verb, "' wants ", state_->positionals[i].name, ": ", state_->positionals[i].doc));
  return {};
}

std::string Arguments::help() const {
  std::ostringstream out;
  out << "usage: optima-host [global options]";
  if (!state_->verb.empty()) out << ' ' << state_->verb;
  for (const auto& p : state_->positionals) out << (p.required ? " " : " [") << p.name << (p.required ? "" : "]");
  out << " [options]\n\n" << state_->summary << "\n\n";
  for (const auto& p : state_->positionals) out << "  " << p.name << "  " << p.doc << '\n';
  out << '\n' << state_->options;
  return out.str();
}

std::vector<std::string> Arguments::option_names() const {
  std::vector<std::string> out;
  for (const std::string& n : state_->names) out.push_back("--" + n);
  return out;
}

bool Arguments::has(const std::string& name) const {
  if (const auto it = std::find_if(state_->positionals.begin(), state_->positionals.end(), [&](const auto& p) { return p.name == name; });
      it != state_->positionals.end())
    return texts("__words").size() > static_cast<size_t>(it - state_->positionals.begin());
  const auto it = state_->values.find(name);
  if (it == state_->values.end()) return false;
  if (const bool* flag = boost::any_cast<bool>(&it->second.value())) return *flag;
  return true;
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  for (size_t i = 0; i < state_->positionals.size(); ++i)
    if (state_->positionals[i].name == name) {
      const std::vector<std::string> words = texts("__words");
      return i < words.size() ? words[i] : otherwise;
    }
  const auto it = state_->values.find(name);
  return it == state_->values.end() ? otherwise : it->second.as<std::string>();
}

std::vector<std::string> Arguments::texts(const std::string& name) const {
  const auto it = state_->values.find(name);
  if (it == state_->values.end()) return {};
  return it->second.as<std::vector<std::string>>();
}

std::vector<std::string> Arguments::comma_list(const std::string& name) const {
  std::vector<std::string> out;
  for (const std::string& t : texts(name)) {
    std::stringstream parts(t);
    for (std::string part; std::getline(parts, part, ',');)
      if (!part.empty()) out.push_back(part);
  }
  return out;
}

Result<int64_t> Arguments::integer(const std::string& name, int64_t otherwise, int64_t least, int64_t most) const {
  if (!has(name)) return otherwise;
  const std::string t = text(name);
  const std::optional<int64_t> n = parse_number<int64_t>(t);
  if (!n || *n < least || *n > most) return usage_error(cat("--", name, ": found ", quote(t), ", wanted an integer from ", least, " to ", most));
  return *n;
}

Result<double> Arguments::number(const std::string& name, double otherwise) const {
  if (!has(name)) return otherwise;
  const std::string t = text(name);
  const std::optional<double> n = parse_number<double>(t);
  if (!n) return usage_error(cat("--", name, ": found ", quote(t), ", wanted a number"));
  return *n;
}

}  // namespace optima::host
