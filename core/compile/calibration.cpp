// SPDX-License-Identifier: Apache-2.0
#include "core/compile/calibration.hpp"

namespace optima::detail {

namespace {

Blob blob_of(const Tensor& t) {
  if (!t.keeper) return Blob::copy(t.data, t.size);
  Blob out;
  out.data = t.data, out.size = t.size, out.keeper = t.keeper;
  return out;
}

}  // namespace

Result<std::optional<SampleValue>> SubgraphCalibration::read(uint32_t sample, uint32_t value) const {
  const image::Value& wanted = graph_.values[value];
  const std::lock_guard lock(mutex_);
  OPTIMA_RETURN_IF_ERROR(load(sample));
  if (!values_.contains(wanted.name)) OPTIMA_RETURN_IF_ERROR(compute(wanted.name));
  const std::optional<Tensor>& found = values_[wanted.name];
  if (!found || found->dtype != wanted.dtype) return std::optional<SampleValue>();  // a value that is codes here was a float there
  return std::optional(SampleValue{blob_of(*found), found->shape});
}

std::optional<ValueCodes> SubgraphCalibration::encoding(uint32_t value) const {
  for (const auto* all : {&source_.encodings.activations, &source_.encodings.weights})
    if (const auto at = all->find(graph_.values[value].name); at != all->end()) {
      const Encoding& e = at->second;
      return ValueCodes{e.dtype, e.axis, e.block, e.scale, e.zero_point};
    }
  return std::nullopt;
}

Status SubgraphCalibration::load(uint32_t sample) const {
  if (sample_ == sample) return {};
  sample_.reset();
  values_.clear();
  OPTIMA_ASSIGN(inputs_, source_.inputs(sample));
  for (const Tensor& t : inputs_) values_[t.name] = t;
  sample_ = sample;
  return {};
}

Status SubgraphCalibration::compute(const std::string& name) const {
  std::set<std::string> wanted{name};
  for (const uint32_t v : graph_.inputs)
    if (!values_.contains(graph_.values[v].name)) wanted.insert(graph_.values[v].name);
  std::vector<Tensor> found;
  if (source_.compute) {
    OPTIMA_ASSIGN(found, source_.compute(inputs_, wanted));
  }
  for (const std::string& each : wanted) values_[each];
  for (Tensor& t : found) {
    const std::string key = t.name;
    values_[key] = std::move(t);
  }
  return {};
}

}  // namespace optima::detail
