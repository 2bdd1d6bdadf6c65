// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/toolchain: from a Top module to a bmodel in four calls.
#pragma once

#include "plugins/bmcompiler/chip.hpp"
#include "tools.hpp"

namespace bmcompiler_plugin {

/// What is compiled: files in Bounds::work, by name.
struct Job {
  const Chip* chip = nullptr;
  std::string mode = "F32";         ///< F32, F16, BF16, INT8
  std::string module = "top.mlir";  ///< Top dialect; its weight file is named in it
  std::string calibration;          ///< tpuc-opt's calibration table; empty = none (INT8 wants one)
  std::string precisions;           ///< its table of nodes that are computed in another mode; empty = none
  bool asymmetric = false;          ///< codes with zero points, from the table's min and max
  bool dynamic = false;             ///< the first dim is a most, runs may have less
  uint32_t cores = 1;               ///< that one run of the file uses; bm1688 has 2, bm1690 has 8
  std::string result = "compilation.bmodel";
};

/// The words of each call, in order. The script that compiles a graph by itself holds the same words.
struct Stage {
  std::string name;  ///< "top", "lowering", "tpu", "codegen": progress and errors say it
  std::vector<std::string> words;
  std::string product;  ///< the file that it writes
  std::string program = "tpuc-opt";
};
std::vector<Stage> stages_of(const Job& job);

/// Runs them; `result` is then in bounds.work, freed of the time of day so that one model gives one file. Throws as tpuc_opt().
void compile_stages(const Facts& tools, const Job& job, const Bounds& bounds, const sdk::Progress& progress);
/// The same up to the stage of this name and with it: whether the tools get past it.
void compile_through(std::string_view last, const Facts& tools, const Job& job, const Bounds& bounds, const sdk::Progress& progress);
/// The name of the stage that threw it, as its text has it.
std::string stage_of(const sdk::Error& failed);

/// One file of several of one network, each of which becomes a stage of it; weights that are the same lie in it once.
Stage combine_stage(const std::vector<std::string>& files, const std::string& result);
/// Runs that; free of the time of day, too. Throws as tpuc_opt(), DEPENDENCY where the tools lack model_tool.
void combine(const Facts& tools, const std::vector<std::string>& files, const std::string& result, const Bounds& bounds);

/// The text of compile_to_graph_ir_<i>.py: Python of the standard library alone that runs `job` in the folder it lies in and leaves the same
/// bytes. The tools are those of TPUC_ROOT. Named <stem>.compile.py it reads <stem>.mlir, .npz, .calib, .qtable and writes <stem>.bmodel;
/// named otherwise the stem is "compilation". A file that is not there under its stem is looked for under the job's name of it.
/// `parts`: the job was run in each of these folders, and the files were combined; then <stem>.<part>.mlir goes before <stem>.mlir.
std::string compile_script(const Job& job, const Facts& tools, const std::vector<std::string>& parts = {});
/// The job's result in each folder.
std::vector<std::string> results_of(const Job& job, const std::vector<std::string>& parts);

}  // namespace bmcompiler_plugin
