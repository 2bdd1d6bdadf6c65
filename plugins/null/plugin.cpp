// SPDX-License-Identifier: Apache-2.0
// plugins/null: the skeleton one copies. Takes one Identity node, writes down what it must copy, and copies at run time.
#include "optima/plugin/plugin.hpp"

#include "info.hpp"

namespace null_plugin {
namespace {

constexpr std::string_view kFormat = "null.copy/1";
constexpr int32_t kMaxRank = 8;

/// The artifact: this, then the names of input and output.
struct Record {
  char magic[8] = {'N', 'u', 'l', 'l', 'C', 'o', 'p', 'y'};
  int32_t dtype = 0, rank = 0;
  int64_t dims[kMaxRank] = {};
  uint32_t in_size = 0, out_size = 0;

  /// Bytes of the tensor; CORRUPT when the dims make no sense. Used on hostile records too.
  uint64_t bytes() const {
    uint64_t elements = 1;
    for (int32_t k = 0; k < rank; ++k) {
      if (dims[k] < 0 || (dims[k] > 0 && elements > (uint64_t{1} << 56) / static_cast<uint64_t>(dims[k])))
        throw sdk::Error(OPTIMA_CORRUPT, "file has a bad shape");
      elements *= static_cast<uint64_t>(dims[k]);
    }
    return (elements * optima_dtype_bits(dtype) + 7) / 8;
  }
};

class Copy : public sdk::Context {
 public:
  explicit Copy(uint64_t bytes) : bytes_(bytes) {}
  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override {
    if (in.size() != 1 || out.size() != 1 || in[0].size() < bytes_ || out[0].size() < bytes_)
      throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "buffers differ from the bindings");
    if (!in[0].dense() || !out[0].dense()) throw sdk::Error(OPTIMA_UNSUPPORTED, "tensor is strided, wanted a dense one");
    if (bytes_ > 0) std::memcpy(out[0].data<char>(), in[0].data<char>(), bytes_);
  }

 private:
  uint64_t bytes_;
};

class CopyProgram : public sdk::Program {
 public:
  CopyProgram(const Record& record, std::string_view names)
      : record_(record), in_(names.substr(0, record.in_size)), out_(names.substr(record.in_size)) {}
  void bindings(const sdk::BindingSink& add) const override {
    const sdk::Span<const int64_t> shape(record_.dims, static_cast<size_t>(record_.rank));
    add.input({in_, record_.dtype, shape});
    add.output({out_, record_.dtype, shape});
  }
  std::unique_ptr<sdk::Context> context() override { return std::make_unique<Copy>(record_.bytes()); }

 private:
  Record record_;
  std::string in_, out_;
};

class Null : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime {
 public:
  explicit Null(const sdk::Init& init) : log_(init.host, "null") {}

  std::vector<sdk::PresentDevice> devices(std::string&) override {
    sdk::PresentDevice d;
    d.kind = "NULL", d.id = "null0", d.arch = "none", d.driver = "null 0.1.0";
    return {d};
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Node& node : request.nodes()) report(sdk::judge(kInfo.operators, node));
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    const sdk::Graph graph = request.graph();
    if (graph.size() != 1)
      throw sdk::Error(OPTIMA_UNSUPPORTED, "subgraph has " + std::to_string(graph.size()) + " nodes, wanted one",
                       graph.size() > 1 ? graph[1].id() : OPTIMA_NONE);
    const sdk::Verdict verdict = sdk::judge(kInfo.operators, graph[0]);
    if (!verdict.yes()) throw sdk::Error(OPTIMA_UNSUPPORTED, verdict.text, graph[0].id());
    if (const auto why = request.options().string("null.refuse", ""); !why.empty())
      throw sdk::Error(OPTIMA_UNSUPPORTED, std::string(why), graph[0].id());
    progress(0.5, "writing");
    sink.format(kFormat);
    sink.file(request.stem() + ".bin", describe(graph[0]));
    sink.compat("1", "null.copy revision 1");
    log_.debug("compiled " + std::string(graph[0].name()));
  }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device&) override {
    if (artifact.format() != kFormat) return {OPTIMA_COMPAT_RECOMPILE, "artifact was written by another revision"};
    return {OPTIMA_COMPAT_OPTIMAL, ""};
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    if (artifact.format() != kFormat) throw sdk::Error(OPTIMA_RECOMPILE, "artifact was written by another revision");
    if (artifact.file_count() != 1)
      throw sdk::Error(OPTIMA_CORRUPT, "artifact has " + std::to_string(artifact.file_count()) + " files, wanted one");
    return parse(sdk::Elements<char>(artifact.file(0)));
  }

 private:
  static std::string describe(const sdk::Node& node) {
    const sdk::Value in = node.input(0), out = node.output(0);
    Record r;
    r.dtype = in.dtype(), r.rank = in.rank();
    for (uint32_t k = 0; k < static_cast<uint32_t>(r.rank); ++k) r.dims[k] = in.dim(k);
    r.in_size = static_cast<uint32_t>(in.name().size()), r.out_size = static_cast<uint32_t>(out.name().size());
    return std::string(reinterpret_cast<const char*>(&r), sizeof r).append(in.name()).append(out.name());
  }

  static std::unique_ptr<sdk::Program> parse(const sdk::Elements<char>& file) {
    Record r;
    if (file.size() < sizeof r) throw sdk::Error(OPTIMA_CORRUPT, "file is truncated");
    std::memcpy(&r, file.data(), sizeof r);
    if (std::memcmp(r.magic, Record().magic, sizeof r.magic) != 0 || r.rank < 0 || r.rank > kMaxRank || optima_dtype_bits(r.dtype) == 0)
      throw sdk::Error(OPTIMA_CORRUPT, "file is damaged");
    if (file.size() != sizeof r + uint64_t{r.in_size} + r.out_size) throw sdk::Error(OPTIMA_CORRUPT, "file has a wrong size");
    (void)r.bytes();
    return std::make_unique<CopyProgram>(r, std::string_view(file.data() + sizeof r, file.size() - sizeof r));
  }

  sdk::Log log_;
};

}  // namespace
}  // namespace null_plugin

OPTIMA_PLUGIN(null_plugin::Null, null_plugin::kInfo)
