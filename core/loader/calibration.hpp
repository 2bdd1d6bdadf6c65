// SPDX-License-Identifier: Apache-2.0
// core/loader: a job's calibration as it crosses the seam.
#pragma once

#include <map>
#include <mutex>
#include <thread>

#include "core/backend/calibration.hpp"
#include "core/loader/seam.hpp"

namespace optima {

/// The calibration of one compile request. Callbacks from any thread until the destructor.
class LentCalibration {
 public:
  /// `from`: or null, which is none. `graph`: the request's. Both outlive this.
  LentCalibration(const Calibration* from, const optima_graph& graph);
  LentCalibration(const LentCalibration&) = delete;
  LentCalibration& operator=(const LentCalibration&) = delete;
  const optima_calibration* raw() const { return from_ ? &raw_ : nullptr; }
  /// The first sample that could not be read, whatever the plugin made of it. A value that nobody can compute is no failure.
  Status failure() const;

 private:
  int32_t read(uint32_t sample, uint32_t value, SampleValue& out, optima_status* status);
  int32_t encoding(uint32_t value, const optima_encoding** out, optima_status* status);
  int32_t has_value(uint32_t value, optima_status* status) const;
  std::string name(uint32_t value) const;

  const Calibration* from_;
  const optima_graph& graph_;
  optima_calibration raw_{};
  mutable std::mutex mutex_;
  Status failure_;
  std::map<std::thread::id, SampleValue> last_;  // of each thread's last read; node addresses are stable
  std::map<uint32_t, optima_encoding> encodings_;
};

}  // namespace optima
