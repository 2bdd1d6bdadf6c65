// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/support/most_dims.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"
#include "core/support/utf8.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kLongestText = 1 << 24;         // characters
constexpr uint64_t kMostEmptyTexts = 1 << 20;     // of an array whose texts take no bytes

struct TypeRow {
  std::string_view code;  // without the byte order
  int32_t dtype;
  uint32_t word;  // bytes that swap together
};
constexpr TypeRow kTypes[] = {{"f4", OPTIMA_F32, 4}, {"f8", OPTIMA_F64, 8}, {"f2", OPTIMA_F16, 2}, {"i1", OPTIMA_I8, 1}, {"i2", OPTIMA_I16, 2},
                              {"i4", OPTIMA_I32, 4}, {"i8", OPTIMA_I64, 8}, {"u1", OPTIMA_U8, 1}, {"u2", OPTIMA_U16, 2}, {"u4", OPTIMA_U32, 4},
                              {"u8", OPTIMA_U64, 8}, {"b1", OPTIMA_BOOL, 1}, {"c8", OPTIMA_C64, 4}, {"c16", OPTIMA_C128, 8}};

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

// The header is a Python dict literal of three known keys; this reads just that grammar.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  bool parse(Header& h) {
    if (!eat('{')) return false;
    int seen = 0;
    while (!eat('}')) {
      std::string key;
      if (!string(key) || !eat(':')) return false;
      if (key == "descr") seen |= 1;
      else if (key == "fortran_order") seen |= 2;
      else if (key == "shape") seen |= 4;
      else return false;
      const bool good = key == "descr" ? descr(h.descr) : key == "shape" ? shape(h.shape) : boolean(h.fortran);
      if (!good || (!eat(',') && peek() != '}')) return false;
    }
    return seen == 7;
  }

 private:
  char peek() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool eat(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool string(std::string& out) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  // A structured type is a list; it is kept as text so that the refusal can show it.
  bool descr(std::string& out) {
    if (peek() != '[') return string(out);
    const size_t end = rest_.find(']');
    if (end == std::string_view::npos) return false;
    out = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool boolean(bool& out) {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.substr(0, word.size()) != word) continue;
      rest_.remove_prefix(word.size());
      out = value;
      return true;
    }
    return false;
  }
  bool shape(std::vector<int64_t>& out) {
    if (!eat('(')) return false;
    while (!eat(')')) {
      peek();
      int64_t n = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
      if (error != std::errc() || n < 0 || out.size() == kMostDims) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);  // files of Python 2
      out.push_back(n);
      if (!eat(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view rest_;
};

// Where the header's text lies, and the data behind it.
Result<std::pair<std::string_view, std::span<const std::byte>>> split(std::span<const std::byte> bytes, std::string_view what) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  if (bytes.size() < 10 || std::string_view(text, kMagic.size()) != kMagic) return invalid_input(cat(what, ": is not an npy file"));
  const auto major = static_cast<unsigned>(bytes[6]);
  if (major < 1 || major > 3) return invalid_input(cat(what, ": found npy format version ", major, ", wanted 1 to 3"));
  const size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) return invalid_input(cat(what, ": is cut off in the header"));
  uint64_t length = 0;
  for (size_t i = 8; i < start; ++i) length |= static_cast<uint64_t>(bytes[i]) << (8 * (i - 8));
  if (length > bytes.size() - start) return invalid_input(cat(what, ": is cut off in the header: found ", bytes.size() - start, " bytes, wanted ", length));
  return std::pair(std::string_view(text + start, length), bytes.subspan(start + length));
}

Result<const TypeRow*> type_of(std::string_view descr, std::string_view what) {
  if (descr.find('O') != std::string_view::npos)
    return invalid_input(cat(what, ": holds pickled Python objects, which are never read; save it as a plain array"));
  const std::string_view code = descr.empty() || std::string_view("<>|=").find(descr[0]) == std::string_view::npos ? descr : descr.substr(1);
  for (const TypeRow& row : kTypes)
    if (row.code == code) return &row;
  return invalid_input(cat(what, ": found array type ", quote(descr), ", wanted a number or truth value"));
}

void swap_words(Tensor& t, uint32_t word) {
  for (uint64_t at = 0; at + word <= t.size; at += word) std::reverse(t.data + at, t.data + at + word);
}

// Column-major to row-major: walks the output in order, the input by strides, of which the first dim has `first`.
void copy_fortran(Tensor& to, const std::byte* from, uint64_t element, uint64_t first) {
  std::vector<uint64_t> stride(to.shape.size(), first), at(to.shape.size(), 0);
  for (size_t d = 1; d < stride.size(); ++d) stride[d] = stride[d - 1] * static_cast<uint64_t>(to.shape[d - 1]);
  uint64_t offset = 0;
  for (uint64_t done = 0; done < to.size; done += element) {
    std::memcpy(to.data + done, from + offset, element);
    for (size_t d = to.shape.size(); d-- > 0;) {
      offset += stride[d];
      if (++at[d] < static_cast<uint64_t>(to.shape[d])) break;
      offset -= stride[d] * at[d];
      at[d] = 0;
    }
  }
}

struct Stored {
  std::string_view descr;
  uint32_t unpacked_bits = 0;  // 2 or 4: written one element per byte
};

Stored stored_as(int32_t dtype) {
  switch (dtype) {
    case OPTIMA_BF16: return {"<u2"};
    case OPTIMA_F8E4M3FN: case OPTIMA_F8E4M3FNUZ: case OPTIMA_F8E5M2: case OPTIMA_F8E5M2FNUZ: case OPTIMA_F8E8M0: return {"|u1"};
    case OPTIMA_U4: case OPTIMA_F4E2M1: return {"|u1", 4};
    case OPTIMA_I4: return {"|i1", 4};
    case OPTIMA_U2: return {"|u1", 2};
    case OPTIMA_I2: return {"|i1", 2};
    default: return {};
  }
}

std::string descr_of(int32_t dtype) {
  if (const Stored s = stored_as(dtype); !s.descr.empty()) return std::string(s.descr);
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return cat(row.word == 1 && row.code.size() == 2 ? '|' : '<', row.code);
  return "|u1";
}

std::string unpack(const Tensor& t, uint32_t bits) {
  const uint64_t n = element_count(t.shape).value_or(0);
  std::string out(n, '\0');
  const bool is_signed = t.dtype == OPTIMA_I4 || t.dtype == OPTIMA_I2;
  for (uint64_t i = 0; i < n; ++i) {
    unsigned code = (static_cast<unsigned>(t.data[i * bits / 8]) >> (i * bits % 8)) & ((1u << bits) - 1);
    if (is_signed && (code >> (bits - 1))) code |= 0xFFu << bits;
    out[i] = static_cast<char>(code);
  }
  return out;
}

Tensor pack(const Tensor& from, int32_t dtype, uint32_t bits) {
  Result<Tensor> out = Tensor::make(dtype, from.shape);
  if (!out.ok()) return from;
  for (uint64_t i = 0; i < from.size; ++i) {
    const unsigned code = static_cast<unsigned>(from.data[i]) & ((1u << bits) - 1);
    out->data[i * bits / 8] |= static_cast<std::byte>(code << (i * bits % 8));
  }
  out->name = from.name;
  return std::move(*out);
}

std::string header_of(std::string_view descr, const std::vector<int64_t>& sizes) {
  std::vector<std::string> dims;
  for (const int64_t d : sizes) dims.push_back(std::to_string(d));
  const std::string shape = join(dims) + (dims.size() == 1 ? "," : "");  // (3,) is Python's tuple of one
  std::string header = cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kPrefix = 10, kAlign = 64;
  header.append((kAlign - (kPrefix + header.size() + 1) % kAlign) % kAlign, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header;
}

// NumPy's texts have one length, padded with zeros: of four bytes each as '<U7', of one as '|S7'.
struct TextType {
  uint64_t characters, width;  // bytes of a character
  bool big_endian;
};

std::optional<TextType> text_type_of(std::string_view descr) {
  if (descr.size() < 3 || (descr[1] != 'U' && descr[1] != 'S')) return std::nullopt;
  const std::optional<int64_t> length = parse_number<int64_t>(descr.substr(2));
  if (!length || *length < 0 || *length > kLongestText) return std::nullopt;
  return TextType{static_cast<uint64_t>(*length), descr[1] == 'U' ? uint64_t{4} : uint64_t{1}, descr[0] == '>'};
}

uint32_t character(const std::byte* at, const TextType& type) {
  uint32_t out = 0;
  for (uint64_t k = 0; k < type.width; ++k) out |= static_cast<uint32_t>(at[type.big_endian ? type.width - 1 - k : k]) << (8 * k);
  return out;
}

// False for what is no character.
bool append_utf8(std::string& out, uint32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return false;
  if (c < 0x80) return out += static_cast<char>(c), true;
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += static_cast<char>((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | (c >> (6 * more)));
  for (int k = more - 1; k >= 0; --k) out += static_cast<char>(0x80 | ((c >> (6 * k)) & 0x3F));
  return true;
}

std::vector<uint32_t> characters_of(std::string_view text) {
  std::vector<uint32_t> out;
  for (size_t i = 0; i < text.size();) {
    const size_t n = std::max<size_t>(utf8_length(text, i), 1);
    uint32_t c = static_cast<unsigned char>(text[i]) & (n == 1 ? 0x7Fu : 0x7Fu >> n);
    for (size_t k = 1; k < n; ++k) c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    out.push_back(c);
    i += n;
  }
  return out;
}

}  // namespace

Tensor restore_type(Tensor t, int32_t dtype) {
  const Stored s = stored_as(dtype);
  if (s.descr.empty() || t.dtype == dtype || descr_of(t.dtype) != s.descr) return t;
  if (s.unpacked_bits) return pack(t, dtype, s.unpacked_bits);
  t.dtype = dtype;
  return t;
}

Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes, uint64_t total, std::string_view what) {
  OPTIMA_ASSIGN(const auto parts, split(bytes, what));
  const std::string_view text = parts.first;
  Header header;
  if (!HeaderParser(text).parse(header)) return invalid_input(cat(what, ": has a header that cannot be read: ", quote(text.substr(0, 100))));
  OPTIMA_ASSIGN(const TypeRow* const type, type_of(header.descr, what));
  const std::optional<uint64_t> size = byte_size(type->dtype, header.shape);
  const uint64_t begin = bytes.size() - parts.second.size();
  if (!size || total - begin < *size)
    return invalid_input(cat(what, ": is cut off: found ", total - begin, " bytes of data, wanted ", size ? std::to_string(*size) : "more than there can be", " for ",
                             dtype_name(type->dtype), " ", shape_text(header.shape)));
  return NpyHeader{type->dtype, std::move(header.shape), header.fortran, header.descr[0] == '>' && type->word > 1 ? type->word : 0, begin};
}

Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view what) {
  OPTIMA_ASSIGN(const NpyHeader header, read_npy_header(bytes, bytes.size(), what));
  OPTIMA_ASSIGN(Tensor t, Tensor::make(header.dtype, header.shape));
  const uint64_t element = optima_dtype_bits(t.dtype) / 8;
  if (header.fortran && t.shape.size() > 1) copy_fortran(t, bytes.data() + header.data, element, element);
  else if (t.size) std::memcpy(t.data, bytes.data() + header.data, t.size);
  if (header.swapped) swap_words(t, header.swapped);
  return t;
}

Result<Tensor> read_npy_row(std::span<const std::byte> bytes, const NpyHeader& header, uint64_t row) {
  OPTIMA_ASSIGN(Tensor t, Tensor::make(header.dtype, {header.shape.begin() + 1, header.shape.end()}));
  const uint64_t element = optima_dtype_bits(t.dtype) / 8;
  const std::byte* data = bytes.data() + header.data;
  if (header.fortran) copy_fortran(t, data + row * element, element, element * static_cast<uint64_t>(header.shape[0]));
  else if (t.size) std::memcpy(t.data, data + row * t.size, t.size);
  if (header.swapped) swap_words(t, header.swapped);
  return t;
}

std::string write_npy(const Tensor& t) {
  std::string out = header_of(descr_of(t.dtype), t.shape);
  if (const uint32_t bits = stored_as(t.dtype).unpacked_bits) return out + unpack(t, bits);
  return out.append(reinterpret_cast<const char*>(t.data), t.size);
}

Result<TextArray> read_npy_texts(std::span<const std::byte> bytes, std::string_view what) {
  OPTIMA_ASSIGN(const auto parts, split(bytes, what));
  Header header;
  if (!HeaderParser(parts.first).parse(header)) return invalid_input(cat(what, ": has a header that cannot be read: ", quote(parts.first.substr(0, 100))));
  if (header.descr.find('O') != std::string::npos)
    return invalid_input(cat(what, ": holds pickled Python objects, which are never read; save it as an array of str (array.astype(str))"));
  const std::optional<TextType> type = text_type_of(header.descr);
  if (!type) return invalid_input(cat(what, ": found array type ", quote(header.descr), ", wanted texts such as '<U7'"));
  const uint64_t element = type->characters * type->width;
  const std::optional<uint64_t> count = element_count(header.shape);
  if (!count || (element && *count > parts.second.size() / element) || (!element && *count > parts.second.size() + kMostEmptyTexts))
    return invalid_input(cat(what, ": is cut off: found ", parts.second.size(), " bytes of data, wanted ", element, " for each text of ", shape_text(header.shape)));
  std::vector<std::byte> turned;
  const std::byte* data = parts.second.data();
  if (header.fortran && header.shape.size() > 1 && element) {
    turned.resize(*count * element);
    Tensor to{"", OPTIMA_U8, header.shape, turned.data(), turned.size(), {}};
    copy_fortran(to, data, element, element);
    data = turned.data();
  }
  TextArray out{std::move(header.shape), {}};
  for (uint64_t i = 0; i < *count; ++i) {
    std::string& text = out.texts.emplace_back();
    uint64_t length = type->characters;
    while (length && character(data + i * element + (length - 1) * type->width, *type) == 0) --length;
    for (uint64_t k = 0; k < length; ++k) {
      const uint32_t c = character(data + i * element + k * type->width, *type);
      if (type->width == 1) text += static_cast<char>(c);
      else if (!append_utf8(text, c)) return invalid_input(cat(what, ": text ", i, " has the character ", c, ", wanted one of Unicode"));
    }
  }
  return out;
}

std::string write_npy_texts(const TextArray& array) {
  std::vector<std::vector<uint32_t>> all;
  size_t longest = 1;  // NumPy has no texts of none
  for (const std::string& text : array.texts) longest = std::max(longest, all.emplace_back(characters_of(text)).size());
  std::string out = header_of(cat("<U", longest), array.shape);
  for (const std::vector<uint32_t>& text : all)
    for (size_t k = 0; k < longest; ++k)
      for (int byte = 0; byte < 4; ++byte) out += static_cast<char>(k < text.size() ? (text[k] >> (8 * byte)) & 0xFF : 0);
  return out;
}

}  // namespace optima
