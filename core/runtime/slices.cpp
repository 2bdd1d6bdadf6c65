// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/slices.hpp"

#include <algorithm>
#include <cstring>

#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

Result<size_t> position(const FlowScan& scan, size_t rank, std::span<const int64_t> dims) {
  if (const std::optional<size_t> found = axis_of(scan, rank)) return *found;
  const auto r = static_cast<int64_t>(rank);
  return invalid_input(cat("scan axis ", scan.axis, " found for shape ", shape_text(dims), ", wanted ", -r, " to ", r - 1));
}

uint64_t product(std::span<const int64_t> dims) {
  uint64_t out = 1;
  for (const int64_t d : dims) out *= static_cast<uint64_t>(d);
  return out;
}

Status make_room(Buffer& room, uint64_t bytes) {
  return room.reserve(bytes, 64) ? Status() : io_error(cat("no memory for ", human_bytes(bytes)));
}

}  // namespace

Result<Slicer> Slicer::over(const TensorView& tensor, int32_t dtype, const FlowScan& scan) {
  Slicer out;
  OPTIMA_ASSIGN(const size_t at, position(scan, tensor.dims.size(), tensor.dims));
  if (!has_whole_bytes(dtype)) return invalid_input(cat("a scan input of type ", dtype_name(dtype), ", wanted elements of whole bytes"));
  out.tensor_ = tensor;
  out.length_ = tensor.dims[at];
  out.outer_ = product(tensor.dims.first(at));
  out.inner_ = product(tensor.dims.subspan(at + 1)) * (optima_dtype_bits(dtype) / 8);
  out.dims_.assign(tensor.dims.begin(), tensor.dims.end());
  out.dims_.erase(out.dims_.begin() + static_cast<std::ptrdiff_t>(at));
  return out;
}

Result<TensorView> Slicer::slice(int64_t at, Buffer& room) const {
  if (tensor_.bytes.empty()) return TensorView{{}, dims_};  // the other dims may then be any numbers
  const uint64_t offset = static_cast<uint64_t>(at) * inner_, stride = static_cast<uint64_t>(length_) * inner_;
  if (outer_ <= 1) return TensorView{tensor_.bytes.subspan(offset, outer_ * inner_), dims_};
  OPTIMA_RETURN_IF_ERROR(make_room(room, outer_ * inner_));
  if (inner_)
    for (uint64_t o = 0; o < outer_; ++o) std::memcpy(room.data() + o * inner_, tensor_.bytes.data() + o * stride + offset, inner_);
  return TensorView{{room.data(), outer_ * inner_}, dims_};
}

Result<Assembly> assemble(std::span<const std::byte> pieces, std::span<const int64_t> dims, int64_t count, const FlowScan& scan, Buffer& room) {
  OPTIMA_ASSIGN(const size_t at, position(scan, dims.size() + 1, dims));
  Assembly out{pieces, {dims.begin(), dims.end()}};
  out.dims.insert(out.dims.begin() + static_cast<std::ptrdiff_t>(at), count);
  const uint64_t outer = product(dims.first(at)), n = static_cast<uint64_t>(count);
  if (pieces.empty() || (outer == 1 && !scan.backward)) return out;
  OPTIMA_RETURN_IF_ERROR(make_room(room, pieces.size()));
  const uint64_t inner = pieces.size() / (outer * n);
  for (uint64_t t = 0; t < n; ++t)
    for (uint64_t o = 0; o < outer; ++o)
      std::memcpy(room.data() + (o * n + (scan.backward ? n - 1 - t : t)) * inner, pieces.data() + (t * outer + o) * inner, inner);
  out.bytes = {room.data(), pieces.size()};
  return out;
}

}  // namespace optima
