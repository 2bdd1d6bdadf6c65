// SPDX-License-Identifier: Apache-2.0
// core/loader: walks a path as the kernel does, one name after another, and looks at each.
#include "core/loader/trust.hpp"

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
    if (lstat("/", &root_) != 0) return unreadable("/");
    enter("/", root_);
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
    if (S_ISDIR(s.st_mode)) return enter(next, s), Status();
    // What stands in an open folder anybody replaces, in a sticky one its owner alone.
    const bool open = folder_mode_ & S_IWOTH;
    if (open && !(folder_mode_ & S_ISVTX)) return open_to_all(place(folder_));
    if (!S_ISLNK(s.st_mode)) return file(s);
    // Nobody changes a link, so its owner matters only where he may put another in its place.
    return open && !trusted(s.st_uid) ? owned_by(s.st_uid, cat("lies behind the link ", quote(next), ", which ")) : follow(next);
  }

  void enter(const std::string& folder, const struct stat& s) { folder_ = folder, folder_mode_ = s.st_mode, folder_owner_ = s.st_uid; }

  Status file(const struct stat& s) const {
    if (!trusted(s.st_uid)) return owned_by(s.st_uid, "");
    if (!trusted(folder_owner_)) return owned_by(folder_owner_, place(folder_));
    return s.st_mode & S_IWOTH ? open_to_all("") : Status();
  }

  Status owned_by(uid_t owner, const std::string& what) const {
    return plugin_error(cat(what, "belongs to user ", owner, ", wanted root or user ", user_, ", who runs this program (chown it)"));
  }

  Status follow(const std::string& link) {
    if (++links_ > kMostLinks) return plugin_error(cat("leads over more than ", kMostLinks, " links"));
    std::error_code error;
    const fs::path to = fs::read_symlink(link, error);
    if (error) return plugin_error(cat(quote(link), ": ", error.message()));
    if (to.is_absolute()) enter("/", root_);
    put_in_front(to.string());
    return {};
  }

  void put_in_front(const std::string& path) {
    std::list<std::string> names;
    for (const fs::path& name : fs::path(path).relative_path()) names.push_back(name.string());
    rest_.splice(rest_.begin(), names);
  }

  bool trusted(uid_t owner) const { return owner == 0 || owner == user_ || owner == root_.st_uid; }
  static Status open_to_all(const std::string& what) { return plugin_error(cat(what, "is writable by everybody (chmod o-w it)")); }
  std::string place(const std::string& folder) const { return cat("lies", links_ ? ", behind a link," : "", " in the folder ", quote(folder), ", which "); }
  static Status unreadable(const std::string& path) { return plugin_error(cat(quote(path), ": ", std::strerror(errno))); }

  const uid_t user_;
  struct stat root_{};
  std::string folder_;  // without links
  mode_t folder_mode_ = 0;
  uid_t folder_owner_ = 0;
  std::list<std::string> rest_;
  int links_ = 0;
};

}  // namespace

Status only_trusted_write(const std::string& path, uid_t user) { return Walk(user).run(path); }

}  // namespace optima
