// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: Graph -> an ONNX file, and a file of its large constants beside it.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/onnx_guard.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/onnx_io/to_onnx.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/schema.h"

namespace optima::onnx_io {
namespace {

constexpr uint64_t kInlineBelow = 64 << 10, kAlignment = 64;

// Where a graph goes. The weights file lies in the folder of the model and is made when a constant needs it.
struct Files {
  std::string folder, model, weights;
  uint64_t inline_below = kInlineBelow;  // bytes of a constant that stays in the model
};

// The file that large constants go to; made when the first one comes. Each blob is stored once.
class WeightsFile {
 public:
  explicit WeightsFile(std::string path) : path_(std::move(path)) {}
  WeightsFile(const WeightsFile&) = delete;
  ~WeightsFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<uint64_t> add(uint32_t index, const Blob& blob) {
    if (const auto known = offsets_.find(index); known != offsets_.end()) return known->second;
    if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) return failed();
    const uint64_t offset = (end_ + kAlignment - 1) / kAlignment * kAlignment;
    if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) return failed();
    OPTIMA_RETURN_IF_ERROR(put(blob));
    end_ = offset + blob.size;
    return offsets_[index] = offset;
  }
  Status finish() {
    if (fd_ < 0) return {};
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0 ? Status() : failed();
  }

 private:
  Status failed() const { return io_error(cat(quote(path_), ": ", std::strerror(errno))); }

  Status put(const Blob& blob) {
    uint64_t done = blob.fd >= 0 ? copy_range(blob) : 0;
    while (done < blob.size) {
      if (!blob.data) return invalid_input("a constant has no bytes here");
      const ssize_t n = ::write(fd_, blob.data + done, std::min<uint64_t>(blob.size - done, 1 << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return failed();
      done += static_cast<uint64_t>(n);
    }
    return {};
  }
  // As far as the file systems allow it; the rest is written the plain way.
  uint64_t copy_range(const Blob& blob) {
    uint64_t done = 0;
    auto from = static_cast<off_t>(blob.file_offset);
    while (done < blob.size) {
      const ssize_t n = ::copy_file_range(blob.fd, &from, fd_, nullptr, blob.size - done, 0);
      if (n <= 0) break;
      done += static_cast<uint64_t>(n);
    }
    return done;
  }

  std::string path_;
  int fd_ = -1;
  uint64_t end_ = 0;
  std::map<uint32_t, uint64_t> offsets_;
};

void point_to(const std::string& file, uint64_t offset, uint64_t size, onnx::TensorProto& tensor) {
  auto entry = [&](const char* key, const std::string& value) {
    auto& e = *tensor.add_external_data();
    e.set_key(key), e.set_value(value);
  };
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  entry("location", file);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(size));
}

bool has_canonical_form(const Graph& graph) {
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& n : g.nodes) {
      if (!n.domain.empty()) continue;
      const auto* schema = onnx::OpSchemaRegistry::Schema(n.op_type, static_cast<int>(kCanonicalOpset), "");
      if (!schema || schema->SinceVersion() != n.since_version) return false;
    }
  return true;
}

void set_opsets(const Graph& graph, onnx::ModelProto& model) {
  const bool canonical = has_canonical_form(graph);
  int64_t opset = kCanonicalOpset;
  for (const auto& [domain, version] : graph.contents.opsets) {
    auto& o = *model.add_opset_import();
    o.set_domain(domain);
    o.set_version(domain.empty() && canonical ? kCanonicalOpset : version);
    if (domain.empty()) opset = o.version();
  }
  model.set_ir_version(ir_of_opset(opset));
}

Status write(const Graph& graph, const Files& files) {
  std::error_code error;
  std::filesystem::create_directories(files.folder, error);
  if (error) return io_error(cat(quote(files.folder), ": ", error.message()));
  WeightsFile weights(cat(files.folder, "/", files.weights));
  auto fill = [&](const image::Constant& c, onnx::TensorProto& tensor) -> Status {
    const Blob& blob = graph.blobs[c.blob];
    if (c.dtype != OPTIMA_STRING && (blob.size >= files.inline_below || (!blob.data && blob.fd >= 0))) {
      OPTIMA_ASSIGN(const uint64_t offset, weights.add(c.blob, blob));
      point_to(files.weights, offset, blob.size, tensor);
      return {};
    }
    if (!blob.data && blob.size > 0) return invalid_input("a constant has no bytes here");
    fill_inline(c, blob, tensor);
    return {};
  };
  onnx::ModelProto model;
  model.set_producer_name("optima");
  set_opsets(graph, model);
  OPTIMA_RETURN_IF_ERROR(OnnxWriter(graph, fill, Defaults::Left).graph(0, nullptr, *model.mutable_graph()));
  OPTIMA_RETURN_IF_ERROR(weights.finish());
  if (model.ByteSizeLong() > INT32_MAX) return invalid_input("over 2 GB beside its large constants");
  return write_file(cat(files.folder, "/", files.model), model.SerializeAsString());
}

uint64_t constant_bytes(const Graph& graph) {
  uint64_t sum = 0;
  for (const image::Constant& c : graph.contents.constants) sum += graph.blobs[c.blob].size;
  return sum;
}

}  // namespace

Status write_onnx(const Graph& graph, const std::string& folder) {
  return guarded("writing ONNX", [&] { return write(graph, {folder, "model.onnx", "weights.bin"}); });
}

Status write_onnx(const optima_graph& graph, const std::string& folder) { return write_onnx(unpack(graph), folder); }

Status write_onnx_file(const Graph& graph, const std::string& folder, const std::string& stem, uint64_t most_inside) {
  const uint64_t inline_below = constant_bytes(graph) > most_inside ? kInlineBelow : UINT64_MAX;
  return guarded("writing ONNX", [&] { return write(graph, {folder, stem + ".onnx", stem + ".weights.bin", inline_below}); });
}

}  // namespace optima::onnx_io
