// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the wire scan. Field numbers are those of onnx.proto.
#include "core/onnx_io/wire_scan.hpp"

#include <charconv>
#include <span>

#include "core/onnx_io/tensors.hpp"
#include "core/support/text.hpp"
#include "core/support/wire.hpp"

namespace optima::onnx_io {
namespace {

constexpr int kDeepest = 90;             // protobuf itself stops at 100 nested messages

enum class Kind { Other, Model, Graph, Node, Attribute, Tensor, Sparse, Function };

// The message a field holds, if it can hold tensors further down.
Kind child(Kind parent, uint32_t field) {
  switch (parent) {
    case Kind::Model: return field == 7 ? Kind::Graph : field == 25 ? Kind::Function : Kind::Other;
    case Kind::Graph: return field == 1 ? Kind::Node : field == 5 ? Kind::Tensor : field == 15 ? Kind::Sparse : Kind::Other;
    case Kind::Node: return field == 5 ? Kind::Attribute : Kind::Other;
    case Kind::Function: return field == 7 ? Kind::Node : field == 11 ? Kind::Attribute : Kind::Other;
    case Kind::Sparse: return field <= 2 ? Kind::Tensor : Kind::Other;
    case Kind::Attribute:
      if (field == 5 || field == 10) return Kind::Tensor;
      if (field == 6 || field == 11) return Kind::Graph;
      return field == 22 || field == 23 ? Kind::Sparse : Kind::Other;
    default: return Kind::Other;
  }
}

std::span<const std::byte> bytes_of(const Blob& blob) { return {blob.data, blob.size}; }
std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
const std::byte* end_of(const WireField& f) { return f.bytes.data() + f.bytes.size(); }

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// The length is known only afterwards: five bytes are kept for it, filled as a varint with leading zeros.
size_t open_message(std::string& out, uint32_t field) {
  put_varint(out, field << 3 | 2);
  out.append(5, '\0');
  return out.size();
}
void close_message(std::string& out, size_t start) {
  uint64_t size = out.size() - start;
  for (size_t k = 5; k > 0; --k, size >>= 7) out[start - k] = static_cast<char>((size & 0x7F) | (k > 1 ? 0x80 : 0));
}
void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

class Scan {
 public:
  Scan(const Blob& file, ExternalData& external) : file_(file), external_(external) {}

  Result<SlimModel> run() {
    const Status read = message(Kind::Model, bytes_of(file_), 0);
    if (!strange_.ok() && (!read.ok() || !has_graph_)) return strange_;
    OPTIMA_RETURN_IF_ERROR(read);
    return std::move(out_);
  }

 private:
  uint64_t position(const std::byte* at) const { return static_cast<uint64_t>(at - file_.data); }
  Status broken(const WireReader& reader, const WireField& f) const {
    const uint64_t at = position(f.start);
    if (reader.cut_short()) return invalid_input(cat("truncated: the field at byte ", at, " goes past the end of the file or of what it is in"));
    return invalid_input(cat("not an ONNX model: no protobuf field at byte ", at));
  }

  // Copies the message to out_, replacing what lies in it. Runs of plain fields are copied as one.
  Status message(Kind kind, std::span<const std::byte> bytes, int depth) {
    if (depth > kDeepest) return invalid_input("nested too deeply");
    WireReader reader(bytes);
    const std::byte* plain = bytes.data();
    auto copy_plain = [&](const std::byte* end) { out_.bytes += text_of({plain, end}); };
    while (!reader.done()) {
      WireField f;
      if (!reader.next(f)) return broken(reader, f);
      if (kind == Kind::Model) OPTIMA_RETURN_IF_ERROR(model_field(f));
      const bool training = kind == Kind::Model && f.number == 20;  // a second set of weights that inference never reads
      const Kind inner = f.type == WireType::Bytes ? child(kind, f.number) : Kind::Other;
      if (inner == Kind::Other && !training) continue;
      copy_plain(f.start);
      plain = end_of(f);
      if (training) continue;
      const size_t start = open_message(out_.bytes, f.number);
      OPTIMA_RETURN_IF_ERROR(inner == Kind::Tensor ? tensor(f.bytes) : message(inner, f.bytes, depth + 1));
      close_message(out_.bytes, start);
    }
    copy_plain(bytes.data() + bytes.size());
    return {};
  }

  // Fields that later releases may add are left to the parser, which skips them; in a file without a graph they say that it is something else.
  Status model_field(const WireField& f) {
    const bool known = (f.number >= 1 && f.number <= 8) || f.number == 14 || f.number == 20 || f.number == 25 || f.number == 26;
    const bool number = f.number == 1 || f.number == 5;
    has_graph_ |= f.number == 7;
    if (known && f.type == (number ? WireType::Varint : WireType::Bytes)) return {};
    const Status strange = invalid_input(cat("not an ONNX model: field ", f.number, " of wire type ", static_cast<uint32_t>(f.type), ", wanted one of a model"));
    if (strange_.ok()) strange_ = strange;
    return known ? strange : Status();
  }

  struct TensorFields {
    int32_t dtype = 0;
    std::vector<int64_t> dims;
    std::string name;
    std::span<const std::byte> raw, single_packed;  // single_packed: the only float_data or double_data field
    uint64_t typed_bytes = 0;
    int packed_count = 0;
    bool external = false, has_raw = false, strings = false;
  };

  Status tensor(std::span<const std::byte> bytes) {
    TensorFields t;
    OPTIMA_RETURN_IF_ERROR(read_tensor(bytes, t));
    if (optima_dtype_bits(t.dtype) == 0 && t.dtype != OPTIMA_STRING)
      return invalid_input(cat("tensor ", quote(t.name), ": element type ", t.dtype, ", which is not known"));
    const std::string_view whole = text_of(bytes);
    if (t.external) return external_tensor(t, whole);
    if (t.has_raw && t.raw.size() > kLargeTensor && !t.strings) return move(t, slice_of(t.raw));
    if (t.has_raw || t.strings || t.typed_bytes <= kLargeTensor) return copy(whole);
    const bool plain = (t.dtype == OPTIMA_F32 || t.dtype == OPTIMA_F64) && t.packed_count == 1;
    if (plain && t.single_packed.size() == t.typed_bytes) return move(t, slice_of(t.single_packed));
    return decoded_tensor(t, whole);
  }

  Status read_tensor(std::span<const std::byte> bytes, TensorFields& t) {
    WireReader reader(bytes);
    while (!reader.done()) {
      WireField f;
      if (!reader.next(f)) return broken(reader, f);
      const uint64_t n = f.type == WireType::Varint ? f.value : 0;
      switch (f.number) {
        case 1: read_dims(f, t.dims); break;
        case 2: t.dtype = static_cast<int32_t>(n); break;
        case 4: case 10:  // float_data, double_data: packed, these are the tensor's bytes as they are
          if (f.type == WireType::Bytes) t.single_packed = f.bytes, ++t.packed_count;
          [[fallthrough]];
        case 5: case 7: case 11: t.typed_bytes += f.bytes.size(); break;
        case 6: t.strings = true; break;
        case 8: t.name = text_of(f.bytes); break;
        case 9: t.raw = f.bytes, t.has_raw = f.type == WireType::Bytes; break;
        case 14: t.external = n == 1; break;
        default: break;
      }
    }
    return {};
  }
  static void read_dims(const WireField& f, std::vector<int64_t>& dims) {
    if (f.type == WireType::Varint) dims.push_back(static_cast<int64_t>(f.value));
    if (f.type != WireType::Bytes) return;
    WireReader packed(f.bytes);
    for (uint64_t n = 0; !packed.done() && packed.varint(n);) dims.push_back(static_cast<int64_t>(n));
  }

  Blob slice_of(std::span<const std::byte> bytes) const { return slice(file_, position(bytes.data()), bytes.size()); }
  Status copy(std::string_view whole) {
    out_.bytes += whole;
    return {};
  }

  // What is left of a moved tensor: dims, type, name and the mark.
  Status move(const TensorFields& t, Blob bytes) {
    for (int64_t d : t.dims) put_varint(out_.bytes, 1 << 3), put_varint(out_.bytes, static_cast<uint64_t>(d));
    put_varint(out_.bytes, 2 << 3), put_varint(out_.bytes, static_cast<uint64_t>(static_cast<int64_t>(t.dtype)));
    put_bytes(out_.bytes, 8, t.name);
    const size_t entry = open_message(out_.bytes, 13);
    put_bytes(out_.bytes, 1, "location");
    put_bytes(out_.bytes, 2, kMovedMark + std::to_string(out_.moved.size()));
    close_message(out_.bytes, entry);
    put_varint(out_.bytes, 14 << 3), put_varint(out_.bytes, 1);
    out_.moved.push_back(std::move(bytes));
    return {};
  }

  Status decoded_tensor(const TensorFields& t, std::string_view whole) {
    onnx::TensorProto parsed;
    if (!parsed.ParseFromArray(whole.data(), static_cast<int>(std::min<size_t>(whole.size(), INT32_MAX))))
      return invalid_input(cat("tensor ", quote(t.name), ": damaged, or a typed field over 2 GB"));
    OPTIMA_ASSIGN(Tensor decoded, decode(parsed, {}));
    return move(t, std::move(decoded.bytes));
  }

  Status external_tensor(const TensorFields& t, std::string_view whole) {
    const std::string who = cat("tensor ", quote(t.name));
    onnx::TensorProto parsed;
    if (whole.size() > INT32_MAX || !parsed.ParseFromArray(whole.data(), static_cast<int>(whole.size())))
      return invalid_input(cat(who, ": damaged"));
    std::string location;
    uint64_t offset = 0, length = UINT64_MAX;
    for (const auto& entry : parsed.external_data()) {
      bool good = true;
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset") good = number(entry.value(), offset);
      if (entry.key() == "length") good = number(entry.value(), length);
      if (!good) return invalid_input(cat(who, ": external data ", entry.key(), " is ", quote(entry.value()), ", wanted a number"));
    }
    auto file = external_.file(location);
    if (!file.ok()) return file.status().within(who);
    const int64_t wanted = byte_count(t.dtype, t.dims);
    if (wanted < 0) return invalid_input(cat(who, ": a type or shape that external data cannot have"));
    if (length == UINT64_MAX) length = static_cast<uint64_t>(wanted);
    if (length != static_cast<uint64_t>(wanted))
      return invalid_input(cat(who, ": external data of ", length, " bytes, wanted ", wanted));
    if (offset > file->size || length > file->size - offset)
      return invalid_input(cat(who, ": external data ", quote(location), " has ", file->size, " bytes, wanted ", length, " at ", offset));
    const Blob bytes = slice(*file, offset, length);
    return length > kLargeTensor ? move(t, bytes) : inlined(t, bytes);
  }
  static bool number(const std::string& text, uint64_t& value) {
    const auto end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    return parsed.ec == std::errc() && parsed.ptr == end;
  }
  Status inlined(const TensorFields& t, const Blob& bytes) {
    for (int64_t d : t.dims) put_varint(out_.bytes, 1 << 3), put_varint(out_.bytes, static_cast<uint64_t>(d));
    put_varint(out_.bytes, 2 << 3), put_varint(out_.bytes, static_cast<uint64_t>(static_cast<int64_t>(t.dtype)));
    put_bytes(out_.bytes, 8, t.name);
    put_bytes(out_.bytes, 9, text_of(bytes_of(bytes)));
    return {};
  }

  const Blob& file_;
  ExternalData& external_;
  SlimModel out_;
  Status strange_;  // about the first field that no model has
  bool has_graph_ = false;
};

}  // namespace

Result<SlimModel> slim_down(const Blob& model, ExternalData& external) { return Scan(model, external).run(); }

}  // namespace optima::onnx_io
