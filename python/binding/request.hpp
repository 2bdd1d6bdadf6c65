// SPDX-License-Identifier: Apache-2.0
// python/binding: requests, which run without Python's lock and keep the tensors that they read and write.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "python/binding/tensor.hpp"

namespace optima::python {

/// Destroyed without Python's lock: what it waits for may want that lock.
template <class T>
class Unlocked {
 public:
  explicit Unlocked(T value) : value_(std::move(value)) {}
  Unlocked(Unlocked&&) = default;
  ~Unlocked() {
    if (!value_) return;
    const nb::gil_scoped_release unlocked;
    value_.reset();
  }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }

 private:
  std::optional<T> value_;
};

/// One execution state of a model. Every function wants Python's lock. One call at a time, but for wait and cancel: a second one throws
/// rt::Error USAGE, and so does any but these while a started run is under way.
class Request {
 public:
  /// `inputs`: their names, for sentences.
  Request(rt::InferRequest request, std::vector<std::string> inputs);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Cancels a run under way and waits for it; in a callback a thread does that.
  ~Request();

  /// `tensor`: a Tensor, kept until the input is set again or dropped.
  void set_input(uint32_t index, nb::object tensor);
  /// Forgets the tensors that inputs were set to. The runtime still has their addresses, so runs throw until each is set again.
  void drop_inputs();
  void set_output(uint32_t index, nb::object tensor);
  /// Later runs write the output to the request's own memory again.
  void drop_output(uint32_t index);
  /// A Tensor with the bytes of an output: the one that it was bound to, else a copy, for the request's own memory is used again.
  nb::object output(uint32_t index);

  void run();
  void start();
  /// False after `seconds` without an end; negative = no limit. Signals are served while waiting.
  bool wait(double seconds);
  void cancel();
  void set_deadline(double seconds);
  /// callable(code, text), code 0 after a success; None = none.
  void set_callback(nb::object callback);
  void tie(uint32_t output, uint32_t input);
  void reset();
  void set_profiling(bool on);
  std::vector<rt::ProfileEvent> profile();

  /// Cancels what is under way, everywhere, and waits for it; later starts throw. Called once, before Python ends.
  static void shut_down();

 private:
  struct Done;
  class Use;
  void check_inputs() const;
  std::vector<std::string> names_;
  std::set<uint32_t> dropped_;
  std::map<uint32_t, nb::object> inputs_, outputs_;
  std::shared_ptr<Done> done_;
  std::unique_ptr<rt::InferRequest> request_;
  int in_use_ = 0, starting_ = 0;  // calls: those of a callback may end behind the start that they came out of
  bool started_ = false;
};

void bind_request(nb::module_& m);

/// False once Python is about to end: threads of the runtime leave it alone then.
bool python_is_there();

}  // namespace optima::python
