// SPDX-License-Identifier: Apache-2.0
// sdk: what plugins that drive a vendor's tools share: a task's folder and log, lines of words, open sizes, buffers that fit, near names.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "optima/plugin/fits.hpp"
#include "optima/plugin/fixed.hpp"
#include "optima/plugin/nearest.hpp"
#include "optima/plugin/resample.hpp"
#include "optima/plugin/task.hpp"
#include "optima/plugin/words.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/failure.hpp"

using namespace optima;
using test::failure;

namespace {

optima_option number(const char* name, int64_t value) { return {sizeof(optima_option), OPTIMA_OPTION_I64, seam::str(name), value, 0, {}, nullptr, 0, 0}; }

/// A host whose folder for temporary files is this one.
struct Home {
  test::TempFolder folder;
  std::string path = folder.path();
  seam::Host host;
  Home() { host.exposed.table.temp_dir = seam::str(path); }
  sdk::Task task(const std::vector<optima_option>& options = {}) {
    return sdk::Task(sdk::Host(&host.exposed.table), sdk::Options(options.data(), static_cast<uint32_t>(options.size())), "acme", [] { return true; });
  }
};

/// x [N, 2] -> Relu, y [?] -> Neg, and z of no known rank, which nobody reads.
seam::Model open_model() {
  const auto value = [](const char* name, std::vector<image::Dim> dims) { return image::Value{name, OPTIMA_F32, std::move(dims)}; };
  std::vector<image::Value> values{value("x", {{-1, "N"}, {2, ""}}), value("a", {{2, ""}}), value("y", {{-1, ""}}), value("b", {{2, ""}}), {"z", OPTIMA_F32, {}}};
  image::Graph g{"g", std::move(values), {}, {0, 2, 4}, {1, 3}, {}};
  g.nodes.push_back({"relu", "Relu", "", 1, 14, {0}, {1}, {}});
  g.nodes.push_back({"neg", "Neg", "", 2, 13, {2}, {3}, {}});
  return seam::Model(image::pack({{g}, {}, {{"", 21}}}));
}

}  // namespace

TEST_CASE("a task has a folder of its own in the host's and a log, and both are gone with it") {
  Home home;
  std::string work, log;
  {
    const sdk::Task task = home.task();
    work = task.bounds().work, log = task.bounds().log;
    CHECK(work.rfind(home.path + "/acme.", 0) == 0);
    CHECK(task.path("a") == work + "/a");
    CHECK(task.folder("in") == work + "/in");
    CHECK(std::filesystem::is_directory(work + "/in"));
    std::ofstream(task.path("file")) << "not a folder";
    CHECK(failure([&] { task.folder("file/in"); }).first == OPTIMA_IO);
    CHECK(std::filesystem::exists(log));
    CHECK(task.bounds().time_limit == std::chrono::seconds(900));
    CHECK(task.bounds().memory_limit == 0);
    CHECK(task.bounds().cancelled());
  }
  CHECK_FALSE(std::filesystem::exists(work));
  CHECK_FALSE(std::filesystem::exists(log));
}

TEST_CASE("a task's limits are those of the plugin's options, and an error that names the log keeps it") {
  Home home;
  std::string log;
  {
    sdk::Task task = home.task({number("acme.time_limit", 7), number("acme.memory_limit", 3), number("other.time_limit", 1)});
    CHECK(task.bounds().time_limit == std::chrono::seconds(7));
    CHECK(task.bounds().memory_limit == 3u << 20);
    log = task.bounds().log;
    CHECK(task.guarded([] { return 5; }) == 5);
    CHECK(failure([&] { task.guarded([&] { throw sdk::Error(OPTIMA_TOOL_FAILED, "look in " + log); }); }).second == "look in " + log);
  }
  CHECK(std::filesystem::exists(log));
  std::filesystem::remove(log);
  {
    sdk::Task task = home.task();
    log = task.bounds().log;
    failure([&] { task.guarded([] { throw sdk::Error(OPTIMA_TOOL_FAILED, "no word of it"); }); });
  }
  CHECK_FALSE(std::filesystem::exists(log));
}

TEST_CASE("a file is read as it was written, and one that cannot be is told by its path") {
  const test::TempFolder folder;
  const std::string bytes("a\0\r\n\xff", 5);
  sdk::write_file(folder / "f", bytes + "more");
  sdk::write_file(folder / "f", bytes);
  CHECK(sdk::bytes_of(folder / "f") == bytes);
  CHECK(failure([&] { sdk::bytes_of(folder / "none"); }) == std::pair<int32_t, std::string>(OPTIMA_IO, "file '" + (folder / "none") + "' cannot be read"));
  CHECK(failure([&] { sdk::write_file(folder / "none/f", ""); }) == std::pair<int32_t, std::string>(OPTIMA_IO, "file '" + (folder / "none/f") + "' cannot be written"));
}

TEST_CASE("words come back from a line whatever their bytes are") {
  const sdk::Words words{"", "plain", "tab\tline\nreturn\rback\\slash\\t", std::string("\0\xff", 2), ""};
  const std::string line = sdk::line_of(words);
  CHECK(line.find_first_of("\n\r") == line.npos);
  CHECK(sdk::words_of(line) == words);
  CHECK(sdk::line_of({"a", "b\tc"}) == "a\tb\\tc");
  CHECK(sdk::words_of("") == sdk::Words{""});
  CHECK(sdk::words_of("a\\") == sdk::Words{"a\\"});
  CHECK(sdk::words_of("\\x") == sdk::Words{"x"});
}

TEST_CASE("an open size is told with the option that closes it") {
  const seam::Model m = open_model();
  const sdk::Graph g(&m.raw);
  CHECK(sdk::option_that_fixes(g[0]) == "--dim N=N");
  CHECK(sdk::option_that_fixes(g[1]) == "--shape INPUT=SIZES");
  const auto refused = [](std::string text) { return std::pair<int32_t, std::string>(OPTIMA_UNSUPPORTED, std::move(text)); };
  CHECK(failure([&] { sdk::require_fixed(g.input(0), "input"); }) == refused("input 'x' has open dim 0, wanted fixed sizes (--dim N=N)"));
  CHECK(failure([&] { sdk::require_fixed(g.input(1), "input"); }) == refused("input 'y' has open dim 0, wanted fixed sizes (--shape)"));
  CHECK(failure([&] { sdk::require_fixed(g.input(2), "input"); }) == refused("input 'z' has no known rank, wanted fixed sizes (--shape)"));
  CHECK(failure([&] { sdk::require_fixed(g.output(0), "output"); }).first == OPTIMA_OK);
}

TEST_CASE("a buffer fits by type, shape, layout and size, or what differs is told") {
  float data[6] = {};
  int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  const auto with = [&](const auto& change, std::vector<int64_t> dims = {2, 3}) {
    optima_tensor raw{};
    raw.struct_size = sizeof raw, raw.dtype = OPTIMA_F32, raw.rank = 2, raw.shape = shape, raw.data = data, raw.size = sizeof data;
    raw.mem_kind = OPTIMA_MEM_HOST;
    change(raw);
    return failure([&] { sdk::require_fits(sdk::Tensor(&raw), "x", OPTIMA_F32, {dims.data(), dims.size()}); });
  };
  const auto as_is = [](optima_tensor&) {};
  const auto wrong = [](std::string text) { return std::pair<int32_t, std::string>(OPTIMA_INVALID_ARGUMENT, std::move(text)); };
  CHECK(with(as_is).first == OPTIMA_OK);
  CHECK(with(as_is, {-1, 3}).first == OPTIMA_OK);
  CHECK(with(as_is, {2, 4}) == wrong("tensor 'x' has shape [2, 3], wanted [2, 4]"));
  CHECK(with(as_is, {6}) == wrong("tensor 'x' has shape [2, 3], wanted [6]"));
  CHECK(with([](optima_tensor& t) { t.dtype = OPTIMA_I32; }) == wrong("tensor 'x' is i32, wanted f32"));
  CHECK(with([](optima_tensor& t) { t.size = 23; }) == wrong("tensor 'x' has 23 bytes, wanted 24"));
  CHECK(with([](optima_tensor& t) { t.data = nullptr; }) == wrong("tensor 'x' has no memory"));
  CHECK(failure([] { sdk::require_counts(1, 2, 1, 2); }).first == OPTIMA_OK);
  CHECK(failure([] { sdk::require_counts(1, 2, 2, 2); }) == wrong("execution has 1 input and 2 output buffers, wanted 2 and 2"));
  CHECK(failure([] { sdk::require_counts(1, 2, 1, 1); }) == wrong("execution has 1 input and 2 output buffers, wanted 1 and 1"));
  CHECK(with([&](optima_tensor& t) { t.strides = strides; }) == std::pair<int32_t, std::string>(OPTIMA_UNSUPPORTED, "tensor 'x' is strided, wanted a dense one"));
}

TEST_CASE("names are as far apart as the bytes that differ") {
  CHECK(sdk::edit_distance("", "") == 0);
  CHECK(sdk::edit_distance("abc", "") == 3);
  CHECK(sdk::edit_distance("", "abc") == 3);
  CHECK(sdk::edit_distance("bm1684x", "bm1684") == 1);
  CHECK(sdk::edit_distance("kitten", "sitting") == 3);
  CHECK(sdk::edit_distance("ab", "ba") == 2);
}

TEST_CASE("Resize is a table of places and weights for every axis") {
  optima::sdk::Resample r;
  r.coordinates = *optima::sdk::resample_coordinates("asymmetric"), r.nearest = *optima::sdk::resample_nearest("floor");
  const optima::sdk::ResampleTable twice = optima::sdk::resample_table(r, {3, 6, 2});
  CHECK(twice.taps == 1);
  CHECK(twice.index == std::vector<int32_t>{0, 0, 1, 1, 2, 2});
  r.mode = *optima::sdk::resample_mode("linear"), r.coordinates = *optima::sdk::resample_coordinates("align_corners");
  const optima::sdk::ResampleTable line = optima::sdk::resample_table(r, {2, 3, 1.5});
  CHECK(line.taps == 2);
  CHECK(line.weight == std::vector<float>{1, 0, 0.5F, 0.5F, 1, 0});
  for (const int32_t at : line.index) CHECK((at == 0 || at == 1));
  r.antialias = true, r.coordinates = *optima::sdk::resample_coordinates("half_pixel");
  const optima::sdk::ResampleTable half = optima::sdk::resample_table(r, {8, 4, 0.5});
  CHECK(half.taps == 4);
  for (size_t o = 0; o < 4; ++o) CHECK(half.weight[4 * o] + half.weight[4 * o + 1] + half.weight[4 * o + 2] + half.weight[4 * o + 3] == doctest::Approx(1));
  CHECK_FALSE(optima::sdk::resample_mode("quadratic").has_value());
}
