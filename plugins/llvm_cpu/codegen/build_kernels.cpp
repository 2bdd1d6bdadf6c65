// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see build_kernels.hpp.
#include "plugins/llvm_cpu/codegen/build_kernels.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/bitcode.hpp"
#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"
#include "plugins/llvm_cpu/runtime/threads.hpp"

namespace optima::llvm_cpu {
namespace {

std::string hash(std::string_view bytes) {
  const auto digest = llvm::SHA256::hash({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return llvm::toHex(digest, true);
}

/// Of the templates for this target; half a megabyte, so once in a process.
const std::string& hash_of_templates(const Target& target, bool general) {
  static std::mutex mutex;
  static std::map<const char*, std::string> known;  // by where they lie, which is for good
  const std::string_view bitcode = kernel_bitcode(target.triple.substr(0, target.triple.find('-')), target.vector_width, general);
  const std::lock_guard lock(mutex);
  std::string& out = known[bitcode.data()];
  if (out.empty()) out = hash(bitcode);
  return out;
}

/// A cache file: this header, then the shared object. Its own hash guards against a torn or foreign file.
struct CacheHeader {
  char magic[8];
  uint32_t multiply_adds, stack_accesses;
  char sha256[64];
};
constexpr char kMagic[8] = {'O', 'p', 't', 'K', 'e', 'r', 'n', '2'};

std::optional<Kernel> read_cached(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string all{std::istreambuf_iterator<char>(file), {}};
  CacheHeader h;
  if (all.size() < sizeof h) return std::nullopt;
  std::memcpy(&h, all.data(), sizeof h);
  Kernel k;
  k.bytes = all.substr(sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) || hash(k.bytes) != std::string_view(h.sha256, sizeof h.sha256)) return std::nullopt;
  k.loops = {h.multiply_adds, h.stack_accesses};
  return k;
}

/// Best effort: a cache that cannot be written costs time only.
void write_cached(const std::string& path, const Kernel& k) {
  CacheHeader h;
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.multiply_adds = k.loops.multiply_adds;
  h.stack_accesses = k.loops.stack_accesses;
  std::memcpy(h.sha256, hash(k.bytes).data(), sizeof h.sha256);
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const std::string beside = path + "." + std::to_string(getpid()) + "." + std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id()));
  std::ofstream file(beside, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&h), sizeof h).write(k.bytes.data(), static_cast<std::streamsize>(k.bytes.size()));
  file.close();
  if (file) std::filesystem::rename(beside, path, failed);
  if (!file || failed) std::filesystem::remove(beside, failed);
}

/// An object, and what its loops do.
struct Made {
  std::string object;
  LoopReport loops;
};

/// Of a kernel whose accumulators spill the order that spills less: LLVM's scheduler begins so many loads early that registers run out, more so the longer
/// the code is that it sees at once.
Made object_of(const KernelSpec& spec, const Target& target) {
  const auto made = [&](Order order) {
    Made m{specialise(spec, target, order), {}};
    m.loops = inspect_loops(m.object, target);
    return m;
  };
  Made scheduled = made(Order::Scheduled);
  if (!spec.has_tile || !scheduled.loops.spills()) return scheduled;
  Made as_written = made(Order::AsWritten);
  return as_written.loops.spills_less_than(scheduled.loops) ? as_written : scheduled;
}

}  // namespace

KernelBuilder::KernelBuilder(Target target, Linker linker, std::string temp_dir, std::string cache_dir, unsigned threads,
                             std::function<void(double)> progress)
    : target_(std::move(target)), linker_(std::move(linker)), temp_dir_(std::move(temp_dir)), cache_dir_(std::move(cache_dir)),
      threads_(thread_count(threads, useful_processors(allowed_processors()))), progress_(std::move(progress)) {}

std::string KernelBuilder::key_of(const KernelSpec& spec) const {
  return hash(to_text(spec) + "\n" + target_.triple + "\n" + target_.cpu + "\n" + target_.features + "\n" + linker_.version +
              "\n" LLVM_VERSION "\n" OPTIMA_GENERATOR "\n" + hash_of_templates(target_, !spec.slots.empty()));
}

Kernel KernelBuilder::make(const KernelSpec& spec, const std::string& key) const {
  const std::string family = spec.entry.substr(spec.entry.find('_') + 1), cached = cache_dir_ + "/kernels/" + key;
  std::optional<Kernel> k;
  if (!cache_dir_.empty()) k = read_cached(cached);
  if (!k) {
    const Made made = object_of(spec, target_);
    k = Kernel{"", linker_.link(made.object, temp_dir_, "k" + key), made.loops};
    if (!cache_dir_.empty()) write_cached(cached, *k);
  }
  k->name = family + "_" + hash(k->bytes).substr(0, 16) + ".so";
  return *k;
}

void KernelBuilder::build(const std::vector<KernelSpec>& specs) {
  std::map<std::string, const KernelSpec*> missing;
  for (const KernelSpec& spec : specs)
    if (const std::string text = to_text(spec); !kernels_.count(text)) missing.emplace(text, &spec);
  const std::vector<std::pair<std::string, const KernelSpec*>> todo(missing.begin(), missing.end());
  std::vector<Kernel> made(todo.size());
  std::vector<std::exception_ptr> errors(todo.size());
  std::atomic<size_t> next{0}, done{0};
  std::atomic<bool> stop{false};
  const auto work = [&](int thread) {
    for (size_t i; !stop && (i = next++) < todo.size();) try {
        if (thread == 0) progress_(static_cast<double>(done) / static_cast<double>(todo.size()));
        made[i] = make(*todo[i].second, key_of(*todo[i].second));
        ++done;
      } catch (...) {
        errors[i] = std::current_exception();
        stop = true;
      }
  };
  std::vector<std::thread> helpers = start_threads(static_cast<int>(std::min<size_t>(static_cast<size_t>(threads_), todo.size())) - 1, work);
  work(0);
  for (std::thread& t : helpers) t.join();
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  for (size_t i = 0; i < todo.size(); ++i) kernels_.emplace(todo[i].first, std::move(made[i]));
}

const Kernel& KernelBuilder::kernel(const KernelSpec& spec) const { return kernels_.at(to_text(spec)); }

}  // namespace optima::llvm_cpu
