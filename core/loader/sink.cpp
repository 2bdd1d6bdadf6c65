// SPDX-License-Identifier: Apache-2.0
// core/loader: the sink's callbacks. Every name and number comes from a plugin and is checked.
#include "core/loader/sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/loader/verdict_book.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestCompat = 64 << 10;
constexpr size_t kLongestName = 1024;
constexpr std::string_view kStaging = ".compiling";

Status system_error(std::string_view doing, std::string_view what, int error) {
  return io_error(cat("cannot ", doing, " ", quote(what), ": ", std::strerror(error)));
}

int32_t code_of(const Status& status) {
  if (status.ok()) return OPTIMA_OK;
  return status.kind() == StatusKind::Io ? OPTIMA_IO : OPTIMA_INVALID_ARGUMENT;
}

}  // namespace

bool is_safe_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\') return false;
  while (true) {
    const size_t slash = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    if (slash == name.size()) return true;
    name.remove_prefix(slash + 1);
  }
}

Sink::Sink(std::string plugin, const std::string& folder, const optima_graph& graph)
    : plugin_(std::move(plugin)), folder_(folder), staging_((fs::path(folder) / kStaging).string()), graph_(graph) {
  fill();
}

Sink::~Sink() {
  for (const auto& [id, stream] : streams_) ::close(stream.fd);
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  for (const std::string& path : moved_) fs::remove_all(path, ignored);
}

Status Sink::open() {
  std::error_code error;
  fs::remove_all(staging_, error);  // of a run that was killed
  fs::create_directory(staging_, error);
  return error ? system_error("make the folder", staging_, error.value()) : Status();
}

Status Sink::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::vector<Verdict> Sink::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

// Runs a callback's body; its failure is told to the plugin and kept, so that it counts even when the plugin ignores it.
template <class F>
int32_t Sink::enter(void* self, optima_status* status, F&& body) {
  return seam::guarded([&]() -> int32_t {
    auto& sink = *static_cast<Sink*>(self);
    const std::lock_guard lock(sink.mutex_);
    const Status done = body(sink);
    if (done.ok()) return OPTIMA_OK;
    if (sink.failure_.ok()) sink.failure_ = done;
    return seam::fail(status, code_of(done), done.message());
  });
}

void Sink::fill() {
  raw_.struct_size = sizeof raw_;
  raw_.host_data = this;
  raw_.open = [](void* p, optima_str name, uint64_t, uint64_t* stream, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) { return k.open_stream(seam::raw_text(name), stream); });
  };
  raw_.write = [](void* p, uint64_t stream, const void* data, uint64_t size, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) { return k.write(stream, data, size); });
  };
  raw_.close = [](void* p, uint64_t stream, optima_status* s) -> int32_t { return enter(p, s, [&](Sink& k) { return k.close(stream); }); };
  raw_.path = [](void* p, optima_str name, optima_str* path, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) -> Status {
      const std::string wanted = seam::raw_text(name);
      OPTIMA_RETURN_IF_ERROR(k.take_name(wanted));
      OPTIMA_RETURN_IF_ERROR(k.make_parents(wanted));
      *path = seam::str(k.paths_[wanted] = (fs::path(k.staging_) / wanted).string());
      return {};
    });
  };
  raw_.set_format = [](void* p, optima_str id, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) -> Status {
      const std::string format = seam::raw_text(id);
      if (format.empty() || format.size() > 128 || format != plain_line(format)) return k.broken(cat("gave the format id ", quote(format)));
      k.result_.format_id = format;
      return {};
    });
  };
  raw_.set_meta = [](void* p, optima_str key, optima_str value, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) -> Status {
      if (k.result_.meta.size() >= 1000) return k.broken("gave more than 1000 meta entries");
      k.result_.meta.emplace_back(seam::text(key, 256), seam::text(value));
      return {};
    });
  };
  raw_.set_compat = [](void* p, const void* record, uint64_t size, optima_str text, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) { return k.set_compat(record, size, text); });
  };
  raw_.use_weight = [](void* p, uint32_t blob, optima_str name, optima_status* s) -> int32_t {
    return enter(p, s, [&](Sink& k) { return k.use_weight(blob, seam::raw_text(name)); });
  };
  raw_.refuse = [](void* p, const optima_verdict* nodes, uint32_t count) -> int32_t {
    return enter(p, nullptr, [&](Sink& k) { return k.refuse(nodes, count); });
  };
}

Status Sink::broken(std::string_view what) const { return plugin_error(cat("plugin ", quote(plugin_), ": compile: it ", what)); }

Status Sink::take_name(const std::string& name) {
  if (!is_safe_name(name)) return broken(cat("gave the file name ", quote(name), ", wanted a relative path without . and .."));
  if (!names_.insert(name).second) return broken(cat("made the file ", quote(name), " twice"));
  result_.files.push_back(name);
  return {};
}

Status Sink::make_parents(const std::string& name) {
  std::error_code error;
  const fs::path parent = (fs::path(staging_) / name).parent_path();
  fs::create_directories(parent, error);
  return error ? system_error("make the folder", parent.string(), error.value()) : Status();
}

Status Sink::open_stream(const std::string& name, uint64_t* stream) {
  OPTIMA_RETURN_IF_ERROR(take_name(name));
  OPTIMA_RETURN_IF_ERROR(make_parents(name));
  const std::string path = (fs::path(staging_) / name).string();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return system_error("create", name, errno);
  streams_.emplace(next_stream_, Stream{fd, name});
  *stream = next_stream_++;
  return {};
}

Status Sink::write(uint64_t stream, const void* data, uint64_t size) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return broken(cat("wrote to stream ", stream, ", which is not open"));
  auto* at = static_cast<const char*>(data);
  if (!at && size > 0) return broken("wrote from a null pointer");
  while (size > 0) {
    const ssize_t n = ::write(it->second.fd, at, static_cast<size_t>(std::min<uint64_t>(size, 1 << 30)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("write", it->second.name, errno);
    at += n;
    size -= static_cast<uint64_t>(n);
  }
  return {};
}

Status Sink::close(uint64_t stream) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return broken(cat("closed stream ", stream, ", which is not open"));
  const Stream done = std::move(it->second);
  streams_.erase(it);
  return ::close(done.fd) == 0 ? Status() : system_error("write", done.name, errno);
}

Status Sink::set_compat(const void* record, uint64_t size, optima_str text) {
  if (has_compat_) return broken("called set_compat twice");
  if (size > kLargestCompat || (!record && size > 0)) return broken(cat("gave a compat record of ", size, " bytes, the limit is ", kLargestCompat));
  has_compat_ = true;
  const auto* bytes = static_cast<const std::byte*>(record);
  result_.compat_record.assign(bytes, bytes + size);
  result_.compat_text = seam::text(text);
  return {};
}

Status Sink::use_weight(uint32_t blob, const std::string& name) {
  if (blob >= graph_.blob_count) return broken(cat("uses weight ", blob, ", the graph has ", graph_.blob_count));
  if (name.empty() || name.size() > 255 || name != plain_line(name)) return broken(cat("gave the weight name ", quote(name)));
  for (const auto& [other, index] : result_.weights)
    if (other == name) return broken(cat("used the weight name ", quote(name), " twice"));
  result_.weights.emplace_back(name, blob);
  return {};
}

Status Sink::refuse(const optima_verdict* nodes, uint32_t count) {
  for (; count > 0; --count, nodes = OPTIMA_NEXT(optima_verdict, nodes)) {
    if (!is_readable(nodes)) return broken(cat("refused a node by a verdict of size ", nodes ? nodes->struct_size : 0));
    OPTIMA_RETURN_IF_ERROR(refuse(seam::known(nodes)));
  }
  return {};
}

// Of a node refused twice the first counts.
Status Sink::refuse(const optima_verdict& node) {
  if (node.verdict != OPTIMA_VERDICT_UNSUPPORTED) return broken(cat("refused node ", node.node, " by verdict ", node.verdict, ", wanted UNSUPPORTED"));
  Verdict v = owned(node);
  if (v.reason == OPTIMA_REASON_NONE || v.text.empty()) return broken(cat("refused node ", node.node, " without a reason"));
  if (!refused_ids_.insert(node.node).second) return {};
  if (optima_find_node(graph_.image, node.node)) refused_.push_back(std::move(v));
  else seam::misbehaves(plugin_, cat("compile: refuses node ", node.node, ", which the graph does not have"));
  return {};
}

Status Sink::complete() const {
  if (!refused_.empty()) return broken(cat("refused node ", refused_[0].node, " and then said OK"));
  if (!streams_.empty()) return broken(cat("left the file ", quote(streams_.begin()->second.name), " unclosed"));
  if (result_.format_id.empty()) return broken("set no format id");
  for (const auto& [name, path] : paths_) {
    struct stat s{};
    if (lstat(path.c_str(), &s) != 0) return broken(cat("did not write the file ", quote(name), " it asked a path for"));
    if (!S_ISREG(s.st_mode)) return broken(cat("made ", quote(name), " something else than a regular file"));
  }
  return {};
}

Status Sink::move_into_place() {
  std::error_code error;
  for (const std::string& name : result_.files) {
    const fs::path to = fs::path(folder_) / name;
    for (fs::path missing = to.parent_path(); !fs::exists(missing, error) && missing != folder_; missing = missing.parent_path())
      moved_.push_back(missing.string());
    fs::create_directories(to.parent_path(), error);
    if (error) return system_error("make the folder", to.parent_path().string(), error.value());
    if (fs::exists(fs::symlink_status(to, error))) return io_error(cat("cannot write ", quote(to.string()), ": it exists already"));
    if (::rename((fs::path(staging_) / name).c_str(), to.c_str()) != 0) return system_error("write", to.string(), errno);
    moved_.push_back(to.string());
  }
  return {};
}

Result<Compiled> Sink::finish() {
  const std::lock_guard lock(mutex_);
  OPTIMA_RETURN_IF_ERROR(failure_);
  OPTIMA_RETURN_IF_ERROR(complete());
  OPTIMA_RETURN_IF_ERROR(move_into_place());
  moved_.clear();
  return std::move(result_);
}

}  // namespace optima
