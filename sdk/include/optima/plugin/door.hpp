// SPDX-License-Identifier: Apache-2.0
// optima/plugin/door.hpp: how tensors lie where they go from one subgraph to another (optima/ext/door.h).
#pragma once

#include <memory>

#include "optima/ext/door.h"
#include "optima/plugin/graph.hpp"
#include "optima/plugin/host.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// optima_door with its arrays owned. Doors are the same when all members are equal.
struct Door {
  int32_t dtype = OPTIMA_UNDEFINED;    ///< as stored
  std::string layout{};                ///< "NHWC", "NCHW16c"; empty = row-major in the tensor's own order of dims. Whoever uses one name means one thing
  std::vector<int64_t> shape{};        ///< as stored, dense row-major in this order, padding included
  std::vector<float> scales{};         ///< none = the values themselves; value = (stored - zero point) * scale
  std::vector<int32_t> zero_points{};  ///< as many as scales, or none = all 0
  int32_t scale_axis = -1;             ///< of the tensor's own dims, with several scales

  Door() = default;
  Door(int32_t d, std::vector<int64_t> s, std::string l = {}) : dtype(d), layout(std::move(l)), shape(std::move(s)) {}
  explicit Door(const optima_door& from) {
    const optima_door raw = known(&from);
    dtype = raw.dtype, layout = std::string(view(raw.layout)), scale_axis = raw.scale_axis;
    if (raw.rank > 0) shape.assign(raw.shape, raw.shape + raw.rank);
    if (raw.scale_count) scales.assign(raw.scales, raw.scales + raw.scale_count);
    if (raw.scale_count && raw.zero_points) zero_points.assign(raw.zero_points, raw.zero_points + raw.scale_count);
  }
  /// Points into this object.
  optima_door raw() const {
    return {sizeof(optima_door), dtype, str(layout), shape.data(), static_cast<int32_t>(shape.size()), static_cast<uint32_t>(scales.size()),
            scales.data(), zero_points.empty() ? nullptr : zero_points.data(), scale_axis, 0};
  }
  friend bool operator==(const Door& a, const Door& b) {
    return a.dtype == b.dtype && a.layout == b.layout && a.shape == b.shape && a.scales == b.scales && a.zero_points == b.zero_points && a.scale_axis == b.scale_axis;
  }
};

class DoorRequest {
 public:
  explicit DoorRequest(const optima_door_request* raw) : raw_(known(raw)) {}
  const optima_door_request& raw() const { return raw_; }
  Graph graph() const { return Graph(raw_.graph); }                 ///< of the subgraph, as compile() will get it; blobs may lack data
  Value value() const { return Value(raw_.graph, raw_.value); }     ///< an output of the graph in offer_doors(), an input in takes_door()
  Device device() const { return Device(raw_.device); }
  Options options() const { return Options(raw_.options, raw_.option_count); }

 private:
  optima_door_request raw_;
};

/// Takes what offer_doors() offers, best first.
class DoorSink {
 public:
  DoorSink(optima_add_door add, void* data) : add_(add), data_(data) {}
  void operator()(const Door& door) const {
    const optima_door raw = door.raw();
    ok(add_(data_, &raw));
  }

 private:
  optima_add_door add_;
  void* data_;
};

/// optima.door/1, for compilers.
class Doors {
 public:
  virtual ~Doors() = default;
  /// The doors other than the usual one that compile() could make this output go through. Deterministic, cheap. [any]
  virtual void offer_doors(const DoorRequest& request, const DoorSink& offer) = 0;
  /// Whether compile() would rather take this input in through this door than through the usual one. Deterministic, cheap. [any]
  virtual bool takes_door(const DoorRequest& request, const Door& door) = 0;
};

}  // namespace v0_1
}  // namespace optima::sdk
