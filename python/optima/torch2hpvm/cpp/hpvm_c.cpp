// SPDX-License-Identifier: Apache-2.0
// Runs a set of samples through a compiled model in batches and says how many labels it meets. Written to final_accuracy in the current folder, too.
//   PROGRAM tune|test [-c CONF]       (also -d tune|test, -h)
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optima/runtime.hpp>

#include "settings.hpp"

namespace {

namespace rt = optima::runtime;
namespace fs = std::filesystem;

struct Words {
  std::string set, configuration;
  bool mixtures = false, help = false, good = true;
};

// A set's two raw files; samples are read batch by batch.
class Set {
 public:
  explicit Set(const std::string& name) : input_(settings::kOutput + "/weights/" + name + "_input.bin"), file_(input_, std::ios::binary) {
    const std::string labels = settings::kOutput + "/weights/" + name + "_labels.bin";
    std::ifstream from(labels, std::ios::binary);
    if (!file_ || !from) throw std::runtime_error("cannot read '" + (file_ ? labels : input_) + "'");
    const uintmax_t bytes = fs::file_size(labels), found = fs::file_size(input_);
    if (bytes == 0 || bytes % sizeof(int32_t) != 0 || found != bytes / sizeof(int32_t) * row_bytes())
      throw std::runtime_error("'" + input_ + "' has " + std::to_string(found) + " bytes and its labels " + std::to_string(bytes) + ", wanted " +
                               std::to_string(row_bytes()) + " and 4 a sample");
    labels_.resize(bytes / sizeof(int32_t));
    if (!from.read(reinterpret_cast<char*>(labels_.data()), static_cast<std::streamsize>(bytes))) throw std::runtime_error("cannot read '" + labels + "'");
  }
  const std::vector<int32_t>& labels() const { return labels_; }
  static uint64_t row_bytes() { return static_cast<uint64_t>(settings::kChannels * settings::kHeight * settings::kWidth) * sizeof(float); }
  void read(float* to, size_t count) {
    if (!file_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * row_bytes()))) throw std::runtime_error("cannot read '" + input_ + "'");
  }

 private:
  std::string input_;
  std::ifstream file_;
  std::vector<int32_t> labels_;
};

const char* const kUsage = "usage: PROGRAM tune|test [-d tune|test] [-c CONF] [-h]\n";

Words parse(int count, char** given) {
  Words w;
  const auto choose = [&](const std::string& set) {
    w.good = w.good && (set == "tune" || set == "test") && (w.set.empty() || w.set == set);
    w.set = set;
  };
  for (int i = 1; i < count; ++i) {
    const std::string word = given[i];
    if (word == "-h") w.help = true;
    else if (word == "--mixtures") w.mixtures = true;
    else if ((word == "-c" || word == "-d") && i + 1 < count) word == "-c" ? void(w.configuration = given[++i]) : choose(given[++i]);
    else choose(word);
  }
  w.good = w.good && (w.mixtures || !w.set.empty());
  return w;
}

// The package that was compiled with these operations in fp16; empty when there is none.
std::string package_with(const std::set<hpvm::Operation>& half) {
  const std::string folder = settings::kOutput + "/packages/";
  std::ifstream list(folder + "packages.txt");
  if (!list) throw std::runtime_error("cannot read '" + folder + "packages.txt'");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string name;
    std::set<hpvm::Operation> has;
    words >> name;
    for (int id = 0, place = 0; words >> id >> place;) has.insert({id, place});
    if (has == half) return folder + name;
  }
  return {};
}

// Reads the configuration and says what is not computed as it asks.
std::string choose_package(const std::string& named) {
  const std::string path = named.empty() ? settings::kConfiguration : named;
  if (!fs::exists(path)) {
    std::printf("no configuration at '%s': all in fp32\n", path.c_str());
    return package_with({});
  }
  const hpvm::Configuration conf = hpvm::ConfReader(path, settings::kNodes).read().front();
  std::set<hpvm::Operation> half = hpvm::half_operations(path, conf, settings::kNodes);
  std::string package = package_with(half);
  if (package.empty()) half.clear(), package = package_with({});
  std::set<int> nodes;
  for (const hpvm::Operation& operation : half) nodes.insert(operation.first);
  std::printf("configuration %s of '%s': %zu of %zu nodes have fp16\n", conf.name.c_str(), path.c_str(), nodes.size(), settings::kNodes.size());
  if (std::any_of(conf.knobs.begin(), conf.knobs.end(), [](const hpvm::Knob& k) { return k.device == "gpu"; }))
    std::printf("nodes on gpu run on the device that the packages were compiled for\n");
  for (const hpvm::Knob& k : conf.knobs)
    if (const std::string why = hpvm::why_not(path, k, settings::kNodes, half); !why.empty())
      std::printf("%s:%d: node %d: %s %s %d runs as fp32: %s\n", path.c_str(), k.line, k.node, k.op.c_str(), k.kind.c_str(), k.number, why.c_str());
  return package;
}

void print_mixtures(const std::string& path) {
  for (const hpvm::Configuration& conf : hpvm::ConfReader(path, settings::kNodes).read()) {
    for (const auto& [id, place] : hpvm::half_operations(path, conf, settings::kNodes)) std::printf("%d %d ", id, place);
    std::printf("\n");
  }
}

// How many of the first `used` answers have the label as their largest number, the first of equals.
size_t hits(const rt::Tensor& output, const int32_t* labels, size_t used) {
  if (output.type() != rt::ElementType::Float32 || output.shape().empty() || output.shape()[0] != settings::kBatch)
    throw std::runtime_error("the model does not give a float32 answer a sample");
  const size_t classes = output.size() / sizeof(float) / static_cast<size_t>(settings::kBatch);
  size_t met = 0;
  for (size_t i = 0; i < used; ++i) {
    const float* scores = output.data<float>() + i * classes;
    if (labels[i] < 0 || static_cast<size_t>(labels[i]) >= classes)
      throw std::runtime_error("found label " + std::to_string(labels[i]) + ", wanted one of the model's " + std::to_string(classes) + " classes from 0 on");
    if (std::any_of(scores, scores + classes, [](float s) { return std::isnan(s); })) throw std::runtime_error("the model's answers have NaN in them");
    met += std::max_element(scores, scores + classes) - scores == labels[i];
  }
  return met;
}

// Percent. The last batch is filled up with its last sample, whose further answers are left out.
double accuracy(const std::string& package, Set& set) {
  rt::ContextOptions options;
  options.plugin_folders = settings::kPlugins;
  rt::Context context(options);
  rt::InferRequest request = context.loadModel(package).createRequest();
  rt::Tensor input(rt::ElementType::Float32, {settings::kBatch, settings::kChannels, settings::kHeight, settings::kWidth});
  request.setInputTensor(uint32_t{0}, input);
  const size_t all = set.labels().size(), batch = static_cast<size_t>(settings::kBatch), row = Set::row_bytes() / sizeof(float);
  size_t met = 0;
  for (size_t begin = 0; begin < all; begin += batch) {
    const size_t used = std::min(batch, all - begin);
    float* data = input.data<float>();
    set.read(data, used);
    for (size_t i = used; i < batch; ++i) std::memcpy(data + i * row, data + (used - 1) * row, Set::row_bytes());
    request.run();
    met += hits(request.getOutputTensor(uint32_t{0}), set.labels().data() + begin, used);
  }
  return 100.0 * static_cast<double>(met) / static_cast<double>(all);
}

void write_result(double percent) {
  std::ofstream file("final_accuracy.part");
  file << percent << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write 'final_accuracy'");
  fs::rename("final_accuracy.part", "final_accuracy");
}

void run(const Words& words) {
  const std::string package = choose_package(words.configuration);
  Set set(words.set);
  std::printf("%s set: %zu samples in batches of %lld\n", words.set.c_str(), set.labels().size(), static_cast<long long>(settings::kBatch));
  const double percent = accuracy(package, set);
  write_result(percent);
  std::printf("****** Accuracy = %f\n", percent);
}

}  // namespace

int main(int count, char** given) {
  const Words words = parse(count, given);
  if (words.help) return std::fputs(kUsage, stdout), 0;
  if (!words.good) return std::fputs(kUsage, stderr), 2;
  try {
    words.mixtures ? print_mixtures(words.configuration) : run(words);
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
