// SPDX-License-Identifier: Apache-2.0
#include "python/binding/request.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <utility>

#include "python/binding/reaper.hpp"

namespace optima::python {
namespace {

using std::chrono::milliseconds;

constexpr double kLook = 0.1;  // seconds between two looks for Ctrl-C

std::atomic<bool> closing = false;
bool ending_runs = false;  // shut_down() is at it; Python's lock guards this
std::set<Request*>& requests() {  // all there are; Python's lock guards it
  static auto* all = new std::set<Request*>;
  return *all;
}

thread_local const void* calling_back = nullptr;  // whose callback this thread is in
struct InCallback {
  explicit InCallback(const void* whose) { calling_back = whose; }
  ~InCallback() { calling_back = nullptr; }
};

[[noreturn]] void misuse(const char* what) { throw rt::Error(OPTIMA_RT_USAGE, what); }

milliseconds in_ms(double seconds) {
  constexpr double kMost = 1e12;  // 30 years, and far from overflow
  return milliseconds(static_cast<int64_t>(std::ceil(std::min(seconds * 1000, kMost))));
}

}  // namespace

bool python_is_there() { return !closing; }

/// What a run's end calls. Shared with the request's callback, which may outlive the request by the thread that reaps it.
struct Request::Done {
  nb::object callable;

  void operator()(const std::optional<rt::Error>& error) {
    if (!python_is_there()) return;
    const nb::gil_scoped_acquire lock;
    const InCallback here(this);
    const nb::object f = callable;
    if (!f.is_valid() || f.is_none()) return;
    try {
      f(error ? error->code() : 0, error ? error->what() : "");
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable(f);
    }
  }
};

/// One call at a time. A run may be over, and call back, before the call that started it has returned.
class Request::Use {
 public:
  explicit Use(Request& r) : request_(r) {
    const bool just_started = r.starting_ && calling_back == r.done_.get();
    if (r.in_use_ && !just_started) misuse("the request is in use by another thread, wanted one request for each");
    if (r.started_) {
      r.started_ = still_running(r);
      if (r.started_) misuse("the request is running, wanted an idle one");
    }
    ++r.in_use_;
  }
  ~Use() { --request_.in_use_; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  static bool still_running(Request& r) {
    try {
      return !r.request_->wait(milliseconds(0));
    } catch (const rt::Error&) {  // how it ended is for those who wait
      return false;
    }
  }
  Request& request_;
};

Request::Request(rt::InferRequest request, std::vector<std::string> inputs)
    : names_(std::move(inputs)), done_(std::make_shared<Done>()), request_(std::make_unique<rt::InferRequest>(std::move(request))) {
  requests().insert(this);
}

Request::~Request() {
  requests().erase(this);
  done_->callable.reset();
  if (ending_runs) {  // a daemon thread lets go of what shut_down() is looking at: the process frees it
    (void)request_.release();
    (void)new auto(std::pair(std::move(inputs_), std::move(outputs_)));
    return;
  }
  if (calling_back) {
    reaper().take(std::move(request_), std::move(inputs_), std::move(outputs_));
    return;
  }
  const nb::gil_scoped_release unlocked;
  request_.reset();
}

void Request::set_input(uint32_t index, nb::object tensor) {
  const Use use(*this);
  request_->setInputTensor(index, nb::cast<const Tensor&>(tensor).get());
  inputs_[index] = std::move(tensor);
  dropped_.erase(index);
}

void Request::drop_inputs() {
  const Use use(*this);
  for (const auto& [index, tensor] : inputs_) dropped_.insert(index);
  inputs_.clear();
}

void Request::check_inputs() const {
  if (!dropped_.empty()) throw rt::Error(OPTIMA_RT_INVALID_INPUT, ("input '" + names_[*dropped_.begin()] + "' is not set").c_str());
}

void Request::set_output(uint32_t index, nb::object tensor) {
  const Use use(*this);
  Tensor& t = nb::cast<Tensor&>(tensor);
  if (!t.writable()) misuse("an output cannot be bound to an array that may not be written to");
  request_->setOutputTensor(index, t.get());
  outputs_[index] = std::move(tensor);
}

void Request::drop_output(uint32_t index) {
  const Use use(*this);
  rt::Tensor none;
  request_->setOutputTensor(index, none);
  outputs_.erase(index);
}

nb::object Request::output(uint32_t index) {
  const Use use(*this);
  const rt::Tensor lent = request_->getOutputTensor(index);
  const auto bound = outputs_.find(index);
  if (bound != outputs_.end() && nb::cast<const Tensor&>(bound->second).get().getBuffer() == lent.getBuffer() &&
      nb::cast<const Tensor&>(bound->second).get().shape() == lent.shape())
    return bound->second;
  Tensor copy(lent.type(), lent.shape());
  if (lent.size() > 0) std::memcpy(copy.get().getBuffer(), lent.getBuffer(), lent.size());
  return nb::cast(std::move(copy));
}

void Request::run() {
  const Use use(*this);
  check_inputs();
  const nb::gil_scoped_release unlocked;
  request_->run();
}

void Request::start() {
  const Use use(*this);
  check_inputs();
  if (closing) misuse("Python is ending, so no run can be started");
  started_ = true;
  struct Starting {
    int& count;
    explicit Starting(int& c) : count(c) { ++count; }
    ~Starting() { --count; }
  } starting(starting_);
  const nb::gil_scoped_release unlocked;
  request_->infer();
}

bool Request::wait(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const double left = seconds < 0 ? kLook : seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    {
      const nb::gil_scoped_release unlocked;
      if (request_->wait(in_ms(std::clamp(left, 0.0, kLook)))) return true;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (seconds >= 0 && left <= kLook) return false;
  }
}

void Request::cancel() { request_->cancel(); }

void Request::set_deadline(double seconds) {
  const Use use(*this);
  request_->setDeadline(in_ms(std::max(seconds, 0.0)));
}

void Request::set_callback(nb::object callback) {
  const Use use(*this);
  done_->callable = std::move(callback);
  if (done_->callable.is_none()) return request_->setCallback({});
  request_->setCallback([done = done_](const std::optional<rt::Error>& error) { (*done)(error); });
}

void Request::tie(uint32_t output, uint32_t input) {
  const Use use(*this);
  request_->tieOutput(output, input);
}

void Request::reset() {
  const Use use(*this);
  const nb::gil_scoped_release unlocked;
  request_->reset();
}

void Request::set_profiling(bool on) {
  const Use use(*this);
  request_->setProfiling(on);
}

std::vector<rt::ProfileEvent> Request::profile() {
  const Use use(*this);
  return request_->getProfileData();
}

void Request::shut_down() {
  closing = true;
  ending_runs = true;
  std::vector<std::pair<rt::InferRequest*, bool>> all;
  for (const Request* r : requests()) all.emplace_back(r->request_.get(), r->started_);
  {
    const nb::gil_scoped_release unlocked;
    for (const auto& [request, started] : all) request->cancel();
    for (const auto& [request, started] : all) {
      try {
        if (started) request->wait();
      } catch (const rt::Error&) {  // cancelled, or failed: nobody asks any more
      }
    }
    reaper().wait();
  }
  ending_runs = false;
}

void bind_request(nb::module_& m) {
  nb::class_<Request>(m, "Request", "One execution state of a model: one call at a time, but for wait and cancel.")
      .def("set_input", &Request::set_input, nb::arg("index"), nb::arg("tensor"))
      .def("drop_inputs", &Request::drop_inputs)
      .def("set_output", &Request::set_output, nb::arg("index"), nb::arg("tensor"))
      .def("drop_output", &Request::drop_output, nb::arg("index"))
      .def("output", &Request::output, nb::arg("index"), nb::sig("def output(self, index: int) -> Tensor"))
      .def("run", &Request::run)
      .def("start", &Request::start)
      .def("wait", &Request::wait, nb::arg("seconds"))
      .def("cancel", &Request::cancel)
      .def("set_deadline", &Request::set_deadline, nb::arg("seconds"))
      .def("set_callback", &Request::set_callback, nb::arg("callback").none())
      .def("tie", &Request::tie, nb::arg("output"), nb::arg("input"))
      .def("reset", &Request::reset)
      .def("set_profiling", &Request::set_profiling, nb::arg("on"))
      .def("profile", &Request::profile);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&Request::shut_down));
}

}  // namespace optima::python
