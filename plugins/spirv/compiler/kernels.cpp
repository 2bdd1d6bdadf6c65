// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

#include "plan/helpers.hpp"

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

}  // namespace

std::vector<Module> compile_all(const std::vector<std::string>& texts, unsigned threads, const KernelCache& cache, const std::function<void(size_t)>& done) {
  constexpr uint64_t kMostKept = uint64_t{1} << 26;  // bytes: some fifty models
  std::vector<Module> out(texts.size());
  std::vector<std::exception_ptr> errors(texts.size());
  const std::vector<size_t> order = order_of(texts);
  std::atomic<size_t> next{0}, ready{0}, made{0};
  const std::atomic<bool> never{false};
  const auto work = [&](const std::atomic<bool>& stop, bool tells) {
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
    const Helpers helpers(std::max<size_t>(1, std::min<size_t>(threads, texts.size())) - 1, [&](const std::atomic<bool>& stop) { work(stop, false); });
    work(never, true);
  }
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  if (made > 0) cache.trim(kMostKept);
  return out;
}

}  // namespace spirv_plugin
