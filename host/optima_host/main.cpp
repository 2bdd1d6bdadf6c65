// SPDX-License-Identifier: Apache-2.0
// optima-host: command line -> verb -> exit code. Decides nothing else.
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

#include "core/loader/guard.hpp"
#include "core/loader/probe.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

struct VerbRow {
  std::string_view name, summary;
  Verb run;
};

constexpr VerbRow kVerbs[] = {
    {"compile", "a model, all the way to a package", compile_verb},
    {"plan", "a model, up to the plan: which node goes to which device", plan_verb},
    {"quantize", "a model and representative data, to an int8 model or its encodings", quantize_verb},
    {"run", "a package on inputs or a picture", run_verb},
    {"compare", "two of: model (on the reference), package, output folder", compare_verb},
    {"bench", "how fast a package runs, and where the time goes", bench_verb},
    {"calibrate-links", "what moving tensors between the devices of this machine takes", calibrate_verb},
    {"calibrate-costs", "what the nodes of a model, launches and cuts take on the devices of this machine", calibrate_costs_verb},
    {"inspect", "what is in a model or a package", inspect_verb},
    {"plugins", "the plugins found, and what was refused and why", plugins_verb},
    {"devices", "the devices that plugins serve, present or to compile for", devices_verb},
    {"ops", "the operators a plugin declares", ops_verb},
    {"alloc", "an allocation template that names every node of a model", alloc_verb},
    {"explain", "why each node is where it is", explain_verb},
    {"diff", "which nodes moved between two plans, and why", diff_verb},
    {"view", "a plan as a page, an SVG, DOT, or an overlay", view_verb},
};

std::string overview(const Arguments& globals) {
  std::string out = globals.help() + "\nverbs (optima-host VERB --help tells more):\n";
  for (const VerbRow& v : kVerbs) out += cat("  ", v.name, std::string(17 - v.name.size(), ' '), v.summary, "\n");
  return out;
}

/// True when a word is a global option whose value is the next word.
bool takes_next_word(const std::string& word) {
  return word == "--plugins" || word == "--config" || word == "--log-level" || word == "--log-json" || word == "--progress";
}

size_t verb_position(const std::vector<std::string>& words) {
  size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') i += takes_next_word(words[i]) ? 2 : 1;
  return std::min(i, words.size());
}

Status unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const VerbRow& v : kVerbs) names.emplace_back(v.name);
  return usage_error(cat("unknown verb ", quote(word), ", wanted one of ", join(names), nearest_hint(word, names)));
}

Status run(const std::string& program, const std::vector<std::string>& words) {
  const size_t at = verb_position(words);
  Arguments globals("", "Splits a model over devices, compiles every piece with its device's plugin, runs and explains the result.");
  globals.with_globals().flag("version", "print the version");
  OPTIMA_RETURN_IF_ERROR(globals.parse({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at)}));
  if (globals.has("help")) return put_out(overview(globals)), Status();
  if (globals.has("version")) return put_out("optima-host " OPTIMA_VERSION "\n"), Status();
  Console console(program);
  OPTIMA_RETURN_IF_ERROR(console.apply(globals));
  if (at == words.size()) {
    if (globals.has("plugins")) return plugins_verb(console, {});
    put_out(overview(globals));
    return usage_error("no verb given");
  }
  for (const VerbRow& v : kVerbs)
    if (v.name == words[at]) return v.run(console, {words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()});
  return unknown_verb(words[at]);
}

int report(const Status& status) {
  return finish_program(status, [](const Status& why) { std::cerr << "optima-host: error: " << why.message() << '\n'; });
}

}  // namespace
}  // namespace optima::host

int main(int count, char** words) {
  using namespace optima;
  hold_standard_files();
  std::signal(SIGPIPE, SIG_IGN);  // writes say so themselves
  std::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it, and then nobody could tell how a child ended
  if (count == 3 && std::string_view(words[1]) == "__probe") return probe_plugin(words[2]);
  keep_stdout();
  ProcessGuard guard({"optima-host: ", "optima-host: error: "});
  return guard.end(host::report(guarded([&] { return host::run(words[0], {words + 1, words + count}); })));
}
