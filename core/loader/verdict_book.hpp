// SPDX-License-Identifier: Apache-2.0
// core/loader: collects the verdicts of one check() and mends what breaks the contract. Knows no plugin's code.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/loader/registry.hpp"

namespace optima {

/// Whether a plugin's verdict has a size that can be.
bool is_readable(const optima_verdict* raw);
/// A verdict with what it says made fit for our messages, and numbers that are not known mapped. `raw` as by seam::known.
Verdict owned(const optima_verdict& raw);

/// The same refusal for all; `said` empty = `otherwise`.
std::vector<Verdict> all_refused(std::span<const uint32_t> nodes, uint32_t reason, const std::string& otherwise, const std::string& said);

class VerdictBook {
 public:
  VerdictBook(std::string_view plugin, std::span<const uint32_t> nodes);

  /// The seam's report callback, host_data = a VerdictBook. Any thread.
  static int32_t report(void* book, const optima_verdict* verdicts, uint32_t count);

  /// What made reports unreadable, as in "reported a verdict of size 0"; empty = nothing.
  std::string damage();
  /// Yes-verdicts outside the note become refusals.
  void hold_to_note(const Manifest& manifest, std::string_view kind, const optima_graph& graph);
  /// One verdict per node asked, in that order; the missing ones are refusals that say so.
  std::vector<Verdict> finish();

 private:
  int32_t add(const optima_verdict& raw);
  void refuse(Verdict& verdict, std::string_view misdeed);
  void complain_once(std::string misdeed);

  std::string plugin_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, size_t> slot_;  // node id -> position; looked up only
  std::vector<Verdict> verdicts_;
  std::vector<bool> told_;
  std::vector<std::string> complaints_;
  std::string damage_;
};

}  // namespace optima
