// SPDX-License-Identifier: Apache-2.0
#include "core/backend/tier_one.hpp"
#include "core/loader/verdict_book.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const TargetDevice kTrial{"TRIAL", 0, {}, 0};

Result<Answers> ask(TrialHost& host, const std::string& act, std::vector<uint32_t> nodes = {11, 12}) {
  host.set({{"trial.act", act}});
  const SampleGraph graph(image::pack(identities(2)));
  return host.plugin->ask(graph.raw, nodes, kTrial);
}

// Verdicts in short: "yes", or "REASON: text".
std::string told(TrialHost& host, const std::string& act, std::vector<uint32_t> nodes = {11, 12}) {
  const auto verdicts = ask(host, act, std::move(nodes));
  REQUIRE_MESSAGE(verdicts.ok(), verdicts.status().message());
  std::string all;
  for (const Verdict& v : *verdicts) {
    all += cat(all.empty() ? "" : " | ", v.node, " ");
    all += v.verdict == OPTIMA_VERDICT_SUPPORTED ? "yes" : cat(v.verdict == OPTIMA_VERDICT_UNSUPPORTED ? "" : cat("(", v.verdict, ") "), reason_name(v.reason), ": ", v.text);
  }
  return all;
}

}  // namespace

TEST_CASE("verdicts come in the order asked, also when reported from many threads") {
  TrialHost host;
  CHECK(told(host, "") == "11 yes | 12 yes");
  CHECK(told(host, "", {12, 11}) == "12 yes | 11 yes");
  CHECK(told(host, "threads") == "11 yes | 12 yes");
  CHECK(told(host, "refuse") == "11 SIZE_LIMIT: input 0 has 6 elements, the limit is 4 | 12 yes");
}

TEST_CASE("plugins judge a graph whose image is of a newer writer, and notes do") {
  const uint32_t nodes[] = {11, 12};
  const auto judged = [&](Backend& plugin, const char* kind, int32_t dtype) {
    const SampleGraph graph(seam::widen(image::pack(identities(2, {2, 3}, dtype))));
    const auto verdicts = plugin.ask(graph.raw, nodes, {kind, 0, {}, 0});
    REQUIRE_MESSAGE(verdicts.ok(), verdicts.status().message());
    REQUIRE(verdicts->size() == 2);
    return verdicts->at(1).verdict == OPTIMA_VERDICT_SUPPORTED ? std::string("yes") : verdicts->at(1).text;
  };
  TrialHost host;
  CHECK(judged(*host.plugin, "TRIAL", OPTIMA_F32) == "yes");
  CHECK(judged(*host.plugin, "TRIAL", OPTIMA_I64) == "plugin trial says yes outside its note: Identity: input 0 is dtype 7, must be dtype 1");
  const Registry null = scanned(plugins_folder());
  CHECK(judged(*null.compiler("null"), "NULL", OPTIMA_F32) == "yes");
}

TEST_CASE("a broken contract of check becomes a refusal that says so, and is logged") {
  LogTrap log;
  TrialHost host;
  CHECK(told(host, "missing") == "11 yes | 12 OTHER: plugin trial gave no verdict for this node");
  CHECK(told(host, "twice") == "11 OTHER: plugin trial gave more than one verdict for this node | 12 yes");
  CHECK(told(host, "unknown verdict") == "11 OTHER: plugin trial gave the unknown verdict 99 | 12 yes");
  CHECK(told(host, "no reason") == "11 OTHER: plugin trial refused without a reason | 12 yes");
  CHECK(told(host, "no text") == "11 OTHER: plugin trial refused without a reason | 12 yes");
  CHECK(told(host, "future reason") == "11 OTHER: too green | 12 yes");
  CHECK(told(host, "no group") == "11 OTHER: plugin trial said ONLY_IN_GROUP without a group | 12 yes");
  CHECK(told(host, "not asked") == "11 yes | 12 yes");
  CHECK(log.has("plugin-misbehaves trial: check: gave a verdict for node 999, which was not asked"));
  CHECK(log.has("plugin-misbehaves trial: check: gave no verdict for this node"));
  CHECK(ask(host, "size zero").status().message() == "plugin 'trial': check: it reported a verdict of size 0");
  CHECK(log.has("plugin-misbehaves trial: check: reported a verdict of size 0"));
}

TEST_CASE("a yes outside the note is a refusal") {
  TrialHost host;
  const uint32_t nodes[] = {11};
  const SampleGraph ints(image::pack(identities(1, {2}, OPTIMA_I64)));
  CHECK(host.plugin->ask(ints.raw, nodes, kTrial)->at(0).text == "plugin trial says yes outside its note: Identity: input 0 is dtype 7, must be dtype 1");
  const SampleGraph other(image::pack(identities(1, {2}, OPTIMA_F32, "Softmax")));
  CHECK(host.plugin->ask(other.raw, nodes, kTrial)->at(0).text == "plugin trial says yes outside its note: operator Softmax is not in the note of plugin trial");
}

TEST_CASE("DEPENDENCY is that reason for all nodes, INVALID_ARGUMENT the user's; other codes are the call's failure") {
  TrialHost host;
  CHECK(told(host, "dependency") == "11 DEPENDENCY: the compiler of the driver is absent | 12 DEPENDENCY: the compiler of the driver is absent");
  CHECK(ask(host, "error").status().message() == "plugin 'trial': check: the tool said no");
  CHECK(ask(host, "error").status().kind() == StatusKind::Plugin);
  CHECK(ask(host, "wrong option").status().message() == "plugin 'trial': check: chip 'x' is not known");
  CHECK(ask(host, "wrong option").status().kind() == StatusKind::Usage);
  CHECK(ask(host, "future code").status().message() == "plugin 'trial': check: code of the future");
}

TEST_CASE("what is thrown across the seam becomes a status") {
  LogTrap log;
  TrialHost host;
  CHECK(ask(host, "throw runtime_error").status().message() == "plugin 'trial': check: threw an exception across the seam: a plain exception");
  CHECK(ask(host, "throw bad_alloc").status().message() == "plugin 'trial': check: threw an exception across the seam: std::bad_alloc");
  for (const char* act : {"throw int", "throw text", "throw foreign"})
    CHECK(ask(host, act).status().message() == "plugin 'trial': check: threw an exception across the seam: an exception of an unknown type");
  CHECK(log.has("plugin-misbehaves trial: check threw across the seam: a plain exception"));
  CHECK(told(host, "") == "11 yes | 12 yes");  // and it goes on
}

TEST_CASE("a kind that the plugin does not serve, and a half it does not have, are refused by name") {
  TrialHost host;
  const SampleGraph graph(image::pack(identities(1)));
  const uint32_t nodes[] = {11};
  CHECK(host.plugin->ask(graph.raw, nodes, {"GPU", 0, {}, 0}).status().message() == "plugin 'trial': serves TRIAL, REAL, not 'GPU'");
  const PluginFolder folder({"fine"});
  const Registry r = scanned(folder.path());
  CHECK(r.compiler("bad")->check_artifact({}, {"BAD", 0, {}, 0}).status().message() == cat("plugin 'bad': '", folder.path(), "/fine.so' has no runtime half"));
}

TEST_CASE("structs longer than the host knows are read, tails ignored") {
  const PluginFolder folder({"all_long"});
  const Registry r = scanned(folder.path());
  Backend* p = r.compiler("bad");
  const SampleGraph graph(image::pack(identities(2)));
  const uint32_t nodes[] = {11, 12};
  const auto verdicts = p->ask(graph.raw, nodes, {"BAD", 0, {}, 0});
  REQUIRE(verdicts.ok());
  CHECK((verdicts->at(0).verdict == OPTIMA_VERDICT_SUPPORTED && verdicts->at(1).verdict == OPTIMA_VERDICT_SUPPORTED));
  const auto devices = p->devices(nullptr);
  REQUIRE(devices.ok());
  CHECK(devices->at(0).device_class == "other");  // a class of the future
}

TEST_CASE("init may fail: every later call says why, the file is asked once") {
  LogTrap log;
  for (const char* act : {"throw runtime_error", "throw bad_alloc", "throw int", "throw text", "throw foreign"}) {
    TrialHost host(OptionValues{{"trial.init", act}});
    CHECK(host.plugin->devices(nullptr).status().message().find("plugin 'trial': init: threw an exception across the seam: ") == 0);
  }
  TrialHost host(OptionValues{{"trial.init", "no sdk"}});
  const std::string why = "plugin 'trial': init: the Trial SDK 2.1 is not installed; see trial.example";
  CHECK(host.plugin->devices(nullptr).status().message() == why);
  CHECK(host.plugin->load({}, kTrial, {}).status().message() == why);
}

TEST_CASE("devices: a refused kind is told apart from devices") {
  TrialHost host;
  CHECK(host.plugin->devices(nullptr)->size() == 2);
  const std::vector<RefusedKind> refused = host.plugin->refused_kinds();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].kind == "OLDTRIAL");
  CHECK(refused[0].device_class == "npu");
  CHECK(refused[0].why == "the last driver for it was 1.0");
}

TEST_CASE("devices: none with a sentence, impossible structs") {
  const PluginFolder folder({"no_devices"});
  std::string why;
  const Registry quiet = scanned(folder.path());
  CHECK(quiet.compiler("bad")->devices(&why)->empty());
  CHECK(why == "no board on the bus");
  const PluginFolder zero({"device_size_zero"});
  const Registry r = scanned(zero.path());
  CHECK(r.compiler("bad")->devices(nullptr).status().message() == "plugin 'bad': devices: it added a device struct of impossible size");
}

TEST_CASE("of a device told twice the first counts, which is logged once") {
  LogTrap log;
  TrialHost host(OptionValues{{"trial.init", "told twice"}});
  for (int i = 0; i < 2; ++i) {
    const auto found = host.plugin->devices(nullptr);
    REQUIRE(found.ok());
    REQUIRE(found->size() == 2);
    CHECK((found->at(0).ordinal == 0 && found->at(0).arch == "t0" && found->at(1).ordinal == 1));
    CHECK(host.plugin->refused_kinds().size() == 1);
  }
  const std::string line = "plugin-misbehaves trial: devices: told TRIAL:0 twice, the first counts";
  CHECK(std::count(log.lines.begin(), log.lines.end(), line) == 1);
}

TEST_CASE("a plugin of a single instance is not made twice in a process") {
  const PluginFolder folder({"single"});
  const Registry one = scanned(folder.path()), two = scanned(folder.path());
  CHECK(one.compiler("bad")->devices(nullptr).ok());
  CHECK(two.compiler("bad")->devices(nullptr).status().message() == "plugin 'bad': allows one instance in a process, and one is in use");
}

TEST_CASE("infer and estimate go through the optional extensions") {
  TrialHost host;
  CHECK(host.plugin->has_schema());
  const auto infer = [&](const std::string& op) {
    const SampleGraph graph(image::pack(identities(1, {2}, OPTIMA_F32, op)));
    return host.plugin->infer(graph.raw, 0);
  };
  const auto types = infer("Custom");
  REQUIRE(types.ok());
  REQUIRE(types->at(0).dims->size() == 2);
  CHECK((types->at(0).dims->at(0).value == 5 && types->at(0).dims->at(1).value == -1 && types->at(0).dims->at(1).symbol == "n"));
  CHECK(infer("Wrong").status().message() == "plugin 'trial': infer: attribute k is missing");
  CHECK(infer("Wrong").status().kind() == StatusKind::InvalidInput);
  const std::string who = "plugin 'trial': infer: for node 'node_0' (";
  CHECK(infer("Silent").status().message() == who + "Silent) it gave no type for output 0");
  CHECK(infer("Far").status().message() == who + "Far) it gave a type for an output that the node does not have");
  CHECK(infer("Deep").status().message() == who + "Deep) it gave a type of impossible rank");
  CHECK(infer("Negative").status().message() == who + "Negative) it gave dim 1 of output 0 the size -7, wanted -1 or more");
  CHECK(infer("Stray").status().message() == who + "Stray) it gave output 0 the dtype -3, wanted 0..63");

  const SampleGraph graph(image::pack(identities(1)));
  const uint32_t nodes[] = {11};
  const auto costs = host.plugin->estimate(graph.raw, nodes, kTrial);
  REQUIRE(costs.ok());
  CHECK((costs->at(0).node == 11 && costs->at(0).microseconds == 12.5 && costs->at(0).measured));
  CHECK(host.plugin->memory() == nullptr);

  const Registry null = scanned(plugins_folder());
  CHECK(!null.compiler("null")->has_schema());
  CHECK(null.compiler("null")->infer(graph.raw, 0).status().message() == "plugin 'null': has no optima.schema/1");
}

TEST_CASE("function bodies and evaluators come through optima.schema/1: a text, an answer, none, or what is wrong with it") {
  TrialHost host;
  const auto body = [&](const std::string& op) {
    const SampleGraph graph(image::pack(identities(1, {2}, OPTIMA_F32, op)));
    return host.plugin->function_body(graph.raw, 0);
  };
  CHECK(*body("Custom") == "text of Custom");
  CHECK(*body("Other") == "");
  CHECK(body("Wrong").status().message() == "plugin 'trial': function_body: attribute k is missing");
  CHECK(body("Silent").status().message() == "plugin 'trial': function_body: it said OK and gave no text");
  CHECK(body("Far").status().message() == "plugin 'trial': function_body: it gave a text of 2097152 bytes, wanted at most 1048576");
  CHECK(body("Deep").status().message() == "plugin 'trial': function_body: it gave two texts for one node");

  const int64_t dims[] = {2};
  std::vector<int64_t> seen;
  const auto evaluate = [&](const std::string& op) {
    const SampleGraph graph(image::pack(identities(1, {2}, OPTIMA_F32, op)));
    optima_tensor in{}, out{};
    in.struct_size = out.struct_size = sizeof in;
    in.shape = dims, in.rank = 1;
    out.host_data = &seen;
    out.alloc = [](void* self, const int64_t* wanted, int32_t rank) -> int32_t { return static_cast<std::vector<int64_t>*>(self)->assign(wanted, wanted + rank), OPTIMA_OK; };
    return host.plugin->evaluate(graph.raw, 0, {&in, 1}, {&out, 1});
  };
  CHECK(*evaluate("Custom"));
  CHECK(seen == std::vector<int64_t>{2});
  CHECK(!*evaluate("Other"));
  CHECK(evaluate("Wrong").status().message() == "plugin 'trial': evaluate: the simulator is gone");
  CHECK(evaluate("throw int").status().message().find("an exception of an unknown type") != std::string::npos);

  const Registry null = scanned(plugins_folder());
  const SampleGraph graph(image::pack(identities(1)));
  CHECK(*null.compiler("null")->function_body(graph.raw, 0) == "");
  CHECK(!*null.compiler("null")->evaluate(graph.raw, 0, {}, {}));
}

TEST_CASE("tier 1 judges by the note: version, dtype, rank per input, constants, shapes; the unknown is possible") {
  TrialHost host;
  const Manifest& m = host.plugin->manifest();
  const auto judge = [&](auto change) {
    image::Contents c = identities(1, {2, 3}, OPTIMA_F32, "Gather");
    c.graphs[0].values.push_back({"indices", OPTIMA_I64, std::vector<image::Dim>{{1, ""}}});
    c.constants.push_back({OPTIMA_I64, {1}, 0});
    c.graphs[0].values[2].constant = 0;
    c.graphs[0].nodes[0].inputs = {0, 2};
    change(c.graphs[0]);
    const SampleGraph g(image::pack(c));
    const Verdict v = judge_by_note(m, "TRIAL", g.raw, *optima_get_node(g.raw.image, 0));
    return v.verdict == OPTIMA_VERDICT_SUPPORTED ? std::string("yes") : cat(reason_name(v.reason), ": ", v.text);
  };
  using G = image::Graph;
  CHECK(judge([](G&) {}) == "yes");
  CHECK(judge([](G& g) { g.nodes[0].since_version = 14; }) == "OPSET: Gather: since_version is 14, must be 1..13");
  CHECK(judge([](G& g) { g.values[2].dtype = OPTIMA_I32; }) == "DTYPE: Gather: input 1 is dtype 6, must be dtype 7");
  CHECK(judge([](G& g) { g.values[2].constant = OPTIMA_NONE; }) == "CONST_REQUIRED: Gather: input 1 is computed, must be a constant");
  CHECK(judge([](G& g) { g.values[2].dims->assign(2, {1, ""}); }) == "RANK: Gather: input 1 is rank 2, must be 0..1");
  CHECK(judge([](G& g) { g.values[0].dims->at(1).value = -1; }) == "DYNAMIC_SHAPE: Gather: input 0 dim 1 is a dynamic dim, must be a static one");
  CHECK(judge([](G& g) { g.values[1].dtype = OPTIMA_UNDEFINED; }) == "yes");
  CHECK(judge([](G& g) { g.nodes[0].op_type = "Scatter"; }) == "OP: operator Scatter is not in the note of plugin trial");
  CHECK(judge([](G& g) { g.nodes[0].domain = "com.x"; }) == "OP: operator com.x.Gather is not in the note of plugin trial");
}
