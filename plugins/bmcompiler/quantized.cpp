// SPDX-License-Identifier: Apache-2.0
#include "quantized.hpp"

#include "codes/ranges.hpp"
#include "codes/tables.hpp"
#include "files.hpp"
#include "optima/plugin/float_graph.hpp"

namespace bmcompiler_plugin {
namespace {

constexpr std::string_view kCalibration = "calibration.txt", kPrecisions = "precisions.txt";

bool is(const sdk::Node& n, std::string_view op) { return n.domain().empty() && n.op() == op; }
bool converts(const sdk::Node& n) { return is(n, "QuantizeLinear") || is(n, "DequantizeLinear"); }

class OfGraph : public Quantized {
 public:
  OfGraph(const sdk::Graph& graph, const Chip& chip) : chip_(chip), made_(graph.raw()) {}

  sdk::Graph floats() const override { return sdk::Graph(made_.raw()); }

  void describe(const top::Lowered& made, const std::string& folder, Job& job) const override {
    const Tables tables = tables_of(made.module, ranges_of(floats(), made_.codes(), chip_), job.mode);
    if (!tables.any_codes) return;  // codes of constants alone
    job.mode = "INT8";
    job.asymmetric = tables.asymmetric;
    job.calibration = kCalibration;
    write_file(folder + "/" + job.calibration, tables.calibration);
    if (tables.precisions.empty()) return;
    job.precisions = kPrecisions;
    write_file(folder + "/" + job.precisions, tables.precisions);
  }

 private:
  const Chip& chip_;
  mutable sdk::FloatGraph made_;  // builds itself when it is first asked for
};

}  // namespace

std::unique_ptr<Quantized> quantized_of(const sdk::Graph& graph, const Chip& chip) {
  for (uint32_t k = 0; k < graph.size(); ++k)
    if (converts(graph[k])) return std::make_unique<OfGraph>(graph, chip);
  return nullptr;
}

std::string cannot_quantize(const sdk::Node& node, const Chip& chip) { return converts(node) ? refused_codes(node, chip) : std::string(); }

}  // namespace bmcompiler_plugin
