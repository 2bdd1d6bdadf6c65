// SPDX-License-Identifier: Apache-2.0
#include "host/optima_run/options.hpp"

#include <algorithm>

#include "core/support/number.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/load.hpp"

namespace optima::run {
namespace {

constexpr int64_t kMostRuns = 1000000000, kMostThreads = 4096, kMostRequests = 1024;

struct Row {
  std::string_view name, value, doc;  // value empty: a flag
  Status (*take)(CommandLine& line, const std::string& text);
};

Status take_number(int64_t& out, const std::string& text, std::string_view option, int64_t least, int64_t most) {
  const std::optional<int64_t> n = parse_number<int64_t>(text);
  if (!n || *n < least || *n > most) return usage_error(cat("found ", option, " ", quote(text), ", wanted a number from ", least, " to ", most));
  out = *n;
  return {};
}

Status take_list(std::vector<double>& out, const std::string& text, std::string_view option) {
  std::optional<std::vector<double>> numbers = parse_numbers(text);
  if (!numbers) return usage_error(cat("found ", option, " ", quote(text), ", wanted numbers with commas between them"));
  out = *std::move(numbers);
  return {};
}

Status take_shape(CommandLine& l, const std::string& text) {
  OPTIMA_ASSIGN(auto shape, parse_shape(text));
  l.options.shapes[shape.first] = std::move(shape.second);
  return {};
}

Status take_dim(CommandLine& l, const std::string& text) {
  OPTIMA_ASSIGN(const auto dim, parse_dim(text));
  l.options.dims[dim.first] = dim.second;
  return {};
}

Status take_plugin_option(CommandLine& l, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || text.find('.') > equals) return usage_error(cat("found --option ", quote(text.substr(0, equals)), ", wanted PLUGIN.KEY=VALUE"));
  l.plugin_options[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

Status take_log_level(CommandLine& l, const std::string& text) {
  for (const LogLevel level : {LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error})
    if (name_of(level) == text) return l.log_level = level, Status();
  return usage_error(cat("found --log-level ", quote(text), ", wanted trace, debug, info, warn or error"));
}

template <std::string RunOptions::*Member>
Status take_text(CommandLine& l, const std::string& text) {
  l.options.*Member = text;
  return {};
}
template <std::string ImageOptions::*Member>
Status take_image_text(CommandLine& l, const std::string& text) {
  l.options.image.*Member = text;
  return {};
}
template <Task task>
Status take_task(CommandLine& l, const std::string&) {
  l.task = task;
  return {};
}

const Row kRows[] = {
    {"--input", "NAME=SOURCE", "an input: .npy, .npz, .pb or raw file, or random[:seed]; repeat for more, NAME= may go when there is one",
     [](CommandLine& l, const std::string& t) { return l.options.inputs.push_back(t), Status(); }},
    {"--shape", "NAME=D,D,... or DxD...", "sizes of an input where the model leaves them open (default for random inputs: what the package was compiled for most, else 1); may be repeated", take_shape},
    {"--dim", "NAME=N", "the same by the name of the size, e.g. width=320, or its place, e.g. x.3=320; may be repeated", take_dim},
    {"--image", "[NAME=]FILE", "an input from a picture: JPG PNG TGA BMP PSD GIF HDR",
     [](CommandLine& l, const std::string& t) { return l.options.images.push_back(t), Status(); }},
    {"--resize", "SIZE", "of the picture: short side, or WIDTHxHEIGHT (default: the input's size)", take_image_text<&ImageOptions::resize>},
    {"--crop", "SIZE", "from the middle after resizing: side, or WIDTHxHEIGHT", take_image_text<&ImageOptions::crop>},
    {"--mean", "M[,M,M]", "subtracted after dividing by 255", [](CommandLine& l, const std::string& t) { return take_list(l.options.image.mean, t, "--mean"); }},
    {"--std", "S[,S,S]", "then divided by", [](CommandLine& l, const std::string& t) { return take_list(l.options.image.std, t, "--std"); }},
    {"--layout", "NCHW|NHWC", "of the input (default: where its shape has 1 or 3)", take_image_text<&ImageOptions::layout>},
    {"--color", "RGB|BGR|GRAY", "channel order of the input", take_image_text<&ImageOptions::color>},
    {"--top", "K", "print the K largest elements of each output", [](CommandLine& l, const std::string& t) { return take_number(l.options.top, t, "--top", 1, 1000000); }},
    {"--labels", "FILE", "names for --top, one per line", take_text<&RunOptions::labels>},
    {"--output", "DIR", "(-o) write each output as npy, and manifest.json", take_text<&RunOptions::output_folder>},
    {"--repeat", "N", "run N times and print the times", [](CommandLine& l, const std::string& t) { return take_number(l.options.repeat, t, "--repeat", 1, kMostRuns); }},
    {"--threads", "N", "most threads of one subgraph", [](CommandLine& l, const std::string& t) { return take_number(l.options.threads, t, "--threads", 1, kMostThreads); }},
    {"--trace", "FILE", "Chrome trace of the last run", take_text<&RunOptions::trace>},
    {"--bench", "", "measure: warm-up, latency, subgraphs, copies, throughput; missing inputs are random", take_task<Task::Bench>},
    {"--concurrency", "N", "requests at once in --bench", [](CommandLine& l, const std::string& t) { return take_number(l.options.concurrency, t, "--concurrency", 1, kMostRequests); }},
    {"--check", "", "check every hash, ask each plugin for its artifacts, run the self-test", take_task<Task::Check>},
    {"--verify", "", "hash weights even when they were seen before", [](CommandLine& l, const std::string&) { return l.options.verify = true, Status(); }},
    {"--devices", "", "list plugins and the devices they see", take_task<Task::Devices>},
    {"--plugins", "DIR", "plugin folder instead of the default one (OPTIMA_PLUGINS where it is set, else ../lib/optima/plugins beside the program); may be repeated", [](CommandLine& l, const std::string& t) { return l.plugin_folders.push_back(t), Status(); }},
    {"--allow-writable-plugins", "", "load plugin files that others than root and you may change: writable by everybody, or another user's",
     [](CommandLine& l, const std::string&) { return l.allow_writable = true, Status(); }},
    {"--option", "PLUGIN.KEY=V", "a setting of a plugin", take_plugin_option},
    {"--json", "", "print one JSON document", [](CommandLine& l, const std::string&) { return l.json = true, Status(); }},
    {"--log-level", "LEVEL", "trace, debug, info, warn (default) or error", take_log_level},
    {"--version", "", "print the version", take_task<Task::Version>},
    {"--help", "", "(-h) print this", take_task<Task::Help>},
};

const Row* find_row(std::string_view name) {
  if (name == "-o") name = "--output";
  if (name == "-h") name = "--help";
  for (const Row& row : kRows)
    if (row.name == name) return &row;
  return nullptr;
}

Status unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return usage_error(cat("unknown option ", quote(name), nearest_hint(name, names)));
}

Status check(const CommandLine& l) {
  const bool needs_package = l.task == Task::Run || l.task == Task::Bench || l.task == Task::Check;
  if (needs_package && l.options.package.empty()) return usage_error("no package given, wanted optima-run PACKAGE");
  return {};
}

}  // namespace

Result<CommandLine> parse(const std::vector<std::string>& words) {
  CommandLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') {
      if (!line.options.package.empty()) return usage_error(cat("found a second package ", quote(word), ", wanted one"));
      line.options.package = word;
      continue;
    }
    const size_t equals = word.compare(0, 2, "--") == 0 ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const Row* row = find_row(name);
    if (!row) return unknown(name);
    if (row->value.empty() && equals != std::string::npos) return usage_error(cat("option ", name, " takes no value"));
    std::string text = equals == std::string::npos ? std::string() : word.substr(equals + 1);
    if (!row->value.empty() && equals == std::string::npos) {
      if (i + 1 == words.size()) return usage_error(cat("option ", name, " has no value, wanted ", row->value));
      text = words[++i];
    }
    OPTIMA_RETURN_IF_ERROR(row->take(line, text));
    if (line.task == Task::Help || line.task == Task::Version) return line;
  }
  OPTIMA_RETURN_IF_ERROR(check(line));
  return line;
}

std::string help_text() {
  std::string out = "usage: optima-run PACKAGE [options]\nRuns a package that optima-host compiled.\n\n";
  for (const Row& row : kRows) {
    std::string left = cat("  ", row.name, row.value.empty() ? "" : " ", row.value);
    left.resize(std::max<size_t>(left.size() + 2, 26), ' ');
    out += cat(left, row.doc, "\n");
  }
  return out;
}

}  // namespace optima::run
