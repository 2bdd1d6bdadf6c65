// SPDX-License-Identifier: Apache-2.0
// sdk/onnx_operators.txt, which checks what vendors write, against the ONNX library that imports models.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/support/text.hpp"
#include "onnx/defs/schema.h"
#include "tests/support/temp_folder.hpp"

using namespace optima;

TEST_CASE("the SDK's list of operators is the library's, with the versions in which each changed") {
  std::map<std::pair<std::string, std::string>, std::set<int>> versions;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history())
    versions[{schema.domain().empty() ? "ai.onnx" : schema.domain(), schema.Name()}].insert(schema.SinceVersion());
  std::string wanted;
  for (const auto& [name, all] : versions) {
    wanted += name.first + " " + name.second;
    for (const int v : all) wanted += cat(" ", v);
    wanted += "\n";
  }
  CHECK(test::get(OPTIMA_SOURCE_DIR "/sdk/onnx_operators.txt") == wanted);
}
