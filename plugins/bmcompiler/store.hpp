// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: the ports and files of an artifact, whichever compiler made them.
#pragma once

#include "artifact.hpp"
#include "task.hpp"

namespace bmcompiler_plugin {

/// Inputs and outputs of graph 0. Throws UNSUPPORTED for an open size, naming the option that closes it; but for dim 0 of name `batch`, where
/// that is given.
Meta ports_of(const sdk::Graph& graph, std::string_view batch = {});

/// The files of an artifact as they go into the sink.
class Store {
 public:
  Store(const sdk::Sink& sink, std::string_view stem, const Task& task) : sink_(sink), stem_(stem), task_(task) {}
  /// A file of the task's folder.
  void add(const std::string& suffix, std::string_view file);
  /// Meta file, record, and what the host is told.
  void finish(const Meta& meta);

 private:
  const sdk::Sink& sink_;
  std::string stem_;
  const Task& task_;
  Record record_;
};

}  // namespace bmcompiler_plugin
