// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: what the wheels take, make and run.
#include <thread>

#include "tools.hpp"

using namespace optima;
namespace fs = std::filesystem;
using test::hexagon;

TEST_CASE("plugins/snpe over the wheels") {
  if (test::wheels().empty()) MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
}

TEST_SUITE_BEGIN("wheels" * doctest::skip(test::wheels().empty()));

TEST_CASE("a model that is taken whole has all its nodes taken, told by their first outputs") {
  const test::Tools tools;
  std::map<std::string, bool> taken;
  for (const snpe_plugin::Taken& t : tools->assign(test::model("small").folder, hexagon(), tools.bounds())) taken[t.output] = t.taken;
  CHECK(taken == std::map<std::string, bool>{{"c", true}, {"r", true}, {"p", true}, {"f", true}, {"y", true}});
}

TEST_CASE("of a model that is not taken whole the node is named with the tools' own reason") {
  const test::Tools tools;
  for (const snpe_plugin::Taken& t : tools->assign(test::model("einsum").folder, hexagon(), tools.bounds())) {
    CHECK(t.taken == (t.output != "e"));
    CHECK(t.why == (t.output == "e" ? "Einsum requires at least 2 inputs" : ""));
  }
}

TEST_CASE("every node of a model of codes is taken, those at its border among them") {
  const test::Tools tools;
  const auto answers = tools->assign(test::model("codes").folder, hexagon(), tools.bounds());
  CHECK(answers.size() == 9);
  for (const snpe_plugin::Taken& t : answers) CHECK_MESSAGE(t.taken, t.output);
}

TEST_CASE("models are built and run as ONNX Runtime runs them") {
  const test::Tools tools;
  for (const std::string name : {"small", "outside", "two", "codes"}) {
    CAPTURE(name);
    const test::Model m = test::model(name);
    const snpe_plugin::Built built = tools->build(m.folder, hexagon(), tools.bounds(), sdk::Progress(nullptr));
    REQUIRE(built.dlcs.size() == 1);
    REQUIRE(built.contexts.size() == 1);
    CHECK(built.contexts[0].soc->name == "sm8550");
    const auto session = tools->open(test::loadable(built, m), tools.bounds());
    for (int again = 0; again < 2; ++again) {
      test::Buffers buffers(m);
      session->run(buffers.in(), buffers.out(), nullptr);
      // fp16 keeps 11 bits; a code of the model of codes may round the other way
      for (size_t k = 0; k < m.out.size(); ++k) CHECK(test::distance(buffers.bytes(k), m.out[k]) < (name == "codes" ? 1.5e-2 : 4e-3));
    }
  }
}

TEST_CASE("a model that is not taken whole is not built, and nothing of it is left") {
  const test::Tools tools;
  try {
    tools->build(test::model("einsum").folder, hexagon(), tools.bounds(), sdk::Progress(nullptr));
    FAIL("built");
  } catch (const Error& e) {
    CHECK(e.code == OPTIMA_UNSUPPORTED);
    CHECK(e.text == "the tools do not take node 'second' (Einsum): Einsum requires at least 2 inputs");
  }
  CHECK(fs::is_empty(tools.work()));
}

TEST_CASE("a run with clocks tells its nodes by the model's names, and one without tells none") {
  const test::Tools tools;
  const test::Model m = test::model("small");
  const auto session = tools->open(test::loadable(tools->build(m.folder, hexagon(), tools.bounds(), sdk::Progress(nullptr)), m), tools.bounds());
  const auto run = [&] {
    test::Buffers buffers(m);
    session->run(buffers.in(), buffers.out(), nullptr);
    CHECK(test::distance(buffers.bytes(0), m.out[0]) < 4e-3);
    return session->events();
  };
  CHECK(run().empty());
  session->profile(true);
  for (int again = 0; again < 2; ++again) {
    const std::vector<snpe_plugin::Session::Event> events = run();
    std::map<std::string, uint64_t> durations;
    uint64_t end = 0;
    for (const auto& e : events) {
      CHECK(e.start_ns == end);
      end = e.start_ns + e.duration_ns;
      durations[e.name] += e.duration_ns;
    }
    for (const char* name : {"r", "p", "f", "y"}) CHECK_MESSAGE(durations.count(name) == 1, name);
    CHECK(durations["p"] > 0);
  }
  session->profile(false);
  CHECK(run().empty());
}

TEST_CASE("processes of the tools have neither random addresses nor random hashes, with which files of large models differ") {
  const test::Tools tools;
  const std::vector<int> processes = test::children();  // the one that told its version
  REQUIRE(processes.size() == 1);
  const std::string proc = "/proc/" + std::to_string(processes[0]);
  CHECK((std::stoul(test::get(proc + "/personality"), nullptr, 16) & 0x0040000) != 0);
  CHECK(test::get(proc + "/environ").find(std::string("PYTHONHASHSEED=0\0", 17)) != std::string::npos);
}

TEST_CASE("a build has the same bytes alone, after others, and beside one for another chip") {
  const test::Tools tools;
  const std::string folder = test::model("small").folder;
  const auto build = [&](const std::string& socs) { return tools->build(folder, hexagon(socs), tools.bounds(), sdk::Progress(nullptr)); };
  const auto bytes = [](const snpe_plugin::Built& b, size_t k) { return test::get(b.contexts.at(k).file) + test::get(b.contexts.at(k).wrapper); };
  const snpe_plugin::Built first = build("sm8550"), second = build("sm8650");
  const snpe_plugin::Built both = build("sm8650,sm8550");
  REQUIRE(both.contexts.size() == 2);
  CHECK(bytes(both, 0) == bytes(second, 0));
  CHECK(bytes(both, 1) == bytes(first, 0));
  CHECK(bytes(first, 0) != bytes(second, 0));
  snpe_plugin::Built beside[2];
  std::thread other([&] { beside[0] = build("sm8550"); });
  beside[1] = build("sm8650");
  other.join();
  CHECK(bytes(beside[0], 0) == bytes(first, 0));
  CHECK(bytes(beside[1], 0) == bytes(second, 0));
}

TEST_SUITE_END();
