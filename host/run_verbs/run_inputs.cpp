// SPDX-License-Identifier: Apache-2.0
#include "host/run_verbs/run_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/support/file.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/load.hpp"

namespace optima {
namespace {

struct NamedImage {
  std::string name, file;
};

// "NAME=FILE" for one of the inputs, else a file for the only input that a picture can go to.
Result<NamedImage> split_image(const std::string& word, const std::vector<TensorInfo>& wanted) {
  for (const TensorInfo& w : wanted)
    if (word.compare(0, w.name.size() + 1, w.name + "=") == 0) return NamedImage{w.name, word.substr(w.name.size() + 1)};
  if (wanted.size() != 1) return usage_error(cat("found --image ", quote(word), " for a model of ", wanted.size(), " inputs, wanted NAME=", word));
  return NamedImage{wanted[0].name, word};
}

// Whether one of the words "random", "random:7", "NAME=random", ... makes the input.
bool is_random(const std::string& name, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word.starts_with("random") || word.starts_with(name + "=random"); });
}

void tell_image(const NamedImage& image, const ImageFacts& f, const RunPrinter& printer) {
  if (!printer.line) return;
  printer.line(cat("image ", image.file, ": ", f.width, "x", f.height, ", resized ", f.resized_width, "x", f.resized_height, ", input ", f.input_width, "x",
                   f.input_height, ", range ", f.low, " to ", f.high));
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> load_for(RuntimeContext& context, const RunOptions& options) {
  PackageOptions package_options;
  package_options.verify = options.verify;
  OPTIMA_ASSIGN(PackageReader reader, PackageReader::open(expand_home(options.package), package_options));
  LoadOptions load;
  load.threads = options.threads;
  load.cancelled = options.cancelled;
  return LoadedModel::load(context, std::move(reader), load);
}

Result<std::vector<Tensor>> inputs_for(const LoadedModel& model, const RunOptions& options, bool fill_random, const RunPrinter& printer) {
  OPTIMA_RETURN_IF_ERROR(check_used(options.image, !options.images.empty()));
  std::vector<TensorInfo> all = model.inputs();
  OPTIMA_RETURN_IF_ERROR(fix_dims(options.dims, all));
  OPTIMA_RETURN_IF_ERROR(fix_shapes(options.shapes, all));
  std::vector<Tensor> out(all.size());
  std::vector<TensorInfo> rest = all;
  for (const std::string& word : options.images) {
    OPTIMA_ASSIGN(const NamedImage image, split_image(word, all));
    const auto open = std::find_if(rest.begin(), rest.end(), [&](const TensorInfo& w) { return w.name == image.name; });
    if (open == rest.end()) return usage_error(cat("input ", quote(image.name), " is given twice"));
    ImageFacts facts;
    OPTIMA_ASSIGN(Tensor t, load_image(image.file, *open, options.image, &facts));
    tell_image(image, facts, printer);
    rest.erase(open);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].name == image.name) out[i] = t;
  }
  std::vector<std::string> words = options.inputs;
  if (fill_random && words.empty() && !rest.empty()) words = {"random"};
  OPTIMA_ASSIGN(const std::vector<Tensor> given, load_inputs(words, rest));
  for (const Tensor& t : given)
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].name == t.name) out[i] = t;
  for (size_t i = 0; i < all.size() && printer.line; ++i)
    if (const std::string line = shape_line(out[i], model.inputs()[i], all[i], is_random(all[i].name, words)); !line.empty()) printer.line(line);
  return out;
}

Result<std::unique_ptr<Request>> request_for(const LoadedModel& model, const std::vector<Tensor>& inputs) {
  OPTIMA_ASSIGN(std::unique_ptr<Request> request, Request::create(model));
  for (size_t i = 0; i < inputs.size(); ++i) OPTIMA_RETURN_IF_ERROR(request->set_input(i, inputs[i]));
  return request;
}

void print_table(const RunPrinter& printer, const std::vector<std::vector<std::string>>& rows) {
  std::string lines = table(rows);
  if (lines.ends_with('\n')) lines.pop_back();
  printer.line(lines);
}

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 1 ? "%.4f ms" : "%.3f ms", ms);
  return text;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size())));
  const size_t at = std::min(values.size() - 1, rank ? rank - 1 : 0);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace optima
