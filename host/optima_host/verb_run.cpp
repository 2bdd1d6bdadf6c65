// SPDX-License-Identifier: Apache-2.0
// host: `run` and `bench`: the same work as optima-run's, with the host's options around it.
#include "core/support/json_value.hpp"

#include "core/support/file.hpp"
#include "host/optima_host/run_options.hpp"
#include "host/optima_host/verbs.hpp"
#include "host/optima_host/write_costs.hpp"

namespace optima::host {

Status run_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("run", "Runs a package and prints its outputs.");
  arguments.positional("PACKAGE", true, "a package folder");
  declare_run(arguments);
  declare_sizes(arguments);
  arguments.option("top", "K", "print the K largest elements of each output")
      .option("labels", "FILE", "names for them, one a line")
      .option("out,o", "DIR", "write one npy file per output, and manifest.json")
      .option("repeat", "N", "run N times and print the times")
      .option("trace", "FILE", "write a Chrome trace of the last run")
      .flag("verify", "hash the whole package, weights seen before too");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(RunOptions options, run_options(console, arguments));
  OPTIMA_ASSIGN(options.dims, dim_sizes(arguments));
  OPTIMA_ASSIGN(options.top, arguments.integer("top", 0, 1, 1000000));
  OPTIMA_ASSIGN(options.repeat, arguments.integer("repeat", 0, 1, 1000000000));
  options.labels = expand_home(arguments.text("labels"));
  options.output_folder = expand_home(arguments.text("out"));
  OPTIMA_ASSIGN(options.trace, console.output_path(arguments, "trace"));
  options.verify = arguments.has("verify");
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  RuntimeContext context(borrow_plugins(*registry));
  return run_package(context, options, printer_of(console));
}

Status bench_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("bench", "Measures a package: latency, each subgraph's share, copies, throughput. Inputs not given are random.");
  arguments.positional("PACKAGE", true, "a package folder");
  declare_run(arguments);
  declare_sizes(arguments);
  arguments.option("repeat", "N", "measured runs (default: about three seconds' worth)")
      .option("concurrency", "N", "requests running at the same time (default 1)")
      .option("trace", "FILE", "write a Chrome trace of the last run")
      .option("write-costs", "FILE", "write what each node took on its device, for 'compile --objective latency --costs FILE'");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(RunOptions options, run_options(console, arguments));
  OPTIMA_ASSIGN(options.dims, dim_sizes(arguments));
  OPTIMA_ASSIGN(options.repeat, arguments.integer("repeat", 0, 1, 1000000000));
  OPTIMA_ASSIGN(options.concurrency, arguments.integer("concurrency", 1, 1, 1024));
  OPTIMA_ASSIGN(options.trace, console.output_path(arguments, "trace"));
  OPTIMA_ASSIGN(const std::string costs, console.output_path(arguments, "write-costs"));
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  RuntimeContext context(borrow_plugins(*registry));
  RunPrinter printer = printer_of(console);
  Json measured;
  if (!costs.empty())
    printer.document = [&measured, shown = printer.document](const Json& document) {
      measured = document;
      if (shown) shown(document);
    };
  OPTIMA_RETURN_IF_ERROR(bench_package(context, options, printer));
  return costs.empty() ? Status() : write_costs(options.package, measured, costs);
}

}  // namespace optima::host
