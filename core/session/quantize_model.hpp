// SPDX-License-Identifier: Apache-2.0
// core/session: the story of `quantize` and of `compile --precision`: precisions, data, the QDQ graph, and which device takes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/compile/calibration.hpp"
#include "core/compile/compile.hpp"
#include "core/quantize/quantize.hpp"
#include "core/samples/samples.hpp"
#include "core/session/bound.hpp"
#include "core/session/precisions.hpp"

namespace optima {

struct QuantizeSettings {
  std::vector<PrecisionOption> precisions;   ///< besides what the allocation says
  std::string calib;                         ///< representative data: a form of docs/quantization.md#data; empty = none
  SampleOptions samples;
  std::string encodings;                     ///< a file that wins over what is observed; empty = none
  Scheme scheme = Scheme::Shared;
  RangeChoice range;
  std::optional<Bound> bound;
  bool smooth = true;                        ///< divide loud channels of a transformer; not for encodings in a format that cannot state it
  uint64_t memory = uint64_t{512} << 20;     ///< bytes of tapped tensors at once
  int64_t threads = 0;                       ///< 0 = all
  bool on_devices = true;                    ///< the graph will be compiled: units that no device takes matter; false = it is written to a file
  std::shared_ptr<CalibrationSource> calibration;  ///< gets encodings and data, for backends that quantize themselves; may be null
  std::function<void(const std::string&)> note;  ///< told what its user should know; may be empty
  ProgressReport progress;
  const std::atomic<bool>* cancelled = nullptr;
};

/// Makes a QDQ graph of the graph that load_source() gave and says per node what it is computed in and why. Nodes are as they were where nobody
/// asks for another precision than float, and where the model is quantized already and no data is given. Gives the encodings, empty then.
///
/// - Where an option names a device, the model is planned in float first, and every node rather stays where that plan has it.
/// - Of nodes on a device whose kind's note says `quantizes: all` every float tensor becomes codes. Which nodes those are the plan in float says.
/// - A unit in precision auto that its device refuses becomes float there, and its nodes say why.
/// - With a bound, as many units stay float as it takes: quantize_within().
///
/// InvalidInput: precisions that want data without any (who wants which), data or encodings that are wrong. Else as plan_loaded(), observe_model().
Result<Encodings> quantize_model(const PlanRequest& request, Planned& loaded, const QuantizeSettings& settings, Registry& registry);

}  // namespace optima
