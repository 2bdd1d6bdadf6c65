// SPDX-License-Identifier: Apache-2.0
#include "core/loader/calibration.hpp"

#include "core/support/text.hpp"
#include "optima/image.hpp"

namespace optima {

namespace {

int32_t code_of(const Status& status) {
  switch (status.kind()) {
    case StatusKind::Io: return OPTIMA_IO;
    case StatusKind::Cancelled: return OPTIMA_CANCELLED;
    default: return OPTIMA_INTERNAL;
  }
}

}  // namespace

LentCalibration::LentCalibration(const Calibration* from, const optima_graph& graph) : from_(from), graph_(graph) {
  raw_.struct_size = sizeof raw_;
  raw_.sample_count = from ? from->samples() : 0;
  raw_.host_data = this;
  raw_.read = [](void* self, uint32_t sample, uint32_t value, const void** data, uint64_t* size, const int64_t** dims, uint32_t* rank,
                 optima_status* status) -> int32_t {
    return seam::guarded([&]() -> int32_t {
      auto& lent = *static_cast<LentCalibration*>(self);
      SampleValue read;
      if (const int32_t code = lent.read(sample, value, read, status); code != OPTIMA_OK) return code;
      const std::lock_guard lock(lent.mutex_);
      SampleValue& kept = lent.last_[std::this_thread::get_id()];
      kept = std::move(read);
      *data = kept.bytes.data, *size = kept.bytes.size, *dims = kept.shape.data(), *rank = static_cast<uint32_t>(kept.shape.size());
      return OPTIMA_OK;
    });
  };
  raw_.encoding = [](void* self, uint32_t value, const optima_encoding** out, optima_status* status) -> int32_t {
    return seam::guarded([&] { return static_cast<LentCalibration*>(self)->encoding(value, out, status); });
  };
}

Status LentCalibration::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

int32_t LentCalibration::read(uint32_t sample, uint32_t value, SampleValue& out, optima_status* status) {
  if (sample >= raw_.sample_count) return seam::fail(status, OPTIMA_INVALID_ARGUMENT, cat("there is no sample ", sample, " among ", raw_.sample_count));
  if (const int32_t code = has_value(value, status); code != OPTIMA_OK) return code;
  Result<std::optional<SampleValue>> found = from_->read(sample, value);
  if (found.ok() && *found) return out = std::move(**found), OPTIMA_OK;
  if (found.ok()) return seam::fail(status, OPTIMA_NOT_FOUND, cat("value ", name(value), " cannot be computed from sample ", sample));
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = found.status();
  }
  return seam::fail(status, code_of(found.status()), found.status().message());
}

int32_t LentCalibration::encoding(uint32_t value, const optima_encoding** out, optima_status* status) {
  if (const int32_t code = has_value(value, status); code != OPTIMA_OK) return code;
  const std::optional<ValueCodes> found = from_->encoding(value);
  if (!found) return seam::fail(status, OPTIMA_NOT_FOUND, cat("value ", name(value), " has no encoding"));
  const std::lock_guard lock(mutex_);
  optima_encoding& kept = encodings_[value];
  kept.struct_size = sizeof kept;
  kept.dtype = found->dtype;
  kept.axis = found->axis;
  kept.scale_count = static_cast<uint32_t>(found->scales.size());
  kept.block = found->block;
  kept.scales = found->scales.data();
  kept.zero_points = found->zero_points.data();
  *out = &kept;
  return OPTIMA_OK;
}

int32_t LentCalibration::has_value(uint32_t value, optima_status* status) const {
  const uint32_t count = optima_get_graph(graph_.image, 0)->values.count;
  if (value < count) return OPTIMA_OK;
  return seam::fail(status, OPTIMA_INVALID_ARGUMENT, cat("there is no value ", value, " among the graph's ", count));
}

std::string LentCalibration::name(uint32_t value) const {
  return quote(seam::text(optima_string(graph_.image, &optima_get_value(graph_.image, value)->name), 256));
}

}  // namespace optima
