// SPDX-License-Identifier: Apache-2.0
#include "artifact.hpp"

#include <charconv>

#include "info.hpp"

namespace openvino_plugin {
namespace {

[[noreturn]] void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, what); }

/// Takes words from a text; CORRUPT where it does not go on as it should.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  std::string_view until(char end) {
    const size_t n = rest_.find(end);
    if (n == std::string_view::npos) corrupt("meta file is truncated");
    const std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n + 1);
    return word;
  }
  int64_t number(char end) {
    const std::string_view word = until(end);
    int64_t n = 0;
    const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error != std::errc() || at != word.data() + word.size()) corrupt("meta file has '" + std::string(word.substr(0, 20)) + "', wanted a number");
    return n;
  }
  std::string_view bytes(int64_t size, char end) {
    if (size < 0 || static_cast<uint64_t>(size) >= rest_.size() || rest_[static_cast<size_t>(size)] != end) corrupt("meta file has a wrong name length");
    const std::string_view word = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(word.size() + 1);
    return word;
  }

 private:
  std::string_view rest_;
};

std::string line_of(const char* direction, const Port& p) {
  std::string line = std::string(direction) + " " + std::to_string(p.dtype) + " " + std::to_string(p.ranked ? static_cast<int64_t>(p.dims.size()) : -1);
  for (size_t d = 0; d < p.dims.size(); ++d)
    line += " " + std::to_string(p.dims[d]) + " " + std::to_string(p.symbols[d].size()) + " " + p.symbols[d];
  return line + " " + std::to_string(p.name.size()) + " " + p.name + "\n";
}

std::string field(std::string_view text, std::string_view key) {
  const std::string wanted = std::string(key) + "=";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.substr(at, end - at).rfind(wanted, 0) == 0) return std::string(text.substr(at + wanted.size(), end - at - wanted.size()));
    at = end + 1;
  }
  corrupt("compat record has no '" + std::string(key) + "'");
}

uint64_t number_field(std::string_view text, std::string_view key, int base) {
  const std::string word = field(text, key);
  uint64_t n = 0;
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), n, base);
  if (error != std::errc() || at != word.data() + word.size()) corrupt("compat record has " + std::string(key) + " '" + word + "', wanted a number");
  return n;
}

}  // namespace

std::string Meta::write() const {
  std::string all = "openvino.meta 2\n";
  for (const Port& p : inputs) all += line_of("in", p);
  for (const Port& p : outputs) all += line_of("out", p);
  return all;
}

Meta Meta::read(std::string_view text) {
  Reader r(text);
  if (r.until('\n') != "openvino.meta 2") corrupt("meta file has another beginning");
  Meta m;
  while (!r.done()) {
    const std::string_view direction = r.until(' ');
    if (direction != "in" && direction != "out") corrupt("meta file has a line that is neither in nor out");
    Port p;
    p.dtype = static_cast<int32_t>(r.number(' '));
    const int64_t rank = r.number(' ');
    if (rank < -1 || rank > 64 || optima_dtype_bits(p.dtype) == 0) corrupt("meta file has a bad type");
    p.ranked = rank >= 0;
    for (int64_t k = 0; k < rank; ++k) {
      p.dims.push_back(r.number(' '));
      if (p.dims.back() < -1) corrupt("meta file has a negative dim");
      const int64_t length = r.number(' ');
      p.symbols.emplace_back(r.bytes(length, ' '));
    }
    const int64_t size = r.number(' ');
    p.name = r.bytes(size, '\n');
    (direction == "in" ? m.inputs : m.outputs).push_back(std::move(p));
  }
  return m;
}

std::string Record::write() const {
  return "openvino=" + openvino + "\ndevice=" + device + "\nchip=" + chip + "\nprecision=" + precision + "\nblob_size=" + std::to_string(blob_size) +
         "\nblob_sum=" + sdk::sum_text(blob_sum) + "\nmeta_size=" + std::to_string(meta_size) + "\nmeta_sum=" + sdk::sum_text(meta_sum) + "\n";
}

Record Record::read(std::string_view text) {
  return {field(text, "openvino"),         field(text, "device"),            field(text, "chip"),
          field(text, "precision"),        number_field(text, "blob_size", 10), number_field(text, "blob_sum", 16),
          number_field(text, "meta_size", 10), number_field(text, "meta_sum", 16)};
}

Record verify(const sdk::Artifact& artifact, const Here& here) {
  if (artifact.format() != kFormat) throw sdk::Error(OPTIMA_RECOMPILE, "artifact has format " + std::string(artifact.format()) + ", wanted " + std::string(kFormat));
  const Record r = Record::read(artifact.compat());
  if (r.device != here.device) throw sdk::Error(OPTIMA_WRONG_DEVICE, "blob was made for OpenVINO's " + r.device + ", wanted " + here.device);
  if (r.chip != here.chip) throw sdk::Error(OPTIMA_WRONG_DEVICE, "blob was made for " + r.chip + ", found " + here.chip);
  if (r.openvino != here.openvino) throw sdk::Error(OPTIMA_RECOMPILE, "blob was made by OpenVINO " + r.openvino + ", this is " + here.openvino);
  if (r.precision != "f32" && r.precision != "f16" && r.precision != "bf16") corrupt("compat record has precision '" + r.precision + "', wanted f32, f16 or bf16");
  const std::string stem(artifact.stem());
  sdk::verify_file(artifact, {stem + ".meta", r.meta_size, r.meta_sum});
  sdk::verify_file(artifact, {stem + ".blob", r.blob_size, r.blob_sum});
  return r;
}

}  // namespace openvino_plugin
