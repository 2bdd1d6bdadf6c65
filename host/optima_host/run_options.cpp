// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/run_options.hpp"

#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/load.hpp"
#include "host/optima_host/model_options.hpp"

namespace optima::host {
namespace {

Result<std::vector<double>> numbers(const Arguments& arguments, const std::string& name) {
  if (!arguments.has(name)) return std::vector<double>();
  const std::string text = arguments.text(name);
  if (std::optional<std::vector<double>> out = parse_numbers(text)) return *std::move(out);
  return usage_error(cat("--", name, ": found ", quote(text), ", wanted numbers with commas between them"));
}

}  // namespace

void declare_run(Arguments& arguments) {
  arguments.list("input", "NAME=FILE", "an input: .npy, .npz, .pb, raw bytes, or random[:seed]; repeats")
      .list("image", "[NAME=]FILE", "a picture as input: JPG, PNG, ...");
  declare_pictures(arguments);
  arguments.option("threads", "N", "most threads of one subgraph (default: all)")
      .list("option", "PLUGIN.KEY=VALUE", "a plugin's option; repeats");
}

void declare_sizes(Arguments& arguments) {
  arguments
      .list("shape", "IN=D,D,...", "sizes of an input where the model leaves them open (default for random inputs: what the package was compiled for most, else 1); repeats")
      .list("dim", "NAME=N", "the same by the name of the size, e.g. width=320, or its place, e.g. x.3=320; repeats");
}

Result<std::map<std::string, int64_t>> dim_sizes(const Arguments& arguments) {
  std::map<std::string, int64_t> out;
  for (const std::string& word : arguments.texts("dim")) {
    OPTIMA_ASSIGN(const auto dim, parse_dim(word));
    out[dim.first] = dim.second;
  }
  return out;
}

void declare_pictures(Arguments& arguments) {
  arguments.option("resize", "N|WxH", "resize the picture: short side, or both")
      .option("crop", "N|WxH", "cut out its middle")
      .option("mean", "M,M,M", "subtract, after scaling to 0..1; one number or one a channel")
      .option("std", "S,S,S", "divide by, after the mean")
      .option("layout", "NCHW|NHWC", "of the input; default: what its shape says")
      .option("color", "RGB|BGR|GRAY", "order of the channels; default RGB, GRAY for one channel");
}

Result<ImageOptions> picture_options(const Arguments& arguments) {
  ImageOptions out;
  out.resize = arguments.text("resize");
  out.crop = arguments.text("crop");
  OPTIMA_ASSIGN(out.mean, numbers(arguments, "mean"));
  OPTIMA_ASSIGN(out.std, numbers(arguments, "std"));
  out.layout = arguments.text("layout");
  out.color = arguments.text("color");
  return out;
}

Result<RunOptions> run_options(Console& console, const Arguments& arguments) {
  RunOptions out;
  out.package = expand_home(arguments.text("PACKAGE"));
  out.inputs = arguments.texts("input");
  out.images = arguments.texts("image");
  OPTIMA_ASSIGN(out.shapes, shape_options(arguments));
  OPTIMA_ASSIGN(out.image, picture_options(arguments));
  OPTIMA_ASSIGN(out.threads, arguments.integer("threads", 0, 1, 4096));
  OPTIMA_RETURN_IF_ERROR(console.session().set_options(arguments.texts("option")));
  out.cancelled = &Console::cancelled();
  return out;
}

RunPrinter printer_of(const Console& console) {
  RunPrinter out;
  if (console.json()) out.document = [&console](const Json& document) { console.print_json(document); };
  else out.line = [&console](std::string_view line) { console.print(cat(line, "\n")); };
  return out;
}

}  // namespace optima::host
