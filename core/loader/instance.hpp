// SPDX-License-Identifier: Apache-2.0
// core/loader: one running plugin: its library, host table, handle and extension tables. Knows no graph.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/backend/manifest.hpp"
#include "core/loader/host_table.hpp"
#include "core/loader/library.hpp"
#include "core/loader/options.hpp"
#include "core/loader/seam.hpp"
#include "optima/ext/cost.h"
#include "optima/ext/describe.h"
#include "optima/ext/door.h"
#include "optima/ext/memory.h"
#include "optima/ext/profile.h"
#include "optima/ext/schema.h"

namespace optima {

/// A device as a plugin reported it, strings owned, attributes typed.
struct OwnedDevice {
  DeviceInfo info;
  uint32_t device_class = OPTIMA_CLASS_OTHER, flags = 0;
  std::vector<TypedOption> attributes;
  bool is_refused() const { return flags & OPTIMA_DEVICE_REFUSED; }  ///< then info.arch is the sentence why
};

/// Made by init, ended by deinit when the last owner lets go (programs own their instance), so after its last call. Any thread; make and
/// the destructor wait until no other of them is inside the same plugin file.
class Instance {
 public:
  struct Setup {
    const Manifest* manifest;
    std::string path;
    FileStamp stamp;
    std::vector<TypedOption> options;  ///< of scope init
    std::shared_ptr<const HostServices> services;
    std::shared_ptr<BlobStore> blobs;
  };
  /// Loads, negotiates, compares with the note, inits, and fetches the tables of the roles. `step`, when given, is told what
  /// is about to happen ("query", "init"). Plugin error from inside a call into the same file.
  static Result<std::shared_ptr<Instance>> make(Setup setup, const std::function<void(const char*)>& step = {});
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::string& id() const { return id_; }
  optima_plugin* handle() const { return handle_; }
  /// Tables as this host knows them; a function that is absent is null.
  const optima_compiler& compiler() const { return compiler_; }
  const optima_runtime& runtime() const { return runtime_; }
  const optima_schema& schema() const { return schema_; }
  const optima_async& async() const { return async_; }
  const optima_cost_model& cost() const { return cost_; }
  const optima_profile& profile() const { return profile_; }
  const optima_memory& memory() const { return memory_; }
  const optima_doors& doors() const { return doors_; }
  const optima_describer& describer() const { return describer_; }
  BlobStore& blobs() const { return host_->blobs(); }

  /// Refused kinds are among them. `why_none` is set when no other is. Of a device told twice the first counts.
  Result<std::vector<OwnedDevice>> devices(std::string* why_none) const;

  /// One call into the plugin that is not [setup]: passes the gate, catches what is thrown, gives the plugin's code. Only for
  /// a plugin that is usable().
  template <class F>
  int32_t enter(std::string_view what, seam::CallStatus& status, F&& function) const {
    const Gate::Pass pass(library_->gate);
    const int32_t code = seam::call(id_, what, status, std::forward<F>(function));
    if (code != OPTIMA_OK && status.fatal()) unusable_ = true;
    return code;
  }
  /// A call that ends something.
  template <class F>
  void end(std::string_view what, F&& function) const {
    const Gate::Pass pass(library_->gate);
    seam::call_end(id_, what, std::forward<F>(function));
  }
  /// The same as enter(), as a Status.
  template <class F>
  Status run(std::string_view what, F&& function) const {
    OPTIMA_RETURN_IF_ERROR(usable(what));
    seam::CallStatus status;
    const int32_t code = enter(what, status, [&] { return function(status.raw()); });
    return status.as_status(id_, what, code);
  }
  /// After it reported a fatal failure a plugin is only taken down, not called.
  Status usable(std::string_view what) const { return unusable_.load(std::memory_order_relaxed) ? refuse_unusable(what) : Status(); }

 private:
  Instance() = default;
  Status init(const Manifest& manifest, const std::vector<TypedOption>& options, const std::function<void(const char*)>& step);
  Status fetch_tables(const Manifest& manifest);
  template <class T>
  Status fetch(const char* name, T& table);
  const void* extension(std::string_view name) const;
  Status refuse_unusable(std::string_view what) const;

  std::string id_;
  Library* library_ = nullptr;
  std::unique_ptr<HostTable> host_;
  optima_plugin_api api_{};
  optima_plugin* handle_ = nullptr;
  mutable std::atomic<bool> unusable_ = false;  // it said FATAL
  mutable std::atomic<bool> told_twice_ = false;  // devices() told one twice, which was logged
  optima_compiler compiler_{};
  optima_runtime runtime_{};
  optima_schema schema_{};
  optima_async async_{};
  optima_cost_model cost_{};
  optima_profile profile_{};
  optima_memory memory_{};
  optima_doors doors_{};
  optima_describer describer_{};
};

}  // namespace optima
