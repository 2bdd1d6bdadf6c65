// ---- camera: where one looks, and what is under the pointer
const limits = () => [Math.min(0.02, fitScale() / 2), 4];
const fitScale = () => Math.min((canvas.clientWidth - 40) / worldWidth, (canvas.clientHeight - 40) / worldHeight);

function lookAt(x, y, scale) {
  const [least, most] = limits();
  view.scale = Math.min(most, Math.max(least, scale));
  view.x = canvas.clientWidth / 2 - x * view.scale;
  view.y = canvas.clientHeight / 2 - y * view.scale;
  redraw();
}

// Everything; a small graph is not blown up.
function showAll() {
  lookAt(worldWidth / 2, worldHeight / 2, Math.min(1.25, fitScale()));
}

// Everything, where its colours tell something; the beginning, near enough to read, where one device runs a graph too big for that.
function showStart() {
  const scale = 0.62;
  if (plan.subgraphs.length === 1 && fitScale() < 0.3) lookAt((canvas.clientWidth / 2 - 24) / scale, (canvas.clientHeight / 2 - 20) / scale, scale);
  else showAll();
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const [least, most] = limits(), before = view.scale;
  view.scale = Math.min(most, Math.max(least, view.scale * factor));
  view.x = x - (x - view.x) * view.scale / before;
  view.y = y - (y - view.y) * view.scale / before;
  redraw();
}

function showBox(x, y, w, h) {
  lookAt(x + w / 2, y + h / 2, Math.min(1.25, (canvas.clientWidth - 60) / w, (canvas.clientHeight - 60) / h));
}

// Brings an item into sight, and near enough to read.
function reveal(item) {
  const sx = item.x * view.scale + view.x, sy = item.y * view.scale + view.y;
  const outside = sx < 100 || sy < 40 || sx > canvas.clientWidth - 100 || sy > canvas.clientHeight - 40;
  if (outside || view.scale < 0.5) lookAt(item.x, item.y, Math.max(0.8, view.scale));
  else redraw();
}

function itemAt(sx, sy) {
  const x = (sx - view.x) / view.scale, y = (sy - view.y) / view.scale, slack = 3 / view.scale;
  return items.find((i) => Math.abs(i.x - x) <= i.w / 2 + slack && Math.abs(i.y - y) <= i.h / 2 + slack) || null;
}
function frameAt(sx, sy) {
  const x = (sx - view.x) / view.scale, y = (sy - view.y) / view.scale;
  return frames.find((f) => x >= f.x && x <= f.x + f.w && y >= f.y && y <= f.y + 30) || null;
}
function pieceAt(sx, sy) {
  const x = (sx - view.x) / view.scale, y = (sy - view.y) / view.scale;
  return pieces.find((p) => p.subgraph !== null && x >= p.x && x <= p.x + p.w && y >= p.y && y <= p.y + p.h) || null;
}

const pointers = new Map();
let moved = false;
canvas.addEventListener("pointerdown", (e) => {
  canvas.setPointerCapture(e.pointerId);
  pointers.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
  moved = false;
});
canvas.addEventListener("pointermove", (e) => {
  const last = pointers.get(e.pointerId);
  if (!last) { canvas.title = hint(itemAt(e.offsetX, e.offsetY)); return; }
  const others = [...pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
  if (!moved && Math.hypot(e.offsetX - last.x, e.offsetY - last.y) < 4) return;
  moved = true;
  canvas.classList.add("dragging");
  if (others.length === 1) {
    const before = Math.hypot(last.x - others[0].x, last.y - others[0].y), now = Math.hypot(e.offsetX - others[0].x, e.offsetY - others[0].y);
    zoom(now / Math.max(1, before), others[0].x, others[0].y);
  } else {
    view.x += e.offsetX - last.x;
    view.y += e.offsetY - last.y;
    redraw();
  }
  pointers.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, (e) => {
    pointers.delete(e.pointerId);
    canvas.classList.remove("dragging");
    if (end === "pointercancel" || moved) return;
    const item = itemAt(e.offsetX, e.offsetY), piece = item ? null : pieceAt(e.offsetX, e.offsetY);
    if (piece) chooseSubgraph(piece.subgraph, false);
    else if (!item && frameAt(e.offsetX, e.offsetY)) choose(frameAt(e.offsetX, e.offsetY).part.holder.item, false);
    else choose(item, false);
  });
}
canvas.addEventListener("dblclick", (e) => {
  const item = itemAt(e.offsetX, e.offsetY);
  if (item && item.node && item.node.bodies.length) enterBody(item.node.bodies[0]);
});
canvas.addEventListener("wheel", (e) => {
  e.preventDefault();
  zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), e.offsetX, e.offsetY);
}, {passive: false});

function hint(item) {
  if (!item) return "";
  if (item.clone) return item.node.op + "  clone of " + item.node.name + "\n" + plan.devices[item.device].name + ": " + item.clone.sentence;
  if (item.node) return item.node.op + "  " + item.node.name + "\n" + plan.devices[item.device].name + ": " + item.node.sentence;
  return item.tensor.name + "  " + item.tensor.type + ", " + bytesText(item.tensor.bytes);
}

// Along edges with up and down, to the neighbour in sight with left and right.
function step(key) {
  const at = chosen.item;
  if (!at) { choose(items.find((i) => i.node) || null, true); return; }
  if (key === "ArrowDown" && at.below.length) choose(at.below[0], true);
  if (key === "ArrowUp" && at.above.length) choose(at.above[0], true);
  if (key !== "ArrowLeft" && key !== "ArrowRight") return;
  const side = key === "ArrowLeft" ? -1 : 1;
  let best = null;
  for (const i of items) {
    const ahead = (i.x - at.x) * side;
    if (ahead <= 1) continue;
    const far = ahead + 3 * Math.abs(i.y - at.y);
    if (!best || far < best.far) best = {item: i, far};
  }
  if (best) choose(best.item, true);
}

canvas.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key.startsWith("Arrow")) step(e.key);
  else if (e.key === "+" || e.key === "=") zoom(1.3);
  else if (e.key === "-") zoom(1 / 1.3);
  else if (e.key === "0") showAll();
  else if (e.key === "Escape") choose(null, false);
  else if (e.key === "Enter" && chosen.item && chosen.item.node && chosen.item.node.bodies.length) enterBody(chosen.item.node.bodies[0]);
  else return;
  e.preventDefault();
});
