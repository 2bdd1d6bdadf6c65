// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: files for all chips, the same bytes each time, and by the script alone.
#include <thread>

#include "tests/support/process.hpp"
#include "tools.hpp"

using namespace optima::test;

namespace {

bool has_word(const bm::Job& job, size_t stage, const std::string& word) {
  const std::vector<std::string> words = bm::stages_of(job).at(stage).words;
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The most that a table of codes needs: thresholds of all values.
void write_table(const std::string& path) {
  std::string text = "# op_name threshold min max\n";
  for (const char* name : {"x", "conv", "soft0"}) text += std::string(name) + " 4.0 -4.0 4.0\n";
  put(path, text);
}

}  // namespace

TEST_CASE("words of the stages hold chip, mode, tables and choices of the job") {
  bm::Job job = job_for("bm1688", "INT8");
  job.calibration = "codes", job.precisions = "modes", job.asymmetric = true, job.dynamic = true, job.cores = 2;
  CHECK(has_word(job, 1, "--processor-assign=chip=bm1688 mode=INT8 num_device=1 num_core=2 addr_mode=auto"));
  CHECK(has_word(job, 1, "--import-calibration-table=file=codes asymmetric=True"));
  CHECK(has_word(job, 1, "--convert-top-to-tpu=qtable=modes weightFileName=stage_tpu.npz asymmetric=True matmul_perchannel=True"));
  CHECK(has_word(job, 2, "--subnet-divide=dynamic=True"));
  CHECK(has_word(job, 3, "--codegen=model_file=compilation.bmodel bmodel_only=True"));
  const bm::Job plain = job_for("cv183x", "BF16");
  CHECK(has_word(plain, 2, "--subnet-divide"));
  CHECK(has_word(plain, 3, "--codegen=model_file=compilation.cvimodel bmodel_only=True model_version=latest"));
}

TEST_CASE("every chip and mode gives a file, and twice the same") {
  if (!has_sophon_tools()) return;
  for (const std::string chip : {"bm1684x", "bm1684", "bm1688", "bm1690", "cv186x", "cv183x"})
    for (const std::string mode : {"F32", "F16", "BF16", "INT8"}) {
      if (!bm::find_chip(chip)->has_mode(mode)) continue;
      CAPTURE(chip);
      CAPTURE(mode);
      bm::Job job = job_for(chip, mode);
      std::string bytes[2];
      for (std::string& b : bytes) {
        const Work work;
        if (mode == "INT8") job.calibration = "codes", write_table(work / "codes");
        b = compiled(work, small_module(), job);
      }
      CHECK(bytes[0] == bytes[1]);
      CHECK(holds(bytes[0], std::string(job.chip->in_files)));
      CHECK(holds(bytes[0], job.chip->runner == bm::Runner::Cvi ? "1980-01-01 00:00:00" : "Tue Jan  1 00:00:00 1980"));
    }
}

TEST_CASE("a file for several cores or open batches is another file") {
  if (!has_sophon_tools()) return;
  bm::Job job = job_for("bm1688");
  const Work work;
  const std::string one = compiled(work, small_module(), job);
  job.cores = 2;
  CHECK(compiled(work, small_module(), job) != one);
  job.cores = 1, job.dynamic = true;
  CHECK(compiled(work, small_module(), job) != one);
}

TEST_CASE("two chips at once do not disturb each other") {
  if (!has_sophon_tools()) return;
  const Work a, b, alone;
  std::string left, right;
  std::thread other([&] { left = compiled(a, small_module(20), job_for("bm1684")); });
  right = compiled(b, small_module(20), job_for("bm1684x"));
  other.join();
  CHECK(left == compiled(alone, small_module(20), job_for("bm1684")));
  CHECK(right == compiled(alone, small_module(20), job_for("bm1684x")));
}

TEST_CASE("the script alone makes the same file, under the job's names and under its own") {
  if (!has_sophon_tools()) return;
  for (const std::string chip : {"bm1684x", "cv183x"}) {
    CAPTURE(chip);
    const Work work;
    bm::Job job = job_for(chip, "INT8");
    job.calibration = "codes", job.module = "top.mlir";
    write_table(work / "codes");
    const std::string bytes = compiled(work, small_module(), job);
    const std::string script = bm::compile_script(job, facts());
    const std::string suffix(job.chip->suffix);
    const TempFolder folder, stem;
    folder.file("compile_to_graph_ir_0.py", script);
    stem.file("a b.compile.py", script);
    for (const auto& [from, to] : {std::pair{"top.mlir", "a b.mlir"}, {"weights.npz", "a b.npz"}, {"codes", "a b.calib"}})
      fs::copy_file(work / from, folder / from), fs::copy_file(work / from, stem / to);
    const Ran first = run({"python3", folder / "compile_to_graph_ir_0.py"}, {"TPUC_ROOT=" + kSophon});
    CHECK_MESSAGE(first.code == 0, first.err);
    CHECK(bm::bytes_of(folder / ("compilation" + suffix)) == bytes);
    const Ran second = run({"python3", stem / "a b.compile.py"}, {"TPUC_ROOT=", "OPTIMA_SOPHON=" + kSophon});
    CHECK_MESSAGE(second.code == 0, second.err);
    CHECK(bm::bytes_of(stem / ("a b" + suffix)) == bytes);
    CHECK(std::distance(fs::directory_iterator(stem.path()), fs::directory_iterator()) == 5);
  }
}

TEST_CASE("the script says what it lacks and what failed") {
  const TempFolder f;
  const std::string script = f.file("x.compile.py", bm::compile_script(job_for("bm1684x"), facts()));
  CHECK(run({"python3", script}, {"TPUC_ROOT=", "OPTIMA_SOPHON="}).err == "x.compile.py: TPUC_ROOT is not set: wanted the folder of tpu_mlir 1.30.2\n");
  CHECK(run({"python3", script}, {"TPUC_ROOT=" + f.path()}).err == "x.compile.py: TPUC_ROOT is '" + f.path() + "', which holds no bin/tpuc-opt\n");
  if (!has_sophon_tools()) return;
  CHECK(holds(run({"python3", script}, {"TPUC_ROOT=" + kSophon}).err, "top.mlir' is not there"));
  f.file("x.mlir", "module {");
  const Ran ran = run({"python3", script}, {"TPUC_ROOT=" + kSophon});
  CHECK(ran.code == 1);
  CHECK(holds(ran.err, "x.compile.py: tpuc-opt failed at stage top, exit status 1"));
  CHECK_FALSE(fs::exists(f / "x.bmodel"));
}
