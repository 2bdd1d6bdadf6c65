// SPDX-License-Identifier: Apache-2.0
#include "core/support/file.hpp"
#include "core/support/owned_folder.hpp"
#include "core/support/text.hpp"
#include "core/view/view.hpp"
#include "optima/plugin/spawn.hpp"

namespace optima::view {
namespace {

constexpr std::chrono::minutes kTimeLimit{5};

Result<std::string> draw_in(const std::string& folder, const std::string& dot, const std::string& format) {
  const std::string source = folder + "/graph.dot", picture = folder + "/graph." + format;
  OPTIMA_RETURN_IF_ERROR(write_file(source, dot));
  sdk::Command command;
  command.program = "dot";
  command.arguments = {"-T" + format, "-o", picture, source};
  command.environment = sdk::inherited_environment();
  command.time_limit = kTimeLimit;
  if (sdk::find_program(command.program, command.environment).empty())
    return plugin_error("Graphviz is not here: program 'dot' was not found on PATH; install the package 'graphviz', or write .html, .dot or .json");
  try {
    sdk::require_good(sdk::spawn(command), "dot");
  } catch (const sdk::Error& error) {
    return plugin_error(cat("Graphviz could not draw the graph: ", error.what(), "; a page (.html) has no limit of size"));
  }
  return read_file(picture);
}

}  // namespace

Result<std::string> draw(const std::string& dot, const std::string& format) {
  OPTIMA_ASSIGN(const ScratchFolder folder, ScratchFolder::make("view"));
  return draw_in(folder.path(), dot, format);
}

}  // namespace optima::view
