// ---- data: what the host wrote, with texts in place of their numbers and neighbours by node
const plan = JSON.parse(document.getElementById("data").textContent);
const kNode = 0, kCut = 1, kInput = 2, kOutput = 3, kClone = 4;
const [worldWidth, worldHeight, nodeWidth, nodeHeight, tensorHeight] = plan.size;
const text = (number) => plan.texts[number];

const nodes = plan.nodes.map((n, index) => ({
  index, name: n.n, op: text(n.o), device: n.d, subgraph: n.s, why: text(n.w), sentence: text(n.t), asked: text(n.q),
  precision: n.p === undefined ? "" : text(n.p), error: n.e === undefined ? null : {short: n.e[0], colour: n.e[1], text: text(n.e[2])},
  answers: n.a.map(([yes, reason, said, time, source]) => ({yes: yes === 1, reason: text(reason), text: text(said), time, source: time === undefined ? "" : text(source)})),
  reads: [], writes: [], clones: [], bodies: [], item: null,
}));
const parts = plan.parts.map(([path, holder, trips, first, end], index) => ({index, path, holder: holder === null ? null : nodes[holder], trips, first, end, frame: null}));
for (const part of parts) if (part.holder) part.holder.bodies.push(part);
const partOf = (subgraph) => parts.find((p) => subgraph >= p.first && subgraph < p.end);
const bodyText = (part) => "body " + part.path + (part.trips ? ", " + part.trips : "");
const tensors = plan.tensors.map((t, index) => ({
  index, name: t.n, type: text(t.t), bytes: t.b, from: t.f === undefined ? null : nodes[t.f], to: t.r.map((n) => nodes[n]), output: t.o === 1,
  cutTo: t.c || [], item: null,
}));
for (const t of tensors) {
  t.crosses = t.cutTo.length > 0;
  if (t.from) t.from.writes.push(t);
  for (const n of t.to) n.reads.push(t);
}
plan.subgraphs.forEach((s, index) => { for (const [n, sentence] of s.clones) nodes[n].clones.push({subgraph: index, sentence, item: null}); });
// An item is a node at home, a clone of one (then `clone` says of which subgraph), or a tensor.
const items = plan.items.map(([kind, index, x, y, subgraph]) => {
  const box = kind === kNode || kind === kClone, node = box ? nodes[index] : null, tensor = box ? null : tensors[index];
  const clone = kind === kClone ? node.clones.find((c) => c.subgraph === subgraph) : null;
  const home = box ? (clone ? subgraph : node.subgraph) : (tensor.from ? tensor.from.subgraph : null);  // none: an input
  const item = {kind, x, y, w: nodeWidth, h: box ? nodeHeight : tensorHeight, node, tensor, clone, subgraph: home,
                device: home === null ? null : plan.subgraphs[home].device, above: [], below: []};
  (clone || node || tensor).item = item;
  return item;
});
const lines = plan.lines.map(([from, to, tensor, ...bends]) => {
  const line = {from: items[from], to: items[to], tensor: tensors[tensor], bends};
  line.cut = !line.from.node || !line.to.node;
  line.from.below.push(line.to);
  line.to.above.push(line.from);
  return line;
});
const pieces = plan.pieces.map(([subgraph, first, x, y, w, h, part]) => ({subgraph, first: first === 1, x, y, w, h, part: parts[part]}));  // subgraph null: inputs
const frames = plan.frames.map(([part, x, y, w, h]) => { const frame = {part: parts[part], x, y, w, h}; parts[part].frame = frame; return frame; });

function bytesText(bytes) {
  if (bytes === 0) return "unknown size";
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return unit === 0 ? bytes + " bytes" : bytes.toFixed(1) + " " + ["", "KiB", "MiB", "GiB", "TiB"][unit];
}
const count = (n, thing) => n + " " + thing + (n === 1 ? "" : "s");
const crossing = tensors.filter((t) => t.crosses);
const crossText = () => (crossing.length ? count(crossing.length, "tensor") + (crossing.length === 1 ? " crosses, " : " cross, ") + (plan.bytes ? bytesText(plan.bytes) : "of sizes known when it runs") : "nothing crosses");
