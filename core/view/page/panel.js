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
// May break behind the plugin's name.
const breakable = (name) => name.split("/").flatMap((part, i) => (i ? ["/", make("wbr"), part] : [part]));
const device = (d) => make("span", {class: "device"}, swatch(d), " ", make("span", {}, ...breakable(plan.devices[d].name)));
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

// The plan in a sentence or three.
function planText() {
  const asked = nodes.filter((n) => n.asked && plan.devices.length > 1).length, whole = parts.length === 1 && plan.subgraphs.length === 1;
  const where = whole ? "one subgraph: " + plan.devices[plan.subgraphs[0].device].name + " runs everything" : count(plan.subgraphs.length, "subgraph") +
    (parts.length > 1 ? ", of the model and of " + count(parts.length - 1, "body").replace("bodys", "bodies") + " that the host runs" :
      plan.exact ? ", the minimum" : ", proven minimum " + plan.bound);
  return count(nodes.length, "node") + " in " + where + (whole ? ", " : ". ") + (whole || crossing.length ? crossText() : "Nothing crosses") + "." +
    (asked ? " " + count(asked, "node") + " asked for a device." : "");
}

function fillPlan() {
  const used = plan.devices.map((_, d) => ({nodes: nodes.filter((n) => n.device === d).length, parts: plan.subgraphs.filter((s) => s.device === d).length}));
  const times = (d) => (plan.time ? [number(timeText(plan.time.devices[d][0])), number(plan.time.devices[d][2] === null ? "–" : timeText(plan.time.devices[d][2]))] : []);
  const rows = plan.devices.map((dev, d) => rowOf(device(d), ...(plan.time ? [] : [dev.plugin]), number(String(used[d].nodes)), number(String(used[d].parts)), ...times(d)));
  pane("plan").replaceChildren(
    make("h2", {}, plan.model),
    make("p", {}, planText()),
    ...(plan.time ? [make("p", {}, "Estimated time of a run: " + timeText(plan.time.total) + " (no plan below " + timeText(plan.time.bound) + "): compute " +
      timeText(plan.time.compute) + ", launches " + timeText(plan.time.launch) + ", transfers " + timeText(plan.time.transfer) + ".")] : []),
    make("table", {}, headOf("device", ...(plan.time ? [] : ["plugin"]), "#nodes", "#subgraphs", ...(plan.time ? ["#time", "#alone"] : [])), make("tbody", {}, ...rows)),
    make("h3", {}, "Why these plugins"), make("ul", {}, ...plan.devices.map((dev) => make("li", {}, dev.full + ": " + dev.rule))),
    ...(plan.notes.length ? [make("h3", {}, "Notes"), make("ul", {}, ...plan.notes.map((n) => make("li", {}, n)))] : []),
    make("h3", {}, "Model"), make("p", {class: "soft"}, "SHA-256 " + plan.hash));
}

const whereText = (n, seen) => (n.subgraph === seen.subgraph ? "" : " in subgraph " + n.subgraph + " on " + plan.devices[n.device].name);
const nodeLink = (n) => link(n.op + " " + n.name, () => choose(n.item, true));
const tensorTail = (t) => " · " + t.type + (t.bytes ? " · " + bytesText(t.bytes) : "");

const graphWord = (subgraph) => (partOf(subgraph).path ? "body" : "model");

function readRow(t, n) {
  const apart = t.cutTo.includes(n.subgraph);
  return make("li", {class: apart ? "crosses" : undefined}, t.name + tensorTail(t), make("br"),
    ...(t.from ? [apart ? "crosses from " : "from ", nodeLink(t.from), whereText(t.from, n)] : ["an input of the " + graphWord(n.subgraph)]));
}
function writeRow(t, n) {
  const cloned = (r) => (n.clones.some((c) => c.subgraph === r.subgraph) ? " (from its clone there)" : "");
  const to = t.to.slice(0, 12).flatMap((r) => [make("br"), t.cutTo.includes(r.subgraph) ? "crosses to " : "to ", nodeLink(r), whereText(r, n) + cloned(r)]);
  const more = t.to.length > 12 ? [make("br"), "and " + (t.to.length - 12) + " more"] : [];
  return make("li", {class: t.crosses ? "crosses" : undefined}, t.name + tensorTail(t), ...to, ...more, ...(t.output ? [make("br"), "an output of the " + graphWord(n.subgraph)] : []));
}

// `clone`: of the node, when that is what was clicked.
function fillNode(n, clone) {
  const timed = n.answers.some((a) => a.time !== undefined), part = partOf(n.subgraph);
  const answers = n.answers.map((a, d) => {
    const verdict = d === n.device ? "here" : a.yes ? "yes" : "no";
    const time = !timed ? [] : [number(a.time === undefined ? "" : timeText(a.time))];
    return rowOf(device(d), make("td", {class: "verdict"}, verdict), ...time, [a.reason, a.text].filter(Boolean).join(": ") + (a.source ? " (time: " + a.source + ")" : ""));
  });
  pane("node").replaceChildren(
    make("h2", {}, n.name), make("p", {class: "soft"}, n.op),
    clone ? make("p", {class: "why", style: "border-color:" + plan.devices[clone.item.device].colour}, "This box is a clone in ",
      link("subgraph " + clone.subgraph, () => chooseSubgraph(clone.subgraph, true)), " on " + plan.devices[clone.item.device].name + ": " + clone.sentence + ". The node itself:") : "",
    make("p", {}, device(n.device), ", ", link("subgraph " + n.subgraph + " of " + plan.subgraphs.length, () => chooseSubgraph(n.subgraph, true)),
      ...(part.path ? [" in body ", link(part.path, () => enterBody(part))] : [])),
    make("p", {class: "why", style: "border-color:" + plan.devices[n.device].colour}, n.sentence, make("br"), make("span", {class: "soft"}, n.why + (n.asked ? " · asked for " + n.asked : ""))),
    ...(n.precision ? [make("p", {}, "precision: " + n.precision)] : []),
    ...(n.error ? [make("p", {class: "why", style: "border-color:" + n.error.colour}, "error: " + n.error.text)] : []),
    ...n.clones.filter((c) => c !== clone).map((c) => make("p", {}, "also in ", link("subgraph " + c.subgraph, () => choose(c.item, true)), ": " + c.sentence)),
    ...(n.bodies.length ? [make("h3", {}, "Bodies, which the host runs"), make("ul", {}, ...n.bodies.map(bodyRow))] : []),
    make("h3", {}, "What each device says"), make("table", {}, headOf("device", "takes it", ...(timed ? ["#time"] : []), "reason"), make("tbody", {}, ...answers)),
    make("h3", {}, "Reads"), make("ul", {}, ...n.reads.map((t) => readRow(t, n))),
    make("h3", {}, "Writes"), make("ul", {}, ...n.writes.map((t) => writeRow(t, n))));
}

function bodyRow(part) {
  const inside = nodes.filter((n) => n.subgraph >= part.first && n.subgraph < part.end).length, last = part.end - 1;
  const numbers = part.end === part.first ? "" : part.first === last ? ", subgraph " + last : ", subgraphs " + part.first + " to " + last;
  return make("li", {}, link(bodyText(part), () => enterBody(part)), " · " + count(inside, "node") + numbers);
}

function fillTensor(t) {
  pane("node").replaceChildren(
    make("h2", {}, t.name), make("p", {}, t.type + ", " + bytesText(t.bytes)),
    make("p", {}, ...(t.from ? ["made by ", nodeLink(t.from), " in subgraph " + t.from.subgraph + " on " + plan.devices[t.from.device].name] : ["an input of the " + (t.to.length ? graphWord(t.to[0].subgraph) : "model")])),
    t.output ? make("p", {}, "an output of the " + (t.from ? graphWord(t.from.subgraph) : "model")) : "",
    make("h3", {}, "Read by"),
    make("ul", {}, ...t.to.slice(0, 200).map((n) => make("li", {}, nodeLink(n), " in subgraph " + n.subgraph + " on " + plan.devices[n.device].name))));
}

const kMostRows = 400;
const leftOut = (all) => (all > kMostRows ? make("p", {class: "hint"}, "The first " + kMostRows + " of " + all + "; search finds the others.") : null);

// Of one run: what its nodes take there, and starting it.
function subgraphTime(index) {
  const dev = plan.subgraphs[index].device;
  const own = nodes.filter((n) => n.subgraph === index).concat(nodes.filter((n) => n.clones.some((c) => c.subgraph === index)));
  return own.reduce((sum, n) => sum + (n.answers[dev].time || 0), plan.time.devices[dev][1]);
}

function fillSubgraphs() {
  const row = (s, i) => rowOf(link(String(i), () => chooseSubgraph(i, true)), device(s.device), number(String(s.nodes) + (s.clones.length ? " + " + s.clones.length : "")),
    number(String(s.reads.length)), number(String(s.writes.length)), ...(plan.time ? [number(timeText(subgraphTime(i)))] : []));
  const rows = plan.subgraphs.slice(0, kMostRows).flatMap((s, i) => {
    const part = parts.length > 1 ? parts.find((p) => p.first === i && p.end > i) : null;
    const head = part ? [make("tr", {class: "group"}, make("td", {colspan: "6"}, part.path ? link(bodyText(part), () => enterBody(part)) : "the model"))] : [];
    return [...head, row(s, i)];
  });
  pane("subgraphs").replaceChildren(make("table", {}, headOf("subgraph", "device", "#nodes", "#reads", "#writes", ...(plan.time ? ["#time"] : [])), make("tbody", {}, ...rows)),
    ...[leftOut(plan.subgraphs.length)].filter(Boolean));
}

function fillCuts() {
  const cuts = [...crossing].sort((a, b) => b.bytes - a.bytes);
  const rows = cuts.slice(0, kMostRows).map((t) => rowOf(make("td", {}, link(t.name, () => choose(t.item, true)), make("br"), make("span", {class: "soft"}, t.type)),
    number(String(t.from.subgraph)), number(t.cutTo.join(", ")), number(bytesText(t.bytes))));
  pane("cuts").replaceChildren(
    cuts.length ? make("table", {}, headOf("tensor", "#from", "#to", "#size"), make("tbody", {}, ...rows)) : make("p", {class: "hint"}, "Nothing crosses: one device runs everything."),
    ...[leftOut(cuts.length)].filter(Boolean));
}

// What 'explain --what-if' says, when the page was asked to hold it.
function fillWhatIf() {
  const all = plan.whatIf;
  if (!all) return;
  document.getElementById("tab-whatif").hidden = false;
  const timed = all.microseconds !== undefined;
  const rows = all.cases.slice(0, kMostRows).flatMap((c) => {
    const example = c.example && nodes.find((n) => n.name === c.example);
    const why = example ? [make("tr", {class: "detail"}, make("td", {colspan: timed ? "4" : "3"}, c.reason + ", first at ",
      link(c.example, () => choose(example.item, true)), c.text ? ": " + c.text : ""))] : [];
    const saved = c.microseconds === undefined ? "not known" : c.saved_microseconds < 0.05 ? "nothing" : timeText(c.saved_microseconds);
    const cells = timed ? [make("td", {class: "number", title: c.cost_source ? "its times: " + c.cost_source : undefined}, saved)] : [];
    return [rowOf(c.device + " took " + (c.op || "all that it refuses"), number(String(c.nodes)), number(all.subgraphs + " → " + c.subgraphs), ...cells), ...why];
  });
  pane("whatif").replaceChildren(
    make("p", {}, "What devices refuse, and the plan made again as if they took it. It has " + count(all.subgraphs, "subgraph") +
      (timed ? " and is estimated at " + timeText(all.microseconds) + " a run" : "") + " now."),
    rows.length ? make("table", {}, headOf("if", "#nodes", "#subgraphs", ...(timed ? ["#saves"] : [])), make("tbody", {}, ...rows)) : make("p", {class: "hint"}, "No candidate device refuses a node."),
    ...[leftOut(all.cases.length)].filter(Boolean));
}

function fillFound(found, words) {
  const rows = found.slice(0, kMostRows).map((i) => (i.node
    ? rowOf(i.clone ? link("clone of " + i.node.name, () => choose(i, true)) : nodeLink(i.node), device(i.device)) : rowOf(link(i.tensor.name, () => choose(i, true)), i.tensor.type)));
  pane("found").replaceChildren(make("p", {}, words ? (found.length ? count(found.length, "match").replace("matchs", "matches") : "Nothing") + " for “" + words + "”" : "Type in the search box."),
    make("table", {}, make("tbody", {}, ...rows)), ...[leftOut(found.length)].filter(Boolean));
}
