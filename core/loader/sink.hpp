// SPDX-License-Identifier: Apache-2.0
// core/loader: where compile puts its files: a staging folder inside the job's, moved into place only when all went well.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/loader/registry.hpp"
#include "core/loader/seam.hpp"

namespace optima {

/// One compile's sink. Callbacks from any thread until finish() or the destructor, which drops whatever was not finished.
class Sink {
 public:
  /// `graph`: the request's.
  Sink(std::string plugin, const std::string& folder, const optima_graph& graph);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Makes the staging folder; Io when it cannot.
  Status open();
  const optima_sink* raw() const { return &raw_; }
  /// The first failure of a callback, whatever the plugin made of it; ok when there was none.
  Status failure() const;
  /// The nodes of the graph that were refused, each once, in the order refused.
  std::vector<Verdict> refused() const;
  /// Checks that all is complete and moves the files into the folder. On failure nothing remains there.
  Result<Compiled> finish();

 private:
  struct Stream {
    int fd;
    std::string name;
  };
  void fill();
  template <class F>
  static int32_t enter(void* self, optima_status* status, F&& body);
  Status take_name(const std::string& name);
  Status make_parents(const std::string& name);
  Status open_stream(const std::string& name, uint64_t* stream);
  Status write(uint64_t stream, const void* data, uint64_t size);
  Status close(uint64_t stream);
  Status set_compat(const void* record, uint64_t size, optima_str text);
  Status use_weight(uint32_t blob, const std::string& name);
  Status refuse(const optima_verdict* nodes, uint32_t count);
  Status refuse(const optima_verdict& node);
  Status complete() const;
  Status move_into_place();
  Status broken(std::string_view what) const;

  std::string plugin_, folder_, staging_;
  const optima_graph& graph_;
  optima_sink raw_{};
  mutable std::mutex mutex_;
  Status failure_;
  std::map<uint64_t, Stream> streams_;
  uint64_t next_stream_ = 1;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::string> paths_;  // name -> absolute path given to a tool; node addresses are stable
  bool has_compat_ = false;
  std::vector<Verdict> refused_;
  std::set<uint32_t> refused_ids_;  // strangers among them
  std::vector<std::string> moved_;
  Compiled result_;
};

/// Whether a name stays below the folder it is put into: relative, '/'-separated, no empty part, no "." and "..", no control bytes.
bool is_safe_name(std::string_view name);

}  // namespace optima
