// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: packages whose model.meta was changed by somebody who then made its hash right. They are refused, or load and run to an
// end; whatever a run answers, it touches no memory that is not the request's (the sanitizer build looks).
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/runtime/context.hpp"
#include "core/runtime/model.hpp"
#include "core/runtime/request.hpp"
#include "core/support/json.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/text_array.hpp"
#include "tests/support/forged_meta.hpp"
#include "tests/support/process.hpp"

using namespace optima;
using namespace optima::test;

namespace {

using Random = std::mt19937_64;
size_t below(Random& random, size_t n) { return static_cast<size_t>(random() % n); }

// A Loop, an If and a Scan that the host drives, bodies over two backends, weights, tensors that pass through the model and through a
// body: the last ones are of types that no backend sees, so that any type will do for them. One input has a size that is bounded, one and
// an output are texts, of which the package keeps what codes stand for.
const std::string kPlugins = OPTIMA_BINARY_DIR "/lib/optima/plugins";

constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]>
driven (float[2,4] x, int64 trips, bool go, uint8[5] mark, uint16[3,5] rows, float[n,2] free, string[3] words)
  => (float[2,4] y, float[k,2,4] every, float[2,4] side, uint8[5] last_mark, uint8[3,5] marks, uint16[3,5] swept, float[n,2] freed, string[3] told)
<float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, string[1] known = {"a"}, string[1] right = {"yes"}, string[1] wrong = {"no"}> {
  begin = Relu(x)
  last, last_mark, every, marks = Loop(trips, go, begin, mark) <body = body (int64 i, bool c, float[2,4] s, uint8[5] m)
      => (bool d, float[2,4] t, uint8[5] m, float[2,4] u, uint8[5] m) {
    p = MatMul(s, w)
    t = Softmax<axis = 1>(p)
    u = Add(t, begin)
    d = Identity(c)
  }>
  swept = Scan <num_scan_inputs = 1, body = sweep (uint16[5] row) => (uint16[5] row) { }> (rows)
  y = If(go) <then_branch = yes () => (float[2,4] a) { a = Tanh(last) }, else_branch = no () => (float[2,4] b) { b = Sigmoid(last) }>
  side = Identity(x)
  freed = Softmax<axis = 1>(free)
  is = Equal(words, known)
  told = Where(is, right, wrong)
})";

struct DrivenPackage {
  TempFolder folder;
  std::string package, meta;
  DrivenPackage() {
    // The sanitizer builds are without llvm_cpu: then both devices are the reference's.
    const bool compiler = std::filesystem::exists(kPlugins + "/optima_llvm_cpu.so");
    const std::string devices = compiler ? "X64:0,REF:0" : "REF:1,REF:0";
    const Ran ran = host({"compile", folder.file("driven.onnxtxt", kModel), "-o", folder.path(), "--device", devices, "--dim", "n=1..8@2", "--alloc",
                          folder.file("alloc.json", R"({"op:Softmax": "REF:0", "op:Sigmoid": "REF:0", "op:If": "host", "op:Loop": "host", "op:Scan": "host"})")});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    package = folder.path() + "/driven";
    meta = get(package + "/model.meta");
  }
};

void collect(Json& at, std::vector<Json*>& all, std::vector<std::string>& words) {
  all.push_back(&at);
  if (at.is_string()) words.push_back(at);
  if (at.is_structured())
    for (Json& inner : at) collect(inner, all, words);
}

const std::vector<int64_t> kNumbers = {0, 1, 2, 3, -1, 7, 8, 64, 4096, int64_t{1} << 32, INT64_MAX, INT64_MIN};

// Every type there is, and words that mean something: the document holds a few of them.
const std::vector<std::string>& vocabulary() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> out = {"If", "Loop", "Scan", "input", "output", "intermediate", ""};
    for (int32_t type = 0; type <= OPTIMA_I2; ++type) out.emplace_back(dtype_name(type));
    return out;
  }();
  return words;
}

std::string drawn_type(Random& random) { return std::string(dtype_name(static_cast<int32_t>(below(random, OPTIMA_I2 + 1)))); }

// One type becomes another wherever it stands: both sides of a body's door still agree.
void retype(Random& random, const std::vector<Json*>& all) {
  std::vector<std::string> types;
  for (const Json* at : all)
    if (at->is_object() && at->contains("dtype") && (*at)["dtype"].is_string() &&
        std::find(types.begin(), types.end(), (*at)["dtype"].get<std::string>()) == types.end())
      types.push_back((*at)["dtype"]);
  if (types.empty()) return;
  const std::string from = types[below(random, types.size())], to = drawn_type(random);
  for (Json* at : all)
    if (at->is_object() && at->contains("dtype") && (*at)["dtype"] == from) (*at)["dtype"] = to;
}

// A shape of another rank and other dims, known, named or not known.
Json drawn_shape(Random& random) {
  if (below(random, 8) == 0) return nullptr;
  Json shape = Json::array();
  for (size_t rank = below(random, below(random, 8) == 0 ? 70 : 5); shape.size() < rank;) {
    const size_t kind = below(random, 4);
    if (kind == 0) shape.push_back(nullptr);
    else if (kind == 1) shape.push_back("k");
    else shape.push_back(kNumbers[below(random, below(random, 4) == 0 ? kNumbers.size() : 5)]);
  }
  return shape;
}

// Changes one value to another of its kind, mostly: what is not JSON of the right kind is refused early and teaches nothing.
void change(Random& random, Json& root) {
  std::vector<Json*> all;
  std::vector<std::string> words;
  collect(root, all, words);
  if (below(random, 6) == 0) return retype(random, all);
  Json& at = *all[below(random, all.size())];
  if (at.is_object() && at.contains("shape") && below(random, 2) == 0) {
    at["shape"] = drawn_shape(random);
  } else if (at.is_object() && at.contains("dtype") && below(random, 2) == 0) {
    at["dtype"] = drawn_type(random);
  } else if (at.is_number()) {
    at = kNumbers[below(random, kNumbers.size())];
  } else if (at.is_string()) {
    const std::vector<std::string>& from = below(random, 2) == 0 ? vocabulary() : words;
    at = from[below(random, from.size())];
  } else if (at.is_boolean()) {
    at = !at.get<bool>();
  } else if (at.is_array() && !at.empty()) {
    const auto position = [&] { return at.begin() + static_cast<std::ptrdiff_t>(below(random, at.size())); };
    switch (below(random, 4)) {
      case 0: at.erase(position()); break;
      case 1: at.insert(position(), Json(*position())); break;
      default: std::swap(*position(), *position());
    }
  } else if (at.is_object() && !at.empty() && below(random, 4) == 0) {
    at.erase(std::next(at.begin(), static_cast<std::ptrdiff_t>(below(random, at.size()))).key());
  } else if (below(random, 8) == 0) {
    at = nullptr;
  }
}

constexpr int64_t kMostSlices = 4096;

// Whether all loops end after a number of trips that is worth running: a trip count is given, and nothing long is scanned.
bool ends_soon(const Package& package) {
  for (const PackageVariant& v : package.variants)
    for (const PackageSubgraph& s : v.subgraphs)
      for (const FlowNode& n : s.flow)
        if (n.op == "Loop" && n.inputs[0].tensor.empty() && n.inputs[0].weight.empty()) return false;
  const auto is_long = [](const PackageTensor& t) { return std::any_of(t.shape.begin(), t.shape.end(), [](int64_t d) { return d > kMostSlices; }); };
  return std::none_of(package.tensors.begin(), package.tensors.end(), is_long);
}

// Small inputs of whatever the package asks for.
Status fill(Request& request) {
  constexpr uint64_t kWorthFilling = 1 << 22;
  const std::vector<TensorInfo>& wanted = request.model().inputs();
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::vector<int64_t> shape = wanted[i].shape;
    std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{2});
    if (byte_size(wanted[i].dtype, shape).value_or(kWorthFilling + 1) > kWorthFilling) return Status(StatusKind::Usage, "too large to fill");
    OPTIMA_ASSIGN(Tensor tensor, request.input_buffer(i, shape));
    std::fill_n(tensor.data, tensor.size, std::byte{});
    if (tensor.size > 0) tensor.data[0] = std::byte{tensor.dtype == OPTIMA_I64 ? uint8_t{3} : uint8_t{1}};
  }
  return {};
}

// As a program asks for answers that are texts.
Status read_texts(Request& request) {
  const std::vector<TensorInfo>& outputs = request.model().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].texts) continue;
    OPTIMA_ASSIGN(const Tensor codes, request.output(i));
    OPTIMA_RETURN_IF_ERROR(text_elements(codes, *outputs[i].texts).status());
  }
  return {};
}

Status run_once(Request& request) {
  if (!ends_soon(request.model().package())) return Status(StatusKind::Usage, "runs too long");
  OPTIMA_RETURN_IF_ERROR(fill(request));
  OPTIMA_RETURN_IF_ERROR(request.start());
  OPTIMA_RETURN_IF_ERROR(request.wait(-1));
  return read_texts(request);
}

Status load_and_run(RuntimeContext& context, const std::string& folder) {
  OPTIMA_ASSIGN(PackageReader reader, PackageReader::open(folder, {}));
  OPTIMA_ASSIGN(const std::unique_ptr<LoadedModel> model, LoadedModel::load(context, std::move(reader)));
  OPTIMA_ASSIGN(const std::unique_ptr<Request> request, Request::create(*model));
  return run_once(*request);
}

}  // namespace

TEST_CASE("packages whose description was changed are refused, or run to an end within their own memory") {
  const DrivenPackage compiled;
  PluginFolders folders;
  folders.folders = {kPlugins};
  Result<std::unique_ptr<PluginSource>> plugins = scan_plugins(folders);
  REQUIRE(plugins.ok());
  RuntimeContext context(std::move(*plugins));
  REQUIRE_MESSAGE(load_and_run(context, compiled.package).ok(), load_and_run(context, compiled.package).message());
  const Json good = *parse_json(compiled.meta, "model.meta");
  Random random(1);
  std::map<StatusKind, int> kinds;
  for (int i = 0; i < 4000; ++i) {
    Json meta = good;
    for (size_t n = 1 + below(random, 2); n > 0; --n) change(random, meta);
    put(compiled.package + "/model.meta", with_own_hash(to_text(meta)));
    const Status status = load_and_run(context, compiled.package);
    INFO(status.message());
    CHECK(status.kind() != StatusKind::Internal);
    CHECK((status.ok() || !status.message().empty()));
    ++kinds[status.kind()];
  }
  for (const auto& [kind, count] : kinds) MESSAGE(count << " end with exit code " << exit_code(kind));
  CHECK(kinds[StatusKind::Ok] > 100);
  CHECK(kinds[StatusKind::InvalidInput] > 1000);
}
