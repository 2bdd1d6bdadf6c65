// SPDX-License-Identifier: Apache-2.0
// core/loader: texts and statuses that come from plugins, made fit for our own messages.
#include "core/loader/seam.hpp"

#include <exception>

#include "core/loader/secrets.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima::seam {

std::string raw_text(optima_str s, size_t limit) {
  if (!s.data) return {};
  return std::string(s.data, static_cast<size_t>(std::min<uint64_t>(s.size, limit)));
}

// Secrets go before the text is cut, or a part of one would stay.
std::string text(optima_str s, size_t limit) {
  std::string whole = hide_secrets(raw_text(s, limit + longest_secret()));
  if (whole.size() > limit) whole.resize(limit);
  return plain_line(whole);
}

void CallStatus::reset() {
  raw_ = {sizeof(optima_status), OPTIMA_OK, 0, OPTIMA_NONE, 0, this, set_text};
  text_.clear();
}

void CallStatus::set_text(void* self, optima_str text) {
  (void)guarded([&] {
    auto& status = *static_cast<CallStatus*>(self);
    std::string line = seam::text(text);
    const std::lock_guard lock(status.mutex_);
    status.text_ = std::move(line);
    return OPTIMA_OK;
  });
}

std::string CallStatus::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

Status CallStatus::as_status(std::string_view plugin, std::string_view call, int32_t code) const {
  if (code == OPTIMA_OK) return {};
  std::string said = text();
  if (said.empty()) said = cat("failed with code ", code_name(code), " and gave no reason");
  if (raw_.vendor_code != 0) said += cat(" (vendor code ", raw_.vendor_code, ")");
  if (raw_.flags & OPTIMA_STATUS_DEVICE_LOST) said += " (device lost)";
  return {kind_of(code), cat("plugin ", quote(plugin), ": ", call, ": ", said)};
}

StatusKind kind_of(int32_t code) {
  switch (code) {
    case OPTIMA_OK: return StatusKind::Ok;
    case OPTIMA_INVALID_GRAPH: return StatusKind::InvalidInput;
    case OPTIMA_CORRUPT: return StatusKind::InvalidInput;
    case OPTIMA_IO: return StatusKind::Io;
    case OPTIMA_CANCELLED: return StatusKind::Cancelled;
    case OPTIMA_TIMEOUT: return StatusKind::Timeout;
    default: return StatusKind::Plugin;
  }
}

std::string_view code_name(int32_t code) {
  static constexpr std::string_view names[] = {
      "OK",     "INTERNAL", "INVALID_ARGUMENT", "INVALID_GRAPH", "UNSUPPORTED", "NOT_FOUND", "INCOMPATIBLE", "DEPENDENCY",  "DEVICE",
      "MEMORY", "IO",       "CANCELLED",        "TIMEOUT",       "CORRUPT",     "RECOMPILE", "WRONG_DEVICE", "TOOL_FAILED", "WORKER_LOST"};
  return names[known_code(code)];
}

int32_t known_code(int32_t code) { return code >= OPTIMA_OK && code <= OPTIMA_WORKER_LOST ? code : int32_t{OPTIMA_INTERNAL}; }

int32_t fail(optima_status* status, int32_t code, std::string_view text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!status) return code;
  status->code = code;
  if (status->set_text) status->set_text(status->host_data, str(text));
  return code;
}

void misbehaves(std::string_view plugin, std::string_view what) { log(LogLevel::PluginMisbehaves, plugin, what); }

void record_exception(std::string_view plugin, std::string_view call, CallStatus& status) {
  std::string what = "an exception of an unknown type";
  try {
    throw;
  } catch (const std::exception& e) {
    what = plain_line(hide_secrets(e.what()));
  } catch (...) {
  }
  misbehaves(plugin, cat(call, " threw across the seam: ", what));
  const std::string sentence = cat("threw an exception across the seam: ", what);
  status.raw()->set_text(status.raw()->host_data, str(sentence));
}

}  // namespace optima::seam
