// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: legs that are kept by what they were made for: shapes of inputs, or what the leg before left.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "plugins/llvm_cpu/fit/fitter.hpp"

namespace optima::llvm_cpu {

/// A leg with its code, constants and pointers.
class ReadyLeg;

class KeptLegs {
 public:
  /// Makes a leg one for something else; false, or an exception: it is of no use any more.
  using Move = std::function<bool(ReadyLeg&)>;
  using Make = std::function<std::unique_ptr<ReadyLeg>(Fitter::Keep)>;

  /// `most` legs are kept.
  explicit KeptLegs(size_t most);
  ~KeptLegs();

  /// The leg of this key: one that is kept, or one that is moved to it, or one that is made now. It is about to be run.
  ReadyLeg& get(const std::string& key, const Move& move, const Make& make);
  /// The same of a leg that is only looked at.
  ReadyLeg& look_at(const std::string& key, const Move& move, const Make& make);
  /// None of the keys is asked for again: leaves the latest leg, which may be moved.
  void outlive_keys();

 private:
  struct Kept {
    std::string key;
    std::unique_ptr<ReadyLeg> leg;
    bool was_run = false, is_wanted = false;  ///< run once; run more than once
  };
  void add(const std::string& key, const Make& make);
  bool move_one(const std::string& key, const Move& move);
  bool move_that(std::list<Kept>::iterator from, const std::string& key, const Move& move);

  size_t most_;
  std::list<Kept> legs_;          // latest first
  int unmoved_ = 0;               // legs in a row that cannot be moved
  std::list<size_t> moved_away_;  // hashes of keys of legs that were moved to others, latest first
};

}  // namespace optima::llvm_cpu
