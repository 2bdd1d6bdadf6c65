// SPDX-License-Identifier: Apache-2.0
#include "flat.hpp"

#include <cstring>

#include "optima/plugin/error.hpp"

namespace snpe_plugin {

namespace sdk = optima::sdk;

namespace {
constexpr uint64_t kTableCost = 16;  // no table that a writer makes takes less: offset to its field numbers, theirs, one field
}

Flat::Flat(std::string_view bytes, std::string name, std::string_view identifier) : bytes_(bytes), name_(std::move(name)), left_(2 * bytes.size() + 64) {
  if (bytes_.size() < 8 || (!identifier.empty() && bytes_.substr(4, 4) != identifier))
    throw sdk::Error(OPTIMA_CORRUPT, "part '" + name_ + "' is no FlatBuffer '" + std::string(identifier) + "'");
}

void Flat::damaged(const char* what, uint64_t at) const {
  throw sdk::Error(OPTIMA_CORRUPT, "part '" + name_ + "' is damaged: " + what + " at byte " + std::to_string(at));
}

template <class T>
T Flat::get(uint64_t at) const {
  if (at > bytes_.size() || sizeof(T) > bytes_.size() - at) damaged("it is cut off", at);
  T n;
  std::memcpy(&n, bytes_.data() + at, sizeof n);
  return n;
}

uint64_t Flat::follow(uint64_t at) const {
  const uint64_t to = at + get<uint32_t>(at);
  if (to >= bytes_.size()) damaged("an offset leads out of it", at);
  return to;
}

void Flat::spend(uint64_t bytes, uint64_t at) const {
  if (bytes > left_) damaged("more is referred to than there is", at);
  left_ -= bytes;
}

FlatTable Flat::root() const { return FlatTable(*this, follow(0)); }

FlatTable::FlatTable(const Flat& flat, uint64_t at) : flat_(&flat), at_(at) {
  flat.spend(kTableCost, at);
  const int64_t fields = static_cast<int64_t>(at) - flat.get<int32_t>(at);
  if (fields < 0) flat.damaged("a table begins before it", at);
  fields_ = static_cast<uint64_t>(fields);
  const uint16_t size = flat.get<uint16_t>(fields_);
  if (size < 4) flat.damaged("a table has no fields", at);
  count_ = (size - 4u) / 2;
}

uint64_t FlatTable::place(uint32_t field) const {
  if (field >= count_) return 0;
  const uint16_t offset = flat_->get<uint16_t>(fields_ + 4 + 2 * uint64_t{field});
  return offset == 0 ? 0 : at_ + offset;
}

int32_t FlatTable::number(uint32_t field, int32_t otherwise) const {
  const uint64_t at = place(field);
  return at == 0 ? otherwise : flat_->get<int32_t>(at);
}

uint8_t FlatTable::byte(uint32_t field, uint8_t otherwise) const {
  const uint64_t at = place(field);
  return at == 0 ? otherwise : flat_->get<uint8_t>(at);
}

float FlatTable::real(uint32_t field, float otherwise) const {
  const uint64_t at = place(field);
  return at == 0 ? otherwise : flat_->get<float>(at);
}

FlatTable::Elements FlatTable::elements(uint32_t field) const {
  const uint64_t at = place(field);
  if (at == 0) return {};
  const uint64_t list = flat_->follow(at);
  const Elements all{list + 4, flat_->get<uint32_t>(list)};
  flat_->spend(4 * all.count, list);
  if (all.count > 0) flat_->get<uint32_t>(all.at + 4 * (all.count - 1));
  return all;
}

std::string FlatTable::text_at(uint64_t at) const {
  const uint32_t size = flat_->get<uint32_t>(at);
  flat_->spend(uint64_t{size} + 4, at);
  if (size > flat_->bytes_.size() - at - 4) flat_->damaged("a text is cut off", at);
  return std::string(flat_->bytes_.substr(at + 4, size));
}

std::string FlatTable::text(uint32_t field) const {
  const uint64_t at = place(field);
  return at == 0 ? std::string() : text_at(flat_->follow(at));
}

std::vector<std::string> FlatTable::texts(uint32_t field) const {
  std::vector<std::string> out;
  const Elements all = elements(field);
  for (uint64_t k = 0; k < all.count; ++k) out.push_back(text_at(flat_->follow(all.at + 4 * k)));
  return out;
}

std::vector<int64_t> FlatTable::sizes(uint32_t field) const {
  std::vector<int64_t> out;
  const Elements all = elements(field);
  for (uint64_t k = 0; k < all.count; ++k) out.push_back(flat_->get<uint32_t>(all.at + 4 * k));
  return out;
}

std::optional<FlatTable> FlatTable::table(uint32_t field) const {
  const uint64_t at = place(field);
  if (at == 0) return std::nullopt;
  return FlatTable(*flat_, flat_->follow(at));
}

std::vector<FlatTable> FlatTable::tables(uint32_t field) const {
  std::vector<FlatTable> out;
  const Elements all = elements(field);
  for (uint64_t k = 0; k < all.count; ++k) out.emplace_back(*flat_, flat_->follow(all.at + 4 * k));
  return out;
}

}  // namespace snpe_plugin
