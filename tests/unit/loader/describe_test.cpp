// SPDX-License-Identifier: Apache-2.0
#include "core/backend/describer.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

Result<std::optional<std::string>> described(const std::string& name, const std::string& bytes, const std::string& act = "") {
  TrialHost host{{{"trial.init", act}}, services()};
  auto* describer = dynamic_cast<Describer*>(host.plugin);
  REQUIRE(describer);
  return describer->describe({name, Blob::copy(bytes.data(), bytes.size())});
}

}  // namespace

TEST_CASE("a plugin describes its files, and says nothing of others") {
  const auto own = described("a.trial", "{\"a\": 1}");
  REQUIRE_MESSAGE(own.ok(), own.status().message());
  CHECK(own->value_or("") == "{\"a\": 1}");
  const auto foreign = described("a.dlc", "{}");
  REQUIRE(foreign.ok());
  CHECK_FALSE(foreign->has_value());
}

TEST_CASE("a damaged file is the user's, with the plugin's sentence") {
  const auto damaged = described("a.trial", "");
  CHECK(damaged.status().message().find("file 'a.trial' is empty") != std::string::npos);
}

TEST_CASE("a description that is missing, double or endless is the plugin's failure") {
  for (const auto& [act, what] : {std::pair<std::string, std::string>{"describes nothing", "it said OK and gave nothing"},
                                  {"describes twice", "it gave two descriptions of one file"},
                                  {"describes at length", "it gave a description of 1099511627776 bytes, wanted at most 67108864"}}) {
    const auto wrong = described("a.trial", "{}", act);
    CHECK(wrong.status().kind() == StatusKind::Plugin);
    CHECK_MESSAGE(wrong.status().message().find(what) != std::string::npos, wrong.status().message());
  }
}
