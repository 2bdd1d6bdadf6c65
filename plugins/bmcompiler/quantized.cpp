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

std::map<std::string, Range> by_location(std::map<std::string, Range> ranges, const std::map<std::string, std::string>& locations) {
  for (const auto& [value, location] : locations)
    if (const auto at = ranges.find(value); at != ranges.end()) ranges.emplace(location, at->second);
  return ranges;
}

/// "12 Softmax, 25 LayerNorm".
std::string counted(const std::map<std::string, size_t>& operators) {
  std::string out;
  for (const auto& [op, count] : operators) out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + op;
  return out;
}

/// Exponentials of BF16 are NaN below -3e38, masks of attention among them. Empty where the chip has no F32: there the judge lets no integers in.
std::set<std::string> kept_in_f32(const top::Lowered& made, const Chip& chip, const std::string& mode) {
  if (!chip.has_mode("F32")) return {};
  std::set<std::string> kept = made.integers;
  if (mode != "BF16") return kept;
  for (const top::Operation& o : made.module.operations())
    if (o.op == "Exp" || o.op == "Softmax") kept.insert(made.module.name(o.results[0]));
  return kept;
}

class OfGraph : public Quantized {
 public:
  OfGraph(const sdk::Graph& graph, const Chip& chip) : chip_(chip), made_(graph.raw()) {}

  sdk::Graph floats() const override { return sdk::Graph(made_.raw()); }

  std::string describe(const top::Lowered& made, const std::string& folder, Job& job) const override {
    const Tables tables = tables_of(made.module, by_location(ranges_of(floats(), made_.codes(), chip_), made.locations), job.mode, kept_in_f32(made, chip_, job.mode));
    if (!tables.any_codes) return {};  // codes of constants alone
    const std::string floats = tables.floats.empty() ? std::string() : "in " + job.mode + " beside codes: " + counted(tables.floats);
    job.mode = "INT8", job.precisions.clear();
    job.asymmetric = tables.asymmetric;
    job.calibration = kCalibration;
    write_file(folder + "/" + job.calibration, tables.calibration);
    if (tables.precisions.empty()) return floats;
    job.precisions = kPrecisions;
    write_file(folder + "/" + job.precisions, tables.precisions);
    return floats;
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

void keep_in_f32(const top::Lowered& made, const Chip& chip, const std::string& folder, Job& job) {
  const std::string table = f32_table(kept_in_f32(made, chip, job.mode), job.mode);
  if (table.empty()) return;
  job.precisions = kPrecisions;
  write_file(folder + "/" + job.precisions, table);
}

std::string cannot_quantize(const sdk::Node& node, const Chip& chip) { return converts(node) ? refused_codes(node, chip) : std::string(); }

}  // namespace bmcompiler_plugin
