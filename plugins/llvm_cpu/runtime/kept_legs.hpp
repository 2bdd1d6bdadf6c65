// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: legs that are kept by the ways that led to them: shapes of inputs, and what the legs before left.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/fit/fitter.hpp"

namespace optima::llvm_cpu {

/// A leg with its code, constants and pointers.
class ReadyLeg;

/// All that led to a leg from the inputs' shapes on, and these as one key.
struct Way {
  std::string key;
  std::vector<Fitter::Found> given;
};

class KeptLegs {
 public:
  /// Way::given of the key that is asked for.
  using Given = std::function<std::vector<Fitter::Found>()>;
  using Make = std::function<std::unique_ptr<ReadyLeg>(Way, Fitter::Keep)>;

  /// `most` legs are kept.
  explicit KeptLegs(size_t most);
  ~KeptLegs();

  /// The leg of this key, which becomes the latest: one that is kept, or one that is moved to it, or one that is made now.
  ReadyLeg& get(std::string key, const Given& given, const Make& make);
  /// The latest leg is about to be run.
  void note_run();
  /// None of the keys is asked for again: leaves the latest leg, which may be moved.
  void outlive_keys();

 private:
  struct Kept {
    std::unique_ptr<ReadyLeg> leg;
    bool was_run = false, is_wanted = false;  ///< run once; run more than once
  };
  void add(Way way, const Make& make);
  bool move_one(const Way& way);
  bool move(std::list<Kept>::iterator from, const Way& way);

  size_t most_;
  std::list<Kept> legs_;          // latest first
  int unmoved_ = 0;               // legs in a row that cannot be moved
  std::list<size_t> moved_away_;  // hashes of keys of legs that were moved to others, latest first
};

}  // namespace optima::llvm_cpu
