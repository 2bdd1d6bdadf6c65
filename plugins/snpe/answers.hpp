// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: what the tools said before, kept in memory and in the host's cache folder. Knows no tools.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace snpe_plugin {

/// A yes, or a no with the tools' sentence.
struct Answer {
  bool taken = false;
  std::string why;  ///< one line; may be empty
};

/// Answers by what was asked: any text that says all there is to say. Any thread. A folder that cannot be written or holds something else
/// costs the memory of it, nothing more.
class Answers {
 public:
  /// `folder`: the host's cache, empty = none.
  explicit Answers(std::string_view folder);
  std::optional<Answer> find(const std::string& question);
  /// `lasting`: also for processes to come. Not where a tool died or was late, which may have been the machine's doing.
  void keep(const std::string& question, const Answer& answer, bool lasting = true);

 private:
  std::string path(const std::string& key) const { return folder_ + "/" + key; }
  std::optional<Answer> read(const std::string& key) const;
  void write(const std::string& key, const Answer& answer) const;

  std::string folder_;  // empty: none
  std::mutex mutex_;
  std::map<std::string, Answer> known_;
};

}  // namespace snpe_plugin
