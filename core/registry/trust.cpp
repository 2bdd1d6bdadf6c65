// SPDX-License-Identifier: Apache-2.0
// core/registry: walks a path as the kernel does, one name after another, and looks at each.
#include "core/registry/trust.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <list>

#include "core/support/text.hpp"

namespace optima {

namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as the kernel follows

class Walk {
 public:
  explicit Walk(uid_t user) : user_(user) {}

  Status run(const std::string& path) {
    struct stat root{};
    if (lstat("/", &root) != 0) return unreadable("/");
    owner_of_root_ = folder_owner_ = root.st_uid, mode_ = root.st_mode;
    put_in_front(path);
    while (!rest_.empty()) {
      const std::string name = rest_.front();
      rest_.pop_front();
      OPTIMA_RETURN_IF_ERROR(step(name));
    }
    return {};
  }

 private:
  Status step(const std::string& name) {
    if (name == "." || name.empty()) return {};
    const std::string next = name == ".." ? fs::path(folder_).parent_path().string() : (fs::path(folder_) / name).string();
    struct stat s{};
    if (lstat(next.c_str(), &s) != 0) return unreadable(next);
    const bool open = name != ".." && (mode_ & S_IWOTH), sticky = mode_ & S_ISVTX;
    if (open && !sticky && !S_ISDIR(s.st_mode)) return plugin_error(cat(place(folder_), "is writable by everybody (chmod o-w it)"));
    // Nobody changes a link, so its owner matters only where he may put another in its place.
    if (S_ISLNK(s.st_mode)) return open && !trusted(s.st_uid) ? owned_by(s.st_uid, cat("lies behind the link ", quote(next), ", which ")) : follow(next);
    if (!S_ISDIR(s.st_mode)) return file(s);
    folder_ = next, mode_ = s.st_mode, folder_owner_ = s.st_uid;
    return {};
  }

  Status file(const struct stat& s) const {
    if (!trusted(s.st_uid)) return owned_by(s.st_uid, "");
    if (!trusted(folder_owner_)) return owned_by(folder_owner_, place(folder_));
    return s.st_mode & S_IWOTH ? plugin_error("is writable by everybody (chmod o-w it)") : Status();
  }

  Status owned_by(uid_t owner, const std::string& what) const {
    return plugin_error(cat(what, "belongs to user ", owner, ", wanted root or user ", user_, ", who runs this program (chown it)"));
  }

  Status follow(const std::string& link) {
    if (++links_ > kMostLinks) return plugin_error(cat("leads over more than ", kMostLinks, " links"));
    std::error_code error;
    const fs::path to = fs::read_symlink(link, error);
    if (error) return plugin_error(cat(quote(link), ": ", error.message()));
    if (to.is_absolute()) folder_ = "/";
    put_in_front(to.string());
    if (!to.is_absolute()) return {};
    struct stat root{};
    if (lstat("/", &root) != 0) return unreadable("/");
    mode_ = root.st_mode, folder_owner_ = root.st_uid;
    return {};
  }

  void put_in_front(const std::string& path) {
    std::list<std::string> names;
    for (const fs::path& name : fs::path(path).relative_path()) names.push_back(name.string());
    rest_.splice(rest_.begin(), names);
  }

  bool trusted(uid_t owner) const { return owner == 0 || owner == user_ || owner == owner_of_root_; }
  std::string place(const std::string& folder) const { return cat("lies", links_ ? ", behind a link," : "", " in the folder ", quote(folder), ", which "); }
  static Status unreadable(const std::string& path) { return plugin_error(cat(quote(path), ": ", std::strerror(errno))); }

  const uid_t user_;
  uid_t owner_of_root_ = 0, folder_owner_ = 0;  // folder_owner_: of folder_
  std::string folder_ = "/";  // without links
  mode_t mode_ = 0;           // of folder_
  std::list<std::string> rest_;
  int links_ = 0;
};

}  // namespace

Status only_trusted_write(const std::string& path, uid_t user) { return Walk(user).run(path); }

}  // namespace optima
