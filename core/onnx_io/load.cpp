// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: load_model(), the import from file to Graph as one story.
#include "core/onnx_io/load.hpp"

#include <filesystem>
#include <future>

#include "core/onnx_io/build_graph.hpp"
#include "core/onnx_io/contributed.hpp"
#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/cut.hpp"
#include "core/onnx_io/declared.hpp"
#include "core/onnx_io/listed_inputs.hpp"
#include "core/onnx_io/mend.hpp"
#include "core/onnx_io/onnx_guard.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/onnx_io/tensors.hpp"
#include "core/onnx_io/type_inference.hpp"
#include "core/onnx_io/wire_scan.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "google/protobuf/stubs/logging.h"
#include "onnx/defs/parser.h"

namespace optima::onnx_io {
namespace {

constexpr std::string_view kTextSuffix = ".onnxtxt";
constexpr int64_t kNoFlattening = 13;  // before, Softmax flattens its input, and the converter looks at the rank for a shorter form

struct Source {
  onnx::ModelProto model;
  std::vector<Blob> moved;
};

Status parse_text(std::string_view text, onnx::ModelProto& model) {
  return guarded("ONNX text", [&] {
    const auto status = onnx::OnnxParser::Parse(model, text);
    return status.IsOK() ? Status() : invalid_input(cat("ONNX text: ", one_line(status.ErrorMessage())));
  });
}

Status parse_bytes(const Blob& file, ExternalData& external, Source& source) {
  if (file.size == 0) return invalid_input("the file is empty, wanted an ONNX model");
  OPTIMA_ASSIGN(SlimModel slim, slim_down(file, external));
  if (slim.bytes.size() > INT32_MAX) return invalid_input("over 2 GB even without its tensors");
  google::protobuf::LogSilencer quiet;
  if (!source.model.ParseFromArray(slim.bytes.data(), static_cast<int>(slim.bytes.size())))
    return invalid_input("not an ONNX model: its protobuf fields do not have the types of one");
  source.moved = std::move(slim.moved);
  return {};
}

std::string hash_of(std::string_view model, const ExternalData& external) {
  Sha256Hasher hasher;
  hasher.update(model.data(), model.size());
  for (const auto& [location, file] : external.files()) hasher.update(file.data, file.size);
  return to_hex(hasher.finish());
}

// What follows from elements of shapes, and from the caller's answers about operators that the library does not know.
Status refine_types(Graph& graph, const InferForeign& foreign) {
  TypeInference inference(graph, foreign);
  for (const image::Node& node : graph.main().nodes) OPTIMA_RETURN_IF_ERROR(inference.infer(node));
  return {};
}

Status import(Source& source, const ImportOptions& wanted, Graph& out) {
  onnx::ModelProto& model = source.model;
  ImportOptions options = wanted;
  SourceNames names;
  std::vector<Folded> folded;
  Claims claims;
  OPTIMA_RETURN_IF_ERROR(check_versions(model));
  OPTIMA_RETURN_IF_ERROR(check_and_sort(*model.mutable_graph()));
  give_names(*model.mutable_graph(), opset_of(model, ""), names);
  adopt_contributed(model);
  OPTIMA_RETURN_IF_ERROR(check_schemas(model));
  drop_initializer_inputs(*model.mutable_graph());
  OPTIMA_RETURN_IF_ERROR(make_dense(*model.mutable_graph(), source.moved));
  mend_inference(*model.mutable_graph());
  if (model.ir_version() < 8) model.set_ir_version(8);

  const bool cuts = !options.inputs.empty() || !options.outputs.empty();
  if (model.functions_size() > 0 || cuts) OPTIMA_RETURN_IF_ERROR(infer_over_declared(model, Belief::KeptWithNames, claims));
  OPTIMA_RETURN_IF_ERROR(inline_functions(model, options, names, folded));
  OPTIMA_RETURN_IF_ERROR(cut_model(*model.mutable_graph(), options, folded));
  OPTIMA_ASSIGN(options, list_inputs(*model.mutable_graph(), std::move(options)));
  OPTIMA_ASSIGN(GivenSizes given, set_shapes(*model.mutable_graph(), options));
  forget_anonymous_dims(*model.mutable_graph());
  OPTIMA_RETURN_IF_ERROR(infer_over_declared(model, given.any ? Belief::Forgotten : Belief::Kept, claims));
  // Once in the model's own opset, for the converter wants types behind these nodes, and once with all the words of the canonical one.
  OPTIMA_RETURN_IF_ERROR(restate_contributed(model, options, source.moved, names, folded));
  if (opset_of(model, "") < kNoFlattening) OPTIMA_RETURN_IF_ERROR(forget_claims(model, claims));
  OPTIMA_RETURN_IF_ERROR(raise_opset(model));
  OPTIMA_RETURN_IF_ERROR(restate_contributed(model, options, source.moved, names, folded));
  restore_names(*model.mutable_graph(), names);
  OPTIMA_RETURN_IF_ERROR(forget_claims(model, claims));
  OPTIMA_RETURN_IF_ERROR(infer_at_last(model));
  OPTIMA_ASSIGN(out, build_graph(model, source.moved, names));
  out.sizes = std::move(given.ranges);
  out.folded.insert(out.folded.begin(), folded.begin(), folded.end());
  OPTIMA_RETURN_IF_ERROR(final_check(model));
  OPTIMA_RETURN_IF_ERROR(refine_types(out, options.infer_foreign));
  warn_of_claims(claims, out);
  return {};
}

Result<Graph> finish(Source& source, const ImportOptions& options, const std::string& name) {
  Graph graph;
  OPTIMA_RETURN_IF_ERROR(guarded("the ONNX library", [&] { return import(source, options, graph); }));
  graph.model_name = name;
  return graph;
}

Result<Graph> load_binary(const std::string& path, const ImportOptions& options) {
  OPTIMA_ASSIGN(const Blob file, map_file(path));
  ExternalData external(path);
  Source source;
  OPTIMA_RETURN_IF_ERROR(guarded("the ONNX library", [&] { return parse_bytes(file, external, source); }));
  std::future<std::string> sum;  // weights take long to hash, and the import does not touch them
  if (options.hash)
    sum = std::async(std::launch::async, [&] {
      mark_own_thread();
      return hash_of({reinterpret_cast<const char*>(file.data), file.size}, external);
    });
  OPTIMA_ASSIGN(Graph graph, finish(source, options, std::filesystem::path(path).stem().string()));
  if (options.hash) graph.model_hash = sum.get();
  return graph;
}

}  // namespace

Result<Graph> import_model(onnx::ModelProto model, const ImportOptions& options) {
  Source source{std::move(model), {}};
  return finish(source, options, "");
}

Result<Graph> load_text(std::string_view text, const std::string& name, const ImportOptions& options) {
  Source source;
  OPTIMA_RETURN_IF_ERROR(parse_text(text, source.model));
  OPTIMA_ASSIGN(Graph graph, finish(source, options, name));
  if (options.hash) graph.model_hash = hash_of(text, ExternalData(""));
  return graph;
}

Result<Graph> load_model(const std::string& path, const ImportOptions& options) {
  const std::string phrase = cat("model ", quote(path));
  auto loaded = [&]() -> Result<Graph> {
    if (!path.ends_with(kTextSuffix)) return load_binary(path, options);
    OPTIMA_ASSIGN(const std::string text, read_file(path));
    return load_text(text, std::filesystem::path(path).stem().string(), options);
  }();
  if (!loaded.ok()) return loaded.status().within(phrase);
  return loaded;
}

}  // namespace optima::onnx_io
