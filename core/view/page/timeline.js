// ---- timeline: what `run --trace` measured, a lane per kind of event and request. It opens on the last run; loading is a button away.
const kLanes = ["ModelInit", "SubgraphInit", "RequestInit", "ModelExecute", "SubgraphExecute", "LayerExecute", "BufferCopy", "Wait"];
const kMostEvents = 4000, kRow = 20, kTop = 18;
const span = {events: [], first: 0, last: 0, zero: 0, from: 0, to: 0};  // microseconds; zero is where the last run begins
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

function timeText(us) {
  if (us < 0) return "−" + timeText(-us);
  return us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(1) + " µs";
}

// A round step of which about eight fill the span.
function tickStep(length) {
  const raw = length / 8, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
}

function textWidth(words, font) {
  pen.save();
  pen.font = font;
  const width = pen.measureText(words).width;
  pen.restore();
  return width;
}

function showSpan(from, to) {
  const whole = span.last - span.first, length = Math.min(Math.max(to - from, Math.max(whole / 1e6, 0.01)), whole * 1.04 + 0.01);
  span.from = Math.min(Math.max(from, span.first - whole * 0.02), span.last + whole * 0.02 - length);
  span.to = span.from + length;
  drawTimeline();
}
const showRun = () => {
  const run = span.events.filter((e) => e.kind === "ModelExecute").at(-1);
  if (run) showSpan(run.start, run.start + run.length * 1.01);
  else showSpan(span.first, span.last);
};
const zoomSpan = (factor, at = (span.from + span.to) / 2) => showSpan(at - (at - span.from) / factor, at + (span.to - at) / factor);

const laneText = (lane, several) => lane.kind + (several ? " · request " + lane.track : "");
const kLaneFont = "11px system-ui, 'DejaVu Sans', sans-serif", kBarFont = "600 " + kLaneFont;

// By request, then in the order of kLanes; those that have something to show.
function lanesOf(events) {
  const lanes = [];
  for (const track of [...new Set(events.map((e) => e.track))].sort((a, b) => a - b))
    for (const kind of kLanes)
      if (events.some((e) => e.track === track && e.kind === kind)) lanes.push({track, kind});
  return lanes;
}

function drawTimeline() {
  const footer = document.getElementById("timeline"), old = document.getElementById("spans");
  const inside = span.events.filter((e) => e.start < span.to && (e.start >= span.from || e.start + e.length > span.from));
  const shown = inside.length > kMostEvents ? [...inside].sort((a, b) => b.length - a.length).slice(0, kMostEvents) : inside;
  const lanes = lanesOf(shown), several = new Set(span.events.map((e) => e.track)).size > 1;
  const width = Math.max(360, footer.clientWidth - 28), left = Math.ceil(Math.max(0, ...lanes.map((l) => textWidth(laneText(l, several), kLaneFont)))) + 12;
  const length = span.to - span.from, x = (us) => left + (us - span.from) / length * (width - left), height = kTop + lanes.length * kRow + 4;
  const picture = svg("svg", {id: "spans", viewBox: "0 0 " + width + " " + height, height, tabindex: "0", role: "group", "aria-label": "timeline, from " +
    timeText(span.from - span.zero) + " to " + timeText(span.to - span.zero) + " of the run"});
  for (let tick = tickStep(length), t = Math.ceil((span.from - span.zero) / tick) * tick; t <= span.to - span.zero; t += tick) {
    const at = x(span.zero + t), words = timeText(Math.abs(t) < tick / 2 ? 0 : t), before = at + 3 + textWidth(words, kLaneFont) > width;
    picture.append(svg("line", {class: "tick", x1: at, x2: at, y1: 16, y2: height}), svg("text", {x: before ? at - 3 : at + 3, y: 12, "text-anchor": before ? "end" : "start"}, words));
  }
  lanes.forEach((lane, i) => {
    picture.append(svg("text", {class: "lane", x: 0, y: kTop + i * kRow + 14}, laneText(lane, several)));
    for (const e of shown)
      if (e.track === lane.track && e.kind === lane.kind) {
        const from = x(Math.max(e.start, span.from)), to = x(Math.min(e.start + e.length, span.to));
        picture.append(bar(e, from, Math.max(1.5, to - from), kTop + i * kRow, kRow - 3));
      }
  });
  picture.geometry = {left, width};
  const focused = old === document.activeElement;
  old.replaceWith(picture);
  if (focused) picture.focus();
  picture.addEventListener("wheel", onSpanWheel, {passive: false});
  picture.addEventListener("keydown", onSpanKey);
  document.getElementById("span-said").textContent = timeText(length) + " shown" + (inside.length > kMostEvents ? ", the " + kMostEvents + " longest of " + inside.length + " events" : "");
  footer.style.minHeight = Math.max(footer.offsetHeight, parseFloat(footer.style.minHeight) || 0) + "px";  // does not jump while zooming
}

// The time under a place on the screen.
function timeAt(clientX) {
  const picture = document.getElementById("spans"), box = picture.getBoundingClientRect(), {left, width} = picture.geometry;
  const at = (clientX - box.left) / box.width * width;
  return span.from + Math.min(1, Math.max(0, (at - left) / (width - left))) * (span.to - span.from);
}
function onSpanWheel(e) {
  e.preventDefault();
  if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) moveSpan(e.deltaX / 800);
  else zoomSpan(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), timeAt(e.clientX));
}
const moveSpan = (part) => { const by = part * (span.to - span.from); showSpan(span.from + by, span.to + by); };
function onSpanKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target !== e.currentTarget) return;
  if (e.key === "+" || e.key === "=") zoomSpan(1.6);
  else if (e.key === "-") zoomSpan(1 / 1.6);
  else if (e.key === "0") showSpan(span.first, span.last);
  else if (e.key === "ArrowLeft") moveSpan(-0.2);
  else if (e.key === "ArrowRight") moveSpan(0.2);
  else return;
  e.preventDefault();
}

function openTimeline() {
  if (!plan.trace.length) return;
  const footer = document.getElementById("timeline");
  footer.hidden = false;
  span.events = plan.trace.map(([kind, name, start, length, index, track]) => ({kind: text(kind), name: text(name), start, length, index, track}));
  span.first = span.events.reduce((least, e) => Math.min(least, e.start), Infinity);
  span.last = span.events.reduce((most, e) => Math.max(most, e.start + e.length), -Infinity);
  const run = span.events.filter((e) => e.kind === "ModelExecute").at(-1);
  span.zero = run ? run.start : span.first;
  for (const [id, act] of [["span-run", showRun], ["span-all", () => showSpan(span.first, span.last)], ["span-bigger", () => zoomSpan(1.6)], ["span-smaller", () => zoomSpan(1 / 1.6)]])
    document.getElementById(id).addEventListener("click", act);
  let held = null;  // a drag: {x, from, to}
  footer.addEventListener("pointerdown", (e) => { if (e.target.closest("#spans")) held = {x: e.clientX, from: span.from, to: span.to}; });
  window.addEventListener("pointermove", (e) => {
    if (!held || Math.abs(e.clientX - held.x) < 4) return;
    const {left, width} = document.getElementById("spans").geometry, by = (held.x - e.clientX) / (width - left) * (held.to - held.from);
    showSpan(held.from + by, held.to + by);
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => { held = null; });
  new ResizeObserver(drawTimeline).observe(document.querySelector("header"));  // as wide as the page
  showRun();
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
  const label = plan.devices[d].letter + e.index;
  if (w < textWidth(label, kBarFont) + 10) return shape;
  return svg("g", {}, shape, svg("text", {x: x + 4, y: y + h - 5, "pointer-events": "none", style: "fill:#1b1e22;font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px"}, label));
}
