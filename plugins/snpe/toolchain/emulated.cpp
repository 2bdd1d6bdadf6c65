// SPDX-License-Identifier: Apache-2.0
#include "emulated.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "artifact.hpp"
#include "optima/plugin/folder.hpp"

namespace snpe_plugin {
namespace {

/// A tensor in the mapped file.
struct Place {
  std::string name;
  uint64_t offset, bytes;
};

uint64_t bytes_of(const Port& port) {
  uint64_t elements = 1;
  for (const int64_t d : port.dims) elements *= static_cast<uint64_t>(d);
  return (elements * optima_dtype_bits(port.dtype) + 7) / 8;
}

/// A file that host and driver map.
class Mapped {
 public:
  Mapped(const std::string& path, uint64_t size) : size_(std::max<uint64_t>(size, 1)) {
    const sdk::detail::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    // blocks at once: a page of a full disk would end this process when it is written
    const int error = fd.get() < 0 ? errno : ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size_));
    if (error != 0) throw sdk::Error(OPTIMA_IO, "file '" + path + "' of " + std::to_string(size_) + " bytes cannot be made: " + std::strerror(error));
    void* at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) throw sdk::Error(OPTIMA_MEMORY, "file '" + path + "' cannot be mapped: " + std::strerror(errno));
    data_ = static_cast<char*>(at);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { ::munmap(data_, size_); }
  char* data() const { return data_; }

 private:
  uint64_t size_;
  char* data_;
};

class Emulated : public Session {
 public:
  Emulated(Drivers& drivers, const Loadable& what, const Bounds& bounds)
      : drivers_(drivers), context_(what.context), wrapper_(what.wrapper), soc_(*what.soc), bounds_(bounds), work_(bounds.work, "run") {
    uint64_t end = 0;
    for (const Port& p : *what.inputs) inputs_.push_back(place(p, end));
    for (const Port& p : *what.outputs) outputs_.push_back(place(p, end));
    tensors_ = std::make_unique<Mapped>(work_.path() + "/tensors", end);
    start(bounds_);
    bounds_.cancelled = nullptr;  // who may cancel the opening may be gone afterwards
  }

  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* stop) override {
    if (in.size() != inputs_.size() || out.size() != outputs_.size()) throw sdk::Error(OPTIMA_INTERNAL, "tensors differ from the artifact's ports");
    Bounds bounds = bounds_;
    if (stop) bounds.cancelled = [stop] { return stop->cancelled() || stop->is_late(); };
    for (size_t k = 0; k < in.size(); ++k) copy(tensors_->data() + inputs_[k].offset, in[k].data<char>(), inputs_[k].bytes);
    try {
      if (!driver_ || !driver_->alive()) start(bounds);
      take_events(driver_->ask({"run"}, bounds));
    } catch (const sdk::Error& e) {
      if (e.code == OPTIMA_CANCELLED && stop) stop->check();  // late is no cancel
      throw;
    }
    for (size_t k = 0; k < out.size(); ++k) copy(out[k].data<char>(), tensors_->data() + outputs_[k].offset, outputs_[k].bytes);
  }

  void profile(bool on) override {
    if (on == profiled_) return;
    profiled_ = on;
    if (driver_ && driver_->alive()) driver_->ask({"profile", on ? "1" : "0"}, bounds_);
  }
  std::vector<Event> events() override { return std::exchange(events_, {}); }

 private:
  static Place place(const Port& port, uint64_t& end) {
    Place p{port.file_name.empty() ? port.name : port.file_name, (end + 63) / 64 * 64, bytes_of(port)};
    end = p.offset + p.bytes;
    return p;
  }
  static void copy(char* to, const char* from, uint64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  void start(const Bounds& bounds) {
    driver_ = drivers_.fresh(bounds);
    Words words{"open", context_, wrapper_, std::to_string(soc_.model), std::to_string(soc_.arch), work_.path()};
    for (const auto* places : {&inputs_, &outputs_})
      for (const Place& p : *places) {
        const Words port{places == &inputs_ ? "i" : "o", p.name, std::to_string(p.offset), std::to_string(p.bytes)};
        words.insert(words.end(), port.begin(), port.end());
      }
    try {
      driver_->ask(words, bounds);
      if (profiled_) driver_->ask({"profile", "1"}, bounds);
    } catch (const sdk::Error&) {
      driver_.reset();
      throw;
    }
  }

  /// Name, start, duration, ...
  void take_events(const Words& words) {
    for (size_t k = 0; k + 2 < words.size(); k += 3) events_.push_back({words[k], std::stoull(words[k + 1]), std::stoull(words[k + 2])});
  }

  Drivers& drivers_;
  std::string context_, wrapper_;
  const Soc& soc_;
  Bounds bounds_;
  sdk::Folder work_;
  std::vector<Place> inputs_, outputs_;
  std::unique_ptr<Mapped> tensors_;
  bool profiled_ = false;
  std::vector<Event> events_;
  std::unique_ptr<Driver> driver_;  // last: ended before its folder is gone
};

}  // namespace

std::unique_ptr<Session> open_emulated(Drivers& drivers, const Loadable& what, const Bounds& bounds) { return std::make_unique<Emulated>(drivers, what, bounds); }

}  // namespace snpe_plugin
