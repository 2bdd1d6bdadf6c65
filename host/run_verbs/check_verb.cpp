// SPDX-License-Identifier: Apache-2.0
// host/run_verbs: is this package good here, and what devices are there.
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/compare.hpp"
#include "core/tensor_io/npy.hpp"
#include "host/run_verbs/run_inputs.hpp"

namespace optima {
namespace {

Result<Tensor> self_test_tensor(const LoadedModel& model, std::string_view kind, size_t k, int32_t dtype) {
  const std::string name = cat("self_test/", kind, "_", k, ".npy");
  OPTIMA_ASSIGN(const Blob bytes, model.reader().file(name));
  OPTIMA_ASSIGN(Tensor read, read_npy({bytes.data, bytes.size}, name));
  return restore_type(std::move(read), dtype);
}

// The worst output decides; each gets a line.
Status self_test(const LoadedModel& model, const RunPrinter& printer, Json& report) {
  OPTIMA_ASSIGN(const std::unique_ptr<Request> request, Request::create(model));
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    OPTIMA_ASSIGN(Tensor t, self_test_tensor(model, "input", i, model.inputs()[i].dtype));
    OPTIMA_RETURN_IF_ERROR(request->set_input(i, std::move(t)));
  }
  OPTIMA_RETURN_IF_ERROR(request->run());
  Status outcome;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    OPTIMA_ASSIGN(const Tensor got, request->output(i));
    OPTIMA_ASSIGN(Tensor wanted, self_test_tensor(model, "output", i, got.dtype));
    wanted.name = got.name;
    OPTIMA_ASSIGN(const Comparison c, compare_tensors(got, wanted, {.share = tolerance_of(model.package())}));
    if (printer.line) printer.line(cat("self-test output ", got.name, ": ", to_line(c)));
    report.push_back({{"output", got.name}, {"max_abs", c.max_abs}, {"cosine", c.cosine}, {"share_within", c.share_within}, {"within", c.within}});
    if (!c.within && outcome.ok())
      outcome = Status(StatusKind::Mismatch, cat("self-test output ", quote(got.name), ": found max-abs ", c.max_abs, ", wanted at most ", c.atol));
  }
  return outcome;
}

}  // namespace

Status check_package(RuntimeContext& context, const RunOptions& given, const RunPrinter& printer) {
  RunOptions options = given;
  options.verify = true;
  OPTIMA_ASSIGN(const std::unique_ptr<LoadedModel> model, load_for(context, options));
  Json subgraphs = Json::array(), tests = Json::array();
  for (const SubgraphInfo& s : model->subgraphs()) {
    if (s.plugin.empty()) continue;  // the host drives it: no artifact
    const std::string note = s.note.empty() ? "good" : cat("usable, better compiled again: ", s.note);
    if (printer.line) printer.line(cat("subgraph ", s.index, " on ", s.device, " (", s.plugin, "): ", note));
    subgraphs.push_back({{"index", s.index}, {"device", s.device}, {"plugin", s.plugin}, {"note", s.note}});
  }
  const auto& files = model->package().files;
  const bool has_test = files.count("self_test/output_0.npy") != 0;
  const Status status = has_test ? self_test(*model, printer, tests) : Status();
  if (!has_test && printer.line) printer.line("no self-test in the package (compile with --self-test)");
  if (printer.document)
    printer.document({{"package", model->package().model_name}, {"package_sha256", model->package().hash}, {"subgraphs", std::move(subgraphs)},
                      {"self_test", has_test ? std::move(tests) : Json(nullptr)}, {"good", status.ok()}});
  return status;
}

Status print_devices(RuntimeContext& context, const RunPrinter& printer) {
  std::vector<std::vector<std::string>> rows = {{"plugin", "device", "id", "arch"}};
  Json devices = Json::array(), refused = Json::array();
  for (Backend* plugin : context.plugins().plugins()) {
    for (const RefusedKind& r : plugin->refused_kinds()) {
      rows.push_back({plugin->manifest().id, cat(r.kind, ": ", r.why)});
      refused.push_back({{"plugin", plugin->manifest().id}, {"kind", r.kind}, {"reason", r.why}});
    }
    std::string why_none;
    const auto found = plugin->devices(&why_none);
    if (!found.ok() || found->empty()) {
      const std::string why = found.ok() ? (why_none.empty() ? "none" : "none: " + why_none) : found.status().message();
      rows.push_back({plugin->manifest().id, why});
      refused.push_back({{"plugin", plugin->manifest().id}, {"reason", why}});
      continue;
    }
    for (const DeviceInfo& d : *found) {
      rows.push_back({plugin->manifest().id, cat(d.kind, ":", d.ordinal), d.id, d.arch});
      devices.push_back({{"plugin", plugin->manifest().id}, {"kind", d.kind}, {"ordinal", d.ordinal}, {"id", d.id}, {"arch", d.arch}, {"driver", d.driver}});
    }
  }
  for (const PluginFile& f : context.plugins().files())
    if (!f.refusal.ok()) {
      rows.push_back({f.path, f.refusal.message()});
      refused.push_back({{"plugin", f.path}, {"reason", f.refusal.message()}});
    }
  if (printer.line) print_table(printer, rows);
  if (printer.document) printer.document({{"devices", std::move(devices)}, {"refused", std::move(refused)}});
  return {};
}

}  // namespace optima
