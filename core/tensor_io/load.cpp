// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/load.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/support/blob.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/tensor_proto.hpp"
#include "core/tensor_io/zip.hpp"

namespace optima {
namespace {

std::span<const std::byte> bytes_of(const Blob& blob) { return {blob.data, blob.size}; }

bool has_ending(std::string_view path, std::string_view ending) { return path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending; }

std::string type_text(int32_t dtype, const std::vector<int64_t>& shape, bool unranked = false) {
  return cat(dtype_name(dtype), " ", unranked ? "of any shape" : shape_text(shape));
}

// The member of the given name, else the only one, as `read` has it. Members of numpy's archives end in ".npy".
template <class T>
Result<T> read_npz(const Blob& file, const std::string& path, std::string_view name, Result<T> (*read)(std::span<const std::byte>, std::string_view)) {
  OPTIMA_ASSIGN(const std::vector<ZipMember> members, list_zip(bytes_of(file), quote(path)));
  const ZipMember* chosen = members.size() == 1 ? &members[0] : nullptr;
  std::vector<std::string> names;
  for (const ZipMember& m : members) {
    names.push_back(has_ending(m.name, ".npy") ? m.name.substr(0, m.name.size() - 4) : m.name);
    if (!name.empty() && names.back() == name) chosen = &m;
  }
  if (!chosen) return invalid_input(cat(quote(path), ": has no array ", quote(name), nearest_hint(name, names), ", found ", join(names)));
  OPTIMA_ASSIGN(const std::vector<std::byte> bytes, unpack(*chosen, quote(path)));
  return read(bytes, cat(quote(path), " array ", quote(chosen->name)));
}

// Raw bytes have the model's type; one unknown dim follows from their number.
Result<Tensor> read_raw(const Blob& file, const std::string& path, const TensorInfo& wanted) {
  std::vector<int64_t> shape = wanted.shape;
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  const uint64_t bits = optima_dtype_bits(wanted.dtype);
  if (unknown != shape.end() && bits) {
    *unknown = 1;
    const uint64_t row = byte_size(wanted.dtype, shape).value_or(0);
    if (row && file.size % row == 0) *unknown = static_cast<int64_t>(file.size / row);
  }
  const std::optional<uint64_t> size = byte_size(wanted.dtype, shape);
  if (wanted.unranked || !size || *size != file.size)
    return invalid_input(cat(quote(path), ": found ", file.size, " raw bytes, wanted ", size ? std::to_string(*size) : "a number that fits", " for ",
                             type_text(wanted.dtype, wanted.shape, wanted.unranked)));
  OPTIMA_ASSIGN(Tensor t, Tensor::make(wanted.dtype, shape));
  if (t.size) std::memcpy(t.data, file.data, t.size);
  return t;
}

// splitmix64: Steele, Lea, Flood 2014. Small, and the same on every machine.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class T>
void store(Tensor& t, uint64_t i, T value) {
  std::memcpy(t.data + i * sizeof(T), &value, sizeof(T));
}

// Half floats of k/1024, exact in both 16-bit types' range for k < 256.
uint16_t half_bits(int32_t dtype, uint64_t r) {
  const float f = static_cast<float>(r % 256) / 256;
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if (dtype == OPTIMA_BF16 || f == 0) return static_cast<uint16_t>(bits >> 16);
  return static_cast<uint16_t>((((bits >> 23) - 112) << 10) | ((bits >> 13) & 0x3FF));
}

void fill_random(Tensor& t, uint64_t state) {
  const uint64_t bits = optima_dtype_bits(t.dtype);
  if (bits < 8 || t.dtype == OPTIMA_C64 || t.dtype == OPTIMA_C128 || (bits == 8 && t.dtype >= OPTIMA_F8E4M3FN)) {
    for (uint64_t i = 0; i < t.size; ++i) t.data[i] = static_cast<std::byte>(next_random(state) & 0x33);
    return;
  }
  for (uint64_t i = 0, n = t.size * 8 / bits; i < n; ++i) {
    const uint64_t r = next_random(state);
    switch (t.dtype) {
      case OPTIMA_I32: store(t, i, static_cast<int32_t>(r & 1)); break;
      case OPTIMA_I64: store(t, i, static_cast<int64_t>(r & 1)); break;
      case OPTIMA_F32: store(t, i, static_cast<float>(r >> 40) / 16777216.0f); break;
      case OPTIMA_F64: store(t, i, static_cast<double>(r >> 11) / 9007199254740992.0); break;
      case OPTIMA_F16: case OPTIMA_BF16: store(t, i, half_bits(t.dtype, r)); break;
      case OPTIMA_BOOL: store(t, i, static_cast<uint8_t>(r & 1)); break;
      default:
        for (uint64_t b = 0; b < bits / 8; ++b) t.data[i * bits / 8 + b] = static_cast<std::byte>(b ? 0 : r % 10);
    }
  }
}

Result<Tensor> read_file_input(const std::string& path, const TensorInfo& wanted) {
  OPTIMA_ASSIGN(const Blob file, map_file(path));
  if (has_ending(path, ".npy")) return read_npy(bytes_of(file), quote(path));
  if (has_ending(path, ".npz")) return read_npz(file, path, wanted.name, read_npy);
  if (has_ending(path, ".pb")) return read_tensor_proto(bytes_of(file), quote(path));
  return read_raw(file, path, wanted);
}

Result<TextArray> read_text_file(const std::string& path, const TensorInfo& wanted) {
  OPTIMA_ASSIGN(const Blob file, map_file(path));
  if (has_ending(path, ".npy")) return read_npy_texts(bytes_of(file), quote(path));
  if (has_ending(path, ".npz")) return read_npz(file, path, wanted.name, read_npy_texts);
  if (has_ending(path, ".pb")) return read_text_proto(bytes_of(file), quote(path));
  if (has_ending(path, ".json")) return read_json_texts({reinterpret_cast<const char*>(file.data), file.size}, quote(path));
  return invalid_input(cat(quote(path), ": found no known ending, wanted texts in a .npy, .npz, .json or .pb"));
}

// Codes of the texts in a file; shapes are told of as texts'.
Result<Tensor> load_texts(const std::string& path, const TensorInfo& wanted) {
  OPTIMA_ASSIGN(const TextArray texts, read_text_file(path, wanted));
  bool fits = wanted.unranked || texts.shape.size() == wanted.shape.size();
  for (size_t i = 0; fits && !wanted.unranked && i < texts.shape.size(); ++i) fits = wanted.shape[i] < 0 || wanted.shape[i] == texts.shape[i];
  if (!fits)
    return invalid_input(cat("input ", quote(wanted.name), ": found ", type_text(OPTIMA_STRING, texts.shape), ", wanted ", type_text(OPTIMA_STRING, wanted.shape)));
  return code_tensor(texts, *wanted.texts);
}

bool is_random(const std::string& source) { return source == "random" || source.compare(0, 7, "random:") == 0; }

Result<uint64_t> seed_of(const std::string& source) {
  if (source == "random") return uint64_t{0};
  uint64_t seed = 0;
  const char* end = source.data() + source.size();
  const auto [stop, error] = std::from_chars(source.data() + 7, end, seed);
  if (error != std::errc() || stop != end) return usage_error(cat("found ", quote(source), ", wanted random or random:SEED with a number"));
  return seed;
}

struct Given {
  std::string name, source;
};

// "NAME=SOURCE" where NAME is one of the model's inputs; otherwise the whole word is a source, so that paths may hold '='.
Result<Given> split_word(const std::string& word, const std::vector<TensorInfo>& wanted) {
  std::vector<std::string> names;
  for (const TensorInfo& w : wanted) names.push_back(w.name);
  for (const std::string& n : names)
    if (word.compare(0, n.size(), n) == 0 && word.size() > n.size() && word[n.size()] == '=') return Given{n, word.substr(n.size() + 1)};
  const size_t equals = word.find('=');
  if (equals == std::string::npos || word.find('/') < equals) return Given{"", word};
  const std::string name = word.substr(0, equals);
  return invalid_input(cat("the model has no input ", quote(name), nearest_hint(name, names), ", wanted one of ", join(names)));
}

}  // namespace

Status check_tensor(const Tensor& t, const TensorInfo& wanted) {
  bool fits = t.dtype == wanted.dtype && (wanted.unranked || t.shape.size() == wanted.shape.size());
  for (size_t i = 0; fits && !wanted.unranked && i < t.shape.size(); ++i) fits = wanted.shape[i] < 0 || wanted.shape[i] == t.shape[i];
  if (fits) return {};
  return invalid_input(cat("input ", quote(wanted.name), ": found ", type_text(t.dtype, t.shape), ", wanted ",
                           type_text(wanted.dtype, wanted.shape, wanted.unranked)));
}

std::vector<int64_t> usual_sizes(const std::vector<std::string>& symbols, const SizeRanges& ranges) {
  std::vector<int64_t> out;
  for (const std::string& symbol : symbols) {
    const auto at = ranges.find(symbol);
    out.push_back(at == ranges.end() ? -1 : at->second.opt != SizeRange::kNotSaid ? at->second.opt : at->second.min);
  }
  return out;
}

Result<Tensor> random_tensor(const TensorInfo& wanted, uint64_t seed) {
  std::vector<int64_t> shape = wanted.shape;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0) shape[d] = d < wanted.usual.size() && wanted.usual[d] >= 0 ? wanted.usual[d] : 1;
  OPTIMA_ASSIGN(Tensor t, Tensor::make(wanted.dtype, std::move(shape)));
  uint64_t state = 0xCBF29CE484222325u ^ seed;  // FNV-1a over the name, so that inputs differ
  for (const char c : wanted.name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  fill_random(t, state);
  if (wanted.texts)
    for (int64_t& code : t.as<int64_t>()) code %= static_cast<int64_t>(wanted.texts->size()) + 1;
  t.name = wanted.name;
  return t;
}

Result<Tensor> load_input(const std::string& source, const TensorInfo& wanted) {
  if (is_random(source)) {
    OPTIMA_ASSIGN(const uint64_t seed, seed_of(source));
    return random_tensor(wanted, seed);
  }
  if (wanted.texts) {
    OPTIMA_ASSIGN(Tensor codes, load_texts(expand_home(source), wanted));
    codes.name = wanted.name;
    return codes;
  }
  OPTIMA_ASSIGN(Tensor t, read_file_input(expand_home(source), wanted));
  t = restore_type(std::move(t), wanted.dtype);
  OPTIMA_RETURN_IF_ERROR(check_tensor(t, wanted));
  t.name = wanted.name;
  return t;
}

Result<std::vector<Tensor>> load_inputs(const std::vector<std::string>& words, const std::vector<TensorInfo>& wanted) {
  std::vector<std::string> sources(wanted.size());
  for (const std::string& word : words) {
    OPTIMA_ASSIGN(const Given given, split_word(word, wanted));
    const bool for_all = given.name.empty() && (has_ending(given.source, ".npz") || is_random(given.source));
    if (given.name.empty() && wanted.size() != 1 && !for_all)
      return usage_error(cat("found --input ", quote(word), " for a model of ", wanted.size(), " inputs, wanted NAME=", given.source));
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!given.name.empty() && wanted[i].name != given.name) continue;
      if (!sources[i].empty()) return usage_error(cat("input ", quote(wanted[i].name), " is given twice"));
      sources[i] = given.source;
    }
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (sources[i].empty()) return usage_error(cat("input ", quote(wanted[i].name), " is not given, wanted --input ", wanted[i].name, "=FILE or =random"));
    OPTIMA_ASSIGN(Tensor t, load_input(sources[i], wanted[i]));
    out.push_back(std::move(t));
  }
  return out;
}

Result<std::pair<std::string, std::vector<int64_t>>> parse_shape(const std::string& word) {
  const auto wrong = [&] { return usage_error(cat("--shape: found ", quote(word), ", wanted NAME=SIZES such as image=1,3,224,224 or image=1x3x224x224, with ? for a size that stays open")); };
  const size_t equals = word.rfind('=');
  if (equals == std::string::npos || equals == 0) return wrong();
  const std::string sizes = word.substr(equals + 1);
  std::pair<std::string, std::vector<int64_t>> out(word.substr(0, equals), {});
  if (sizes.empty() || sizes == "scalar") return out;
  for (size_t at = 0; at <= sizes.size();) {
    const size_t end = std::min(sizes.find_first_of(",x", at), sizes.size());
    const std::string one = sizes.substr(at, end - at);
    const std::optional<int64_t> size = parse_number<int64_t>(one);
    if (one != "?" && (!size || *size < 0)) return wrong();
    out.second.push_back(one == "?" ? -1 : *size);
    at = end + 1;
  }
  return out;
}

Status fix_shapes(const std::map<std::string, std::vector<int64_t>>& shapes, std::vector<TensorInfo>& inputs) {
  std::map<std::string, int64_t> symbols;
  for (const auto& [name, shape] : shapes) {
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const TensorInfo& i) { return i.name == name; });
    if (input == inputs.end()) {
      std::vector<std::string> names;
      for (const TensorInfo& i : inputs) names.push_back(i.name);
      return usage_error(cat("--shape: the model has no input ", quote(name), nearest_hint(name, names), ", wanted one of ", join(names)));
    }
    bool fits = input->unranked || shape.size() == input->shape.size();
    for (size_t d = 0; fits && !input->unranked && d < shape.size(); ++d) fits = input->shape[d] < 0 || shape[d] < 0 || input->shape[d] == shape[d];
    if (!fits)
      return usage_error(cat("--shape ", name, ": found ", shape_text(shape), ", wanted ", type_text(input->dtype, input->shape, input->unranked)));
    for (size_t d = 0; d < input->symbols.size() && d < shape.size(); ++d)
      if (!input->symbols[d].empty() && shape[d] >= 0) symbols.emplace(input->symbols[d], shape[d]);
    if (input->unranked) input->shape.assign(shape.size(), -1);
    input->unranked = false;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] >= 0) input->shape[d] = shape[d];
  }
  for (TensorInfo& input : inputs)
    for (size_t d = 0; d < input.shape.size() && d < input.symbols.size(); ++d)
      if (const auto at = symbols.find(input.symbols[d]); input.shape[d] < 0 && at != symbols.end()) input.shape[d] = at->second;
  return {};
}

Result<std::pair<std::string, int64_t>> parse_dim(const std::string& word) {
  const size_t equals = word.rfind('=');
  const std::optional<int64_t> size = equals == std::string::npos ? std::nullopt : parse_number<int64_t>(word.substr(equals + 1));
  if (!size || *size < 0 || equals == 0) return usage_error(cat("--dim: found ", quote(word), ", wanted NAME=SIZE such as width=320"));
  return std::pair(word.substr(0, equals), *size);
}

Status fix_dims(const std::map<std::string, int64_t>& dims, std::vector<TensorInfo>& inputs) {
  for (const auto& [name, size] : dims) {
    std::vector<std::string> known;
    bool found = false;
    for (TensorInfo& input : inputs)
      for (size_t d = 0; d < input.shape.size(); ++d) {
        const std::string place = cat(input.name, ".", d), symbol = d < input.symbols.size() ? input.symbols[d] : "";
        const bool meant = symbol == name || place == name, open = input.shape[d] < 0;
        if (meant && open) input.shape[d] = size;
        found |= meant && input.shape[d] == size;
        if (!open) continue;
        if (const std::string shown = symbol.empty() ? place : symbol; std::find(known.begin(), known.end(), shown) == known.end()) known.push_back(shown);
      }
    if (!found) return usage_error(cat("--dim: no input has an open dim ", quote(name), known.empty() ? ", all dims are fixed" : ", the model has " + join(known)));
  }
  return {};
}

std::string shape_line(const Tensor& tensor, const TensorInfo& known, const TensorInfo& fixed, bool random) {
  const auto open = [](const TensorInfo& i) { return i.unranked || std::any_of(i.shape.begin(), i.shape.end(), [](int64_t d) { return d < 0; }); };
  if (!open(known)) return "";
  const std::string line = cat("input ", tensor.name, ": ", type_text(tensor.dtype, tensor.shape));
  if (!random || !open(fixed)) return line;
  bool all_said = true, any_said = false;
  for (size_t d = 0; d < fixed.shape.size(); ++d) {
    if (fixed.shape[d] >= 0) continue;
    const bool said = d < fixed.usual.size() && fixed.usual[d] >= 0;
    all_said &= said, any_said |= said;
  }
  const std::string sizes = !any_said ? "1" : all_said ? "those that it was compiled for most" : "those that it was compiled for most, else 1";
  return cat(line, ", sizes that the model leaves open are ", sizes, " (--shape ", tensor.name, "=... sets them)");
}

Json inputs_json(const std::vector<Tensor>& inputs) {
  Json out = Json::array();
  for (const Tensor& t : inputs) out.push_back({{"name", t.name}, {"dtype", dtype_name(t.dtype)}, {"shape", t.shape}});
  return out;
}

Result<Tensor> load_tensor(const std::string& path) {
  OPTIMA_ASSIGN(const Blob file, map_file(path));
  if (has_ending(path, ".pb")) return read_tensor_proto(bytes_of(file), quote(path));
  return has_ending(path, ".npz") ? read_npz(file, path, {}, read_npy) : read_npy(bytes_of(file), quote(path));
}

}  // namespace optima
