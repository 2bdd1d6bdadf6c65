// SPDX-License-Identifier: Apache-2.0
#include "core/loader/options.hpp"

#include "core/loader/seam.hpp"
#include "core/loader/secrets.hpp"
#include "core/support/sha256.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::string refused(TrialHost& host, const std::string& name, const std::string& value) {
  const Status s = host.registry.set_options({{name, value}});
  CHECK(s.kind() == StatusKind::InvalidInput);
  return s.message();
}

// What check() of the trial plugin saw.
std::string seen(TrialHost& host, OptionValues options, const TargetDevice& device = {"TRIAL", 0, {}, 0}) {
  options["trial.act"] = "device";
  host.set(options);
  const SampleGraph graph(image::pack(identities(1)));
  const uint32_t nodes[] = {11};
  const auto verdicts = host.plugin->ask(graph.raw, nodes, device);
  REQUIRE_MESSAGE(verdicts.ok(), verdicts.status().message());
  return verdicts->at(0).text;
}

}  // namespace

TEST_CASE("options are typed by the schema, defaults included, each call its scope") {
  TrialHost host;
  CHECK(seen(host, {}) ==
        "TRIAL:0 t0 cores=8; trial.act=device; trial.mode=fast; trial.level=3; trial.ratio=0.500000; trial.flag=0; trial.raw=; trial.names=|a|b; trial.tool=; "
        "optima.threads=0; optima.deterministic=1");
  CHECK(seen(host, {{"trial.mode", "small"}, {"trial.level", "9"}, {"trial.ratio", "1"}, {"trial.flag", "on"}, {"trial.raw", "6162"}, {"trial.names", "x,y,z"},
                    {"trial.tool", "/opt/x"}, {"trial.unset", "-4"}, {"optima.threads", "2"}, {"optima.deterministic", "no"}}) ==
        "TRIAL:0 t0 cores=8; trial.act=device; trial.mode=small; trial.level=9; trial.ratio=1.000000; trial.flag=1; trial.raw=ab; trial.names=|x|y|z; "
        "trial.tool=/opt/x; trial.unset=-4; optima.threads=2; optima.deterministic=0");
}

TEST_CASE("options of contexts are theirs alone; a set of cores is hexadecimal or decimal") {
  TrialHost host;
  const auto given = [&](const OptionValues& values) {
    std::string all;
    for (const TypedOption& o : options_for(host.plugin->manifest(), "context", values, -1))
      all += cat(o.name, "=", o.type == OPTIMA_OPTION_I64 ? std::to_string(o.i64) : o.text, " ");
    return all;
  };
  CHECK(given({}) == "trial.stream=shared optima.priority=0 optima.cores=0 ");
  CHECK(given({{"optima.cores", "0xF0"}, {"optima.priority", "-7"}, {"trial.stream", "own"}, {"optima.threads", "3"}}) ==
        "trial.stream=own optima.priority=-7 optima.cores=240 ");
  CHECK(given({{"optima.cores", "0xffffffffffffffff"}}) == "trial.stream=shared optima.priority=0 optima.cores=-1 ");
  CHECK(given({{"optima.cores", "12"}}) == "trial.stream=shared optima.priority=0 optima.cores=12 ");
  CHECK(options_set(host.plugin->manifest(), "context", {{"optima.cores", "1"}, {"trial.level", "1"}}) == std::vector<std::string>{"optima.cores"});
}

TEST_CASE("a wrong option is refused with what was found and wanted") {
  TrialHost host;
  CHECK(refused(host, "trial.levle", "3") == "unknown option 'trial.levle' (nearest: 'trial.level', 'trial.key', 'trial.load')");
  CHECK(refused(host, "trail.level", "3") == "option 'trail.level': no usable plugin 'trail' (nearest: 'trial')");
  CHECK(refused(host, "level", "3") == "option 'level': wanted plugin.key");
  CHECK(refused(host, "optima.threds", "3") == "unknown option 'optima.threds' (nearest: 'optima.threads', 'optima.cores')");
  CHECK(refused(host, "trial.level", "12") == "option 'trial.level': found '12', wanted an integer within 0..9 (nearest: 9)");
  CHECK(refused(host, "trial.level", "3x") == "option 'trial.level': found '3x', wanted an integer within 0..9");
  CHECK(refused(host, "trial.unset", "") == "option 'trial.unset': found '', wanted an integer");
  CHECK(refused(host, "trial.ratio", "nan") == "option 'trial.ratio': found 'nan', wanted a number within 0..1");
  CHECK(refused(host, "trial.flag", "maybe") == "option 'trial.flag': found 'maybe', wanted true or false");
  CHECK(refused(host, "trial.mode", "fats") == "option 'trial.mode': found 'fats', wanted one of fast, small (nearest: 'fast')");
  CHECK(refused(host, "trial.raw", "abc") == "option 'trial.raw': found 'abc', wanted pairs of hexadecimal digits");
  CHECK(refused(host, "optima.threads", "-1") == "option 'optima.threads': found '-1', wanted an integer within 0..4096 (nearest: 0)");
  CHECK(refused(host, "optima.priority", "101") == "option 'optima.priority': found '101', wanted an integer within -100..100 (nearest: 100)");
  for (const char* cores : {"0xfg", "-1", "0x", "", "0x1ffffffffffffffff", "1,2"})
    CHECK(refused(host, "optima.cores", cores) == cat("option 'optima.cores': found '", cores, "', wanted a bit set of 64 bits, such as 0xf0 or 240"));
}

TEST_CASE("an option of a plugin that was refused says why it was") {
  const PluginFolder folder({"msan"});
  Registry r = scanned(folder.path());
  CHECK(r.set_options({{"bad.level", "1"}}).message().find("option 'bad.level': plugin 'bad' is not usable: is built with the memory sanitizer, ") == 0);
}

TEST_CASE("a refused set of options changes nothing") {
  TrialHost host(OptionValues{{"trial.level", "5"}});
  CHECK(!host.registry.set_options({{"trial.level", "6"}, {"trial.mode", "x"}}).ok());
  bool found = false;
  for (const EffectiveOption& o : host.plugin->options())
    if (o.name == "trial.level") found = o.value == "5" && !o.is_default && o.changes_artifact && o.scope == "compile";
  CHECK(found);
}

TEST_CASE("effective options are listed in schema order with their defaults") {
  TrialHost host;
  std::string all;
  for (const EffectiveOption& o : host.plugin->options()) all += cat(o.name, "=", o.value, o.changes_artifact ? "!" : "", o.is_default ? " " : "* ");
  CHECK(all == "trial.init= trial.act=! trial.load= trial.mode=fast! trial.level=3! trial.ratio=0.5 trial.flag=false trial.raw= trial.names=a,b trial.tool= "
               "trial.stream=shared optima.threads=0 optima.deterministic=true! optima.priority=0 optima.cores=0 ");
}

TEST_CASE("target options of the config come last and win over what the device says of itself") {
  TrialHost host;
  const std::string text = seen(host, {}, {"TRIAL", 1, {{"cores", "4"}, {"board", "x"}}, 0});
  CHECK(text.find("TRIAL:1 t1 board=x cores=4;") == 0);
  CHECK(seen(host, {}, {"TRIAL", 7, {}, 0}).find("TRIAL:7 ;") == 0);  // a virtual slot that is not here
}

TEST_CASE("a secret option reaches the plugin and nobody else") {
  TrialHost host;
  const std::string key = "s3cret-licence-9";
  const OptionValues given = {{"trial.key", key}, {"trial.words", "open-sesame,short"}, {"trial.level", "4"}, {"trial.token", "token-of-contexts"}};
  const std::string said = seen(host, given);  // the plugin says all that it got
  CHECK(said.find("trial.key=(secret); ") != std::string::npos);
  CHECK(said.find("trial.words=|(secret)|short") != std::string::npos);
  bool got = false;
  for (const TypedOption& o : options_for(host.plugin->manifest(), "compile", given, -1)) got |= o.name == "trial.key" && o.text == key;
  CHECK(got);
  CHECK(host.registry.public_options(given) == OptionValues{{"trial.level", "4"}});
  for (const EffectiveOption& o : host.plugin->options()) {
    if (o.name == "trial.key") CHECK(o.value == "sha256:" + to_hex(sha256(key.data(), key.size())));
    if (o.name == "trial.words" || o.name == "trial.token") CHECK(o.value.empty());
    CHECK(o.secret == (o.name == "trial.key" || o.name == "trial.words" || o.name == "trial.token"));
  }
}

TEST_CASE("errors about a secret option do not show its value, nor what is near it") {
  TrialHost host;
  CHECK(refused(host, "trial.pin", "123456789") == "option 'trial.pin': its value, which is secret, is not an integer within 0..9999");
  CHECK(refused(host, "trial.pin", "hunter2hunter2") == "option 'trial.pin': its value, which is secret, is not an integer within 0..9999");
}

TEST_CASE("a secret is hidden in plugins' words also where it lies across the end of a long text") {
  keep_secret("a-secret-of-some-length");
  const std::string text = std::string(4090, '-') + "a-secret-of-some-length!";
  const std::string shown = seam::text({text.data(), text.size()});
  CHECK(shown.find("a-s") == std::string::npos);
  CHECK(shown.size() <= 4096);
  CHECK(hide_secrets("two: a-secret-of-some-length, a-secret-of-some-length") == "two: (secret), (secret)");
  keep_secret("short");
  CHECK(hide_secrets("short") == "short");
}
