// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "emulator.hpp"
#include "optima/plugin/talk.hpp"
#include "words.hpp"

namespace bmcompiler_plugin {
namespace {

constexpr const char* kName = "the TPU's process";

/// Links in `folder` to what an emulator opens. The tools' own folder has an Ubuntu's libc beside them, which must not be found.
void link_libraries(const std::string& from, const Chip& chip, const std::string& folder) {
  for (const auto& [name, opened] : libraries_of(chip)) {
    std::string path = from + "/" + name;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) path = from + "/third_party/" + name;
    if (!std::filesystem::exists(path, error))
      throw sdk::Error(OPTIMA_DEPENDENCY, "file '" + from + "/" + name + "' is not there, which " + std::string(chip.name) + "'s emulator wants: scripts/setup --with sophon installs it");
    const std::string link = folder + "/" + opened;
    if (std::filesystem::is_symlink(link, error)) continue;
    std::filesystem::create_symlink(path, link, error);
    if (error) throw sdk::Error(OPTIMA_IO, "file '" + link + "' cannot be made: " + error.message());
  }
}

/// Numbers of element types in the models; -1 for one that they have not.
int type_of(int32_t dtype) {
  switch (dtype) {
    case OPTIMA_F32: return 0;
    case OPTIMA_F16: return 1;
    case OPTIMA_I8: return 2;
    case OPTIMA_U8: return 3;
    case OPTIMA_I16: return 4;
    case OPTIMA_U16: return 5;
    case OPTIMA_I32: return 6;
    case OPTIMA_U32: return 7;
    case OPTIMA_BF16: return 8;
    case OPTIMA_I4: return 9;
    case OPTIMA_U4: return 10;
    default: return -1;
  }
}

uint64_t bytes_of(const Plane& p) {
  uint64_t bits = optima_dtype_bits(p.dtype);
  for (const int64_t d : p.dims) bits *= static_cast<uint64_t>(d);
  return (bits + 7) / 8;
}

/// The file through which tensors go: read and written, not mapped, so that nobody faults when it is cut.
class Shared {
 public:
  explicit Shared(std::string path) : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (fd_.get() < 0) throw sdk::Error(OPTIMA_IO, "file '" + path_ + "' cannot be made: " + std::strerror(errno));
  }
  const std::string& path() const { return path_; }
  void write(const void* data, uint64_t size, uint64_t offset) {
    for (uint64_t done = 0; done < size;) {
      const ssize_t n = ::pwrite(fd_.get(), static_cast<const char*>(data) + done, size - done, static_cast<off_t>(offset + done));
      if (n <= 0 && errno != EINTR) throw sdk::Error(OPTIMA_IO, "file '" + path_ + "' cannot be written: " + std::strerror(errno));
      done += n > 0 ? static_cast<uint64_t>(n) : 0;
    }
  }
  void read(void* data, uint64_t size, uint64_t offset) const {
    for (uint64_t done = 0; done < size;) {
      const ssize_t n = ::pread(fd_.get(), static_cast<char*>(data) + done, size - done, static_cast<off_t>(offset + done));
      if (n == 0 || (n < 0 && errno != EINTR)) throw sdk::Error(OPTIMA_IO, "file '" + path_ + "' cannot be read");
      done += n > 0 ? static_cast<uint64_t>(n) : 0;
    }
  }

 private:
  std::string path_;
  sdk::detail::Fd fd_;
};

/// Errors after which people want to read what the process printed.
bool tells_of_log(int32_t code) { return code == OPTIMA_TOOL_FAILED || code == OPTIMA_TIMEOUT || code == OPTIMA_MEMORY; }

class Process : public Running {
 public:
  explicit Process(const Opening& what, const std::function<bool()>& cancelled) : what_(what), chip_(*what.chip), shared_(what.work + "/planes") {
    if (what_.emulated) link_libraries(what_.libraries, chip_, what_.work);
    start(cancelled);
  }

  void run(const std::string& net, const std::vector<Plane>& inputs, const std::vector<Plane>& outputs, const sdk::RunControl* stop) override {
    const std::function<bool()> cancelled = stop ? [stop] { return stop->cancelled() || stop->is_late(); } : std::function<bool()>();
    try {
      if (!talk_ || !talk_->alive()) start(cancelled);
      uint64_t end = 0;
      Words question{"run", net, shared_.path()};
      const std::vector<uint64_t> from = place(inputs, end, question), to = place(outputs, end, question);
      for (size_t k = 0; k < inputs.size(); ++k) shared_.write(inputs[k].data, bytes_of(inputs[k]), from[k]);
      ask(question, cancelled);
      for (size_t k = 0; k < outputs.size(); ++k) shared_.read(outputs[k].data, bytes_of(outputs[k]), to[k]);
    } catch (const sdk::Error& e) {
      if (e.code == OPTIMA_CANCELLED && stop) stop->check();  // past its deadline is another thing
      throw;
    }
  }

  /// What the runtime answers to a question without a model.
  Words ask(const Words& question, const std::function<bool()>& cancelled) {
    Words answer;
    try {
      answer = words_of(talk_->ask(line_of(question), {what_.time_limit, cancelled, {}}));
    } catch (const sdk::Error& e) {
      throw with_log(died_of_memory(e) ? out_of_memory() : e);
    }
    if (answer[0] == "ok") return {answer.begin() + 1, answer.end()};
    if (answer[0] != "fail" || answer.size() != 3) throw with_log({OPTIMA_TOOL_FAILED, std::string(kName) + " answered '" + answer[0] + "', wanted ok or fail"});
    if (answer[1] == "memory" || answer[2].find("bad_alloc") != std::string::npos) throw with_log(out_of_memory());
    throw with_log({answer[1] == "invalid" ? OPTIMA_INVALID_ARGUMENT : answer[1] == "dependency" ? OPTIMA_DEPENDENCY : OPTIMA_TOOL_FAILED, answer[2]});
  }

 private:
  void start(const std::function<bool()>& cancelled) {
    talk_.reset();
    talk_.emplace(kName, command(), what_.log);
    if (what_.model.empty()) return;
    ask({"open", what_.model}, cancelled);
  }

  sdk::Command command() const {
    const std::string folder = what_.emulated ? what_.work : what_.libraries;
    sdk::Command c;
    c.program = what_.program;
    c.arguments = {std::string(kind_of(chip_.runner)), folder, what_.emulated ? "emulator" : std::to_string(what_.device)};
    c.environment = sdk::inherited_environment(environment_of(chip_, folder, what_.emulated));
    c.folder = what_.work;
    c.memory_limit = what_.memory_limit;
    return c;
  }

  /// Where each lies, one after another, 64 bytes aligned, also written behind the question.
  static std::vector<uint64_t> place(const std::vector<Plane>& planes, uint64_t& end, Words& question) {
    std::vector<uint64_t> offsets;
    question.push_back(std::to_string(planes.size()));
    for (const Plane& p : planes) {
      if (type_of(p.dtype) < 0) throw sdk::Error(OPTIMA_UNSUPPORTED, "tensor '" + p.name + "' is " + std::string(sdk::dtype_name(p.dtype)) + ", which no model has");
      offsets.push_back(end);
      question.insert(question.end(), {p.name, std::to_string(type_of(p.dtype)), std::to_string(end), std::to_string(p.dims.size())});
      for (const int64_t d : p.dims) question.push_back(std::to_string(d));
      end = (end + bytes_of(p) + 63) / 64 * 64;
    }
    return offsets;
  }

  static bool died_of_memory(const sdk::Error& e) { return e.code == OPTIMA_TOOL_FAILED && e.text.find("bad_alloc") != std::string::npos; }
  sdk::Error out_of_memory() const {
    const uint64_t limit = what_.memory_limit;
    return {OPTIMA_MEMORY, std::string(kName) + " ran out of memory" + (limit > 0 ? " within its limit of " + std::to_string(limit >> 20) + " MiB (bmcompiler.run_memory_limit)" : "")};
  }
  sdk::Error with_log(sdk::Error error) const {
    if (!what_.log.empty() && tells_of_log(error.code)) error.text += "; what it printed is in " + what_.log;
    return error;
  }

  Opening what_;
  Chip chip_;
  Shared shared_;
  std::optional<sdk::Talk> talk_;
};

}  // namespace

std::unique_ptr<Running> open_model(const Opening& what, const std::function<bool()>& cancelled) { return std::make_unique<Process>(what, cancelled); }

std::vector<std::string> device_chips(const Opening& what) {
  Process process(what, {});
  Words answer = process.ask({"devices"}, {});
  if (answer.empty() || answer[0] != std::to_string(answer.size() - 1)) throw sdk::Error(OPTIMA_TOOL_FAILED, std::string(kName) + " tells of no devices");
  answer.erase(answer.begin());
  return answer;
}

}  // namespace bmcompiler_plugin
