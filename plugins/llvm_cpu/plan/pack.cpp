// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/plan: see pack.hpp. Orders of elements: Pack in compiler/op.hpp.
#include "plugins/llvm_cpu/plan/pack.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/plan/half.hpp"

namespace optima::llvm_cpu {
namespace {

__extension__ typedef __int128 Wide;  // sums of products of hostile numbers
constexpr int64_t kMostElements = int64_t{1} << 40;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t blocks(const Pack& p) { return divide_up(p.oc, p.vector_width); }
bool is_codes(const Pack& p) { return p.kind == Pack::Codes || p.kind == Pack::CodePairs; }
uint64_t source_element(const Pack& p) { return is_codes(p) ? 1 : p.source == Pack::F32 ? sizeof(float) : sizeof(uint16_t); }
/// Groups of four bytes of a run.
int64_t quads(const Pack& p) { return divide_up(divide_up(p.kw * p.in_block, 4), p.tile) * p.tile; }
int64_t positions(const Pack& p) { return p.kind == Pack::Winograd ? (p.tile + 2) * (p.tile + 2) : 1; }

/// Floats of one group.
int64_t group_floats(const Pack& p) {
  const int64_t lanes = blocks(p) * p.vector_width;
  if (p.kind == Pack::Channels) return lanes * p.kh * p.kw;
  return p.kind == Pack::Winograd ? positions(p) * lanes * p.ic : lanes * p.ic * p.kd * p.kh * p.kw;
}

/// Elements of a whole Pairs, of one group.
int64_t pair_words(const Pack& p) { return blocks(p) * p.vector_width * p.kh * p.kw * divide_up(p.ic, 2) * 2; }

uint64_t group_bytes(const Pack& p) {
  if (p.kind == Pack::Pairs) return static_cast<uint64_t>(pair_words(p)) * sizeof(uint16_t);
  if (!is_codes(p)) return static_cast<uint64_t>(group_floats(p)) * sizeof(float);
  return static_cast<uint64_t>(blocks(p) * p.vector_width * p.kd * p.kh * quads(p) * (p.kind == Pack::CodePairs ? 8 : 4));
}

float element(Pack::Source source, const char* from, int64_t at) {
  if (source == Pack::F32) {
    float v;
    std::memcpy(&v, from + at * static_cast<int64_t>(sizeof v), sizeof v);
    return v;
  }
  uint16_t bits;
  std::memcpy(&bits, from + at * static_cast<int64_t>(sizeof bits), sizeof bits);
  return source == Pack::F16 ? from_f16(bits) : from_bf16(bits);
}

/// Reads the source by the strides, zero outside the diagonal blocks and past the last channel.
struct Source {
  const Pack& p;
  const char* from;
  const float* scale;
  int64_t g;

  int8_t code(int64_t o, int64_t i, int64_t z, int64_t y, int64_t x) const {
    if (o >= p.oc || i >= p.ic || x >= p.kw) return 0;
    const int64_t at = p.offset + g * p.group_stride + o * p.oc_stride + i * p.ic_stride + z * p.kd_stride + y * p.kh_stride + x * p.kw_stride;
    return static_cast<int8_t>(from[at]);
  }

  float at(int64_t o, int64_t i, int64_t z, int64_t y, int64_t x) const {
    if (o >= p.oc) return 0;
    const int64_t channel = g * p.oc + o;
    int64_t at = p.offset + g * p.group_stride + z * p.kd_stride + y * p.kh_stride + x * p.kw_stride;
    if (p.diagonal > 1) {
      const int64_t oc = p.oc / p.diagonal, ic = p.ic / p.diagonal, block = o / oc;
      if (block != i / ic) return 0;
      o %= oc, i %= ic, at += block * p.diagonal_stride;
    }
    at += o * p.oc_stride + i * p.ic_stride;
    const float v = element(p.source, from, at);
    return scale ? v * scale[channel] : v;
  }
};

/// Output blocks [b0, b1) of one oc group (they lie side by side), all inputs and taps.
void dense_group(const Pack& p, int64_t b0, int64_t b1, const Source& s, float* to) {
  const int64_t vl = p.vector_width;
  for (int64_t b = 0; b < p.ic; b += p.in_block)
    for (int64_t z = 0; z < p.kd; ++z)
      for (int64_t y = 0; y < p.kh; ++y)
        for (int64_t i = b; i < std::min(p.ic, b + p.in_block); ++i)
          for (int64_t x = 0; x < p.kw; ++x)
            for (int64_t o = b0 * vl; o < b1 * vl; ++o) *to++ = s.at(o, i, z, y, x);
}

/// The same of codes, four bytes of a run side by side; as pairs, bytes 0 and 2 first, then 1 and 3, 16 bits each.
void codes_group(const Pack& p, int64_t b0, int64_t b1, const Source& s, char* to) {
  const int64_t vl = p.vector_width;
  const auto byte = [&](int64_t z, int64_t y, int64_t o, int64_t j) { return s.code(o, j % p.in_block, z, y, j / p.in_block); };
  for (int64_t z = 0; z < p.kd; ++z)
    for (int64_t y = 0; y < p.kh; ++y)
      for (int64_t q = 0; q < quads(p); ++q) {
        if (p.kind == Pack::Codes) {
          for (int64_t o = b0 * vl; o < b1 * vl; ++o)
            for (int64_t j = 0; j < 4; ++j) *to++ = static_cast<char>(byte(z, y, o, q * 4 + j));
          continue;
        }
        for (int64_t odd = 0; odd < 2; ++odd)
          for (int64_t o = b0 * vl; o < b1 * vl; ++o)
            for (int64_t j = odd; j < 4; j += 2, to += 2) {
              const int16_t v = byte(z, y, o, q * 4 + j);
              std::memcpy(to, &v, sizeof v);
            }
      }
}

/// Output blocks [b0, b1) of one oc group in bf16, pairs of inputs side by side; an odd last one is joined by 0.
void pairs_group(const Pack& p, int64_t b0, int64_t b1, const Source& s, uint16_t* to) {
  const int64_t vl = p.vector_width;
  for (int64_t y = 0; y < p.kh; ++y)
    for (int64_t x = 0; x < p.kw; ++x)
      for (int64_t i = 0; i < p.ic; i += 2)
        for (int64_t o = b0 * vl; o < b1 * vl; ++o) {
          *to++ = to_bf16(s.at(o, i, 0, y, x));
          *to++ = i + 1 < p.ic ? to_bf16(s.at(o, i + 1, 0, y, x)) : uint16_t{0};
        }
}

/// U = G g G' in double; rows of G for F(4x4) with points {0, 1, -1, 2, -1/2, inf} and for F(2x2).
constexpr double kG4[6][3] = {{1, 0, 0}, {-1. / 3, -1. / 3, -1. / 3}, {1. / 3, -1. / 3, 1. / 3},
                              {1. / 15, 2. / 15, 4. / 15}, {-16. / 15, 8. / 15, -4. / 15}, {0, 0, 1}};
constexpr double kG2[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};

/// All positions of one oc group: each weight is read once and transformed once.
void winograd_group(const Pack& p, int64_t b0, int64_t b1, const Source& s, float* base) {
  const double(*G)[3] = p.tile == 4 ? kG4 : kG2;
  const int64_t A = p.tile + 2, vl = p.vector_width, width = (b1 - b0) * vl, step = blocks(p) * vl * p.ic;
  float* to = base + b0 * vl * p.ic;
  for (int64_t i = 0; i < p.ic; ++i)
    for (int64_t o = 0; o < width; ++o) {
      double g[3][3], rows[6][3];
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x) g[y][x] = s.at(b0 * vl + o, i, 0, y, x);
      for (int64_t a = 0; a < A; ++a)
        for (int x = 0; x < 3; ++x) rows[a][x] = G[a][0] * g[0][x] + G[a][1] * g[1][x] + G[a][2] * g[2][x];
      for (int64_t a = 0; a < A; ++a)
        for (int64_t b = 0; b < A; ++b)
          to[(a * A + b) * step + i * width + o] =
              static_cast<float>(rows[a][0] * G[b][0] + rows[a][1] * G[b][1] + rows[a][2] * G[b][2]);
    }
}

[[noreturn]] void corrupt(const std::string& why) { throw sdk::Error(OPTIMA_CORRUPT, "constant: " + why); }

void check_extent(const Pack& p, uint64_t source_bytes) {
  Wide low = p.offset, high = p.offset;
  const auto reach = [&](int64_t extent, int64_t stride) { (stride < 0 ? low : high) += static_cast<Wide>(extent - 1) * stride; };
  reach(p.groups, p.group_stride), reach(p.diagonal, p.diagonal_stride);
  reach(p.oc / p.diagonal, p.oc_stride), reach(p.ic / p.diagonal, p.ic_stride);
  reach(p.kd, p.kd_stride), reach(p.kh, p.kh_stride), reach(p.kw, p.kw_stride);
  if (p.ic == 0) return;  // reads nothing
  if (low < 0 || high >= static_cast<Wide>(source_bytes / source_element(p)))
    corrupt("packing reads outside its " + std::to_string(source_bytes) + " bytes");
}

}  // namespace

uint64_t packed_bytes(const Pack& p, uint64_t source_bytes) {
  if (p.kind == Pack::None) return p.source == Pack::F32 ? source_bytes : source_bytes / 2 * 4;
  return static_cast<uint64_t>(p.groups) * group_bytes(p);
}

void check_pack(const Pack& p, uint64_t source_bytes, uint64_t scale_bytes, uint64_t bytes) {
  if (p.kind > Pack::Pairs) corrupt("packing kind " + std::to_string(p.kind));
  if (p.source > Pack::BF16 || (p.source != Pack::F32 && is_codes(p))) corrupt("packing source " + std::to_string(p.source));
  if (p.kind != Pack::None) {
    Wide all = 1;
    for (const int64_t v : {p.vector_width, p.oc_blocks, p.in_block, p.groups, p.diagonal, p.oc, p.kd, p.kh, p.kw, std::max<int64_t>(p.ic, 1),
                            is_codes(p) ? p.tile : 1}) {
      if (v < 1 || v > int64_t{1} << 32) corrupt("packing number " + std::to_string(v));
    }
    for (const int64_t v : {p.vector_width, p.groups, p.oc, p.kd, p.kh, p.kw, p.ic, is_codes(p) ? p.in_block : 1}) {
      all *= std::max<int64_t>(v, 1);
      if (all > kMostElements) corrupt("packing is too large");
    }
    if (p.ic < 0 || p.vector_width > 64 || p.oc_blocks > 64 || p.ic % p.diagonal || p.oc % p.diagonal) corrupt("packing does not divide");
    if (is_codes(p) && (p.diagonal != 1 || p.tile > 64 || scale_bytes != UINT64_MAX)) corrupt("packing of codes with diagonal " + std::to_string(p.diagonal) + ", tile " + std::to_string(p.tile) + " or a scale");
    if (p.kind != Pack::Dense && !is_codes(p) && p.kd != 1) corrupt("packing has depth");
    if (p.kind == Pack::Pairs && (p.groups != 1 || p.diagonal != 1)) corrupt("pairs in groups");
    if (p.kind == Pack::Winograd && ((p.tile != 4 && p.tile != 2) || p.kh != 3 || p.kw != 3)) corrupt("packing for an unknown transform");
    if (p.kind == Pack::Channels && p.ic != 1) corrupt("channel packing with inputs");
    check_extent(p, source_bytes);
    if (scale_bytes != UINT64_MAX && scale_bytes / sizeof(float) < static_cast<uint64_t>(p.groups) * static_cast<uint64_t>(p.oc))
      corrupt("too few scale factors");
  }
  if (bytes != packed_bytes(p, source_bytes)) corrupt("packs to " + std::to_string(packed_bytes(p, source_bytes)) + " bytes, says " + std::to_string(bytes));
}

int64_t pack_parts(const Pack& p) {
  if (p.kind == Pack::None) return 1;
  return p.groups * (p.kind == Pack::Channels ? 1 : divide_up(blocks(p), p.oc_blocks));
}

void pack_part(const Pack& p, int64_t part, const void* from, uint64_t source_bytes, const float* scale, void* to) {
  if (p.kind == Pack::None) {
    if (p.source == Pack::F32 && source_bytes) std::memcpy(to, from, source_bytes);
    for (uint64_t i = 0; p.source != Pack::F32 && i < source_bytes / 2; ++i)
      static_cast<float*>(to)[i] = element(p.source, static_cast<const char*>(from), static_cast<int64_t>(i));
    return;
  }
  const int64_t per_group = pack_parts(p) / p.groups, g = part / per_group;
  const Source s{p, static_cast<const char*>(from), scale, g};
  const int64_t b0 = part % per_group * p.oc_blocks, b1 = std::min(blocks(p), b0 + p.oc_blocks);
  if (is_codes(p))
    return codes_group(p, b0, b1, s, static_cast<char*>(to) + static_cast<uint64_t>(g) * group_bytes(p) + group_bytes(p) / static_cast<uint64_t>(blocks(p)) * static_cast<uint64_t>(b0));
  if (p.kind == Pack::Pairs) return pairs_group(p, b0, b1, s, static_cast<uint16_t*>(to) + pair_words(p) / blocks(p) * b0);
  float* out = static_cast<float*>(to) + g * group_floats(p);
  if (p.kind == Pack::Channels) {
    for (int64_t b = 0; b < blocks(p); ++b)
      for (int64_t y = 0; y < p.kh; ++y)
        for (int64_t x = 0; x < p.kw; ++x)
          for (int64_t l = 0; l < p.vector_width; ++l) *out++ = s.at(b * p.vector_width + l, 0, 0, y, x);
    return;
  }
  if (p.kind == Pack::Winograd) return winograd_group(p, b0, b1, s, out);
  dense_group(p, b0, b1, s, out + b0 * p.vector_width * p.ic * p.kd * p.kh * p.kw);
}

}  // namespace optima::llvm_cpu
