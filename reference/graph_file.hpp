// SPDX-License-Identifier: Apache-2.0
// reference: a graph as one file of an artifact, `<stem>.graph`, for plugins that carry their graph along. Everything read from it is hostile.
//
//   64 bytes   magic "RefGraph", u32 version 1, u32 number of blobs, u64 sizes of image and file, zeros
//   image      the graph image as it crossed the seam, padded to 64 bytes
//   table      per blob u64 offset in the file and u64 size, padded to 64 bytes; offset 0: the shared weight named by its index
//   blobs      those under 4 KiB, each on 64 bytes
#pragma once

#include "optima/image.hpp"
#include "optima/plugin/plugin.hpp"

namespace optima::reference {

/// The file's bytes; larger constants go to the sink as shared weights.
std::string write_graph_file(const sdk::Graph& graph, const sdk::Sink& sink);

/// A loaded graph: image, bytes of its constants, and who keeps them.
struct GraphFile {
  image::Bytes image{0};
  std::vector<optima_blob> blobs;
  std::vector<sdk::KeptBlob> kept;
  std::vector<std::unique_ptr<uint8_t[]>> owned;
  optima_graph graph{};
};

/// Throws CORRUPT for anything wrong, RECOMPILE for another revision. `host` may be null: the weights are then not looked at.
std::unique_ptr<GraphFile> read_graph_file(const sdk::Artifact& artifact, const optima_blob& file, const sdk::Host* host);

}  // namespace optima::reference
