// SPDX-License-Identifier: Apache-2.0
// tests: what the tests of plugins/openvino share: a host that writes ONNX, and a sink with paths.
#pragma once

#include <doctest/doctest.h>

#include <fstream>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/support/seam_run.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

inline const optima_device kTarget = seam::device("X64");

/// A host that writes ONNX, as optima-host does.
struct OnnxHost : seam::Host {
  OnnxHost() {
    exposed.table.graph_to_onnx = [](void*, const optima_graph* graph, optima_str folder, uint32_t, optima_status* s) -> int32_t {
      const Status written = onnx_io::write_onnx(*graph, seam::text(folder));
      if (!written.ok()) s->set_text(s->host_data, seam::str(written.message()));
      return written.ok() ? OPTIMA_OK : OPTIMA_INTERNAL;
    };
  }
};

/// A host that also knows files of blobs: llvm_cpu's kernels are shared libraries.
struct FileHost : OnnxHost {
  test::TempFolder folder;
  std::map<uint64_t, std::string> paths;
  FileHost() {
    exposed.table.blob_path = [](void* self, uint64_t id, optima_str* path, optima_status*) -> int32_t {
      *path = seam::str(static_cast<FileHost&>(of(self)).paths.at(id));
      return OPTIMA_OK;
    };
  }
  void write(const seam::Artifact& artifact) {
    for (const optima_named_blob& f : artifact.files) {
      const std::string& path = paths[f.blob->id] = folder / std::to_string(written_++) + "_" + seam::text(f.name);
      std::ofstream(path, std::ios::binary).write(static_cast<const char*>(f.blob->data), static_cast<std::streamsize>(f.blob->size));
    }
  }

 private:
  int written_ = 0;  // a library in use must not be written over
};

/// A memory sink that also has paths; take() brings what was written there.
struct FileSink : seam::MemorySink {
  test::TempFolder folder;
  std::map<std::string, std::string> paths;
  FileSink() {
    raw.path = [](void* p, optima_str name, optima_str* path, optima_status*) -> int32_t {
      auto& self = static_cast<FileSink&>(of(p));
      std::string& at = self.paths[seam::text(name)];
      at = self.folder / seam::text(name);
      *path = seam::str(at);
      return OPTIMA_OK;
    };
  }
  void take() {
    for (const auto& [name, path] : paths) {
      std::ifstream in(path, std::ios::binary);
      files[name] = {std::istreambuf_iterator<char>(in), {}};
    }
  }
};

inline void compile(const seam::Instance& plugin, const seam::Model& m, FileSink& sink, const std::vector<optima_option>& options = {}) {
  seam::Status status;
  REQUIRE_MESSAGE(seam::compile(plugin, m, kTarget, sink, status, options) == OPTIMA_OK, status.message);
  sink.take();
}

}  // namespace optima::test
