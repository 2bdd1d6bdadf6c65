// ---- draw: the canvas. Only what is on the screen is drawn, and only as finely as can be seen.
const canvas = document.getElementById("graph");
const pen = canvas.getContext("2d");
const view = {scale: 1, x: 0, y: 0};          // screen = world * scale + (x, y), in CSS pixels
const chosen = {item: null, device: null, found: null, subgraph: null};  // found: a Set of items
const colours = {};
let inks = [];  // by device: {colour, pattern}

function patternOf(context, look, size) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const p = tile.getContext("2d");
  p.fillStyle = look.colour;
  p.fillRect(0, 0, size, size);
  p.strokeStyle = p.fillStyle = "rgb(255 255 255 / 0.85)";
  p.lineWidth = size / 5;
  const stroke = (...points) => { p.beginPath(); for (let i = 0; i < points.length; i += 4) { p.moveTo(points[i] * size, points[i + 1] * size); p.lineTo(points[i + 2] * size, points[i + 3] * size); } p.stroke(); };
  if (look.pattern === "rising") stroke(-0.5, 0.5, 0.5, -0.5, -0.5, 1.5, 1.5, -0.5, 0.5, 1.5, 1.5, 0.5);
  if (look.pattern === "falling") stroke(-0.5, 0.5, 0.5, 1.5, -0.5, -0.5, 1.5, 1.5, 0.5, -0.5, 1.5, 0.5);
  if (look.pattern === "level") stroke(0, 0.5, 1, 0.5);
  if (look.pattern === "upright") stroke(0.5, 0, 0.5, 1);
  if (look.pattern === "grid") stroke(0, 0.5, 1, 0.5, 0.5, 0, 0.5, 1);
  if (look.pattern === "dots") { p.beginPath(); p.arc(size / 2, size / 2, size / 4, 0, 7); p.fill(); }
  return look.pattern === "solid" ? look.colour : context.createPattern(tile, "repeat");
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["back", "panel", "text", "soft", "rule", "edge", "cut", "mark", "piece", "frame"]) colours[name] = style.getPropertyValue("--" + name).trim();
  colours.tint = Number(style.getPropertyValue("--tint"));
  inks = plan.devices.map((look) => ({colour: look.colour, letter: look.letter, pattern: patternOf(pen, look, 8)}));
}

// A small picture of a device's look, for legend and tables.
function swatch(device) {
  const c = document.createElement("canvas");
  c.width = 60;
  c.height = 40;
  c.className = "swatch";
  c.setAttribute("aria-hidden", "true");
  const p = c.getContext("2d");
  const look = device === null ? {colour: plan.tensorColour, pattern: "solid", letter: ""} : plan.devices[device];
  p.fillStyle = patternOf(p, look, 14);
  p.fillRect(0, 0, 60, 40);
  if (look.letter) badge(p, look.letter, 30, 20, 28, "#ffffff", "#1b1e22");
  return c;
}

function badge(p, letter, x, y, size, back, front) {
  p.font = "700 " + size * 0.72 + "px system-ui, 'DejaVu Sans', sans-serif";
  const w = Math.max(size, p.measureText(letter).width + size * 0.5);
  p.fillStyle = back;
  p.beginPath();
  p.roundRect(x - w / 2, y - size / 2, w, size, size / 4);
  p.fill();
  p.fillStyle = front;
  p.textAlign = "center";
  p.textBaseline = "middle";
  p.fillText(letter, x, y + size * 0.04);
  p.textAlign = "left";
}

// Names differ at their end, so that is what is kept.
function fitted(p, words, width, keepEnd) {
  if (p.measureText(words).width <= width) return words;
  let low = 0, high = words.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const part = keepEnd ? "…" + words.slice(words.length - middle) : words.slice(0, middle) + "…";
    if (p.measureText(part).width <= width) low = middle; else high = middle - 1;
  }
  return keepEnd ? "…" + words.slice(words.length - low) : words.slice(0, low) + "…";
}

function dimmed(item) {
  if (item === chosen.item) return false;
  if (chosen.found) return !chosen.found.has(item);
  if (chosen.device !== null) return item.device !== chosen.device;
  if (chosen.subgraph !== null) return item.subgraph !== chosen.subgraph;
  return false;
}

// Lines run downwards from bottom to top, or sideways into another column.
const falls = (line) => line.bends.length > 0 ||
  (line.to.y - line.to.h / 2 >= line.from.y + line.from.h / 2 && Math.abs(line.to.x - line.from.x) < 4 * nodeWidth);

function path(line) {
  const a = line.from, b = line.to, y0 = a.y + a.h / 2, y1 = b.y - b.h / 2;
  pen.beginPath();
  if (falls(line)) {
    let x = a.x, y = y0;
    pen.moveTo(x, y);
    for (let i = 0; i <= line.bends.length; i += 2) {
      const nx = i < line.bends.length ? line.bends[i] : b.x, ny = i < line.bends.length ? line.bends[i + 1] : y1;
      pen.bezierCurveTo(x, (y + ny) / 2, nx, (y + ny) / 2, nx, ny);
      x = nx;
      y = ny;
    }
    return;
  }
  const right = b.x > a.x ? 1 : -1, x0 = a.x + right * a.w / 2, x1 = b.x - right * b.w / 2, reach = Math.max(40, Math.abs(x1 - x0) / 2);
  pen.moveTo(x0, a.y);
  pen.bezierCurveTo(x0 + right * reach, a.y, x1 - right * reach, b.y, x1, b.y);
}

function arrow(line) {
  const b = line.to, a = line.from, below = falls(line);
  const right = b.x > a.x ? 1 : -1, x = below ? b.x : b.x - right * b.w / 2, y = below ? b.y - b.h / 2 : b.y;
  pen.beginPath();
  pen.moveTo(x, y);
  if (below) { pen.lineTo(x - 4, y - 7); pen.lineTo(x + 4, y - 7); } else { pen.lineTo(x - right * 7, y - 4); pen.lineTo(x - right * 7, y + 4); }
  pen.fill();
}

// A body: a dashed frame, and a dotted way to it from the node that holds it.
function drawFrame(frame) {
  pen.beginPath();
  pen.roundRect(frame.x, frame.y, frame.w, frame.h, 14);
  pen.fillStyle = colours.frame;
  pen.fill();
  pen.strokeStyle = colours.edge;
  pen.lineWidth = 1.5 / Math.min(1, view.scale * 1.5);
  pen.setLineDash([8, 5]);
  pen.stroke();
  pen.setLineDash([]);
}
function drawWay(frame) {
  const from = frame.part.holder.item, strong = chosen.item === from, beside = frame.x > from.x + from.w;
  const x0 = beside ? from.x + from.w / 2 : from.x, y0 = beside ? from.y : from.y + from.h / 2;
  const x1 = beside ? frame.x : frame.x + 26, y1 = beside ? frame.y + 16 : frame.y;
  const bend = Math.max(30, (beside ? x1 - x0 : Math.abs(y1 - y0)) / 3);
  pen.strokeStyle = strong ? colours.mark : colours.cut;
  pen.fillStyle = pen.strokeStyle;
  pen.lineWidth = Math.max(strong ? 2 : 1.4, 1 / view.scale);
  pen.setLineDash([2, 4]);
  pen.beginPath();
  pen.moveTo(x0, y0);
  if (beside) pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  else pen.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  pen.stroke();
  pen.setLineDash([]);
  pen.beginPath();
  pen.arc(x1, y1, Math.max(4, 2 / view.scale), 0, 7);
  pen.fill();
}
function drawFrameTitle(frame) {
  pen.font = "600 12.5px system-ui, 'DejaVu Sans', sans-serif";
  pen.textBaseline = "middle";
  pen.fillStyle = colours.soft;
  pen.fillText(fitted(pen, bodyText(frame.part), frame.w - 50, true), frame.x + 36, frame.y + 16);
}

function drawPiece(piece) {
  if (piece.subgraph === null) return;
  const device = plan.subgraphs[piece.subgraph].device, strong = chosen.subgraph === piece.subgraph;
  pen.beginPath();
  pen.roundRect(piece.x, piece.y, piece.w, piece.h, 10);
  pen.fillStyle = colours.piece;
  pen.fill();
  pen.globalAlpha = colours.tint * 0.3;
  pen.fillStyle = inks[device].colour;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = strong ? colours.mark : inks[device].colour;
  pen.lineWidth = (strong ? 3 : 1.5) / Math.min(1, view.scale * 1.5);
  pen.setLineDash(piece.first ? [] : [6, 4]);
  pen.stroke();
  pen.setLineDash([]);
}

// As much as there is room for: nothing is cut off, the letter tells the device too.
function titleOf(piece, room) {
  if (piece.subgraph === null) return fitted(pen, "inputs of the " + (piece.part.path ? "body" : "model"), room, false);
  const on = " on " + plan.devices[plan.subgraphs[piece.subgraph].device].name, more = piece.first ? "" : ", continued", number = piece.subgraph;
  return ["subgraph " + number + on + more, number + on + more, "subgraph " + number + more, number + more].find((t) => pen.measureText(t).width <= room) || String(number);
}

// Sets the font: smaller where the words need it, as long as they can be read; then what fits of them.
function shrunk(words, width, weight, size, least, keepEnd) {
  const font = (s) => { pen.font = weight + s + "px system-ui, 'DejaVu Sans', sans-serif"; };
  font(size);
  const wanted = pen.measureText(words).width;
  if (wanted <= width) return words;
  font(Math.max(least, Math.floor(size * width / wanted * 4) / 4));
  return fitted(pen, words, width, keepEnd);
}

// After the lines, with a rim that keeps them off the letters.
function drawTitle(piece) {
  const inputs = piece.subgraph === null, dev = inputs ? null : plan.subgraphs[piece.subgraph].device;
  if (!inputs) badge(pen, inks[dev].letter, piece.x + 22, piece.y + 15, 16, "#ffffff", "#1b1e22");
  pen.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
  pen.textBaseline = "middle";
  const x = piece.x + (inputs ? 14 : 36), y = piece.y + 15.5, shown = titleOf(piece, piece.w - (inputs ? 26 : 48));
  pen.strokeStyle = inputs ? colours.back : colours.piece;
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeText(shown, x, y);
  pen.fillStyle = inputs ? colours.soft : colours.text;
  pen.fillText(shown, x, y);
}

function drawItem(item) {
  const x = item.x - item.w / 2, y = item.y - item.h / 2, faint = dimmed(item);
  pen.globalAlpha = faint ? 0.3 : 1;
  if (item.node) drawNode(item, x, y); else drawTensor(item, x, y);
  pen.globalAlpha = 1;
  if (item === chosen.item) {
    pen.strokeStyle = colours.mark;
    pen.lineWidth = Math.max(2.5, 2 / view.scale);
    pen.beginPath();
    pen.roundRect(x - 3, y - 3, item.w + 6, item.h + 6, 9);
    pen.stroke();
  }
}

function drawNode(item, x, y) {
  const ink = inks[item.device], alpha = pen.globalAlpha, error = item.node.error;
  if (view.scale < 0.3) {  // too small to read: the error's colour, else the device's pattern alone
    pen.fillStyle = error ? error.colour : view.scale < 0.12 ? ink.colour : ink.pattern;
    pen.fillRect(x, y, item.w, item.h);
    return;
  }
  pen.beginPath();
  pen.roundRect(x, y, item.w, item.h, 6);
  pen.fillStyle = colours.panel;
  pen.fill();
  pen.globalAlpha = alpha * colours.tint * (item.clone ? 0.4 : 1);
  pen.fillStyle = ink.colour;
  pen.fill();
  pen.globalAlpha = alpha;
  pen.save();
  pen.clip();
  pen.fillStyle = ink.pattern;
  pen.fillRect(x, y, 11, item.h);
  if (error) { pen.fillStyle = error.colour; pen.fillRect(x + 11, y + item.h - 4, item.w, 4); }
  pen.restore();
  pen.strokeStyle = ink.colour;
  pen.lineWidth = item.clone ? 1.5 : 1;
  pen.setLineDash(item.clone ? [4, 3] : []);
  pen.stroke();
  pen.setLineDash([]);
  pen.textBaseline = "middle";
  pen.fillStyle = colours.text;
  pen.fillText(shrunk(item.node.op + (error ? "  " + error.short : ""), item.w - 44, "600 ", 12.5, 7, false), x + 18, y + 13.5);
  if (view.scale >= 0.5) {
    pen.fillStyle = colours.soft;
    pen.fillText(shrunk((item.clone ? "clone of " : "") + item.node.name, item.w - 28, "", 10.5, 8.5, true), x + 18, y + 28.5);
  }
  pen.font = "700 10.5px system-ui, 'DejaVu Sans', sans-serif";
  pen.fillStyle = colours.text;
  pen.textAlign = "right";
  pen.fillText(ink.letter, x + item.w - 8, y + 13.5);
  pen.textAlign = "left";
}

function drawTensor(item, x, y) {
  if (view.scale < 0.3) {
    pen.fillStyle = plan.tensorColour;
    pen.fillRect(x, y, item.w, item.h);
    return;
  }
  const alpha = pen.globalAlpha;
  pen.beginPath();
  pen.roundRect(x, y, item.w, item.h, item.h / 2);
  pen.fillStyle = colours.panel;
  pen.fill();
  pen.globalAlpha = alpha * colours.tint;
  pen.fillStyle = plan.tensorColour;
  pen.fill();
  pen.globalAlpha = alpha;
  pen.strokeStyle = plan.tensorColour;
  pen.lineWidth = item.kind === kCut ? 1.5 : 1;
  pen.setLineDash(item.kind === kCut ? [] : [4, 3]);
  pen.stroke();
  pen.setLineDash([]);
  pen.font = "10.5px system-ui, 'DejaVu Sans', sans-serif";
  pen.textBaseline = "middle";
  const size = item.kind === kOutput ? "output" : item.tensor.bytes ? bytesText(item.tensor.bytes) : "";
  pen.fillStyle = colours.soft;
  const sizeWidth = size ? pen.measureText(size).width + 8 : 0;
  pen.fillText(size, x + item.w - sizeWidth - 2, y + item.h / 2 + 0.5);
  pen.fillStyle = colours.text;
  pen.fillText(shrunk(item.tensor.name, item.w - sizeWidth - 16, "", 10.5, 8.5, true), x + 10, y + item.h / 2 + 0.5);
}

function drawLines(seen) {
  const near = chosen.item, thin = Math.max(1, 0.7 / view.scale);
  const strong = [];
  for (const line of lines) {
    const a = line.from, b = line.to;
    if (Math.max(a.x, b.x) + nodeWidth < seen.x0 || Math.min(a.x, b.x) - nodeWidth > seen.x1 || Math.max(a.y, b.y) < seen.y0 || Math.min(a.y, b.y) > seen.y1) continue;
    if (a === near || b === near) { strong.push(line); continue; }
    const far = Math.abs(b.x - a.x) + Math.abs(b.y - a.y) > 1500;
    const faint = dimmed(a) && dimmed(b);
    pen.globalAlpha = faint ? 0.15 : far ? 0.45 : 1;
    pen.strokeStyle = pen.fillStyle = line.cut ? colours.cut : colours.edge;
    pen.lineWidth = line.cut ? thin * 1.5 : thin;
    path(line);
    pen.stroke();
    if (view.scale >= 0.3) arrow(line);
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = pen.fillStyle = colours.mark;
  pen.lineWidth = Math.max(2.2, 1.6 / view.scale);
  for (const line of strong) { path(line); pen.stroke(); arrow(line); }
}

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; drawAll(); });
}

function drawAll() {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colours.back;
  pen.fillRect(0, 0, w, h);
  pen.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
  const seen = {x0: -view.x / view.scale, y0: -view.y / view.scale, x1: (w - view.x) / view.scale, y1: (h - view.y) / view.scale};
  const visible = (b) => b.x + b.w >= seen.x0 && b.x - b.w <= seen.x1 && b.y + b.h >= seen.y0 && b.y - b.h <= seen.y1;
  for (const frame of frames) if (visible(frame)) drawFrame(frame);
  for (const piece of pieces) if (visible(piece)) drawPiece(piece);
  drawLines(seen);
  for (const frame of frames) drawWay(frame);
  if (view.scale >= 0.3) for (const frame of frames) if (visible(frame)) drawFrameTitle(frame);
  if (view.scale >= 0.3) for (const piece of pieces) if (visible(piece)) drawTitle(piece);
  for (const item of items) if (visible(item)) drawItem(item);
  if (view.scale < 0.3) drawNumbers(visible);
}

// Far away, the number of each subgraph that has the room for it.
function drawNumbers(visible) {
  for (const piece of pieces) {
    if (piece.subgraph === null || !visible(piece) || !piece.first || Math.min(piece.w, piece.h) * view.scale < 34) continue;
    const ink = inks[plan.subgraphs[piece.subgraph].device];
    badge(pen, ink.letter + piece.subgraph, piece.x + 16 / view.scale, piece.y + 9 / view.scale, 16 / view.scale, colours.panel, colours.text);
  }
}
