// SPDX-License-Identifier: Apache-2.0
// host/run_verbs: what `run`, `bench`, `--check` and `--devices` do, for optima-host and optima-run alike. Knows no command line.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/context.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"
#include "core/tensor_io/image.hpp"

namespace optima {

/// Where results go: lines for people, or one document for --json. An unset function drops its half.
struct RunPrinter {
  std::function<void(std::string_view line)> line;      ///< without a newline at the end; may hold some inside
  std::function<void(const Json& document)> document;   ///< once
};

struct RunOptions {
  std::string package;                ///< folder
  std::vector<std::string> inputs;    ///< "NAME=FILE|random[:seed]", see load_inputs
  std::vector<std::string> images;    ///< "FILE" or "NAME=FILE"
  ImageOptions image;
  std::map<std::string, std::vector<int64_t>> shapes;  ///< by input: sizes where the model leaves them open, see fix_shapes
  std::map<std::string, int64_t> dims;  ///< the same by symbol or place, see fix_dims
  int64_t top = 0;                    ///< print the K largest of each output; 0 = none
  std::string labels;                 ///< a text file, one label per line
  std::string output_folder;          ///< npy files and manifest.json; empty = none
  int64_t repeat = 0;                 ///< runs; 0 = 1 for run, about three seconds' worth for bench
  int64_t threads = 0;                ///< most threads of one subgraph; 0 = all
  std::string trace;                  ///< Chrome trace of the last run; empty = none
  int64_t concurrency = 1;            ///< bench: requests running at the same time
  bool verify = false;                ///< hash all of the package
  const std::atomic<bool>* cancelled = nullptr;  ///< asked between runs, and while the package is loaded
};

/// Loads the package, runs it `repeat` times, prints a table of the outputs (name, type, shape, range), the top classes, and with more than one
/// run the times. Usage, InvalidInput, Plugin and Io as its parts say.
Status run_package(RuntimeContext& context, const RunOptions& options, const RunPrinter& printer);

/// Warm-up, then p50/p90/p99 of the latency, of each subgraph and of copies, and the throughput with `concurrency` requests. Inputs that
/// are not given are random; the sizes of those that the model leaves open are shown.
Status bench_package(RuntimeContext& context, const RunOptions& options, const RunPrinter& printer);

/// Opens with every hash checked, asks each plugin for its artifacts, and runs self_test/ when there is one. Mismatch when an
/// output is out of tolerance.
Status check_package(RuntimeContext& context, const RunOptions& options, const RunPrinter& printer);

/// Every plugin file with its devices, or the reason why it is not used.
Status print_devices(RuntimeContext& context, const RunPrinter& printer);

}  // namespace optima
