// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/clip_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace optima::detail {
namespace {

constexpr int kFirst = -Histogram::kBins / 2;
constexpr CodeLimits kUnsigned{0, 255}, kSigned{-128, 127};

double steps_of(CodeLimits codes) { return static_cast<double>(codes.largest - codes.least); }

/// The least of f over (0, 1]: downwards in steps of 7 % to a hundredth, then between the neighbours of the best. 1 wins where all are equal.
template <class F>
double least_share(F&& f) {
  constexpr int kCoarse = 64, kFine = 16;
  constexpr double kRatio = 0.93;
  double best = 1, least = f(1.0);
  const auto look = [&](double share) {
    if (const double error = f(share); error < least) least = error, best = share;
  };
  for (int i = 1; i < kCoarse; ++i) look(std::pow(kRatio, i));
  const double low = best * kRatio, high = std::min(1.0, best / kRatio);
  for (int i = 1; i < kFine; ++i) look(low + (high - low) * i / kFine);
  return best;
}

double asymmetric_error(const BinSums& sums, Ends ends) {
  const double step = (ends.high - ends.low) / steps_of(kUnsigned);
  return sums.error(step, std::llround(-ends.low / step), kUnsigned);
}

Ends least_asymmetric(const BinSums& sums, Ends full) {
  Ends best = full;
  const double both = least_share([&](double s) { return asymmetric_error(sums, {full.low * s, full.high * s}); });
  best = {full.low * both, full.high * both};
  if (full.low == 0 || full.high == 0) return best;
  for (int round = 0; round < 2; ++round) {
    best.high = full.high * least_share([&](double s) { return asymmetric_error(sums, {best.low, full.high * s}); });
    best.low = full.low * least_share([&](double s) { return asymmetric_error(sums, {full.low * s, best.high}); });
  }
  return best;
}

Ends full_ends(const Histogram& h) { return {std::min<double>(h.min(), 0), std::max<double>(h.max(), 0)}; }

/// Masses by magnitude: bin i holds |x| in [i, i + 1) widths. Ends behind the last bin in use.
std::vector<double> magnitudes(const Histogram& h) {
  std::vector<double> out(Histogram::kBins / 2);
  for (int i = 0; i < Histogram::kBins; ++i) {
    const int number = i + kFirst;
    out[static_cast<size_t>(number >= 0 ? number : -1 - number)] += static_cast<double>(h.bins()[static_cast<size_t>(i)]);
  }
  while (!out.empty() && out.back() == 0) out.pop_back();
  return out;
}

/// Divergences of cut-off histograms. Between the sums of h, of h log h and of bins in use, a cut costs two logarithms a level.
class Divergence {
 public:
  Divergence(const std::vector<double>& masses, size_t levels) : masses_(masses), levels_(levels), sums_(masses.size() + 1) {
    for (size_t i = 0; i < masses.size(); ++i) {
      const double h = masses[i];
      sums_[i + 1] = {sums_[i].mass + h, sums_[i].entropy + (h > 0 ? h * std::log(h) : 0), sums_[i].used + (h > 0)};
    }
  }

  /// Of the first `bins`, the rest being added to the last of them, from what `levels` equal runs of bins make of the first `bins` alone.
  double of(size_t bins) const {
    const double kept = sums_[bins].mass, outside = sums_.back().mass - kept, last = masses_[bins - 1];
    if (kept == 0) return std::numeric_limits<double>::infinity();
    double sum = sums_[bins - 1].entropy + (last + outside > 0 ? (last + outside) * std::log(last + outside) : 0);
    for (size_t level = 0; level < levels_; ++level) {
      const size_t from = level * bins / levels_, to = (level + 1) * bins / levels_;
      const bool ends = to == bins;
      const double mass = sums_[to].mass - sums_[from].mass, wanted = mass + (ends ? outside : 0);
      if (wanted == 0) continue;
      if (mass == 0) return std::numeric_limits<double>::infinity();
      const double used = static_cast<double>(sums_[to].used - sums_[from].used + (ends && last == 0 && outside > 0));
      sum -= wanted * std::log(mass / used / kept * (kept + outside));
    }
    return sum / (kept + outside);
  }

 private:
  struct Sums {
    double mass = 0, entropy = 0;
    size_t used = 0;
  };
  const std::vector<double>& masses_;
  size_t levels_;
  std::vector<Sums> sums_;
};

}  // namespace

BinSums::BinSums(const Histogram& histogram) : width_(histogram.width()) {
  const auto& bins = histogram.bins();
  const auto used = [](uint64_t n) { return n > 0; };
  const auto begin = std::find_if(bins.begin(), bins.end(), used);
  const auto end = std::find_if(bins.rbegin(), std::make_reverse_iterator(begin), used).base();
  first_ = static_cast<double>(begin - bins.begin() + kFirst);
  sums_.reserve(static_cast<size_t>(end - begin) + 1);
  sums_.emplace_back();
  double centre = first_ + 0.5;
  for (auto at = begin; at != end; ++at, ++centre) {
    const double mass = static_cast<double>(*at);
    const Sums& s = sums_.back();
    sums_.push_back({s.mass + mass, s.first + mass * centre, s.second + mass * centre * centre});
  }
}

double BinSums::error(double step, int64_t zero_point, CodeLimits codes) const {
  const double last = static_cast<double>(sums_.size() - 1), in_bins = step / width_;
  double sum = 0;
  size_t from = 0;
  for (int64_t code = codes.least; code <= codes.largest; ++code) {
    const double real = static_cast<double>(code - zero_point) * in_bins;
    // Bins whose centre rounds to this code end where centres pass the middle between it and the next.
    const double edge = std::clamp(real + 0.5 * in_bins - first_ + 0.5, 0.0, last);
    const size_t to = code == codes.largest ? sums_.size() - 1 : std::max(from, static_cast<size_t>(edge));
    const Sums &a = sums_[from], &b = sums_[to];
    sum += b.second - a.second - 2 * real * (b.first - a.first) + real * real * (b.mass - a.mass);
    from = to;
  }
  return sum * width_ * width_;
}

Ends least_error(const Histogram& histogram, bool tied) {
  const BinSums sums(histogram);
  const Ends full = full_ends(histogram);
  if (!tied) return least_asymmetric(sums, full);
  const double larger = std::max(-full.low, full.high);
  const double share = least_share([&](double s) { return sums.error(larger * s / static_cast<double>(kSigned.largest), 0, kSigned); });
  return {std::max(full.low, -larger * share), std::min(full.high, larger * share)};
}

Ends percentile_ends(const Histogram& histogram, double percentile) {
  const Ends full = full_ends(histogram);
  const bool two = full.low < 0 && full.high > 0;
  const double most = static_cast<double>(histogram.count()) * (100 - percentile) / 100 / (two ? 2 : 1);
  const auto& bins = histogram.bins();
  int low = 0, high = Histogram::kBins - 1;
  for (double cut = 0; low < high && (cut += static_cast<double>(bins[static_cast<size_t>(low)])) <= most;) ++low;
  for (double cut = 0; high > low && (cut += static_cast<double>(bins[static_cast<size_t>(high)])) <= most;) --high;
  Ends out = full;
  if (full.low < 0) out.low = std::clamp((low + kFirst) * histogram.width(), full.low, 0.0);
  if (full.high > 0) out.high = std::clamp((high + 1 + kFirst) * histogram.width(), 0.0, full.high);
  return out;
}

Ends least_divergence(const Histogram& histogram) {
  constexpr size_t kMostCuts = 256;
  const Ends full = full_ends(histogram);
  const std::vector<double> masses = magnitudes(histogram);
  const size_t levels = full.low < 0 ? 128 : 256;
  if (masses.size() <= levels) return full;
  const Divergence divergence(masses, levels);
  const size_t stride = (masses.size() - levels + kMostCuts - 1) / kMostCuts;
  size_t best = masses.size();
  double least = divergence.of(best);
  for (size_t bins = levels; bins < masses.size(); bins += stride)
    if (const double d = divergence.of(bins); d < least) least = d, best = bins;
  const double cut = static_cast<double>(best) * histogram.width();
  return {std::max(full.low, -cut), std::min(full.high, cut)};
}

}  // namespace optima::detail
