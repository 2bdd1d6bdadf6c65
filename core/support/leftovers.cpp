// SPDX-License-Identifier: Apache-2.0
#include "core/support/leftovers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace optima {

struct Leftover::Entry {
  const Kind kind;
  const std::string path;
  Entry* next = nullptr;
  std::atomic<bool> wanted = true;
};

namespace {

constinit std::atomic<bool> kept = false;
constinit std::atomic<Leftover::Entry*> newest = nullptr;

constexpr int kDeepest = 32, kMostTries = 50, kPauseMs = 2;

// The kernel's record of a folder's entry (getdents64(2)): opendir() would allocate.
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];  // and more
};

bool is_entry(const char* name) { return std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0; }

int open_folder(int at, const char* name) { return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

void empty_folder(int folder, int depth);

void remove_entry(int folder, const char* name, int depth) {
  if (::unlinkat(folder, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  if (const int below = depth < kDeepest ? open_folder(folder, name) : -1; below >= 0) {
    empty_folder(below, depth);
    ::close(below);
  }
  ::unlinkat(folder, name, AT_REMOVEDIR);
}

// Memory of its own for each depth: the stack of a signal handler is small.
void empty_folder(int folder, int depth) {
  alignas(DirectoryEntry) static char buffers[kDeepest][2048];
  char* const entries = buffers[depth];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder, entries, sizeof buffers[depth]);
    if (size <= 0) return;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      if (is_entry(entry->name)) remove_entry(folder, entry->name, depth + 1);
      at += entry->size;
    }
  }
}

bool remove_tree(const char* path) {
  const int folder = open_folder(AT_FDCWD, path);
  if (folder < 0) return true;  // gone, or not ours to look into
  empty_folder(folder, 0);
  ::close(folder);
  return ::rmdir(path) == 0 || errno != ENOTEMPTY;
}

void remove_one(const Leftover::Entry& entry) {
  const char* path = entry.path.c_str();
  if (entry.kind == Leftover::Kind::File) (void)::unlink(path);
  if (entry.kind == Leftover::Kind::EmptyFolder) (void)::rmdir(path);
  if (entry.kind != Leftover::Kind::Tree) return;
  for (int i = 0; i < kMostTries && !remove_tree(path); ++i) (void)::poll(nullptr, 0, kPauseMs);
}

}  // namespace

Leftover::Leftover(Kind kind, std::string_view path) {
  if (!kept.load(std::memory_order_relaxed)) return;
  entry_ = new Entry{kind, std::string(path)};
  entry_->next = newest.load();
  while (!newest.compare_exchange_weak(entry_->next, entry_)) {}
}

void Leftover::forget() {
  if (entry_) entry_->wanted = false;
  entry_ = nullptr;
}

void keep_leftovers() { kept = true; }

void remove_leftovers() {
  for (const Leftover::Entry* entry = newest; entry; entry = entry->next)
    if (entry->wanted) remove_one(*entry);
}

}  // namespace optima
