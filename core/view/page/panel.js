// ---- panel: what is chosen, in words. Text goes in as text only, never as markup.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "click") element.addEventListener("click", value);
    else if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((c) => c !== null));
  return element;
}
const link = (words, click) => make("button", {type: "button", class: "link", click}, words);
const pane = (name) => document.getElementById("pane-" + name);
const device = (d) => make("span", {class: "device"}, swatch(d), " " + plan.devices[d].name);
const rowOf = (...cells) => make("tr", {}, ...cells.map((c) => (c instanceof HTMLTableCellElement ? c : make("td", {}, c))));
const number = (words) => make("td", {class: "number"}, words);
const headOf = (...names) => make("thead", {}, make("tr", {}, ...names.map((n) => make("th", {scope: "col", class: n.startsWith("#") ? "number" : undefined}, n.replace("#", "")))));

function openTab(name, focus) {
  for (const tab of document.querySelectorAll('[role="tab"]')) {
    const here = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", here);
    tab.tabIndex = here ? 0 : -1;
    if (here && focus) tab.focus();
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !here;
  }
}

function fillPlan() {
  const used = plan.devices.map((_, d) => ({nodes: nodes.filter((n) => n.device === d).length, parts: plan.subgraphs.filter((s) => s.device === d).length}));
  const rows = plan.devices.map((dev, d) => rowOf(device(d), dev.plugin, number(String(used[d].nodes)), number(String(used[d].parts))));
  const asked = nodes.filter((n) => n.asked && plan.devices.length > 1).length;
  pane("plan").replaceChildren(
    make("h2", {}, plan.model),
    make("p", {}, count(nodes.length, "node") + " in " + count(plan.subgraphs.length, "subgraph") +
      (plan.exact ? ", the minimum" : ", proven minimum " + plan.bound) + ". " + count(tensors.filter((t) => t.crosses).length, "tensor") + " cross, " +
      (plan.bytes ? bytesText(plan.bytes) : "no bytes known before running") + " in all. " + count(asked, "node") + " asked for a device."),
    make("table", {}, headOf("device", "plugin", "#nodes", "#subgraphs"), make("tbody", {}, ...rows)),
    make("h3", {}, "Why these plugins"), make("ul", {}, ...plan.devices.map((dev) => make("li", {}, dev.full + ": " + dev.rule))),
    ...(plan.notes.length ? [make("h3", {}, "Notes"), make("ul", {}, ...plan.notes.map((n) => make("li", {}, n)))] : []),
    make("h3", {}, "Model"), make("p", {class: "soft"}, "SHA-256 " + plan.hash));
}

const whereText = (n, seen) => (n.subgraph === seen.subgraph ? "" : " in subgraph " + n.subgraph + " on " + plan.devices[n.device].name);
const nodeLink = (n) => link(n.op + " " + n.name, () => choose(n.item, true));
const tensorTail = (t) => " · " + t.type + (t.bytes ? " · " + bytesText(t.bytes) : "");

function readRow(t, n) {
  const apart = t.cutTo.includes(n.subgraph);
  return make("li", {class: apart ? "crosses" : undefined}, t.name + tensorTail(t), make("br"),
    ...(t.from ? [apart ? "crosses from " : "from ", nodeLink(t.from), whereText(t.from, n)] : ["an input of the model"]));
}
function writeRow(t, n) {
  const to = t.to.slice(0, 12).flatMap((r) => [make("br"), t.cutTo.includes(r.subgraph) ? "crosses to " : "to ", nodeLink(r), whereText(r, n)]);
  const more = t.to.length > 12 ? [make("br"), "and " + (t.to.length - 12) + " more"] : [];
  return make("li", {class: t.crosses ? "crosses" : undefined}, t.name + tensorTail(t), ...to, ...more, ...(t.output ? [make("br"), "an output of the model"] : []));
}

function fillNode(n) {
  const answers = n.answers.map((a, d) => {
    const verdict = d === n.device ? "here" : a.yes ? "yes" : "no";
    return rowOf(device(d), make("td", {class: "verdict"}, verdict), [a.reason, a.text].filter(Boolean).join(": "));
  });
  pane("node").replaceChildren(
    make("h2", {}, n.name), make("p", {class: "soft"}, n.op),
    make("p", {}, device(n.device), ", ", link("subgraph " + n.subgraph + " of " + plan.subgraphs.length, () => chooseSubgraph(n.subgraph, true))),
    make("p", {class: "why", style: "border-color:" + plan.devices[n.device].colour}, n.sentence, make("br"), make("span", {class: "soft"}, n.why + (n.asked ? " · asked for " + n.asked : ""))),
    ...n.clones.map((c) => make("p", {}, "also in ", link("subgraph " + c.subgraph, () => chooseSubgraph(c.subgraph, true)), ": " + c.sentence)),
    make("h3", {}, "What each device says"), make("table", {}, headOf("device", "takes it", "reason"), make("tbody", {}, ...answers)),
    make("h3", {}, "Reads"), make("ul", {}, ...n.reads.map((t) => readRow(t, n))),
    make("h3", {}, "Writes"), make("ul", {}, ...n.writes.map((t) => writeRow(t, n))));
}

function fillTensor(t) {
  pane("node").replaceChildren(
    make("h2", {}, t.name), make("p", {}, t.type + ", " + bytesText(t.bytes)),
    make("p", {}, ...(t.from ? ["made by ", nodeLink(t.from), " in subgraph " + t.from.subgraph + " on " + plan.devices[t.from.device].name] : ["an input of the model"])),
    t.output ? make("p", {}, "an output of the model") : null,
    make("h3", {}, "Read by"),
    make("ul", {}, ...t.to.slice(0, 200).map((n) => make("li", {}, nodeLink(n), " in subgraph " + n.subgraph + " on " + plan.devices[n.device].name))));
}

const kMostRows = 400;
const leftOut = (all) => (all > kMostRows ? make("p", {class: "hint"}, "The first " + kMostRows + " of " + all + "; search finds the others.") : null);

function fillSubgraphs() {
  const rows = plan.subgraphs.slice(0, kMostRows).map((s, i) => rowOf(link(String(i), () => chooseSubgraph(i, true)), device(s.device), number(String(s.nodes)),
    number(String(s.reads.length)), number(String(s.writes.length))));
  pane("subgraphs").replaceChildren(make("table", {}, headOf("subgraph", "device", "#nodes", "#reads", "#writes"), make("tbody", {}, ...rows)),
    ...[leftOut(plan.subgraphs.length)].filter(Boolean));
}

function fillCuts() {
  const cuts = tensors.filter((t) => t.crosses).sort((a, b) => b.bytes - a.bytes);
  const rows = cuts.slice(0, kMostRows).map((t) => rowOf(make("td", {}, link(t.name, () => choose(t.item, true)), make("br"), make("span", {class: "soft"}, t.type)),
    number(String(t.from.subgraph)), number(t.cutTo.join(", ")), number(bytesText(t.bytes))));
  pane("cuts").replaceChildren(
    cuts.length ? make("table", {}, headOf("tensor", "#from", "#to", "#size"), make("tbody", {}, ...rows)) : make("p", {class: "hint"}, "Nothing crosses: one device runs everything."),
    ...[leftOut(cuts.length)].filter(Boolean));
}

function fillFound(found, words) {
  const rows = found.slice(0, kMostRows).map((i) => (i.node
    ? rowOf(nodeLink(i.node), device(i.node.device)) : rowOf(link(i.tensor.name, () => choose(i, true)), i.tensor.type)));
  pane("found").replaceChildren(make("p", {}, words ? (found.length ? count(found.length, "match").replace("matchs", "matches") : "Nothing") + " for “" + words + "”" : "Type in the search box."),
    make("table", {}, make("tbody", {}, ...rows)), ...[leftOut(found.length)].filter(Boolean));
}
