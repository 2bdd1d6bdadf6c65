// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: what a reader does, and what is on the screen then.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "core/view/palette.hpp"
#include "core/view/view.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/view/plans.hpp"

using namespace optima;
using namespace optima::test;

namespace {

bool no_browser() {
  if (std::system("command -v chromium >/dev/null && command -v python3 >/dev/null") == 0) return false;
  MESSAGE("SKIP: chromium or python3 is not here, so the page is not seen in a browser");
  return true;
}

Json eval(const std::string& js) { return {{"do", "eval"}, {"js", js}}; }
Json key(const std::string& name) { return {{"do", "key"}, {"key", name}}; }
Json type(const std::string& text) { return {{"do", "type"}, {"text", text}}; }
// A click on the middle of a node or, with another field, on an element.
Json click_node(const std::string& name) {
  return {{"do", "click"},
          {"at", cat("(() => { const i = items.find((c) => c.node && c.node.name === ", to_line(Json(name)),
                     "), r = canvas.getBoundingClientRect(); return [r.left + i.x * view.scale + view.x, r.top + i.y * view.scale + view.y]; })()")}};
}
Json click(const std::string& selector) {
  return {{"do", "click"}, {"at", cat("(() => { const r = document.querySelector(", to_line(Json(selector)), ").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")}};
}
const std::string kPane = "document.querySelector('[role=tabpanel]:not([hidden])').innerText";

// Pixels of the canvas by colour: how many are near "#rrggbb".
std::string pixels_near(std::string_view colour) {
  return cat("(() => { const c = '", colour, "', [r, g, b] = [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)), d = pen.getImageData(0, 0, canvas.width, canvas.height).data;"
             " let n = 0; for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 24) ++n; return n; })()");
}


// Opens the plan's page, does the steps, and checks that nothing went wrong and nothing but the page was asked for.
Json see(const Plan& plan, const Json& steps, const std::vector<view::TraceEvent>& trace = {}, Json settings = Json::object(),
         const WhatIfReport* what_if = nullptr) {
  const TempFolder f;
  const Result<std::string> page = view::to_html(plan, trace, what_if);
  REQUIRE(page.ok());
  f.file("page.html", *page);
  settings["steps"] = steps;
  f.file("steps.json", to_text(settings));
  const Ran r = run({"python3", OPTIMA_SOURCE_DIR "/tests/view/browser.py", f / "page.html", f / "steps.json", f / "seen.json"});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const Result<Json> seen = read_json(f / "seen.json");
  REQUIRE(seen.ok());
  CHECK((*seen)["errors"] == Json::array());
  REQUIRE((*seen)["requests"].size() == 1);
  CHECK((*seen)["requests"][0].get<std::string>().starts_with("file://" + f.path()));
  return (*seen)["values"];
}

bool has(const Json& value, std::string_view part) { return value.get<std::string>().find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a click on a node shows its reasons; keys walk along edges; search and links find nodes") {
  if (no_browser()) return;
  Plan plan = made_plan(12, 2, 4);
  const Json v = see(plan, {click_node(plan.nodes[6].name), eval(kPane), eval("location.hash"), key("ArrowDown"), eval("chosen.item.node ? chosen.item.node.index : -1"),
                            key("/"), type(plan.nodes[7].name), eval("document.activeElement.id"), eval("chosen.found.size"), key("Enter"), eval("document.getElementById('said').textContent"),
                            key("Escape"), eval("chosen.found === null && document.activeElement === canvas")});
  CHECK(has(v[0], plan.nodes[6].name));
  CHECK(has(v[0], "it was made so"));
  CHECK(has(v[0], "DTYPE: input 0 is f32, wanted f16"));
  CHECK(has(v[1], "#node="));
  CHECK(v[2] != 6);
  CHECK(v[3] == "search");
  CHECK(v[4].get<int>() >= 1);
  CHECK(has(v[5], plan.nodes[7].name));
  CHECK(v[6] == true);
}

TEST_CASE("every device has its colour on the screen, tensors one more, and the legend singles a device out") {
  if (no_browser()) return;
  const Plan plan = made_plan(120, 3, 10);
  Json steps = Json::array();
  for (uint32_t d = 0; d < 3; ++d) steps.push_back(eval(pixels_near(view::looks_of(plan)[d].colour)));
  steps.push_back(eval(pixels_near(view::kTensorColour)));
  steps.push_back(click("#legend button"));
  steps.push_back(eval("document.querySelector('#legend button').getAttribute('aria-pressed')"));
  steps.push_back(eval("items.filter((i) => dimmed(i)).every((i) => !i.node || i.node.device !== 0)"));
  const Json v = see(plan, steps);
  for (size_t i = 0; i < 4; ++i) CHECK(v[i].get<int>() > 200);
  CHECK(v[4] == "true");
  CHECK(v[5] == true);
}

TEST_CASE("tabs tell the plan, its subgraphs and what crosses, by mouse and by keyboard") {
  if (no_browser()) return;
  const Plan plan = made_plan(60, 2, 6);
  const Json v = see(plan, {eval(kPane), click("#tab-subgraphs"), eval("document.querySelectorAll('#pane-subgraphs tbody tr').length"), key("ArrowRight"), eval(kPane),
                            eval("document.querySelectorAll('#pane-cuts tbody tr').length"), eval("tensors.filter((t) => t.crosses).length"), click("#pane-cuts button.link"), eval("chosen.item.tensor.crosses")});
  CHECK(has(v[0], "60 nodes"));
  CHECK(v[1] == plan.subgraphs.size());
  CHECK(has(v[2], "16 bytes"));
  CHECK(v[3] == v[4]);
  CHECK(v[5] == true);
}

TEST_CASE("a body is entered from its node, and its nodes are found and told like any other") {
  if (no_browser()) return;
  const Plan plan = made_plan_with_body();
  const std::string inner = plan.bodies[0].plan.nodes[1].name;
  const Json v = see(plan, {eval(kPane), click_node("loop"), eval(kPane), click("#pane-node li button.link"), eval("view.x + ' ' + view.scale"),
                            eval("frames.length"), key("/"), type(inner), key("Enter"), eval(kPane), click("#tab-subgraphs"), eval(kPane),
                            eval("document.querySelectorAll('#pane-subgraphs tbody tr').length")});
  CHECK(has(v[0], cat("9 nodes in ", count_subgraphs(plan), " subgraphs, of the model and of 1 body that the host runs")));
  CHECK(has(v[1], "body loop/body, 5 trips"));
  CHECK(has(v[1], "4 nodes, subgraph"));
  CHECK(v[3] == 1);
  CHECK(has(v[4], "in body loop/body"));
  CHECK(has(v[5], "body loop/body, 5 trips"));
  CHECK(v[6] == count_subgraphs(plan) + 2);
}

TEST_CASE("a clone is drawn beside its reader and says whose it is; what if and times have their places") {
  if (no_browser()) return;
  Plan plan = made_plan(12, 2, 4);
  const uint32_t reader = plan.subgraphs[1].nodes[0];
  clone_for(plan, plan.subgraphs[0].nodes[0], reader);
  plan.estimate = PlanEstimate{100, 20, 3, 90, {{60, 10, 1, 5, 200.0}, {40, 10, 2, 5, {}}}};
  const Json v = see(plan, {eval("items.filter((i) => i.clone).length"),
                            eval("(choose(items.find((i) => i.clone), true), chosen.item.subgraph)"), eval(kPane),
                            eval("document.getElementById('counts').textContent"), eval("document.getElementById('tab-whatif').hidden"),
                            click("#tab-subgraphs"), eval(kPane)});
  CHECK(v[0] == 1);
  CHECK(v[1] == 1);
  CHECK(has(v[2], "This box is a clone in subgraph 1"));
  CHECK(has(v[2], plan.nodes[0].name));
  CHECK(has(v[3], "estimated 123.0 \xC2\xB5s a run"));
  CHECK(v[4] == true);
  CHECK(has(v[5], "time"));
}

TEST_CASE("what if has a tab where the page holds it, and its rows lead to the first refused node") {
  if (no_browser()) return;
  const Plan plan = made_plan(6, 2, 2);
  const WhatIfReport report{3, 64, 123.0, true, {{"KIND1:0", "Conv", "DTYPE", 2, plan.nodes[1].name, "wanted f16", 1, 0, 23.0, "scaled"}}};
  const Json v = see(plan, {click("#tab-whatif"), eval(kPane), click("#pane-whatif button.link"), eval("chosen.item.node.index")}, {}, Json::object(), &report);
  CHECK(has(v[0], "KIND1:0 took Conv"));
  CHECK(has(v[0], "DTYPE, first at "));
  CHECK(has(v[0], "100.0 \xC2\xB5s"));
  CHECK(v[1] == 1);
}

TEST_CASE("a timeline is drawn from a trace, and its bars lead to subgraphs") {
  if (no_browser()) return;
  const Plan plan = made_plan(20, 2, 5);
  std::vector<view::TraceEvent> trace = {{"ModelExecute", "run", 0, 300, 0, 0}};
  for (uint32_t s = 0; s < plan.subgraphs.size(); ++s) trace.push_back({"SubgraphExecute", cat("subgraph ", s), s * 10.0, 9, s, 0});
  const Json v = see(plan, {eval("document.getElementById('timeline').hidden"), eval("document.querySelectorAll('#timeline .event').length"),
                            click("#timeline .event[role=button]"), eval("chosen.subgraph")},
                     trace);
  CHECK(v[0] == false);
  CHECK(v[1] == trace.size());
  CHECK(v[2] == 0);
}

TEST_CASE("a timeline opens on the last run, however long loading took, and zooms by wheel, buttons and keys") {
  if (no_browser()) return;
  const Plan plan = made_plan(10, 2, 5);
  const std::vector<view::TraceEvent> trace = {{"ModelInit", "load", 0, 300000, 0, 0},          {"ModelExecute", "run", 300100, 900, 0, 0},   {"SubgraphExecute", "cold", 300150, 800, 0, 0},
                                               {"ModelExecute", "run", 302000, 400, 0, 0},      {"SubgraphExecute", "warm", 302100, 200, 0, 0}};
  const auto bar = [](const std::string& name) {
    return cat("(() => { const e = [...document.querySelectorAll('#timeline .event')].find((c) => c.textContent.startsWith('", name,
               "') || (c.getAttribute('aria-label') || '').startsWith('", name, "')); return e ? e.getBoundingClientRect().width : 0; })()");
  };
  const Json wheel = {{"do", "wheel"}, {"x", 720}, {"y", 880}, {"by", -400}};
  const Json v = see(plan, {eval(bar("warm")), eval(bar("cold")), eval(bar("load")), wheel, eval(bar("warm")), click("#span-smaller"), click("#span-smaller"), click("#span-smaller"),
                            click("#span-smaller"), click("#span-smaller"), click("#span-smaller"), click("#span-smaller"), eval(bar("cold")),
                            click("#span-all"), eval(bar("load")), eval(bar("warm")), eval("(document.getElementById('spans').focus(), 0)"), key("+"), eval(bar("load")), key("0"), click("#span-run"), eval(bar("warm"))},
                     trace);
  CHECK(v[0].get<double>() > 400);
  CHECK(v[1] == 0);
  CHECK(v[2] == 0);
  CHECK(v[3].get<double>() > 1.3 * v[0].get<double>());
  CHECK(v[4].get<double>() > 10);
  CHECK(v[5].get<double>() > 900);
  CHECK(v[6].get<double>() < 3);
  CHECK(v[9] == v[0]);
}

TEST_CASE("a plan of one subgraph says in plain words that one device runs everything") {
  if (no_browser()) return;
  const Json v = see(made_plan(9, 1, 100), {eval(kPane), eval("document.getElementById('counts').textContent"), click("#tab-cuts"), eval(kPane)});
  CHECK(has(v[0], "9 nodes in one subgraph: KIND0:0 runs everything, nothing crosses."));
  CHECK(has(v[1], "1 subgraph \xC2\xB7 nothing crosses"));
  CHECK(has(v[2], "Nothing crosses"));
  const std::string looks = "[view.scale >= 0.5, itemAt(canvas.clientWidth - 1, 0) === null, items[0].y * view.scale + view.y > 0, fitScale() < 0.3]";
  const Json big = see(made_plan(600, 1, 10000), {eval(looks), click("#fit"), eval(looks)});
  CHECK(big[0] == Json{true, true, true, true});  // its beginning, near enough to read
  CHECK(big[1] == Json{false, true, true, true});
}

TEST_CASE("buttons and hints cover nothing of the graph, and no words are cut off") {
  if (no_browser()) return;
  Plan plan = made_plan(40, 2, 20);
  const char* const ops[] = {"BatchNormalization", "NonMaxSuppression", "MeanVarianceNormalization"};
  for (size_t n = 0; n < plan.nodes.size(); ++n) plan.nodes[n].op_type = ops[n % 3], plan.nodes[n].name = cat("n", n);
  for (PlanTensor& tensor : plan.tensors) tensor.name = cat("t", tensor.value);
  for (PlanDevice& device : plan.devices) device.name = "a_long_plugin/" + device.name, device.full_name = device.name;
  plan.estimate = PlanEstimate{100, 20, 3, 90, {{60000, 10, 1, 5, 200000.0}, {40000, 10, 2, 5, {}}}};
  const WhatIfReport report{3, 64, 123.0, true, {{"a_long_plugin/KIND1:0", "Conv", "DTYPE", 2, plan.nodes[1].name, "wanted f16", 1, 0, 23.0, "scaled"}}};
  std::vector<view::TraceEvent> trace = {{"ModelExecute", "run", 0, 300, 0, 1000000}};
  for (uint32_t s = 0; s < plan.subgraphs.size(); ++s) trace.push_back({"SubgraphExecute", cat("subgraph ", s), s * 100.0, 100, s, 0});
  const std::string overflows = "[...document.querySelectorAll('aside *, header *')].filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline' && e.className !== 'unseen').length";
  Json steps = {eval("['.tools', '#keys', 'header', 'aside', 'footer'].every((s) => [...document.querySelectorAll(s)].every((e) => { const a = e.getBoundingClientRect(), b = canvas.getBoundingClientRect();"
                     " return a.width > 0 && (a.right <= b.left + 1 || a.left >= b.right - 1 || a.bottom <= b.top + 1 || a.top >= b.bottom - 1); }))"),
                eval("(() => { const cut = [], fill = pen.fillText; lookAt(worldWidth / 2, worldHeight / 2, 1); pen.fillText = (t, ...at) => { if (t.includes('\u2026')) cut.push(t); };"
                     " for (const p of pieces) { lookAt(p.x + p.w / 2, p.y + p.h / 2, 0.9); drawAll(); } pen.fillText = fill; showAll(); return cut.join(' | '); })()"),
                eval("(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [...document.querySelectorAll('#timeline text')].filter((t) => { const a = t.getBoundingClientRect();"
                     " return a.left < b.left || a.right > b.right; }).length; })()"),
                eval(overflows)};
  for (const char* tab : {"subgraphs", "cuts", "whatif", "found"}) steps.push_back(click(cat("#tab-", tab))), steps.push_back(eval(overflows));
  const Json v = see(plan, steps, trace, Json::object(), &report);
  CHECK(v[0] == true);
  CHECK(v[1] == "");
  for (size_t k = 2; k < v.size(); ++k) CHECK(v[k] == 0);
}

TEST_CASE("hostile names are shown as they are and run nowhere") {
  if (no_browser()) return;
  Plan plan = made_plan(3, 1, 1);
  plan.model_name = "</title><script>window.bad = 1</script>";
  plan.nodes[1].name = "</script><img onerror=\"window.bad = 1\"> \xE4\xB8\xAD '\"&amp;";
  plan.nodes[1].sentence = "<b onmouseover=alert(1)>bold</b>";
  const Json v = see(plan, {click_node(plan.nodes[1].name), eval("window.bad === undefined"),
                            eval("document.querySelector('#pane-node h2').textContent"), eval("document.querySelectorAll('aside img, aside b').length"),
                            eval("document.title")});
  CHECK(v[0] == true);
  CHECK(v[1] == plan.nodes[1].name);
  CHECK(v[2] == 0);
  CHECK(has(v[3], "</title><script>"));
}

TEST_CASE("five thousand nodes are drawn at once and zoomed smoothly, in the dark too") {
  if (no_browser()) return;
  const Plan plan = made_plan(5000, 4, 80);
  Json steps = {eval("items.filter((i) => i.node).length"), eval(pixels_near(view::looks_of(plan)[3].colour))};
  steps.push_back({{"do", "wheel"}, {"x", 500}, {"y", 400}, {"by", -1200}});
  steps.push_back(eval("view.scale > 1.5 * fitScale()"));
  steps.push_back(eval("getComputedStyle(document.body).backgroundColor"));
  steps.push_back(eval("(async () => { const t = performance.now(); for (let i = 0; i < 10; ++i) drawAll(); return (performance.now() - t) / 10; })()"));
  const Json v = see(plan, steps, {}, {{"dark", true}, {"hash", "#search=Softmax"}});
  CHECK(v[0] == 5000);
  CHECK(v[1].get<int>() > 200);
  CHECK(v[2] == true);
  CHECK(v[3] == "rgb(18, 20, 23)");
  MESSAGE("a frame of 5,000 nodes took " << v[4].get<double>() << " ms to draw");
}
