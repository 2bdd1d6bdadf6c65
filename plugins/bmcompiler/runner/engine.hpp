// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner, in the process that runs: one of SOPHON's runtimes behind one door. What fails is a Failure; the runtimes also
// throw what they like, and abort.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace runner {

struct Failure {
  std::string code, text;  ///< as words.hpp has them
};

/// Bits of an element of a bmodel's type number (BM_FLOAT32 = 0, …); 0 = not known.
inline uint32_t bits_of(int type) {
  constexpr uint32_t bits[] = {32, 16, 8, 8, 16, 16, 32, 32, 16, 4, 4};
  return type >= 0 && type < 11 ? bits[type] : 0;
}

/// A tensor of a call, dense, in memory of this process.
struct Plane {
  std::string name;
  int type = 0;
  std::vector<int64_t> dims;
  std::string bytes;  ///< of an output: as many as it wants, filled by run()

  /// Bytes that its type and dims want; Failure for numbers that no tensor has.
  uint64_t size() const;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Chips of the devices that are there, "" where one is not known.
  virtual std::vector<std::string> devices() = 0;
  virtual void open(const std::string& model) = 0;
  /// `net` empty = the only one.
  virtual void run(const std::string& net, std::vector<Plane>& inputs, std::vector<Plane>& outputs) = 0;
};

/// Of libraries in `folder`. `device`: its number.
std::unique_ptr<Engine> make_bmrt(const std::string& folder, int device);
std::unique_ptr<Engine> make_tpuv7(const std::string& folder, int device);
std::unique_ptr<Engine> make_cvi(const std::string& folder);

// What the engines share.

/// A shared library, open as long as the process lives: the runtimes have threads and end badly when they are unloaded.
class Library {
 public:
  /// Failure "dependency". `global`: its names are for the libraries that come after.
  Library(const std::string& path, bool global);
  template <class F>
  F* get(const char* name) const {
    return reinterpret_cast<F*>(find(name));
  }

 private:
  void* find(const char* name) const;
  std::string path_;
  void* handle_;
};

/// What a net was compiled for.
struct Ports {
  std::vector<std::string> names;
  std::vector<int> types;
};
struct Shapes {
  std::vector<std::vector<int64_t>> inputs, outputs;
};

/// For each port the plane of its name. Failure "invalid" where they differ in names or types.
std::vector<Plane*> matched(const Ports& ports, std::vector<Plane>& planes, const char* what);
/// The first stage that takes these inputs; of a dynamic net, the smallest that holds them. Failure "invalid" names what is there.
size_t stage_for(const std::vector<Shapes>& stages, const std::vector<Plane*>& inputs, bool is_dynamic);
std::string shown(const std::vector<int64_t>& dims);
/// Takes a result in: Failure where it has other sizes than were asked for.
void take(Plane& into, const std::vector<int64_t>& dims, const char* data);

}  // namespace runner
