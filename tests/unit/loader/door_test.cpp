// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

struct Asking {
  TrialHost host{{}, services()};
  SampleGraph graph{image::pack(identities(1))};  // x -> y0, f32[2,3]
  TargetDevice device{"TRIAL", 0, {}, 0};

  Result<std::vector<Door>> offers(const std::string& act) {
    host.set({{"trial.act", act}});
    return host.plugin->offer_doors(graph.raw, 1, device);
  }
  Result<bool> takes(const std::string& act, const Door& door) {
    host.set({{"trial.act", act}});
    return host.plugin->takes_door(graph.raw, 0, door, device);
  }
  /// What the plugin says of the artifact; nothing when it compiles none.
  std::vector<std::pair<std::string, std::string>> compiled(CompileJob job) {
    const TempFolder folder;
    job.graph = &graph.raw, job.device = device;
    job.stem = "subgraph_0", job.folder = folder.path();
    host.set({{"trial.act", ""}});
    const auto done = host.plugin->compile(job);
    const auto* artifact = std::get_if<Compiled>(&done);
    return artifact ? artifact->meta : std::vector<std::pair<std::string, std::string>>{};
  }
};

Door eight_bits() {
  Door d;
  d.dtype = OPTIMA_I8, d.shape = {2, 3}, d.scales = {0.5F, 0.25F}, d.zero_points = {-128, 7}, d.scale_axis = 0;
  return d;
}

}  // namespace

TEST_CASE("doors are offered best first, with everything in them") {
  Asking a;
  CHECK(a.host.plugin->has_doors());
  const auto offers = a.offers("");
  REQUIRE_MESSAGE(offers.ok(), offers.status().message());
  REQUIRE(offers->size() == 2);
  CHECK((*offers)[0] == eight_bits());
  CHECK((*offers)[0].bytes() == 6);
  CHECK((*offers)[1].layout == "CN");
  CHECK((*offers)[1].shape == std::vector<int64_t>{3, 2});
  CHECK((*offers)[1].bytes() == 24);
}

TEST_CASE("zero points that are all zero are none") {
  Asking a;
  const auto offers = a.offers("door zeros");
  REQUIRE(offers.ok());
  CHECK((*offers)[0].zero_points.empty());
}

TEST_CASE("a plugin says whether it takes a door") {
  Asking a;
  CHECK(*a.takes("", eight_bits()));
  Door other = eight_bits();
  other.dtype = OPTIMA_U8;
  CHECK_FALSE(*a.takes("", other));
}

TEST_CASE("doors that cannot be are the plugin's failure, with what was found") {
  Asking a;
  const std::string who = "plugin 'trial': offer: for 'y0' it offered a door that ";
  for (const auto& [act, wrong] : std::initializer_list<std::pair<const char*, const char*>>{
           {"door dtype", "has dtype 77, wanted one of fixed size"},
           {"door string", "has dtype 8, wanted one of fixed size"},
           {"door rank", "has rank 65, wanted 0..64"},
           {"door rank below", "has rank -1, wanted 0..64"},
           {"door no shape", "has no shape"},
           {"door zero", "has the size 0 in dim 1, wanted 1 or more"},
           {"door below", "has the size -3 in dim 1, wanted 1 or more"},
           {"door vast", "stores more than 140737488355328 bytes"},
           {"door layout long", "has a layout of 70 bytes, wanted at most 64"},
           {"door layout null", "has a layout without bytes"},
           {"door layout odd", "has a layout that is no printable word of ASCII"},
           {"door scales", "has 3 scales, wanted 0, 1 or 2 (dim 0 of the tensor)"},
           {"door scales without", "has 2 scales without numbers"},
           {"door scales endless", "has 4294967295 scales, wanted at most 16777216"},
           {"door axis", "has 2 scales for axis 2 of a tensor of rank 2"},
           {"door one scale", "has one scale for axis 0, wanted axis -1"},
           {"door scale zero", "has the scale 0, wanted a finite one above 0"},
           {"door scale nan", "has the scale nan, wanted a finite one above 0"},
           {"door scale endless", "has the scale inf, wanted a finite one above 0"},
           {"door usual", "is the usual one, wanted another"},
           {"door unnoticed", "has rank 65, wanted 0..64"}}) {
    CAPTURE(act);
    const LogTrap logged;
    CHECK(a.offers(act).status().message() == who + wrong);
    CHECK(logged.has("offer: offered a door that"));
  }
  CHECK(a.offers("door size").status().message() == "plugin 'trial': offer: for 'y0' it offered a door struct of impossible size");
  CHECK(a.offers("doors endless").status().message() == "plugin 'trial': offer: for 'y0' it offered more than 64 doors");
}

TEST_CASE("a plugin that fails while it is asked about doors, throws or answers nonsense is named") {
  Asking a;
  CHECK(a.offers("offer fails").status().message() == "plugin 'trial': offer: the layouter is gone");
  CHECK(a.takes("take fails", eight_bits()).status().message() == "plugin 'trial': take: the layouter is gone");
  CHECK(a.takes("take seven", eight_bits()).status().message() == "plugin 'trial': take: for 'x' it answered 7, wanted 0 or 1");
  CHECK(a.offers("throw int").status().message() == "plugin 'trial': offer: threw an exception across the seam: an exception of an unknown type");
  CHECK(a.takes("throw runtime_error", eight_bits()).status().message() == "plugin 'trial': take: threw an exception across the seam: a plain exception");
}

TEST_CASE("compile is told the doors of its inputs and outputs") {
  Asking a;
  CompileJob job;
  Door turned;
  turned.dtype = OPTIMA_F32, turned.layout = "CN", turned.shape = {3, 2};
  job.doors = {{0, turned}, {1, eight_bits()}};
  const auto meta = a.compiled(std::move(job));
  REQUIRE(meta.size() == 3);
  CHECK(meta[0] == std::pair<std::string, std::string>{"door of 0", "1 CN x 3 2 a-1"});
  CHECK(meta[1] == std::pair<std::string, std::string>{"door of 1", "3  x 2 3 s0.500000 z-128 s0.250000 z7 a0"});
}

TEST_CASE("compile is told the sizes that the user allows") {
  Asking a;
  CompileJob job;
  job.sizes = {{"batch", {1, 8, 1, 4, {1, 4, 8}}}, {"width", {32, 960, 32, SizeRange::kNotSaid, {}}}};
  const auto meta = a.compiled(std::move(job));
  REQUIRE(meta.size() == 3);
  CHECK(meta[0] == std::pair<std::string, std::string>{"size of batch", "1..8:1@4 1 4 8"});
  CHECK(meta[1] == std::pair<std::string, std::string>{"size of width", "32..960:32@-1"});
}

TEST_CASE("a plugin without the table has no doors, and is not asked") {
  const Asking a;
  Registry registry = scanned(plugins_folder());
  Backend* null = registry.compiler("null");
  REQUIRE(null);
  CHECK_FALSE(null->has_doors());
  const auto offers = null->offer_doors(a.graph.raw, 1, {"NULL", 0, {}, 0});
  CHECK((offers.ok() && offers->empty()));
}
