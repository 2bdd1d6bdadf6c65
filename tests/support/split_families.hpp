// SPDX-License-Identifier: Apache-2.0
// tests/support: families of splitting problems, from random to hand-made traps; used by tests and by bench/split_bench.
#pragma once

#include <algorithm>

#include "tests/support/random_split.hpp"

namespace optima::test {

struct Family {
  const char* name;
  /// About `units` units (exactly the trap's size where it has one) on `devices` >= 2 devices.
  SplitBuilder (*make)(Random&, uint32_t units, uint32_t devices);
};

/// A random non-empty list of devices; one device alone half of the time.
inline uint64_t random_allow(Random& random, uint32_t devices) {
  return below(random, 2) ? uint64_t{1} << below(random, devices) : 1 + below(random, (1u << devices) - 1);
}

inline void add_units(SplitBuilder& b, Random& random, uint32_t units, uint32_t devices) {
  for (uint32_t u = 0; u < units; ++u) b.add(random_allow(random, devices), 1 + below(random, 4096));
}

/// Edges among any units; about three readers each, whatever the size.
inline SplitBuilder erdos_renyi(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  add_units(b, random, units, devices);
  for (uint32_t u = 0; u + 1 < units; ++u) {
    std::vector<uint32_t> readers;
    for (uint32_t i = below(random, 4); i > 0; --i) readers.push_back(u + 1 + below(random, units - u - 1));
    std::sort(readers.begin(), readers.end());
    for (uint32_t w : readers) b.edge(u, w);
  }
  return b;
}

/// Two producers each, at most `window` units back (0 = anywhere).
inline SplitBuilder windowed(Random& random, uint32_t units, uint32_t devices, uint32_t window) {
  SplitBuilder b;
  add_units(b, random, units, devices);
  for (uint32_t u = 1; u < units; ++u)
    for (int i = 0; i < 2; ++i) b.edge(u - 1 - below(random, window ? std::min(window, u) : u), u);
  return b;
}

/// Rows of eight; each unit reads one to three of the row before.
inline SplitBuilder layered(Random& random, uint32_t units, uint32_t devices) {
  constexpr uint32_t kWidth = 8;
  SplitBuilder b;
  add_units(b, random, units, devices);
  for (uint32_t u = kWidth; u < units; ++u)
    for (uint32_t i = below(random, 3) + 1; i > 0; --i) b.edge(u / kWidth * kWidth - kWidth + below(random, kWidth), u);
  return b;
}

/// Forks into two branches of random length that meet again, one after the other.
inline SplitBuilder series_parallel(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  const auto add = [&] { return b.add(random_allow(random, devices), 1 + below(random, 4096)); };
  uint32_t last = add();
  while (b.allow.size() < units) {
    uint32_t ends[2] = {last, last};
    for (uint32_t& end : ends)
      for (uint32_t i = below(random, 4) + 1; i > 0; --i) {
        const uint32_t u = add();
        b.edge(end, u);
        end = u;
      }
    last = add();
    b.edge(ends[0], last), b.edge(ends[1], last);
  }
  return b;
}

/// A chain in which every fourth unit is read again up to ten units later.
inline SplitBuilder chain_with_skips(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  add_units(b, random, units, devices);
  for (uint32_t u = 0; u + 1 < units; ++u) {
    b.edge(u, u + 1);
    if (u % 4 == 0 && u + 2 < units) b.edge(u, u + 2 + below(random, std::min(9u, units - u - 2)));
  }
  return b;
}

/// a -> (left, right) -> a -> ...: joining what one device takes would enclose the other's unit in a cycle.
inline SplitBuilder diamond_ladder(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  uint32_t last = b.add(1);
  while (b.allow.size() + 3 <= units) {
    const uint32_t left = b.add(1), right = b.add(uint64_t{1} << (1 + below(random, devices - 1))), join = b.add(1);
    b.edge(last, left), b.edge(last, right), b.edge(left, join), b.edge(right, join);
    last = join;
  }
  return b;
}

/// g1(A); h <- g1; d(B); g2(A) <- g1, d; n(B) <- d, h: grouping by first argument closes a cycle (seen in TVM's rule).
inline SplitBuilder five_nodes(Random&, uint32_t, uint32_t devices) {
  SplitBuilder b;
  const uint32_t g1 = b.add(1), h = b.add(uint64_t{1} << (devices - 1)), d = b.add(2), g2 = b.add(1), n = b.add(2);
  b.edge(g1, h), b.edge(g1, g2), b.edge(d, g2), b.edge(d, n), b.edge(h, n);
  return b;
}

/// Units without producers, read on both sides of a boundary (as in openvino issue 35750).
inline SplitBuilder shared_sources(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b = chain_with_skips(random, units, devices);
  SplitBuilder out;
  const uint32_t sources = std::max(1u, units / 8);
  for (uint32_t s = 0; s < sources; ++s) out.add((uint64_t{1} << devices) - 1, 1 + below(random, 64));
  for (size_t u = 0; u < b.allow.size(); ++u) out.add(b.allow[u], b.bytes[u]);
  for (uint32_t s = 0; s < sources; ++s)
    for (uint32_t u = s; u < units; u += sources) out.edge(s, sources + u);
  for (uint32_t u = 0; u < units; ++u)
    for (uint32_t w : b.readers[u]) out.edge(sources + u, sources + w);
  return out;
}

/// Long ways round over another device between units of the first one (as in openvino issue 36126).
inline SplitBuilder multi_hop(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  uint32_t last = b.add(1);
  while (b.allow.size() + 5 <= units) {
    const uint32_t from = last;
    for (int i = 0; i < 3; ++i) {
      const uint32_t u = b.add(uint64_t{1} << (1 + below(random, devices - 1)));
      b.edge(last, u);
      last = u;
    }
    const uint32_t aside = b.add(1), join = b.add(1);
    b.edge(from, aside), b.edge(from, join), b.edge(aside, join), b.edge(last, join);
    last = join;
  }
  return b;
}

inline SplitBuilder disconnected(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  add_units(b, random, units, devices);
  for (uint32_t u = 0; u + 4 < units; ++u) b.edge(u, u + 4);
  return b;
}

inline SplitBuilder all_pinned(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b = windowed(random, units, devices, 16);
  for (uint64_t& mask : b.allow) mask = uint64_t{1} << below(random, devices);
  return b;
}

inline SplitBuilder alternating_pins(Random&, uint32_t units, uint32_t devices) {
  SplitBuilder b;
  for (uint32_t u = 0; u < units; ++u) b.add(uint64_t{1} << (u % devices));
  for (uint32_t u = 0; u + 1 < units; ++u) b.edge(u, u + 1);
  return b;
}

/// Most units free, one in twenty pinned to the last device: an accelerator's graph with a few operators it lacks.
inline SplitBuilder few_pins(Random& random, uint32_t units, uint32_t devices) {
  SplitBuilder b = windowed(random, units, devices, 32);
  const uint64_t host = uint64_t{1} << (devices - 1);
  for (uint64_t& mask : b.allow) mask = below(random, 20) ? uint64_t{1} << below(random, devices - 1) : host;
  return b;
}

inline const std::vector<Family> kFamilies = {
    {"erdos-renyi", erdos_renyi},
    {"window", [](Random& r, uint32_t n, uint32_t k) { return windowed(r, n, k, 32); }},
    {"global", [](Random& r, uint32_t n, uint32_t k) { return windowed(r, n, k, 0); }},
    {"layered", layered},
    {"series-parallel", series_parallel},
    {"chain-skip", chain_with_skips},
    {"diamonds", diamond_ladder},
    {"five-nodes", five_nodes},
    {"shared-sources", shared_sources},
    {"multi-hop", multi_hop},
    {"disconnected", disconnected},
    {"all-pinned", all_pinned},
    {"alternating", alternating_pins},
    {"few-pins", few_pins},
};

}  // namespace optima::test
