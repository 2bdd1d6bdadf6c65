// SPDX-License-Identifier: Apache-2.0
// Random graphs of float, int8 and shape arithmetic with residuals, quantized units, captures and outputs inside, split at random.
#include "core/onnx_io/onnx_io.hpp"
#include "core/support/text.hpp"
#include "tests/meaning/pieces.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

using Random = std::mt19937_64;

// A graph as ONNX text: each statement reads random earlier values of the type it needs; what nobody reads is an output.
class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  std::string write(int statements) {
    floats_ = {"x", "y"};
    for (int i = 0; i < statements; ++i) add("v" + std::to_string(i));
    std::string outputs;
    for (const auto& [name, type] : types_)
      if (!read_.count(name)) outputs += (outputs.empty() ? "" : ", ") + type + " " + name;
    return "<ir_version: 10, opset_import: [\"\" : 21]>\nrandom (float[2,6] x, float[2,6] y, bool c) => (" + outputs +
           ")\n<float s = {0.0625}, float t = {0.125}, int8 z = {1}, int64[2] wide = {2, 6}, "
           "int8[2,6] w = {1,-2,3,-4,5,-6,7,-8,9,-10,11,-12}> {\n" + body_ + "}";
  }

 private:
  const std::string& any(const std::vector<std::string>& pool) {
    const std::string& name = pool[pool.size() - 1 - std::min<size_t>(random_() % pool.size(), random_() % pool.size())];
    read_.insert(name);
    return name;
  }
  void put(const std::string& name, const std::string& type, std::vector<std::string>& pool, const std::string& what) {
    body_ += "  " + name + " = " + what + "\n";
    pool.push_back(name);
    types_[name] = type;
  }
  void add(const std::string& name) {
    const auto real = [&](const std::string& what) { put(name, "float[2,6]", floats_, what); };
    switch (random_() % 13) {
      case 0: return real("Relu(" + any(floats_) + ")");
      case 1: return real("Neg(" + any(floats_) + ")");
      case 2: return real("Sigmoid(" + any(floats_) + ")");
      case 3: return real("Add(" + any(floats_) + ", " + any(floats_) + ")");
      case 4: return real("Mul(" + any(floats_) + ", " + any(floats_) + ")");
      case 5: return real("Reshape(" + any(floats_) + ", wide)");
      case 6:
      case 7: return put(name, "int8[2,6]", bytes_, "QuantizeLinear(" + any(floats_) + (random_() % 2 ? ", s, z)" : ", t, z)"));
      case 8:
      case 9: return bytes_.empty() ? real("DequantizeLinear(w, s, z)") : real("DequantizeLinear(" + any(bytes_) + ", s, z)");
      case 10: return put(name, "int64[2]", shapes_, "Shape(" + any(floats_) + ")");
      case 11: return shapes_.empty() ? real("Identity(" + any(floats_) + ")") : real("ConstantOfShape(" + any(shapes_) + ")");
      default:
        return real("If (c) <then_branch = then_" + name + " () => (float[2,6] a) { a = Relu(" + any(floats_) + ") }, else_branch = else_" + name +
                    " () => (float[2,6] b) { b = Neg(" + any(floats_) + ") }>");
    }
  }

  Random& random_;
  std::string body_;
  std::vector<std::string> floats_, bytes_, shapes_;
  std::map<std::string, std::string> types_;
  std::set<std::string> read_;
};

}  // namespace

TEST_CASE("random splits of random graphs give the bits of the whole") {
  Random random(20);
  const TempFolder folder;
  size_t split = 0, clones = 0, units = 0, conflicts = 0;
  for (int round = 0; round < 600; ++round) {
    const std::string text = Writer(random).write(4 + static_cast<int>(random() % 28));
    const Result<Graph> graph = onnx_io::load_model(folder.file("g.onnxtxt", text));
    CAPTURE(text);
    REQUIRE(graph.status().message() == "");
    RandomDevices devices(*graph, random, 2 + random() % 2);
    const Result<Plan> plan = make_plan(*graph, devices.request);
    CAPTURE(plan.status().message());
    if (!plan.ok()) {  // wishes and groups by chance can leave a node no device
      REQUIRE(plan.status().kind() == StatusKind::Placement);
      ++conflicts;
      continue;
    }
    Values inputs;
    for (uint32_t v : graph->main().inputs) inputs[graph->main().values[v].name] = random_tensor(graph->main().values[v], random);
    Values whole = inputs;
    run_into(*graph, whole);
    const Values pieces = run_pieces(*graph, *plan, inputs);
    for (uint32_t v : graph->main().outputs) {
      const std::string& name = graph->main().values[v].name;
      CHECK_MESSAGE(same_bits(whole.at(name), pieces.at(name)), name);
    }
    split += plan->subgraphs.size() > 1;
    for (const Subgraph& s : plan->subgraphs) clones += s.clones.size();
    for (const PlacedNode& n : plan->nodes) units += n.quantized_unit == n.name;
  }
  MESSAGE(split, " splits, ", clones, " clones, ", units, " quantized units, ", conflicts, " refused");
  CHECK(split > 300);
  CHECK(clones > 150);
  CHECK(units > 300);
  CHECK(conflicts < 120);
}
