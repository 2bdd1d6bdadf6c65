// SPDX-License-Identifier: Apache-2.0
// Names of precisions.
#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;

TEST_CASE("every precision has a name that means it, and two have a second one") {
  for (const char* name : {"f32", "f16", "bf16", "int8", "a16w8", "a16w4", "w8", "w4", "dynamic", "auto"}) {
    const Result<Precision> precision = precision_named(name);
    REQUIRE(precision.ok());
    CHECK(name_of(*precision) == name);
  }
  CHECK(*precision_named("fp16") == Precision::F16);
  CHECK(*precision_named("int8w16a") == Precision::A16W8);
}

TEST_CASE("an unknown precision is a usage error that lists the known ones") {
  const Status status = precision_named("int7").status();
  CHECK(status.kind() == StatusKind::Usage);
  CHECK(status.message() == "found precision 'int7', wanted f32, f16, bf16, int8, a16w8, a16w4, w8, w4, dynamic or auto");
}

TEST_CASE("activations with scales of their own need data, weights alone do not") {
  for (Precision p : {Precision::Int8, Precision::A16W8, Precision::A16W4, Precision::Auto}) CHECK(needs_data(p));
  for (Precision p : {Precision::F32, Precision::F16, Precision::W8, Precision::W4, Precision::Dynamic}) CHECK(!needs_data(p));
}
