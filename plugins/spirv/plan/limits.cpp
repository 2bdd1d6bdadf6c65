// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace spirv_plugin {
namespace {

using Json = nlohmann::json;

[[noreturn]] void bad(const std::string& file, const std::string& what) { throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "file of limits '" + file + "' " + what); }

uint64_t number(const Json& value, const std::string& key, const std::string& file, uint64_t most) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > most) bad(file, "has '" + key + "' as " + value.dump().substr(0, 40) + ", wanted a number from 0 to " + std::to_string(most));
  return value.get<uint64_t>();
}

double positive(const Json& value, const std::string& key, const std::string& file) {
  if (!value.is_number() || !(value.get<double>() > 0)) bad(file, "has '" + key + "' as " + value.dump().substr(0, 40) + ", wanted a number above 0");
  return value.get<double>();
}

std::array<uint32_t, 3> three(const Json& value, const std::string& key, const std::string& file) {
  if (!value.is_array() || value.size() != 3) bad(file, "has '" + key + "' as " + value.dump().substr(0, 40) + ", wanted three numbers");
  std::array<uint32_t, 3> out{};
  for (size_t k = 0; k < 3; ++k) out[k] = static_cast<uint32_t>(number(value[k], key, file, UINT32_MAX));
  return out;
}

TileShape tile(const Json& value, const std::string& key, const std::string& file) {
  constexpr uint64_t kMost[] = {1024, 1024, 16, 16, 256};  // sums are written out
  if (!value.is_array() || value.size() != std::size(kMost)) bad(file, "has '" + key + "' as " + value.dump().substr(0, 40) + ", wanted five numbers");
  std::array<uint32_t, std::size(kMost)> all{};
  for (size_t k = 0; k < all.size(); ++k)
    if (all[k] = static_cast<uint32_t>(number(value[k], key, file, kMost[k])); all[k] == 0) bad(file, "has '" + key + "' with a 0, wanted numbers above 0");
  return {all[0], all[1], all[2], all[3], all[4]};
}

TileShape vector_tile(const Json& value, const std::string& key, const std::string& file) {
  const TileShape out = tile(value, key, file);
  if (out.columns % 4 == 0 && out.depth % 4 == 0 && out.depth <= 16) return out;
  bad(file, "has '" + key + "' with " + std::to_string(out.columns) + " columns and " + std::to_string(out.depth) + " steps, wanted multiples of 4, at most 16");
}

uint32_t version(const Json& value, const std::string& file) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text.size() != 3 || text[0] != '1' || text[1] != '.' || text[2] < '1' || text[2] > '4') bad(file, "has 'vulkan' as " + value.dump().substr(0, 40) + ", wanted \"1.1\" to \"1.4\"");
  return 0x00400000u | static_cast<uint32_t>(text[2] - '0') << 12;
}

struct Feature {
  uint32_t capability;
  const char* name;  ///< null: none needed
};
/// Capabilities of SPIR-V that kernels here use, and the features of Vulkan that allow them (the specification's table "List of SPIR-V
/// Capabilities and corresponding Vulkan features").
constexpr Feature kFeatures[] = {{0, nullptr},        {1, nullptr}, {61, nullptr},  // Matrix, Shader, GroupNonUniform: kernels for computing have them everywhere
                                 {9, "shaderFloat16"}, {10, "shaderFloat64"}, {11, "shaderInt64"}, {22, "shaderInt16"}, {39, "shaderInt8"},
                                 {63, "subgroupArithmetic"}, {64, "subgroupBallot"}, {65, "subgroupShuffle"},
                                 {4433, "storageBuffer16BitAccess"}, {4434, "uniformAndStorageBuffer16BitAccess"}, {4448, "storageBuffer8BitAccess"},
                                 {6018, "shaderIntegerDotProduct"}, {6019, "shaderIntegerDotProduct"}};

std::set<std::string> names(const Json& value, const std::string& file) {
  const std::set<std::string> known = feature_names();
  std::set<std::string> out;
  if (!value.is_array()) bad(file, "has 'features' as " + value.dump().substr(0, 40) + ", wanted a list of names");
  for (const Json& one : value) {
    const std::string name = one.is_string() ? one.get<std::string>() : one.dump();
    std::string all;
    for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
    if (!one.is_string() || !known.count(name)) bad(file, "has a feature '" + name.substr(0, 60) + "', wanted one of " + all);
    out.insert(name);
  }
  return out;
}

/// Bytes of types and constants, as far as workgroup memory needs them.
struct Types {
  std::vector<uint64_t> bytes, value;     // by id
  std::vector<uint32_t> pointee;          // of pointers to workgroup memory
  explicit Types(uint32_t bound) : bytes(bound), value(bound), pointee(bound) {}
};

class Reader {
 public:
  Reader(const uint32_t* words, size_t count) : words_(words), count_(count) {
    constexpr uint32_t kMagic = 0x07230203, kMostIds = 1u << 22;
    if (count < 5 || words[0] != kMagic) corrupt("is no SPIR-V");
    if (words[3] > kMostIds) corrupt("has more than " + std::to_string(kMostIds) + " ids");
    types_ = Types(words[3]);
    out_.spirv = words[1];
  }

  Requirements run() {
    for (size_t at = 5; at < count_;) {
      const uint32_t size = words_[at] >> 16, op = words_[at] & 0xffff;
      if (size == 0 || size > count_ - at) corrupt("has an instruction that reaches past its end");
      take(op, words_ + at + 1, size - 1);
      at += size;
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] static void corrupt(const std::string& what) { throw sdk::Error(OPTIMA_CORRUPT, "kernel " + what); }

  uint32_t id(uint32_t word) const {
    if (word >= types_.bytes.size()) corrupt("has an id past its bound");
    return word;
  }

  void take(uint32_t op, const uint32_t* word, uint32_t n) {
    enum { kExtension = 10, kExecutionMode = 16, kCapability = 17, kTypeInt = 21, kTypeFloat = 22, kTypeVector = 23, kTypeArray = 28, kTypeStruct = 30, kTypePointer = 32, kConstant = 43, kVariable = 59 };
    const auto want = [&](uint32_t least) {
      if (n < least) corrupt("has an instruction that is too short");
    };
    switch (op) {
      case kExtension: out_.extensions.push_back(text(word, n)); break;
      case kCapability: want(1), capability(word[0]); break;
      case kExecutionMode:
        want(2);
        if (word[1] == 17) want(5), out_.local = {word[2], word[3], word[4]};  // LocalSize
        break;
      case kTypeInt:
      case kTypeFloat: want(2), types_.bytes[id(word[0])] = word[1] / 8; break;
      case kTypeVector: want(3), types_.bytes[id(word[0])] = types_.bytes[id(word[1])] * word[2]; break;
      case kTypeArray: want(3), types_.bytes[id(word[0])] = types_.bytes[id(word[1])] * std::min<uint64_t>(types_.value[id(word[2])], UINT32_MAX); break;
      case kTypeStruct:
        want(1);
        for (uint32_t k = 1; k < n; ++k) types_.bytes[id(word[0])] += types_.bytes[id(word[k])];
        break;
      case kTypePointer: want(3), types_.pointee[id(word[0])] = id(word[2]); break;
      case kConstant: want(3), types_.value[id(word[1])] = word[2]; break;
      case kVariable:
        want(3);
        if (word[2] == 4) out_.shared_bytes += static_cast<uint32_t>(std::min<uint64_t>(types_.bytes[types_.pointee[id(word[0])]], UINT32_MAX / 2));  // Workgroup
        if (word[2] == 12) ++out_.storage_buffers;                                                                                                   // StorageBuffer
        break;
      default: break;
    }
  }

  void capability(uint32_t number) {
    const auto at = std::find_if(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& f) { return f.capability == number; });
    if (at == std::end(kFeatures)) throw sdk::Error(OPTIMA_UNSUPPORTED, "kernel has SPIR-V capability " + std::to_string(number) + ", of which nothing is known here");
    if (at->name && std::find(out_.features.begin(), out_.features.end(), at->name) == out_.features.end()) out_.features.push_back(at->name);
  }

  static std::string text(const uint32_t* word, uint32_t n) {
    std::string out;
    for (uint32_t k = 0; k < n; ++k)
      for (int b = 0; b < 4; ++b) {
        const char c = static_cast<char>(word[k] >> (8 * b) & 0xff);
        if (c == 0) return out;
        out += c;
      }
    return out;
  }

  const uint32_t* words_;
  size_t count_;
  Types types_{0};
  Requirements out_;
};

std::string shown_version(uint32_t v) { return std::to_string(v >> 16) + "." + std::to_string(v >> 8 & 0xff); }

/// The newest SPIR-V that a version of Vulkan takes (the specification, "Versions and Formats").
uint32_t newest_spirv(uint32_t vulkan) {
  const uint32_t minor = vulkan >> 12 & 0x3ff;
  return minor >= 3 ? 0x00010600 : minor == 2 ? 0x00010500 : minor == 1 ? 0x00010300 : 0x00010000;
}

}  // namespace

std::set<std::string> feature_names() {
  std::set<std::string> out;
  for (const Feature& f : kFeatures)
    if (f.name) out.insert(f.name);
  return out;
}

Limits read_limits(std::string_view text, const std::string& file) {
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object()) bad(file, "is no JSON object");
  Limits out;
  for (const auto& [key, value] : all.items()) {
    const auto small = [&, &key = key, &value = value] { return static_cast<uint32_t>(number(value, key, file, UINT32_MAX)); };
    if (key == "vulkan") out.vulkan = version(value, file);
    else if (key == "invocations") out.invocations = small();
    else if (key == "size") out.size = three(value, key, file);
    else if (key == "groups") out.groups = three(value, key, file);
    else if (key == "shared_bytes") out.shared_bytes = small();
    else if (key == "storage_buffers") out.storage_buffers = small();
    else if (key == "buffer_range") out.buffer_range = number(value, key, file, UINT64_MAX);
    else if (key == "buffer_bytes") out.buffer_bytes = number(value, key, file, UINT64_MAX);
    else if (key == "features") out.features = names(value, file);
    else if (key == "product_tile") out.product_tile = tile(value, key, file);
    else if (key == "product_tile_f16") out.product_tile_f16 = tile(value, key, file);
    else if (key == "register_tile") out.register_tile = vector_tile(value, key, file);
    else if (key == "register_tile_f16") out.register_tile_f16 = vector_tile(value, key, file);
    else if (key == "gflops") out.gflops = positive(value, key, file);
    else if (key == "gbytes") out.gbytes = positive(value, key, file);
    else if (key == "launch_us") out.launch_us = positive(value, key, file);
    else bad(file, "has '" + key.substr(0, 60) + "', wanted vulkan, invocations, size, groups, shared_bytes, storage_buffers, buffer_range, buffer_bytes, features, product_tile, "
                   "product_tile_f16, register_tile, register_tile_f16, gflops, gbytes or launch_us");
  }
  return out;
}

Limits limits_at(const std::string& path) {
  std::error_code none;
  const bool is_file = std::filesystem::is_regular_file(path, none);
  std::ifstream in(path, std::ios::binary);
  const std::string where = std::filesystem::path(path).is_absolute() ? "" : " in folder '" + std::filesystem::current_path(none).string() + "'";
  if (!is_file || !in) bad(path, "cannot be read" + where);
  return read_limits(std::string{std::istreambuf_iterator<char>(in), {}}, path);
}

Limits lesser(const Limits& a, const Limits& b) {
  Limits out = a;
  const auto take = [](auto& to, const auto& other) { to = std::min(to, other); };
  take(out.vulkan, b.vulkan), take(out.invocations, b.invocations), take(out.shared_bytes, b.shared_bytes), take(out.storage_buffers, b.storage_buffers);
  take(out.buffer_range, b.buffer_range), take(out.buffer_bytes, b.buffer_bytes);
  for (size_t k = 0; k < 3; ++k) take(out.size[k], b.size[k]), take(out.groups[k], b.groups[k]);
  std::erase_if(out.features, [&](const std::string& f) { return !b.features.count(f); });
  return out;
}

namespace {

/// What their drivers' entries at vulkan.gpuinfo.org have had in common since 2016.
void take_desktop(Limits& out) {
  out.invocations = 1024, out.size = {1024, 1024, 64}, out.shared_bytes = 32768, out.storage_buffers = 16, out.buffer_range = (uint64_t{1} << 30) - 1;
  out.features = {"storageBuffer16BitAccess", "subgroupArithmetic"};
  out.gflops = 5000, out.gbytes = 250, out.launch_us = 6;
}

}  // namespace

Limits least_limits(std::string_view kind) {
  Limits out;
  // By IREE's tables of thread tiles (its compiler's SPIR-V kernel configurations by vendor), with so many steps that two tiles fit: see docs/spirv.md.
  if (kind == "NVIDIA") {
    take_desktop(out);
    out.product_tile = {32, 8, 4, 4, 16}, out.product_tile_f16 = {32, 8, 8, 8, 16};
  } else if (kind == "AMDGPU") {
    take_desktop(out);
    out.product_tile = {32, 8, 8, 4, 16}, out.product_tile_f16 = {16, 8, 8, 8, 32};
  } else if (kind == "INTELGPU") {
    take_desktop(out);
    out.product_tile = {16, 16, 4, 4, 16}, out.product_tile_f16 = {16, 8, 8, 4, 32};
    out.gflops = 1000, out.gbytes = 50;
  } else if (kind == "MALI") {
    out.register_tile = {8, 2, 6, 4, 4}, out.register_tile_f16 = {8, 2, 2, 8, 8};
  } else if (kind == "ADRENO") {
    out.register_tile = {32, 2, 16, 4, 4}, out.register_tile_f16 = {32, 2, 16, 8, 8};
  }
  return out;
}

Requirements requirements_of(const uint32_t* words, size_t count) { return Reader(words, count).run(); }

std::string missing(const Requirements& needs, const Limits& has) {
  const auto more = [](uint64_t wanted, const char* what, uint64_t found) { return "needs " + std::to_string(wanted) + " " + what + ", this GPU has " + std::to_string(found); };
  if (needs.spirv > newest_spirv(has.vulkan)) return "needs SPIR-V " + shown_version(needs.spirv) + ", this GPU takes " + shown_version(newest_spirv(has.vulkan));
  for (const std::string& f : needs.features)
    if (!has.features.count(f)) return "needs " + f + ", which this GPU has not";
  const uint64_t invocations = uint64_t{needs.local[0]} * needs.local[1] * needs.local[2];
  if (invocations > has.invocations) return more(invocations, "invocations in a workgroup", has.invocations);
  for (size_t k = 0; k < 3; ++k)
    if (needs.local[k] > has.size[k]) return more(needs.local[k], ("invocations along " + std::string(1, "xyz"[k])).c_str(), has.size[k]);
  if (needs.shared_bytes > has.shared_bytes) return more(needs.shared_bytes, "bytes of shared memory", has.shared_bytes);
  if (needs.storage_buffers > has.storage_buffers) return more(needs.storage_buffers, "storage buffers", has.storage_buffers);
  return "";
}

std::string too_many_groups(const std::array<uint32_t, 3>& groups, const Limits& has) {
  for (size_t k = 0; k < 3; ++k)
    if (groups[k] > has.groups[k]) return "needs " + std::to_string(groups[k]) + " workgroups along " + "xyz"[k] + ", this GPU has " + std::to_string(has.groups[k]);
  return "";
}

std::string too_large_to_bind(const std::string& tensor, uint64_t bytes, const Limits& has) {
  return bytes > has.buffer_range ? "needs tensor '" + tensor + "' of " + std::to_string(bytes) + " bytes, this GPU reaches " + std::to_string(has.buffer_range) : "";
}

}  // namespace spirv_plugin
