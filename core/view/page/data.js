// ---- data: what the host wrote, with texts in place of their numbers and neighbours by node
const plan = JSON.parse(document.getElementById("data").textContent);
const kNode = 0, kCut = 1, kInput = 2, kOutput = 3;
const [worldWidth, worldHeight, nodeWidth, nodeHeight, tensorHeight] = plan.size;
const text = (number) => plan.texts[number];

const nodes = plan.nodes.map((n, index) => ({
  index, name: n.n, op: text(n.o), device: n.d, subgraph: n.s, why: text(n.w), sentence: text(n.t), asked: text(n.q),
  answers: n.a.map(([yes, reason, said]) => ({yes: yes === 1, reason: text(reason), text: text(said)})), reads: [], writes: [], clones: [], item: null,
}));
const tensors = plan.tensors.map((t, index) => ({
  index, name: t.n, type: text(t.t), bytes: t.b, from: t.f === undefined ? null : nodes[t.f], to: t.r.map((n) => nodes[n]), output: t.o === 1,
  cutTo: t.c || [], item: null,
}));
for (const t of tensors) {
  t.crosses = t.cutTo.length > 0;
  if (t.from) t.from.writes.push(t);
  for (const n of t.to) n.reads.push(t);
}
plan.subgraphs.forEach((s, index) => { for (const [n, sentence] of s.clones) nodes[n].clones.push({subgraph: index, sentence}); });
const items = plan.items.map(([kind, index, x, y]) => {
  const item = {kind, x, y, w: nodeWidth, h: kind === kNode ? nodeHeight : tensorHeight, node: kind === kNode ? nodes[index] : null,
                tensor: kind === kNode ? null : tensors[index], above: [], below: []};
  const owner = item.node || item.tensor;
  owner.item = item;
  return item;
});
const lines = plan.lines.map(([from, to, tensor, ...bends]) => {
  const line = {from: items[from], to: items[to], tensor: tensors[tensor], bends};
  line.cut = line.from.kind !== kNode || line.to.kind !== kNode;
  line.from.below.push(line.to);
  line.to.above.push(line.from);
  return line;
});
const pieces = plan.pieces.map(([cluster, first, x, y, w, h]) => ({subgraph: cluster === 0 ? null : cluster - 1, first: first === 1, x, y, w, h}));  // null: inputs

function bytesText(bytes) {
  if (bytes === 0) return "unknown size";
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return unit === 0 ? bytes + " bytes" : bytes.toFixed(1) + " " + ["", "KiB", "MiB", "GiB", "TiB"][unit];
}
const count = (n, thing) => n + " " + thing + (n === 1 ? "" : "s");
