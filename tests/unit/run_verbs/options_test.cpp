// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "host/optima_run/options.hpp"

using namespace optima;
using optima::run::parse;

TEST_CASE("a full command line of optima-run is understood, values apart or behind '='") {
  const auto l = parse({"pkg", "--input", "x=random:1", "--input=y=a.npy", "--image=a.png", "--resize", "256", "--crop=224", "--mean", "0.485,0.456,0.406",
                        "--std=0.5", "--layout", "NHWC", "--color", "BGR", "--top", "5", "--labels", "l.txt", "-o", "out", "--repeat", "7", "--threads", "2",
                        "--trace", "t.json", "--concurrency", "4", "--plugins", "p", "--plugins", "q", "--option", "fake.a=b=c", "--json", "--verify"});
  REQUIRE_MESSAGE(l.ok(), l.status().message());
  CHECK(l->task == optima::run::Task::Run);
  CHECK(l->options.package == "pkg");
  CHECK(l->options.inputs == std::vector<std::string>{"x=random:1", "y=a.npy"});
  CHECK(l->options.image.mean == std::vector<double>{0.485, 0.456, 0.406});
  CHECK(l->options.image.std == std::vector<double>{0.5});
  CHECK(l->options.output_folder == "out");
  CHECK(l->options.repeat == 7);
  CHECK(l->plugin_folders == std::vector<std::string>{"p", "q"});
  CHECK(l->plugin_options == OptionValues{{"fake.a", "b=c"}});
  CHECK(l->json);
  CHECK(l->options.verify);
  CHECK(parse({"pkg", "--bench"})->task == optima::run::Task::Bench);
  CHECK(parse({"--check", "pkg"})->task == optima::run::Task::Check);
  CHECK(parse({"--devices"})->task == optima::run::Task::Devices);
  CHECK(parse({"-h"})->task == optima::run::Task::Help);
}

TEST_CASE("sizes of inputs are taken by input and by the name of the size") {
  const auto l = parse({"pkg", "--shape", "x=1,3,?,?", "--dim", "width=320", "--dim=x.2=48"});
  REQUIRE_MESSAGE(l.ok(), l.status().message());
  CHECK(l->options.shapes == std::map<std::string, std::vector<int64_t>>{{"x", {1, 3, -1, -1}}});
  CHECK(l->options.dims == std::map<std::string, int64_t>{{"width", 320}, {"x.2", 48}});
  for (const char* word : {"width", "width=", "=3", "width=-1", "width=1..3"})
    CHECK(parse({"pkg", "--dim", word}).status().message() == "--dim: found '" + std::string(word) + "', wanted NAME=SIZE such as width=320");
}

TEST_CASE("wrong command lines of optima-run are usage errors with a hint") {
  const auto message = [](const std::vector<std::string>& words) {
    const Status status = parse(words).status();
    CHECK(status.kind() == StatusKind::Usage);
    return status.message();
  };
  CHECK(message({}) == "no package given, wanted optima-run PACKAGE");
  CHECK(message({"a", "b"}) == "found a second package 'b', wanted one");
  CHECK(message({"a", "--inptu", "x"}) == "unknown option '--inptu' (nearest: '--input')");
  CHECK(message({"a", "--top"}) == "option --top has no value, wanted K");
  CHECK(message({"a", "--top", "0"}) == "found --top '0', wanted a number from 1 to 1000000");
  CHECK(message({"a", "--top", "5x"}) == "found --top '5x', wanted a number from 1 to 1000000");
  CHECK(message({"a", "--json=1"}) == "option --json takes no value");
  CHECK(message({"a", "--mean", "1,,2"}) == "found --mean '1,,2', wanted numbers with commas between them");
  CHECK(message({"a", "--option", "nonsense"}) == "found --option 'nonsense', wanted PLUGIN.KEY=VALUE");
  CHECK(message({"a", "--log-level", "loud"}) == "found --log-level 'loud', wanted trace, debug, info, warn or error");
}

TEST_CASE("help names every option") {
  const std::string help = optima::run::help_text();
  for (const char* name : {"--input", "--image", "--resize", "--crop", "--mean", "--std", "--layout", "--color", "--shape", "--dim", "--top", "--labels", "--output", "-o", "--repeat",
                           "--threads", "--trace", "--bench", "--concurrency", "--check", "--devices", "--plugins", "--json"})
    CHECK_MESSAGE(help.find(name) != std::string::npos, name);
}
