// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "optima/plugin/checksum.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;

/// 128 bits, as hexadecimal digits.
std::string key_of(const std::string& question) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(sdk::checksum_of("1\n" + question).value()),
                static_cast<unsigned long long>(sdk::checksum_of(question + "\n2").value()));
  return text;
}

constexpr std::string_view kYes = "yes\n", kNo = "no ";

}  // namespace

Answers::Answers(std::string_view folder) {
  if (folder.empty()) return;
  std::error_code error;
  const std::string own = std::string(folder) + "/answers";
  std::filesystem::create_directories(own, error);
  if (!error) folder_ = own;
}

std::optional<Answer> Answers::find(const std::string& question) {
  const std::string key = key_of(question);
  const std::lock_guard lock(mutex_);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::optional<Answer> stored = read(key);
  if (stored) known_.emplace(key, *stored);
  return stored;
}

void Answers::keep(const std::string& question, const Answer& answer, bool lasting) {
  const std::string key = key_of(question);
  const std::lock_guard lock(mutex_);
  if (known_.emplace(key, answer).second && lasting) write(key, answer);
}

std::optional<Answer> Answers::read(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path(key), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text == kYes) return Answer{true, ""};
  if (!text.starts_with(kNo) || !text.ends_with('\n') || text.find('\n') + 1 != text.size()) return std::nullopt;
  return Answer{false, text.substr(kNo.size(), text.size() - kNo.size() - 1)};
}

/// Under another name first: who reads at the same time sees all of it or nothing.
void Answers::write(const std::string& key, const Answer& answer) const {
  if (folder_.empty()) return;
  std::string whole = path(key + ".XXXXXX");
  const int fd = ::mkstemp(whole.data());
  if (fd < 0) return;
  const std::string text = answer.taken ? std::string(kYes) : std::string(kNo) + answer.why + "\n";
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  std::error_code error;
  if (written) std::filesystem::rename(whole, path(key), error);
  if (!written || error) ::unlink(whole.c_str());
}

}  // namespace snpe_plugin
