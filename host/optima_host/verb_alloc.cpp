// SPDX-License-Identifier: Apache-2.0
// host: `alloc`: an allocation template in the input format.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/allocation/allocation.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {

Status alloc_verb(Session& session, const std::vector<std::string>& words) {
  Arguments arguments("alloc", "Writes an allocation that names every node of a model, all on one device: edit it, then compile with --alloc.");
  arguments.positional("MODEL", true, "an ONNX file")
      .option("default", "DEV", "the device of every node, e.g. X64:0; no plugin is needed for it")
      .option("out,o", "FILE", "write there instead of stdout");
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(session, arguments, words));
  if (!go) return {};
  if (!arguments.has("default")) return usage_error("'alloc' wants --default DEV, e.g. --default X64:0");
  OPTIMA_ASSIGN(const onnx_io::ImportOptions import, import_options(arguments));
  OPTIMA_ASSIGN(Graph graph, onnx_io::load_model(expand_home(arguments.text("MODEL")), import));
  OPTIMA_ASSIGN(const std::string text, allocation_template(graph, arguments.text("default")));
  if (arguments.has("out")) return write_file(expand_home(arguments.text("out")), text);
  std::cout << text;
  return {};
}

}  // namespace optima::host
