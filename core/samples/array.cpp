// SPDX-License-Identifier: Apache-2.0
#include "core/samples/array.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "core/support/text.hpp"
#include "core/tensor_io/text_array.hpp"

namespace optima::samples {
namespace {

constexpr uint64_t kBeginning = 4096;  // where the header of an array ends, but for the oddest

std::string array_name(const ZipMember& member) {
  constexpr std::string_view kEnding = ".npy";
  return member.name.ends_with(kEnding) ? member.name.substr(0, member.name.size() - kEnding.size()) : member.name;
}

/// The member's position; the end when there is none.
size_t position_of(const std::vector<ZipMember>& members, const std::string& name) {
  size_t at = 0;
  while (at < members.size() && array_name(members[at]) != name) ++at;
  return at;
}

/// The row of that shape; what takes a sample may write to it.
Result<Tensor> copy_of(const Tensor& all, uint64_t row, std::vector<int64_t> shape) {
  OPTIMA_ASSIGN(Tensor out, Tensor::make(all.dtype, std::move(shape)));
  std::copy_n(all.data + row * out.size, out.size, out.data);
  return out;
}

}  // namespace

Result<std::unique_ptr<Array>> Array::open_npy(const std::string& path, const TextTable* texts) {
  auto out = std::make_unique<Array>();
  OPTIMA_ASSIGN(out->file_, map_file(path));
  out->member_.packed = {out->file_.data, out->file_.size};
  out->member_.size = out->file_.size;
  out->what_ = quote(path);
  OPTIMA_RETURN_IF_ERROR(texts ? out->read_texts(*texts) : out->read_header());
  return out;
}

Result<std::unique_ptr<Array>> Array::open_npz(const std::string& path, const std::string& name, size_t index, bool only, const TextTable* texts) {
  auto out = std::make_unique<Array>();
  OPTIMA_ASSIGN(out->file_, map_file(path));
  OPTIMA_ASSIGN(const std::vector<ZipMember> members, list_zip({out->file_.data, out->file_.size}, quote(path)));
  size_t at = position_of(members, name);
  if (at == members.size() && only && members.size() == 1) at = 0;
  if (at == members.size()) at = position_of(members, cat("arr_", index));
  if (at == members.size()) {
    std::vector<std::string> names;
    for (const ZipMember& m : members) names.push_back(array_name(m));
    return invalid_input(cat(quote(path), ": has no array ", quote(name), nearest_hint(name, names), ", found ",
                             names.empty() ? "none" : plain_line(join(names))));
  }
  out->member_ = members[at];
  out->is_member_ = true;
  out->what_ = cat(quote(path), " array ", quote(members[at].name));
  OPTIMA_RETURN_IF_ERROR(texts ? out->read_texts(*texts) : out->read_header());
  return out;
}

Status Array::read_header() {
  if (!member_.is_deflated) {
    OPTIMA_ASSIGN(header_, read_npy_header(member_.packed, member_.size, what_));
    return {};
  }
  const std::vector<std::byte> beginning = unpack_beginning(member_, kBeginning);
  if (Result<NpyHeader> header = read_npy_header(beginning, member_.size, what_); header.ok()) {
    header_ = std::move(*header);
    return {};
  }
  OPTIMA_ASSIGN(const std::span<const std::byte> all, bytes());
  OPTIMA_ASSIGN(header_, read_npy_header(all, all.size(), what_));
  return {};
}

Status Array::read_texts(const TextTable& texts) {
  OPTIMA_ASSIGN(const std::span<const std::byte> all, bytes());
  OPTIMA_ASSIGN(const TextArray array, read_npy_texts(all, what_));
  OPTIMA_ASSIGN(codes_, code_tensor(array, texts));
  header_.dtype = codes_->dtype, header_.shape = codes_->shape;
  return {};
}

// The file stays mapped: what was cut off meanwhile must not be looked at.
Status Array::check_length() const {
  struct stat now {};
  if (file_.fd >= 0 && ::fstat(file_.fd, &now) == 0 && static_cast<uint64_t>(now.st_size) < file_.size)
    return invalid_input(cat(what_, ": was cut off after it was opened: found ", now.st_size, " bytes, wanted ", file_.size));
  return {};
}

Result<std::span<const std::byte>> Array::bytes() const {
  OPTIMA_RETURN_IF_ERROR(check_length());
  if (!is_member_) return member_.packed;
  std::call_once(once_, [this] {
    Result<std::span<const std::byte>> bytes = unpack(member_, room_, what_);
    unpacked_ = bytes.status();
    if (bytes.ok()) bytes_ = *bytes;
  });
  if (!unpacked_.ok()) return unpacked_;
  return bytes_;
}

Result<Tensor> Array::read() const {
  if (codes_) return copy_of(*codes_, 0, codes_->shape);
  OPTIMA_ASSIGN(const std::span<const std::byte> all, bytes());
  return read_npy(all, what_);
}

Result<Tensor> Array::read_row(uint64_t row) const {
  if (codes_) return copy_of(*codes_, row, {codes_->shape.begin() + 1, codes_->shape.end()});
  OPTIMA_ASSIGN(const std::span<const std::byte> all, bytes());
  return read_npy_row(all, header_, row);
}

}  // namespace optima::samples
