// ---- main: choosing, searching, links into the page
function say(words) { document.getElementById("said").textContent = words; }

function remember(hash) {
  history.replaceState(null, "", hash || "#");
}

function choose(item, look) {
  chosen.item = item;
  chosen.subgraph = null;
  if (!item) { remember(""); redraw(); return; }
  if (item.node) {
    fillNode(item.node, item.clone);
    remember("#node=" + encodeURIComponent(item.node.name));
    say(item.node.op + " " + (item.clone ? "clone of " : "") + item.node.name + ", " + plan.devices[item.device].name + ", " +
      (item.clone ? item.clone.sentence : item.node.sentence));
  } else {
    fillTensor(item.tensor);
    remember("#tensor=" + encodeURIComponent(item.tensor.name));
    say("tensor " + item.tensor.name + ", " + item.tensor.type + ", " + bytesText(item.tensor.bytes));
  }
  openTab("node", false);
  if (look) reveal(item); else redraw();
}

function chooseSubgraph(index, look) {
  chosen.item = null;
  chosen.subgraph = index;
  remember("#subgraph=" + index);
  openTab("subgraphs", false);
  for (const row of pane("subgraphs").querySelectorAll("tbody tr")) {
    const here = row.firstChild.textContent === String(index);
    row.style.background = here ? "var(--back)" : "";
    if (here) row.scrollIntoView({block: "nearest"});
  }
  say("subgraph " + index + " on " + plan.devices[plan.subgraphs[index].device].name + ", " + count(plan.subgraphs[index].nodes, "node"));
  const own = pieces.filter((p) => p.subgraph === index);
  if (look && own.length) {
    const x0 = Math.min(...own.map((p) => p.x)), y0 = Math.min(...own.map((p) => p.y));
    showBox(x0, y0, Math.max(...own.map((p) => p.x + p.w)) - x0, Math.max(...own.map((p) => p.y + p.h)) - y0);
  } else redraw();
}

// Zooms to a body; its node stays chosen, so that the way back is a click.
function enterBody(part) {
  showBox(part.frame.x, part.frame.y, part.frame.w, part.frame.h);
  say(bodyText(part));
}

function search(words) {
  const wanted = words.trim().toLowerCase();
  const owner = (i) => (i.clone ? [i.node.name, i.node.op, "cloned", plan.devices[i.device].name, i.clone.sentence]
    : i.node ? [i.node.name, i.node.op, i.node.why, plan.devices[i.device].name, i.node.sentence, ...i.node.clones.map((c) => c.sentence)] : [i.tensor.name, i.tensor.type]);
  const found = wanted ? items.filter((i) => owner(i).some((w) => w.toLowerCase().includes(wanted))) : [];
  chosen.found = wanted ? new Set(found) : null;
  fillFound(found, words.trim());
  openTab(wanted ? "found" : "plan", false);
  if (wanted) say(found.length + " found");
  redraw();
  return found;
}

function fillLegend() {
  const legend = document.getElementById("legend");
  plan.devices.forEach((dev, d) => {
    const chip = make("button", {type: "button", "aria-pressed": "false", title: dev.full + ": " + dev.rule}, swatch(d), dev.name);
    chip.addEventListener("click", () => {
      chosen.device = chosen.device === d ? null : d;
      chosen.subgraph = null;
      [...legend.querySelectorAll("button")].forEach((c, i) => c.setAttribute("aria-pressed", i === chosen.device));
      redraw();
    });
    legend.append(chip);
  });
  legend.append(make("span", {class: "chip"}, swatch(null), "tensors"));
}

function follow(hash) {
  const [key, value] = decodeURIComponent(hash.slice(1)).split(/=(.*)/s);
  if (key === "node") { const n = nodes.find((c) => c.name === value); if (n) choose(n.item, true); }
  if (key === "tensor") { const t = tensors.find((c) => c.name === value && c.item); if (t) choose(t.item, true); }
  if (key === "subgraph" && plan.subgraphs[Number(value)]) chooseSubgraph(Number(value), true);
  if (key === "body") { const p = parts.find((c) => c.path === value); if (p && p.frame) { choose(p.holder.item, false); enterBody(p); } }
  if (key === "search") { document.getElementById("search").value = value; search(value); }
}

function start() {
  readColours();
  document.getElementById("title").textContent = plan.model;
  document.getElementById("counts").textContent = count(nodes.length, "node") + " · " + count(plan.subgraphs.length, "subgraph") +
    (plan.exact && parts.length === 1 ? " (the minimum)" : "") + (parts.length > 1 ? " in " + parts.length + " graphs" : "") + " · " +
    crossText() + (plan.time ? " · estimated " + timeText(plan.time.total) + " a run" : "");
  canvas.setAttribute("aria-label", "graph of " + plan.model);
  fillLegend();
  fillPlan();
  fillSubgraphs();
  fillCuts();
  fillWhatIf();
  openTimeline();
  showStart();
  follow(location.hash);
}

const searchBox = document.getElementById("search");
searchBox.addEventListener("input", () => search(searchBox.value));
searchBox.addEventListener("keydown", (e) => {
  if (e.key === "Enter") {
    const found = [...(chosen.found || [])], at = found.indexOf(chosen.item), next = found[(at + 1) % found.length];
    if (next) { choose(next, true); openTab("node", false); }
  }
  if (e.key === "Escape") { searchBox.value = ""; search(""); canvas.focus(); }
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== searchBox) { searchBox.focus(); e.preventDefault(); }
});
document.querySelector('[role="tablist"]').addEventListener("keydown", (e) => {
  const tabs = [...document.querySelectorAll('[role="tab"]:not([hidden])')], step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
  if (step) openTab(tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length].id.slice(4), true);
});
for (const tab of document.querySelectorAll('[role="tab"]')) tab.addEventListener("click", () => openTab(tab.id.slice(4), false));
document.getElementById("bigger").addEventListener("click", () => zoom(1.4));
document.getElementById("smaller").addEventListener("click", () => zoom(1 / 1.4));
document.getElementById("fit").addEventListener("click", showAll);
window.addEventListener("hashchange", () => follow(location.hash));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });
new ResizeObserver(redraw).observe(canvas);
start();
