// SPDX-License-Identifier: Apache-2.0
// doctest's main() for every test program. A test case that says MESSAGE("SKIP: reason") checks less than its name tells; how many did is
// printed at the end, for scripts/test_summary.py, which never counts them as passed.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string_view>

namespace {

struct SkipCounter : doctest::IReporter {
  explicit SkipCounter(const doctest::ContextOptions& options) : out(options.cout) {}

  void log_message(const doctest::MessageData& message) override {
    skipped = skipped || std::string_view(message.m_string.c_str()).starts_with("SKIP: ");
  }
  void test_case_start(const doctest::TestCaseData&) override { skipped = false; }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override { count += skipped && stats.testCaseSuccess; }
  void test_run_end(const doctest::TestRunStats&) override {
    if (count > 0) *out << "[skips] test cases: " << count << "\n";
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  std::ostream* out;
  bool skipped = false;
  int count = 0;
};

REGISTER_LISTENER("skips", 1, SkipCounter);

}  // namespace
