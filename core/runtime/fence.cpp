// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/fence.hpp"

#include <algorithm>

#include "core/loader/seam.hpp"
#include "core/support/wait.hpp"

namespace optima {

std::vector<Fence::News> Fence::take_known() {
  const auto known = std::stable_partition(listeners_.begin(), listeners_.end(), [&](const Listener& l) { return !is_known(l.value); });
  std::vector<News> out;
  for (auto it = known; it != listeners_.end(); ++it) out.push_back({*it, code_of(it->value)});
  listeners_.erase(known, listeners_.end());
  return out;
}

void Fence::tell(const std::vector<News>& news) {
  for (const News& n : news) n.to.call(n.to.data, n.code);
}

void Fence::signal(uint64_t value) {
  const Keep keep(*this);
  std::vector<News> known;
  {
    const std::lock_guard lock(mutex_);
    if (code_ != OPTIMA_OK && value >= poisoned_from_) return;
    value_ = std::max(value_, value);
    known = take_known();
    changed_.notify_all();
  }
  tell(known);
}

void Fence::poison(uint64_t value, int32_t code, std::string text) {
  const Keep keep(*this);
  std::vector<News> known;
  {
    const std::lock_guard lock(mutex_);
    if (code_ != OPTIMA_OK) return;
    code_ = code == OPTIMA_OK ? int32_t{OPTIMA_INTERNAL} : code;
    poisoned_from_ = value;
    text_ = std::move(text);
    known = take_known();
    changed_.notify_all();
  }
  tell(known);
}

int32_t Fence::wait(uint64_t value, uint64_t timeout_ns) {
  const Keep keep(*this);
  std::unique_lock lock(mutex_);
  if (!wait_at_most(changed_, lock, timeout_ns, [&] { return is_known(value); })) return OPTIMA_TIMEOUT;
  return code_of(value);
}

void Fence::notify(uint64_t value, void (*call)(void* data, int32_t code), void* data) {
  const Keep keep(*this);
  int32_t code = OPTIMA_OK;
  {
    const std::lock_guard lock(mutex_);
    if (!is_known(value)) return listeners_.push_back({value, call, data});
    code = code_of(value);
  }
  call(data, code);
}

std::string Fence::failure() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

namespace {

constexpr optima_fence_host kTable = {
    sizeof(optima_fence_host), 0,
    [](void*, optima_fence_point p) { (void)seam::guarded([&] { return Fence::of(p)->signal(p.value), OPTIMA_OK; }); },
    [](void*, optima_fence_point p, const optima_status* status, optima_str text) {
      (void)seam::guarded([&] { return Fence::of(p)->poison(p.value, seam::known_code(status->code), seam::text(text)), OPTIMA_OK; });
    },
    [](void*, optima_fence_point p, uint64_t timeout_ns, optima_status* status) -> int32_t {
      return seam::guarded([&]() -> int32_t {
        const int32_t code = Fence::of(p)->wait(p.value, timeout_ns);
        if (code == OPTIMA_OK) return code;
        return seam::fail(status, code, code == OPTIMA_TIMEOUT ? "the point was not reached in time" : Fence::of(p)->failure());
      });
    },
    [](void*, optima_fence_point p, void (*call)(void*, int32_t), void* data) -> int32_t {
      return seam::guarded([&] { return Fence::of(p)->notify(p.value, call, data), OPTIMA_OK; });
    },
    [](void*, optima_fence_point, int32_t*, optima_status* status) -> int32_t {
      return seam::fail(status, OPTIMA_UNSUPPORTED, "fences of this host live in its memory and have no sync file");
    },
    [](void*, optima_fence* f) { Fence::of({f, 0})->retain(); },
    [](void*, optima_fence* f) { Fence::of({f, 0})->release(); }};

}  // namespace

const void* host_extension(std::string_view id) { return id == OPTIMA_EXT_FENCE ? &kTable : nullptr; }

}  // namespace optima
