// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: files of encodings and precision tables with damage. A text is refused by name, or what it says can be written and read again.
#include <doctest/doctest.h>

#include <random>

#include "core/quantize/encodings.hpp"
#include "core/quantize/precision_table.hpp"
#include "core/support/file.hpp"

using namespace optima;

namespace {

constexpr int kRounds = OPTIMA_FUZZ_FILES;

using Random = std::mt19937_64;

std::string read(const std::string& name) {
  Result<std::string> out = read_file(OPTIMA_SOURCE_DIR "/tests/unit/quantize/data/" + name);
  REQUIRE_MESSAGE(out.ok(), out.status().message());
  return std::move(*out);
}

constexpr std::string_view kWords[] = {"0", "-1", "1e-50", "1e39", "nan", "[", "]", "{}", "null", "true", "\"x\"", "-128", "256",
                                       "99999999999999999999", "0.5", "# ", "\n", "\"\"", "#weight_scale\n", "#int4_th\n", "PER_BLOCK",
                                       "\"u4\"", "\"axis\": 0, ", "\"block\": 3, ", "\"False\"", "32", "\xff"};

/// Numbers and words replaced more often than bytes, so that the text stays one that is looked at to the end.
std::string damaged(std::string text, Random& random) {
  for (uint64_t edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
    const size_t at = random() % text.size();
    const std::string_view word = kWords[random() % std::size(kWords)];
    switch (random() % 6) {
      case 0: text.resize(at); break;
      case 1: text.erase(at, random() % 40); break;
      case 2: text.insert(at, text.substr(random() % text.size(), random() % 60)); break;
      case 3: text[at] = static_cast<char>(random()); break;
      default: {
        const size_t number = text.find_first_of("0123456789", at), end = text.find_first_not_of("0123456789.e-", number);
        if (number != text.npos) text.replace(number, end - number, word);
      }
    }
  }
  return text;
}

void look_at(const std::string& text) {
  const Result<Encodings> read = parse_encodings(text, "f");
  if (!read.ok()) {
    REQUIRE(read.status().kind() == StatusKind::InvalidInput);
    REQUIRE(read.status().message().starts_with("f"));
    return;
  }
  const Result<std::string> again = write_encodings(*read, EncodingsFormat::Optima);
  if (!again.ok() && again.status().message().ends_with("no UTF-8, wanted text for JSON")) return;  // a table's names are any bytes
  REQUIRE_MESSAGE(again.ok(), again.status().message());
  const Result<Encodings> same = parse_encodings(*again, "f");
  REQUIRE_MESSAGE(same.ok(), same.status().message());
  REQUIRE(*same == *read);
  for (const EncodingsFormat format : {EncodingsFormat::AimetOld, EncodingsFormat::Aimet1, EncodingsFormat::TpuTable}) {
    const Result<std::string> theirs = write_encodings(*read, format);
    if (!theirs.ok()) REQUIRE(theirs.status().kind() == StatusKind::InvalidInput);
    else if (format != EncodingsFormat::TpuTable || !(read->activations.empty() && read->weights.empty())) {
      const Result<Encodings> back = parse_encodings(*theirs, "g");
      REQUIRE_MESSAGE((back.ok() || format == EncodingsFormat::TpuTable), back.status().message());
    }
  }
}

}  // namespace

TEST_CASE("encodings with damage are refused by name, or hold what can be written") {
  Random random(1);
  for (const char* name : {"optima.json", "aimet-0.6.json", "aimet-1.0.json", "tpu.table"}) {
    const std::string text = read(name);
    look_at(text);
    for (int round = 0; round < kRounds; ++round) look_at(damaged(text, random));
  }
}

TEST_CASE("quantize tables with damage are refused by name, or hold what can be written") {
  Random random(2);
  const std::string text = read("tpu_qtable");
  for (int round = 0; round < kRounds; ++round) {
    const auto nodes = parse_precision_table(damaged(text, random), "f");
    if (!nodes.ok()) {
      REQUIRE(nodes.status().message().starts_with("f"));
      continue;
    }
    const Result<std::string> again = write_precision_table(*nodes);
    REQUIRE_MESSAGE(again.ok(), again.status().message());
    REQUIRE(*parse_precision_table(*again, "f") == *nodes);
  }
}
