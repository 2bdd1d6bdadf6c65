// SPDX-License-Identifier: Apache-2.0
#include "toolchain/sdk.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "optima/plugin/folder.hpp"
#include "toolchain/sdk_inputs.hpp"
#include "toolchain/sdk_tools.hpp"
#include "toolchain/snpe_api.hpp"

namespace snpe_plugin {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ",") + w;
  return out;
}

std::vector<std::string> output_names(const OnnxNames& model) {
  std::vector<std::string> out;
  for (const OnnxNames::Port& p : model.outputs) out.push_back(p.name);
  return out;
}

/// Whether `line` holds `word` with no letter, digit or underscore around it.
bool names_it(std::string_view line, std::string_view word) {
  const auto part_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = line.find(word); !word.empty() && at != std::string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !part_of_word(line[at - 1])) && (end == line.size() || !part_of_word(line[end]))) return true;
  }
  return false;
}

/// [U] how a dry run words it; Qualcomm's documents show no example.
bool refuses(std::string line) {
  std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"not supported", "unsupported", "no translation", "not implemented"})
    if (line.find(word) != std::string::npos) return true;
  return false;
}

std::string first_refusal(const std::vector<std::string>& lines) {
  const auto at = std::find_if(lines.begin(), lines.end(), refuses);
  return at == lines.end() ? std::string() : *at;
}

/// A model to be converted and what is told of it.
struct Source {
  std::string model;  ///< path
  OnnxNames names;
  std::string overrides;  ///< path; empty = none
  bool quantize = false;
  BitWidths widths;
};

class SdkToolchain : public Toolchain {
 public:
  explicit SdkToolchain(SdkTools tools) : tools_(std::move(tools)), facts_{"sdk", (tools_.qairt ? "QAIRT " : "SNPE ") + tools_.version, tools_.root} {}

  const Facts& facts() const override { return facts_; }
  std::string cannot_compile(const Target&) const override { return {}; }

  std::string cannot_run(const std::string& kind) const override {
    try {
      return snpe_has(tools_.library, kind) ? "" : "SNPE has no " + kind + " on this machine";
    } catch (const sdk::Error& e) {
      return e.text;
    }
  }

  std::vector<Taken> assign(const std::string& folder, const Target& target, const Bounds& bounds) override {
    Source source;
    source.model = folder + "/model.onnx";
    source.names = read_onnx_names(source.model);
    ToolEnd end = dry_run(source, target, bounds, true);
    // [U] the documents name RUNTIME PROCESSOR without all their values: a tool that does not know ours is asked without.
    if (!end.good && first_refusal(end.lines).empty()) end = dry_run(source, target, bounds, false);
    return answers(source.names, end);
  }

  Built build(const std::string& folder, const Target& target, const Bounds& bounds, const sdk::Progress& progress) override {
    progress(0, "reading the model");
    const Source source = prepare_source(folder, target, bounds);
    progress(0.1, "converting");
    Built out;
    out.dlcs.push_back(convert(source, target, bounds));
    out.borders = read_borders(source.names, out.dlcs[0], bounds);
    if (source.quantize) {
      progress(0.4, "quantizing");
      out.dlcs[0] = quantize(source, write_input_list(bounds.work, *target.quantized, source.names, out.borders), out.dlcs[0], bounds);
    }
    for (size_t k = 0; k < target.socs.size() && target.kind == "HEXAGON"; ++k) {
      progress(0.6 + 0.4 * static_cast<double>(k) / static_cast<double>(target.socs.size()), "preparing for " + std::string(target.socs[k]->name));
      out.contexts.push_back({target.socs[k], prepare(source, out, *target.socs[k], bounds), ""});
    }
    return out;
  }

  std::unique_ptr<Session> open(const Loadable& what, const Bounds& bounds) override {
    return open_snpe(tools_.library, what, bounds);
  }

 private:
  // ---- which nodes

  ToolEnd dry_run(const Source& source, const Target& target, const Bounds& bounds, bool with_target) const {
    ToolCall call = converter_call(source, target, "");
    call.arguments.insert(call.arguments.end(), {"--dry_run", "info"});
    if (with_target && !tools_.qairt && !target.socs.empty())
      call.arguments.insert(call.arguments.end(), {"--validation_target", runtime_of(target), std::string(target.socs[0]->name)});
    call.product.clear();
    call.sentences.clear();
    return call_tool(tools_, call, bounds);
  }

  static std::vector<Taken> answers(const OnnxNames& model, const ToolEnd& end) {
    std::vector<Taken> out;
    bool any_refused = false;
    for (const OnnxNames::Node& node : model.nodes) {
      if (node.op == "Constant" || node.outputs.empty()) continue;
      const auto said = std::find_if(end.lines.begin(), end.lines.end(), [&](const std::string& line) { return refuses(line) && is_about(line, node); });
      out.push_back({node.outputs[0], said == end.lines.end(), said == end.lines.end() ? "" : *said});
      any_refused = any_refused || !out.back().taken;
    }
    if (!end.good && !any_refused) throw sdk::Error(OPTIMA_TOOL_FAILED, end.why);
    return out;
  }

  static bool is_about(const std::string& line, const OnnxNames::Node& node) {
    return names_it(line, node.name) || names_it(line, node.op) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& o) { return names_it(line, o); });
  }

  static std::string runtime_of(const Target& target) { return target.kind == "HEXAGON" ? "dsp" : target.kind == "ADRENO" ? "gpu" : "cpu"; }

  // ---- files

  Source prepare_source(const std::string& folder, const Target& target, const Bounds& bounds) const {
    Source out;
    out.model = folder + "/model.onnx";
    const Quantized* q = target.quantized;
    if (q && q->in_graph) out.model = write_floats(*q, bounds);
    out.names = read_onnx_names(out.model);
    require_fixed(out.names);
    out.quantize = q && (q->in_graph || !q->codes.empty());
    if (!out.quantize) return out;
    out.widths = widths_of(q->codes);
    out.overrides = bounds.work + "/overrides.json";
    sdk::write_file(out.overrides, overrides_json(q->codes));
    return out;
  }

  static std::string write_floats(const Quantized& q, const Bounds& bounds) {
    const std::string folder = bounds.work + "/float";
    std::error_code failed;
    fs::create_directory(folder, failed);
    q.write_float(folder);
    return folder + "/model.onnx";
  }

  static void require_fixed(const OnnxNames& model) {
    for (const OnnxNames::Port& p : model.inputs)
      if (std::any_of(p.dims.begin(), p.dims.end(), [](int64_t d) { return d < 0; }))
        throw sdk::Error(OPTIMA_UNSUPPORTED, "input '" + p.name + "' has a dim that is not known, wanted fixed shapes");
  }

  // ---- the converter

  ToolCall converter_call(const Source& source, const Target& target, const std::string& product) const {
    ToolCall call;
    call.program = tools_.converter;
    call.product = product;
    call.arguments = {"--input_network", source.model};
    const auto add = [&](std::initializer_list<std::string> words) { call.arguments.insert(call.arguments.end(), words); };
    if (!product.empty()) add({"--output_path", product});
    for (const std::string& name : output_names(source.names)) add({tools_.qairt ? "--out_tensor_node" : "--out_node", name});
    if (!source.overrides.empty()) add({"--quantization_overrides", source.overrides});
    if (target.precision == "fp16") add({"--float_bitwidth", "16"});
    if (tools_.qairt) {
      add({"--target_backend", target.kind == "HEXAGON" ? "HTP" : target.kind == "ADRENO" ? "GPU" : "CPU"});
    } else {
      add({"--preserve_io", "layout"});  // the legacy converter turns pictures to NHWC without
      if (keeps_codes(source)) add({"--keep_quant_nodes"});
      call.sentences = {"Conversion completed successfully"};
    }
    return call;
  }

  static bool keeps_codes(const Source& source) {
    return std::any_of(source.names.nodes.begin(), source.names.nodes.end(),
                       [](const OnnxNames::Node& n) { return n.op == "QuantizeLinear" || n.op == "DequantizeLinear"; });
  }

  std::string convert(const Source& source, const Target& target, const Bounds& bounds) const {
    const ToolCall call = converter_call(source, target, bounds.work + "/float.dlc");
    const ToolEnd end = call_tool(tools_, call, bounds);
    if (end.good) return call.product;
    const std::string refusal = first_refusal(end.lines);
    if (!refusal.empty()) throw sdk::Error(OPTIMA_UNSUPPORTED, base_name(call.program) + ": " + refusal + " (log: " + bounds.log + ")");
    throw sdk::Error(OPTIMA_TOOL_FAILED, end.why);
  }

  // ---- the quantizer

  std::string quantize(const Source& source, const std::string& input_list, const std::string& dlc, const Bounds& bounds) const {
    ToolCall call;
    call.program = tools_.quantizer;
    call.product = bounds.work + "/quantized.dlc";
    call.arguments = {"--input_dlc", dlc, "--output_dlc", call.product};
    const auto add = [&](std::initializer_list<std::string> words) { call.arguments.insert(call.arguments.end(), words); };
    if (!input_list.empty()) add({"--input_list", input_list});
    else add({tools_.qairt ? "--enable_float_fallback" : "--float_fallback"});  // what no encoding is known of stays float
    if (!tools_.qairt) add({"--override_params"});
    add({"--act_bitwidth", std::to_string(source.widths.activations), "--weights_bitwidth", std::to_string(source.widths.weights), "--bias_bitwidth", "32"});
    if (source.widths.per_channel) add({"--use_per_channel_quantization", "--use_per_row_quantization"});
    if (tools_.qairt) add({"--preserve_io_datatype"});
    // microsoft/Olive takes these for the evidence; [U] of the others.
    if (base_name(tools_.quantizer) == "snpe-dlc-quantize") call.sentences = {"Writing quantized model", "Saved quantized dlc"};
    return require(call, bounds);
  }

  /// The outputs' names are those of the DLC: others than a run asks for would be refused then.
  std::string prepare(const Source& source, const Built& built, const Soc& soc, const Bounds& bounds) const {
    std::vector<std::string> outputs = output_names(source.names);
    for (std::string& name : outputs)
      for (const Built::Border& b : built.borders)
        if (b.name == name && !b.file_name.empty()) name = b.file_name;
    ToolCall call;
    call.program = tools_.preparer;
    call.product = bounds.work + "/" + std::string(soc.name) + ".dlc";
    call.arguments = {"--input_dlc", built.dlcs[0], "--output_dlc", call.product, "--htp_socs", std::string(soc.name), "--set_output_tensors", joined(outputs)};
    return require(call, bounds);
  }

  std::string require(const ToolCall& call, const Bounds& bounds) const {
    const ToolEnd end = call_tool(tools_, call, bounds);
    if (!end.good) throw sdk::Error(OPTIMA_TOOL_FAILED, end.why);
    return call.product;
  }

  // ---- how tensors at the border lie

  /// Rows of snpe-dlc-info's tables "| Input Name | Dimensions | ..." and "| Output Name | Dimensions | ..." [U: of the tables only their
  /// columns are documented]. What is not in them lies as in the model.
  std::vector<Built::Border> read_borders(const OnnxNames& model, const std::string& dlc, const Bounds& bounds) const {
    ToolCall call;
    call.program = tools_.info;
    call.arguments = {"-i", dlc};
    const ToolEnd end = call_tool(tools_, call, bounds);
    if (!end.good) throw sdk::Error(OPTIMA_TOOL_FAILED, end.why);
    std::vector<Built::Border> out;
    const std::vector<OnnxNames::Port>* ports = nullptr;
    for (const std::string& line : end.lines) {
      const std::vector<std::string> cells = cells_of(line);
      if (cells.size() < 2) continue;
      if (cells[1] == "Dimensions") ports = cells[0] == "Input Name" ? &model.inputs : cells[0] == "Output Name" ? &model.outputs : nullptr;
      else if (ports) add_border(*ports, cells[0], dims_of(cells[1]), out);
    }
    return out;
  }

  static std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> out;
    std::istringstream stream(line);
    for (std::string cell; line.starts_with('|') && std::getline(stream, cell, '|');) {
      const size_t first = cell.find_first_not_of(" \t");
      if (first != std::string::npos) out.push_back(cell.substr(first, cell.find_last_not_of(" \t") - first + 1));
    }
    return out;
  }

  static std::vector<int64_t> dims_of(const std::string& text) {
    std::vector<int64_t> out;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) out.push_back(std::atoll(word.c_str()));
    return out;
  }

  /// The tools write '_' for what is no letter of a C name [U].
  static std::string plain(std::string name) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
  }

  static void add_border(const std::vector<OnnxNames::Port>& ports, const std::string& found, const std::vector<int64_t>& dims, std::vector<Built::Border>& out) {
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const OnnxNames::Port& p) { return p.name == found || plain(p.name) == plain(found); });
    if (port == ports.end()) return;
    const std::vector<int64_t>& d = port->dims;
    const bool last = d != dims && d.size() == 4 && dims == std::vector<int64_t>{d[0], d[2], d[3], d[1]};
    if (d != dims && !last) {
      const auto text = [](const std::vector<int64_t>& all) {
        std::string shape;
        for (int64_t one : all) shape += (shape.empty() ? "" : "x") + std::to_string(one);
        return shape;
      };
      throw sdk::Error(OPTIMA_TOOL_FAILED, "the DLC's tensor '" + found + "' has shape " + text(dims) + ", wanted " + text(d));
    }
    if (last || found != port->name) out.push_back({port->name, found == port->name ? "" : found, last ? "NHWC" : ""});
  }

  SdkTools tools_;
  Facts facts_;
};

}  // namespace

std::unique_ptr<Toolchain> find_sdk(const Wanted& wanted, std::string& why) {
  if (wanted.sdk_root.empty()) {
    why = "no SDK is named: SNPE_ROOT, QAIRT_SDK_ROOT and snpe.root are empty";
    return nullptr;
  }
  std::optional<SdkTools> tools = look_for_sdk(wanted.sdk_root, why);
  return tools ? std::make_unique<SdkToolchain>(std::move(*tools)) : nullptr;
}

}  // namespace snpe_plugin
