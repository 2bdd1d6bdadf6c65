// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/quantize_options.hpp"

#include "core/support/file.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/run_options.hpp"

namespace optima::host {

void declare_data(Arguments& arguments) {
  arguments.option("calib", "DATA", "representative data: a folder of .npy, .npz or pictures, a .npy or .npz, or a list file (docs/quantization.md)")
      .option("calib-samples", "N", "no more samples than N, in sorted order (default: all)");
}

void declare_quantization(Arguments& arguments) {
  arguments
      .list("precision", "[DEV=]P", "what nodes are computed in, of one device or all: f32, f16, bf16, int8, a16w8, a16w4, w8, w4, dynamic or auto; repeats")
      .option("encodings", "FILE", "encodings that win over what is observed: ours, AIMET's or a tpu_mlir table")
      .option("scheme", "S", "codes of activations: shared (default), asymmetric or symmetric")
      .option("range", "R", "how ranges are chosen: mse (default), minmax, ema, percentile[=P] or entropy")
      .option("bound", "snr=DB|cosine=C", "as many units with 16-bit activations, or in float, as the answers need for that")
      .option("calib-memory", "BYTES", "most bytes of watched values at once, as 512MiB (default); with less, more passes over the data");
  declare_data(arguments);
  declare_pictures(arguments);
}

Result<SampleOptions> sample_options(const Arguments& arguments) {
  SampleOptions out;
  OPTIMA_ASSIGN(const int64_t most, arguments.integer("calib-samples", 0, 1, INT64_MAX));
  out.most = static_cast<uint64_t>(most);
  if (most && !arguments.has("calib")) return usage_error("--calib-samples goes with --calib");
  OPTIMA_ASSIGN(ImageOptions pictures, picture_options(arguments));
  for (const char* option : {"resize", "crop", "mean", "std", "layout", "color"})
    if (arguments.has(option)) out.pictures[""] = pictures;
  return out;
}

namespace {

Status set_ranges(const Arguments& arguments, QuantizeSettings& out) {
  const Result<Scheme> scheme = scheme_named(arguments.text("scheme", "shared"));
  if (!scheme.ok()) return scheme.status().within("--scheme");
  const Result<RangeChoice> range = range_choice(arguments.text("range", "mse"));
  if (!range.ok()) return range.status().within("--range");
  out.scheme = *scheme, out.range = *range;
  return {};
}

}  // namespace

Result<QuantizeSettings> quantize_settings(Console& console, const Arguments& arguments) {
  QuantizeSettings out;
  OPTIMA_ASSIGN(out.precisions, parse_precisions(arguments.texts("precision")));
  OPTIMA_ASSIGN(out.samples, sample_options(arguments));
  out.calib = expand_home(arguments.text("calib"));
  out.encodings = expand_home(arguments.text("encodings"));
  OPTIMA_RETURN_IF_ERROR(set_ranges(arguments, out));
  if (arguments.has("bound")) {
    OPTIMA_ASSIGN(out.bound, parse_bound(arguments.text("bound")));
    if (out.calib.empty()) return usage_error(cat("--bound ", out.bound->text(), " wants --calib: samples to judge on"));
  }
  if (arguments.has("calib-memory")) {
    const std::optional<uint64_t> bytes = parse_bytes(arguments.text("calib-memory"));
    if (!bytes || *bytes == 0) return usage_error(cat("--calib-memory: found ", quote(arguments.text("calib-memory")), ", wanted bytes, as 1048576 or 512MiB"));
    out.memory = *bytes;
  }
  out.note = [&console](const std::string& text) { console.note(cat("note: ", text)); };
  out.cancelled = &Console::cancelled();
  return out;
}

void quantize_before_placing(PlanRequest& request, const QuantizeSettings& settings, Registry& registry) {
  request.rewrite = [plan = request, &settings, &registry](Planned& loaded) { return quantize_model(plan, loaded, settings, registry).status(); };
}

}  // namespace optima::host
