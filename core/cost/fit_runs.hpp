// SPDX-License-Identifier: Apache-2.0
// core/cost: from times of several subgraphs of one device to what a node, a launch and a byte over the boundary cost there.
#pragma once

#include <cstdint>
#include <vector>

namespace optima {

/// What is believed of a node before the fit. With a spread of 0 the fit leaves it.
struct NodeGuess {
  double microseconds = 0;
  double spread = 0;  ///< standard deviation of that, as a share of it
};

/// A measured subgraph.
struct RunSample {
  double microseconds = 0;           ///< more than 0
  double bytes_in = 0, bytes_out = 0;  ///< of tensors that cross its boundary
  std::vector<uint32_t> nodes;       ///< indices of the guesses, each once
};

struct RunFit {
  std::vector<double> nodes;  ///< microseconds, by guess
  double launch_us = 0, us_per_byte_in = 0, us_per_byte_out = 0;
  double off = 0;             ///< mean of |fitted - measured| / measured over the samples
};

/// Least squares of: sample = launch + bytes_in * us_per_byte_in + bytes_out * us_per_byte_out + sum of its nodes, each sample known to
/// 5 %, nodes as the guesses say, launch and rates free and not negative. The linear inverse problem with Gaussian priors
/// (A. Tarantola, Inverse Problem Theory, SIAM 2005, section 3.2) in its dual form, so that it costs O(samples^3) and not nodes^3. What
/// distinguishes a launch from compute is that one node is in samples of different extents. Nodes keep 5 % of their guess at least.
RunFit fit_runs(const std::vector<NodeGuess>& guesses, const std::vector<RunSample>& samples);

}  // namespace optima
