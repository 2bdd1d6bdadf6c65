// SPDX-License-Identifier: Apache-2.0
// tests: a plugin of Relu, Neg and Abs on f32 whose subgraphs go through the doors that its options name, and that runs what it compiled.
// "i8": 8 bits with one scale; "nhwc": channels last; "tile": a layout of its own; "bad": a scale of 0.
#include <cmath>
#include <map>
#include <sstream>

#include "optima/plugin/plugin.hpp"

namespace {

namespace sdk = optima::sdk;

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = PLUGIN_ID, i.vendor = "Tests", i.version = "1", i.build_id = "1";
  return i;
}
constexpr sdk::Info kInfo = info();
constexpr float kScale = 1.0F / 64;
constexpr int32_t kZero = -100;

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

/// The door of that word for a tensor of rank 4.
sdk::Door door_called(const std::string& word, const std::vector<int64_t>& dims) {
  if (word == "nhwc") return {OPTIMA_F32, {dims[0], dims[2], dims[3], dims[1]}, "NHWC"};
  if (word == "tile") return {OPTIMA_F32, dims, "TILE4"};
  sdk::Door d(OPTIMA_I8, dims);
  d.scales = {word == "bad" ? 0 : kScale}, d.zero_points = {kZero};
  return d;
}

/// A tensor as it lies outside, and inside as row-major f32.
struct Outside {
  std::string name, word = "usual";
  std::vector<int64_t> dims;

  size_t count() const {
    size_t n = 1;
    for (const int64_t d : dims) n *= static_cast<size_t>(d);
    return n;
  }
  // Where element i of the tensor lies.
  size_t at(size_t i) const {
    if (word == "tile") return count() - 1 - i;
    if (word != "nhwc") return i;
    const size_t c = static_cast<size_t>(dims[1]), pixels = static_cast<size_t>(dims[2] * dims[3]);
    return i / (c * pixels) * c * pixels + i % pixels * c + i / pixels % c;
  }
  std::vector<float> read(const void* data) const {
    std::vector<float> out(count());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = word == "i8" ? static_cast<float>(static_cast<const int8_t*>(data)[i] - kZero) * kScale : static_cast<const float*>(data)[at(i)];
    return out;
  }
  void write(const std::vector<float>& from, void* data) const {
    for (size_t i = 0; i < from.size(); ++i) {
      if (word == "i8") static_cast<int8_t*>(data)[i] = static_cast<int8_t>(std::min(127.0F, std::max(-128.0F, std::round(from[i] / kScale) + kZero)));
      else static_cast<float*>(data)[at(i)] = from[i];
    }
  }
};

struct Node {
  std::string op, in, out;
};

struct Artifact {
  std::vector<Outside> inputs, outputs;
  std::vector<Node> nodes;
};

class Interpreter : public sdk::Context {
 public:
  explicit Interpreter(const Artifact& a) : artifact_(a) {}
  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override {
    std::map<std::string, std::vector<float>> values;
    for (size_t i = 0; i < in.size(); ++i) values[artifact_.inputs[i].name] = artifact_.inputs[i].read(in[i].data<char>());
    for (const Node& n : artifact_.nodes) {
      std::vector<float> v = values.at(n.in);
      for (float& x : v) x = n.op == "Relu" ? std::max(x, 0.0F) : n.op == "Neg" ? -x : std::fabs(x);
      values[n.out] = std::move(v);
    }
    for (size_t i = 0; i < out.size(); ++i) artifact_.outputs[i].write(values.at(artifact_.outputs[i].name), out[i].data<char>());
  }

 private:
  const Artifact& artifact_;
};

class Program : public sdk::Program {
 public:
  explicit Program(Artifact a) : artifact_(std::move(a)) {}
  void bindings(const sdk::BindingSink& add) const override {
    for (const auto* side : {&artifact_.inputs, &artifact_.outputs})
      for (const Outside& t : *side) {
        const sdk::Door door = t.word == "usual" ? sdk::Door(OPTIMA_F32, t.dims) : door_called(t.word, t.dims);
        const sdk::Binding b{t.name, door.dtype, {door.shape.data(), door.shape.size()}};
        side == &artifact_.inputs ? add.input(b) : add.output(b);
      }
  }
  std::unique_ptr<sdk::Context> context() override { return std::make_unique<Interpreter>(artifact_); }

 private:
  const Artifact artifact_;
};

#ifdef HAS_DOORS
using Base = sdk::Doors;
#else
struct Base {};
#endif

class Through : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public Base {
 public:
  explicit Through(const sdk::Init&) {}
  std::vector<sdk::PresentDevice> devices(std::string&) override { return {}; }
  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Node& node : request.nodes()) report(sdk::Verdict::supported(node));
  }

#ifdef HAS_DOORS
  void offer_doors(const sdk::DoorRequest& request, const sdk::DoorSink& offer) override {
    for (const std::string& word : words(request.options().string(PLUGIN_ID ".offer", ""))) offer(door_called(word, request.value().shape()));
  }
  bool takes_door(const sdk::DoorRequest& request, const sdk::Door& door) override {
    for (const std::string& word : words(request.options().string(PLUGIN_ID ".take", "")))
      if (door == door_called(word, request.value().shape())) return true;
    return false;
  }
#endif

  // Lines of words: "in NAME DOOR DIMS...", "out NAME DOOR DIMS...", "OP IN OUT".
  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress&) override {
    const sdk::Graph graph = request.graph();
    std::ostringstream text;
    for (uint32_t k = 0; k < graph.input_count(); ++k) text << "in " << outside(request, graph.input(k));
    for (uint32_t k = 0; k < graph.output_count(); ++k) text << "out " << outside(request, graph.output(k));
    for (uint32_t n = 0; n < graph.size(); ++n) {
      if (graph[n].op() == request.options().string(PLUGIN_ID ".refuse", "")) throw sdk::Error(OPTIMA_UNSUPPORTED, "not this one", graph[n].id());
      text << graph[n].op() << ' ' << graph[n].input(0).name() << ' ' << graph[n].output(0).name() << '\n';
    }
    sink.format("through/1");
    sink.file(request.stem() + ".txt", text.str());
  }

  sdk::Compatibility check_artifact(const sdk::Artifact&, const sdk::Device&) override { return {OPTIMA_COMPAT_OPTIMAL, ""}; }
  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    const sdk::Elements<char> file(artifact.file(0));
    std::istringstream in(std::string(file.begin(), file.end()));
    Artifact made;
    for (std::string line; std::getline(in, line);) {
      const std::vector<std::string> w = words(line);
      if (w[0] != "in" && w[0] != "out") {
        made.nodes.push_back({w[0], w[1], w[2]});
        continue;
      }
      Outside& t = (w[0] == "in" ? made.inputs : made.outputs).emplace_back(Outside{w[1], w[2], {}});
      for (size_t k = 3; k < w.size(); ++k) t.dims.push_back(std::stoll(w[k]));
    }
    return std::make_unique<Program>(std::move(made));
  }

 private:
  static std::string outside(const sdk::CompileRequest& request, const sdk::Value& value) {
    std::string word = "usual";
    if (const std::optional<sdk::Door> door = request.door(value))
      for (const char* known : {"i8", "nhwc", "tile"})
        if (*door == door_called(known, value.shape())) word = known;
    std::ostringstream text;
    text << value.name() << ' ' << word;
    for (const int64_t d : value.shape()) text << ' ' << d;
    text << '\n';
    return text.str();
  }
};

}  // namespace

OPTIMA_PLUGIN(Through, kInfo)
