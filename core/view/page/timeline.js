// ---- timeline: what `run --trace` measured, a lane per kind of event and request
const kLanes = ["ModelInit", "SubgraphInit", "RequestInit", "ModelExecute", "SubgraphExecute", "LayerExecute", "BufferCopy", "Wait"];
const kMostEvents = 4000;
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

function timeText(us) {
  return us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(1) + " µs";
}

// A round step of which about eight fill the span.
function tickStep(span) {
  const raw = span / 8, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
}

function drawTimeline() {
  const footer = document.getElementById("timeline");
  if (!plan.trace.length) return;
  footer.hidden = false;
  const all = plan.trace.map(([kind, name, start, length, index, track]) => ({kind: text(kind), name: text(name), start, length, index, track}));
  const events = all.slice(0, kMostEvents);
  const lanes = [];
  for (const track of [...new Set(events.map((e) => e.track))].sort((a, b) => a - b))
    for (const kind of kLanes)
      if (events.some((e) => e.track === track && e.kind === kind)) lanes.push({track, kind});
  const width = Math.max(600, footer.clientWidth - 28), left = 176, row = 20, first = Math.min(...events.map((e) => e.start));
  const span = Math.max(1e-6, Math.max(...events.map((e) => e.start + e.length)) - first), x = (us) => left + (us - first) / span * (width - left - 8);
  const picture = svg("svg", {viewBox: "0 0 " + width + " " + (lanes.length * row + 26), height: lanes.length * row + 26, role: "group", "aria-label": "timeline"});
  for (let t = 0, tick = tickStep(span); t <= span; t += tick) {
    picture.append(svg("line", {class: "tick", x1: x(first + t), x2: x(first + t), y1: 16, y2: lanes.length * row + 20}),
      svg("text", {x: x(first + t) + 3, y: 12}, timeText(t)));
  }
  lanes.forEach((lane, i) => {
    picture.append(svg("text", {class: "lane", x: 0, y: 18 + i * row + 14}, lane.kind + (lanes.some((l) => l.track !== lanes[0].track) ? " · request " + lane.track : "")));
    for (const e of events) if (e.track === lane.track && e.kind === lane.kind) picture.append(bar(e, x(e.start), Math.max(1.5, e.length / span * (width - left - 8)), 18 + i * row, row - 3));
  });
  footer.replaceChildren(picture);
  if (all.length > kMostEvents) footer.append(make("p", {class: "hint"}, "The first " + kMostEvents + " of " + all.length + " events."));
}

function bar(e, x, w, y, h) {
  const ofSubgraph = e.kind.startsWith("Subgraph"), d = ofSubgraph ? plan.subgraphs[e.index].device : null;
  const words = e.name + ": " + timeText(e.length);
  const shape = svg("rect", {class: "event", x, y, width: w, height: h, rx: 2, fill: ofSubgraph ? plan.devices[d].colour : plan.tensorColour}, svg("title", {}, words));
  if (!ofSubgraph) return shape;
  shape.setAttribute("tabindex", "0");
  shape.setAttribute("role", "button");
  shape.setAttribute("aria-label", words);
  shape.addEventListener("click", () => chooseSubgraph(e.index, true));
  shape.addEventListener("keydown", (key) => { if (key.key === "Enter" || key.key === " ") chooseSubgraph(e.index, true); });
  if (w < 34) return shape;
  return svg("g", {}, shape, svg("text", {x: x + 4, y: y + h - 5, "pointer-events": "none", style: "fill:#1b1e22;font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px"},
    plan.devices[d].letter + e.index));
}
