// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see tiles.hpp.
#include "plugins/llvm_cpu/compiler/tiles.hpp"

#include <algorithm>

namespace optima::llvm_cpu {
namespace {

/// How many accumulators a CPU takes, and how its loops go.
struct Core {
  std::string_view cpu;       // LLVM's name; "" = any with this vector width
  int64_t vector_width;
  int64_t accumulators;       // OCB * WT at most
  int64_t most_oc_blocks;
  double fma_per_cycle, loads_per_cycle, latency;
};

// Zen 4 has one 512-bit multiply-add per cycle: small tiles reach its peak and leave registers spare. AVX2 has 16 registers.
constexpr Core kCores[] = {
    {"znver4", 16, 24, 4, 1, 2, 4},
    {"", 16, 28, 4, 2, 2, 4},
    {"", 8, 12, 4, 2, 2, 4},
    {"", 4, 24, 4, 2, 2, 4},
};

const Core& core_of(const Target& t) {
  for (const Core& c : kCores)
    if (c.vector_width == t.vector_width && (c.cpu.empty() || c.cpu == t.cpu)) return c;
  return kCores[3];
}

/// Cycles of one k step of a tile, with a little for the loop around it.
double step(const Core& c, int64_t oc_blocks, int64_t width) {
  const double fma = static_cast<double>(oc_blocks * width) / c.fma_per_cycle;
  const double loads = static_cast<double>(oc_blocks + width) / c.loads_per_cycle;
  return std::max({fma, loads, c.latency}) + 0.5;
}

double row_cost(const Core& c, int64_t oc_blocks, int64_t width, int64_t row) {
  return static_cast<double>(row / width) * step(c, oc_blocks, width) + (row % width ? step(c, oc_blocks, row % width) : 0);
}

double cost(const Core& c, Tile t, const DenseWork& w) {
  const int64_t full = w.oc_blocks / t.oc_blocks, rest = w.oc_blocks % t.oc_blocks;
  return static_cast<double>(full) * row_cost(c, t.oc_blocks, t.width, w.row) + (rest ? row_cost(c, rest, t.width, w.row) : 0);
}

/// The tile of least cost that is not bad; where all are, that of least cost: a layer that has no kernel yet shall get its best one.
class Cheapest {
 public:
  void offer(Tile tile, double cost, const std::function<bool(Tile)>& bad) {
    if (any_.cost < 0 || cost < any_.cost) any_ = {tile, cost};
    if ((good_.cost < 0 || cost < good_.cost) && !bad(tile)) good_ = {tile, cost};
  }
  Tile best() const { return good_.cost < 0 ? any_.tile : good_.tile; }

 private:
  struct Found {
    Tile tile;
    double cost;
  };
  Found any_{{1, 1}, -1}, good_{{1, 1}, -1};
};

/// f(tile) for those that the registers hold, of [first, last] blocks.
template <class F>
void each_tile(const Core& core, int64_t first, int64_t last, int64_t row, F f) {
  for (int64_t o = first; o <= last; ++o)
    for (int64_t w = 1; o * w <= core.accumulators && w <= 16 && w <= row; ++w) f(Tile{o, w});
}

/// Whether registers hold the accumulators, a weight for each block and an input. A kernel of one size whose tile they do not hold is made again with another;
/// one of many sizes has no other.
bool fits(const Target& target, Tile t) { return t.oc_blocks * t.width + t.oc_blocks + 1 <= target.registers; }

/// Blocks for rows of any length: those that long ones want, and of equals the most, which short ones want.
int64_t steady_blocks(const Target& target, int64_t oc_blocks, int64_t most) {
  const Core& core = core_of(target);
  Tile best{1, 1};
  double least = -1;
  each_tile(core, 1, most, kLongRow, [&](Tile t) {
    const double c = cost(core, t, {oc_blocks, kLongRow, 1});
    if (fits(target, t) && (least < 0 || c <= least)) best = t, least = c;
  });
  return best.oc_blocks;
}

}  // namespace

Tile choose_tile(const Target& target, const DenseWork& work, const std::function<bool(Tile)>& bad) {
  const Core& core = core_of(target);
  const int64_t most = std::min(core.most_oc_blocks, work.oc_blocks), steady = target.many_sizes ? steady_blocks(target, work.oc_blocks, most) : 0;
  Cheapest tiles;
  each_tile(core, steady ? steady : 1, steady ? steady : most, work.row, [&](Tile t) {
    if (!target.many_sizes || fits(target, t)) tiles.offer(t, cost(core, t, work), bad);
  });
  return tiles.best();
}

namespace {

/// Cycles of one group of four bytes of a tile.
double codes_step(const Target& t, int64_t oc_blocks, int64_t width) {
  const double products = static_cast<double>(oc_blocks * width), loads = static_cast<double>(oc_blocks + width);
  if (t.dot == k::Dot::Pairs) return std::max((products * 4 + static_cast<double>(width) * 2) / 3, loads) + 0.5;  // and an addition each, twice
  const double per_cycle = t.cpu == "znver4" ? 1 : 2, latency = 5;
  return std::max({products / per_cycle, loads / 2, latency}) + 0.5;
}

double codes_row(const Target& t, int64_t oc_blocks, int64_t width, int64_t row) {
  return static_cast<double>(row / width) * codes_step(t, oc_blocks, width) + (row % width ? codes_step(t, oc_blocks, row % width) : 0);
}

}  // namespace

Tile choose_codes_tile(const Target& target, const DenseWork& work, const std::function<bool(Tile)>& bad, bool adds_sums) {
  const int64_t others = target.dot == k::Dot::Pairs ? 3 : target.dot == k::Dot::Widened ? 4 : 1;  // besides accumulators and weights
  const int64_t more = adds_sums ? 1 : 0;  // like a further block
  Cheapest tiles;
  for (int64_t o = 1; o <= std::min<int64_t>(8, work.oc_blocks); ++o)
    for (int64_t w = 1; (o + more) * (w + 1) + others <= target.registers && w <= 16 && w <= work.row; ++w) {
      const int64_t full = work.oc_blocks / o, rest = work.oc_blocks % o;
      tiles.offer({o, w}, static_cast<double>(full) * codes_row(target, o + more, w, work.row) + (rest ? codes_row(target, rest + more, w, work.row) : 0), bad);
    }
  return tiles.best();
}

int64_t depthwise_width(const Target& target, int64_t row) {
  const int64_t most = target.registers >= 32 ? 8 : 7;
  if (row <= most) return row;
  for (const int64_t w : {8, 7, 6})  // an exact cut beats a wider tile with a remainder
    if (w <= most && row % w == 0) return w;
  return 7;
}

int64_t grouped_width(const Target& target, int64_t row, int64_t taps) {
  const int64_t most = (target.registers >= 32 ? 17 : 11) - std::max<int64_t>(3, taps);
  if (row <= most) return row;
  for (int64_t w = most; w > most / 2; --w)
    if (row % w == 0) return w;
  return most;
}

int64_t input_chunk(const Target& target, int64_t inputs, int64_t taps, int64_t oc_blocks, int64_t unit) {
  const int64_t bytes = oc_blocks * target.vector_width * taps * 4;  // per input channel
  if (inputs * bytes <= 75 << 10) return std::max<int64_t>(unit, (inputs + unit - 1) / unit * unit);
  return std::max<int64_t>(unit, (48 << 10) / std::max<int64_t>(bytes, 1) / unit * unit);
}

bool pixels_apart(const Target& target, int64_t row, int64_t channels) {
  constexpr int64_t kFewChannels = 16, kShort = 14, kShortOfFew = 10;  // 13 channels at 13x13: 21 us apart, 16 along rows; 20 channels: 32 and 36
  return target.many_sizes && row < (channels <= kFewChannels ? kShortOfFew : kShort);
}

namespace {
constexpr int64_t kFewestApart = 32;  // input channels: each tap of theirs outweighs the way of the sums through memory
}

int64_t tiled_row(const Target& target, int64_t row, int64_t channels) {
  return target.many_sizes && (channels >= kFewestApart || pixels_apart(target, row, channels)) ? kLongRow : row;
}

bool has_far_weights(const GraphView& graph) {
  constexpr uint64_t kCached = uint64_t{16} << 20;
  uint64_t bytes = 0;
  for (uint32_t b = 0; b < graph.raw->blob_count; ++b) bytes += graph.raw->blobs[b].size;
  return bytes > kCached;
}

int64_t prefetch_lines(int64_t oc_blocks, int64_t kernel_width, int64_t vector_width, int64_t passes) {
  const double lines = static_cast<double>(oc_blocks * kernel_width * vector_width) / 16;  // per channel and kernel row
  const double needed = lines / static_cast<double>(std::max<int64_t>(passes, 1));
  if (needed < 0.05) return 0;
  return needed < 0.5 ? 1 : std::min<int64_t>(4, kernel_width > 1 ? 3 : 2);
}

int64_t block_pixels(int64_t inputs) {
  constexpr int64_t kBlock = (512 << 10) / 4, kFewest = 128;
  return std::max(kFewest, kBlock / std::max<int64_t>(1, inputs));
}

namespace {

/// In tiles of `width`. For many sizes the columns beside them are those of ends for which kernels have no tiles (parts/dense.hpp: row_tiles) and three at most of
/// the remainder; else and of few input channels there are none.
Columns tiled_columns(const Target& target, const RowWindow& r, int64_t channels, int64_t width) {
  if (pixels_apart(target, r.out, channels)) return {0, 0};
  if (!target.many_sizes || channels < kFewestApart) return {0, r.out};
  const int64_t reach = (r.kernel - 1) * r.dilation, span = r.in - 1 + r.begin - reach;  // of the row, and the last first column of a window that fits
  const auto over = [&](int64_t end) { return std::max<int64_t>(0, (end - 1) * r.stride - span); };
  const bool tile_first = r.begin > 0 && r.begin <= std::min(width * r.stride, reach) && r.out >= width && over(width) == 0;
  const int64_t from = tile_first ? 0 : std::min(r.out, (std::max<int64_t>(0, r.begin) + r.stride - 1) / r.stride), most = reach == 0 ? 0 : r.begin > 1 ? 2 : 1;
  const int64_t end = over(r.out) <= most ? r.out : std::max(from, std::min(r.out, span < 0 ? 0 : span / r.stride + 1));
  const int64_t to = end - (end - from) % width % 4;
  return to > from ? Columns{from, to} : Columns{0, 0};
}

}  // namespace

RowCut cut_rows(const Target& target, const RowWindow& row, int64_t rows, int64_t channels, int64_t inputs, bool blocked, int64_t width) {
  constexpr int64_t kCached = (2 << 20) / 4, kPieces = 4, kFewRows = 24;  // floats; pieces of a block, so that threads get equal shares
  const int64_t pixels = block_pixels(inputs);
  const bool cached = rows * row.out * inputs <= kCached, whole = cached || row.out <= pixels;
  RowCut c;
  c.piece = whole ? std::max<int64_t>(1, row.out) : std::max<int64_t>(1, pixels / kPieces / width) * width;
  c.block = cached ? std::max<int64_t>(1, rows) : whole ? pixels / row.out : kPieces;
  c.tiled = blocked && whole ? tiled_columns(target, row, channels, width) : Columns{0, row.out};
  c.by_rows = !whole || rows >= kFewRows;
  c.units = rows * ((row.out + c.piece - 1) / c.piece);
  return c;
}

int64_t pixels_ahead(const Target& target, int64_t input, int64_t step) {
  constexpr int64_t kNear = 1 << 18;  // floats
  constexpr int64_t kMost = 8;         // kernels fetch no more (parts/dense.hpp)
  return input < kNear ? 0 : std::min(kMost, (step + target.vector_width - 1) / target.vector_width);
}

}  // namespace optima::llvm_cpu
