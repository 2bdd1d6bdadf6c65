// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>
#include <thread>

namespace spirv_plugin {
namespace {

/// The longest first: the last one to end keeps nobody waiting for long.
std::vector<size_t> order_of(const std::vector<std::string>& texts) {
  std::vector<size_t> out(texts.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](size_t a, size_t b) { return texts[a].size() > texts[b].size(); });
  return out;
}

/// From the disk, or made and kept there. `made` counts the latter.
Module module_of(const std::string& text, const KernelCache& cache, std::atomic<size_t>& made) {
  const std::string made_from = tools() + "\n" + text;
  if (std::optional<std::vector<uint32_t>> words = cache.find(made_from)) return {std::move(*words)};
  Module out = compile_glsl(text);
  cache.keep(made_from, out.words);
  ++made;
  return out;
}

/// Threads that end with this: told to stop where it ends by an exception.
struct Joined {
  std::vector<std::thread> all{};
  std::atomic<bool>& stop;
  bool is_finished = false;
  ~Joined() {
    if (!is_finished) stop = true;
    for (std::thread& t : all) t.join();
  }
};

}  // namespace

std::vector<Module> compile_all(const std::vector<std::string>& texts, unsigned threads, const KernelCache& cache, const std::function<void(size_t)>& done) {
  constexpr uint64_t kMostKept = uint64_t{1} << 26;  // bytes: some fifty models
  std::vector<Module> out(texts.size());
  std::vector<std::exception_ptr> errors(texts.size());
  const std::vector<size_t> order = order_of(texts);
  std::atomic<size_t> next{0}, ready{0}, made{0};
  std::atomic<bool> stop{false};
  const auto work = [&](bool tells) {
    for (size_t at; !stop && (at = next++) < texts.size();) {
      const size_t k = order[at];
      try {
        out[k] = module_of(texts[k], cache, made);
      } catch (...) {
        errors[k] = std::current_exception();
      }
      ++ready;
      if (tells) done(ready);
    }
  };
  {
    Joined joined{.stop = stop};
    for (unsigned k = 1; k < std::min<size_t>(threads, texts.size()); ++k) joined.all.emplace_back(work, false);
    work(true);
    joined.is_finished = true;
  }
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  if (made > 0) cache.trim(kMostKept);
  return out;
}

}  // namespace spirv_plugin
