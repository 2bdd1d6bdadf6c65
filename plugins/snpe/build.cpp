// SPDX-License-Identifier: Apache-2.0
#include "build.hpp"

#include "artifact.hpp"
#include "borders.hpp"
#include "dlc/check.hpp"
#include "dlc/normal.hpp"
#include "optima/plugin/fixed.hpp"
#include "optima/plugin/meta_keys.hpp"
#include "query.hpp"
#include "toolchain/quantized.hpp"

namespace snpe_plugin {
namespace {

Port port_of(const sdk::Value& v, const std::string& what) {
  sdk::require_fixed(v, what);
  Port p;
  p.name = v.name(), p.dtype = v.dtype(), p.dims = v.shape();
  return p;
}

std::string soc_list(const Target& target) {
  std::string all;
  for (const Soc* s : target.socs) all += (all.empty() ? "" : ",") + std::string(s->name);
  return all;
}

/// The files of an artifact, as they are put into the sink. In its texts a name begins with '*' in place of the stem, of which no byte may tell.
class Files {
 public:
  Files(const sdk::Sink& sink, std::string stem) : sink_(sink), stem_(std::move(stem)) {}
  /// Its name in the artifact's texts.
  std::string add(const std::string& suffix, const std::string& from) {
    const std::string to = sink_.path(stem_ + suffix);
    std::error_code error;
    if (!std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error) || error)
      throw sdk::Error(OPTIMA_IO, "file '" + from + "' cannot be copied to '" + to + "': " + error.message());
    record_.files.push_back(sdk::record_file("*" + suffix, to));
    return "*" + suffix;
  }
  void add_text(const std::string& suffix, const std::string& text) {
    sink_.file(stem_ + suffix, text);
    record_.files.push_back(sdk::record_bytes("*" + suffix, text));
  }
  Record& record() { return record_; }

 private:
  const sdk::Sink& sink_;
  std::string stem_;
  Record record_;
};

void write(const Built& built, Meta& meta, Files& files) {
  for (size_t k = 0; k < built.dlcs.size(); ++k) meta.dlcs.push_back(files.add((k ? "_" + std::to_string(k) : "") + ".dlc", built.dlcs[k]));
  for (const Built::Context& c : built.contexts) {
    const std::string soc(c.soc->name);
    const std::string file = files.add("." + soc + ".bin", c.file);
    meta.contexts.push_back({soc, file, c.wrapper.empty() ? "" : files.add("." + soc + ".onnx", c.wrapper)});
  }
}

/// A DLC of the tools, freed of times; one that is not whole is a failure of theirs.
Dlc finished(const std::string& path) {
  try {
    normalize(path);
    return read_dlc(sdk::bytes_of(path));
  } catch (const sdk::Error& e) {
    if (e.code != OPTIMA_CORRUPT) throw;
    throw sdk::Error(OPTIMA_TOOL_FAILED, "the tools wrote a DLC '" + path.substr(path.rfind('/') + 1) + "' that cannot be read: " + e.text);
  }
}

/// All that is a DLC is found to hold what was asked for; a SDK's files for a chip are DLCs too.
void finish(const Built& built, const Meta& meta, bool of_sdk) {
  std::vector<Dlc> dlcs;
  for (const std::string& path : built.dlcs) dlcs.push_back(finished(path));
  if (!dlcs.empty()) check_ports(dlcs, meta.inputs, meta.outputs, of_sdk);
  for (const Built::Context& c : built.contexts)
    if (c.wrapper.empty()) check_ports({finished(c.file)}, meta.inputs, meta.outputs, of_sdk);
}

/// As build(); when the tools do not take all of it, the host is told which nodes they leave, if they say.
Built built_by(Toolchain& tools, const Target& target, const sdk::Graph& graph, const std::string& folder, Task& task, const sdk::Sink& sink, const sdk::Progress& progress) {
  std::vector<sdk::Verdict> left;
  try {
    return task.guarded([&] { return tools.build(folder, target, task.bounds(), progress); });
  } catch (const sdk::Error& e) {
    if (e.code == OPTIMA_TIMEOUT) throw sdk::Error(OPTIMA_TOOL_FAILED, e.text);  // our own limit of the tools: the host asked for none
    if (e.code != OPTIMA_UNSUPPORTED) throw;
    progress(-1, "asking which nodes are left");
    left = task.guarded([&] { return left_out(tools, target, graph, folder, task.bounds()); });
    if (left.empty()) throw;
  }
  sink.refuse({left.data(), left.size()});
}

}  // namespace

void build(Toolchain& tools, const sdk::Host& host, const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) {
  const sdk::Graph graph = request.graph();
  Target target = target_of(request.device(), request.options());
  if (const std::string why = tools.cannot_compile(target); !why.empty()) throw sdk::Error(OPTIMA_DEPENDENCY, why);
  Meta meta;
  for (uint32_t k = 0; k < graph.input_count(); ++k) meta.inputs.push_back(port_of(graph.input(k), "input"));
  for (uint32_t k = 0; k < graph.output_count(); ++k) meta.outputs.push_back(port_of(graph.output(k), "output"));

  progress(0, "writing ONNX");
  Task task(host, request.options(), [&] { return progress.cancelled(); });
  const std::string folder = task.folder("model");
  host.graph_to_onnx(graph, folder);
  const std::unique_ptr<Quantized> quantized = quantized_of(request, host);
  target.quantized = quantized.get();
  const Built built = built_by(tools, target, graph, folder, task, sink, progress);
  name_borders(built.borders, meta.inputs);
  name_borders(built.borders, meta.outputs);
  progress(0.95, "storing files");
  const Facts& facts = tools.facts();
  finish(built, meta, facts.route == "sdk");

  meta.kind = target.kind, meta.route = facts.route, meta.tools = facts.version, meta.precision = target.precision;
  Files files(sink, request.stem());
  write(built, meta, files);
  files.add_text(".meta", meta.write());
  Record& record = files.record();
  record.kind = meta.kind, record.route = meta.route, record.tools = meta.tools, record.socs = soc_list(target);
  // fp16 has 11 bits, and its errors add up over layers: what real nets are held to on the emulator
  if (meta.precision == "fp16") sink.meta(sdk::kMetaTolerance, "0.01");
  sink.format(kFormat);
  sink.compat(record.write(), target.kind + (record.socs.empty() ? "" : " " + record.socs) + " by " + facts.version);
}

}  // namespace snpe_plugin
