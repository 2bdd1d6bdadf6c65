// SPDX-License-Identifier: Apache-2.0
#include "toolchain/undated.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "files.hpp"

namespace bmcompiler_plugin {
namespace {

namespace sdk = optima::sdk;

// bmodel: 64 bytes (bmodel.hpp of sophgo/libsophon); cvimodel: "CviModel", sizes, MD5 at 14, chip; 48 bytes (seen).
constexpr std::string_view kBmodelMagic("\xEE\xAA\x55\xFF", 4), kCviMagic = "CviModel";
constexpr size_t kBmodelHeader = 64, kCviHeader = 48, kCviSum = 14;
constexpr std::string_view kBmodelTime = "Tue Jan  1 00:00:00 1980\n", kCviTime = "1980-01-01 00:00:00";

template <class T>
T number(const std::string& bytes, size_t at) {
  T v{};
  if (at > bytes.size() || bytes.size() - at < sizeof v)
    throw sdk::Error(OPTIMA_TOOL_FAILED, "the tools wrote a file of " + std::to_string(bytes.size()) + " bytes, wanted one that goes on to byte " + std::to_string(at + sizeof v));
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

/// Where field `k` of the table at `table` lies, 0 where it is absent.
size_t field_at(const std::string& bytes, size_t table, uint32_t k) {
  const size_t fields = static_cast<size_t>(static_cast<int64_t>(table) - number<int32_t>(bytes, table));
  const uint32_t slot = 4 + 2 * k;
  const uint16_t offset = number<uint16_t>(bytes, fields) > slot ? number<uint16_t>(bytes, fields + slot) : uint16_t{0};
  return offset ? table + offset : 0;
}
/// What an offset at `at` points to.
size_t target_of(const std::string& bytes, size_t at) { return at + number<uint32_t>(bytes, at); }

void set_time(std::string& bytes, size_t root, std::string_view time) {
  const size_t field = field_at(bytes, root, 2);
  const size_t text = field ? target_of(bytes, field) : 0;
  if (!field || number<uint32_t>(bytes, text) != time.size() || bytes.size() - text - 4 < time.size())
    throw sdk::Error(OPTIMA_TOOL_FAILED, "the tools wrote a file with no time of compilation where one is wanted");
  bytes.replace(text + 4, time.size(), time);
}

void set_mode(std::string& bytes, size_t root) {
  const size_t module = field_at(bytes, root, 6);
  const size_t mode = module ? field_at(bytes, target_of(bytes, module), 2) : 0;
  if (mode && number<uint32_t>(bytes, mode) > 1) bytes.replace(mode, 4, 4, '\0');
}

void rounds(std::array<uint32_t, 4>& state, const unsigned char* block) {
  static constexpr int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  auto [a, b, c, d] = state;
  for (uint32_t k = 0; k < 64; ++k) {
    const uint32_t round = k / 16;
    const uint32_t mixed = round == 0 ? (b & c) | (~b & d) : round == 1 ? (d & b) | (~d & c) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
    const uint32_t from = round == 0 ? k : round == 1 ? (5 * k + 1) % 16 : round == 2 ? (3 * k + 5) % 16 : 7 * k % 16;
    uint32_t word = 0;
    std::memcpy(&word, block + 4 * from, sizeof word);
    const auto sine = static_cast<uint32_t>(std::floor(std::fabs(std::sin(k + 1.0)) * 4294967296.0));
    const uint32_t turned = std::rotl(a + mixed + sine + word, turns[round][k % 4]);
    a = d, d = c, c = b, b += turned;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

}  // namespace

std::string md5(std::string_view bytes) {
  std::string all(bytes);
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  all += '\x80';
  all.append((120 - all.size() % 64) % 64, '\0');
  all.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  std::array<uint32_t, 4> state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  for (size_t at = 0; at < all.size(); at += 64) rounds(state, reinterpret_cast<const unsigned char*>(all.data()) + at);
  return {reinterpret_cast<const char*>(state.data()), sizeof state};
}

void undate(const std::string& path) {
  std::string bytes = bytes_of(path);
  const bool cvi = bytes.starts_with(kCviMagic);
  if (!cvi && !bytes.starts_with(kBmodelMagic)) throw sdk::Error(OPTIMA_TOOL_FAILED, "the tools wrote a file that begins as neither a bmodel nor a cvimodel does");
  const size_t root = target_of(bytes, cvi ? kCviHeader : kBmodelHeader);
  set_time(bytes, root, cvi ? kCviTime : kBmodelTime);
  if (!cvi) set_mode(bytes, root);
  if (cvi) bytes.replace(kCviSum, 16, md5(std::string_view(bytes).substr(kCviHeader)));
  write_file(path, bytes);
}

}  // namespace bmcompiler_plugin
