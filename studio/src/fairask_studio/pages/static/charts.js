// Small charts as SVG. Colours are classes, so that a theme changes them without drawing again.
import { el, points } from "./dom.js";

const NS = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

// About `count` round numbers from `low` to `high`.
export function ticks(low, high, count = 4) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; i++) found.push(i * step || 0);
  return found;
}

const percent = (value) => `${Math.round(100 * value)} %`;
const path = (list) => list.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

// The limit of an audit that its verdict rests on, rounded away from the gap; a gap that was computed is itself.
export function atWorst({ low, high }, allowed) {
  const round = (limit, outward) => points(low === high ? limit : outward(1000 * limit) / 1000);
  return low > allowed ? `at least ${round(low, (v) => Math.floor(v + 1e-7))}` : `at most ${round(high, (v) => Math.ceil(v - 1e-7))}`;
}

// One panel: grid, band, line, points with what they mean, and limits drawn in.
function panel({ top, height, width, left, x, range, name, tone, series, write, limit, words, audited }) {
  const y = (value) => top + height - (height * (Math.min(Math.max(value, range[0]), range[1]) - range[0])) / (range[1] - range[0]);
  const parts = ticks(...range, 3).map((t) => svg("g", { class: "tick" }, svg("line", { x1: left, x2: width, y1: y(t), y2: y(t) }), svg("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, write(t))));
  parts.push(svg("text", { class: "name", x: left, y: top - 8 }, name));
  if (limit !== undefined) {
    parts.unshift(svg("rect", { class: "forbidden", x: left, y: top, width: width - left, height: Math.max(y(limit) - top, 0) }));
    parts.push(svg("line", { class: "limit", x1: left, x2: width, y1: y(limit), y2: y(limit) }));
  }
  const known = series.filter((p) => p.value !== null);
  if (known.length > 1) parts.push(svg("path", { class: `band ${tone}`, d: `${path([...known.map((p) => [x(p.x), y(p.high)]), ...[...known].reverse().map((p) => [x(p.x), y(p.low)])])}Z` }));
  if (known.length === 1) parts.push(svg("line", { class: `whisk ${tone}`, x1: x(known[0].x), x2: x(known[0].x), y1: y(known[0].low), y2: y(known[0].high) }));
  parts.push(svg("path", { class: `line ${tone}`, d: path(known.map((p) => [x(p.x), y(p.value)])) }));
  parts.push(...known.map((p) => svg("g", { class: `dot-of ${tone}` }, svg("circle", { class: "hit", cx: x(p.x), cy: y(p.value), r: 11 }), svg("circle", { cx: x(p.x), cy: y(p.value), r: known.length > 40 ? 1.5 : 3.5 }),
    svg("title", {}, `${p.x.toLocaleString("en")} labels: ${name.toLowerCase()} ${write(p.value)} (${write(p.low)} to ${write(p.high)})`))));
  if (audited) {
    const { at } = audited, tint = audited.high <= limit ? "good" : audited.low > limit ? "bad" : "open";
    const line = y(audited.high) > top + 44 ? y(audited.high) - 24 : Math.min(y(audited.low) + 18, top + height - 18); // above the bar, or below it
    const said = (words, dy) => svg("text", { class: `${tint}-words`, x: at, y: line + dy, "text-anchor": "middle" }, words);
    parts.push(svg("line", { class: `whisk ${tint}`, x1: at, x2: at, y1: y(audited.low), y2: y(audited.high) }), svg("circle", { class: `point ${tint}`, cx: at, cy: y(audited.value), r: 6 }), said(`found ${write(audited.value)},`, 0), said(atWorst(audited, limit), 14));
  }
  if (limit !== undefined) parts.push(svg("text", { class: "limit-words", x: left + 4, y: y(limit) - 5 }, words));
  return parts;
}

// Accuracy above, gap below, aligned on labels; the forbidden side is tinted.
// What an audit found stands in a column of its own: its labels trained nothing.
export function curves(node, history, tolerance, budget, audited = null, high = 150) {
  const width = Math.max(node.clientWidth, 260);
  const left = 52, apart = 52, top = 24, right = audited ? (width < 500 ? 84 : 120) : 8, end = width - right;
  const seen = history.filter((entry) => entry.estimate);
  const most = Math.max(budget, ...seen.map((entry) => entry.labels));
  const x = (labels) => left + ((end - left) * labels) / most;
  const series = (name) => seen.map((entry) => ({ x: entry.labels, value: null, ...entry.estimate[name] }));
  const accuracy = series("accuracy"), gap = series("gap");
  const ceiling = Math.min(1, Math.max(2.2 * tolerance, audited?.high ?? 0, ...gap.filter((p) => p.value !== null).map((p) => p.high)) * 1.05);
  const floor = Math.max(0, Math.floor(10 * Math.min(0.9, ...accuracy.filter((p) => p.value !== null).map((p) => p.low)) - 0.5) / 10);
  const second = top + high + apart, height = second + high + 40;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Right answers and gap between groups by labels, ${seen.length} models; the numbers are in the table below` },
    panel({ top, height: high, width: end, left, x, range: [floor, 1], name: "Right answers", tone: "blue", series: accuracy, write: percent }),
    panel({ top: second, height: high, width: audited ? width : end, left, x, range: [0, ceiling], name: "Gap between groups, in points", tone: "orange", series: gap, write: points, limit: tolerance, words: `you allow ${points(tolerance)}`, audited: audited && { ...audited, at: end + right / 2 } }),
    ticks(0, most, width < 500 ? 3 : 6).map((t) => svg("text", { class: "axis", x: x(t), y: height - 18, "text-anchor": t ? (t > 0.97 * most ? "end" : "middle") : "start" }, t.toLocaleString("en"))),
    svg("text", { class: "axis", x: (left + end) / 2, y: height - 2, "text-anchor": "middle" }, "labels to train"),
    audited && [svg("line", { class: "rule", x1: end + 6, x2: end + 6, y1: second, y2: second + high }), ...["audit,", `${audited.labels.toLocaleString("en")} labels`].map((words, i) => svg("text", { class: "axis", x: end + right / 2, y: height - 18 + 16 * i, "text-anchor": "middle" }, words))]);
  node.replaceChildren(drawn);
}

// Estimate, interval and limit on one axis from 0: for the certificate and the model.
// `marks` of a row are words above the axis, each at its value; `under` is one below.
export function onAxis(node, rows, { limit, words, most, band, bandWords, unit = "", write = points }) {
  const width = Math.max(node.clientWidth, 260), left = 8, line = rows.some((row) => row.under) ? 58 : 44, top = limit === undefined && !band ? 8 : 26;
  const x = (value) => left + ((width - left - 16) * Math.min(value, most)) / most;
  const height = top + rows.length * line + 26;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": rows.map((row) => row.said).join("; ") + (limit === undefined ? "" : `; ${words}`) },
    band ? [svg("rect", { class: "allowed", x: x(Math.max(band[0], 0)), y: top, width: x(band[1]) - x(Math.max(band[0], 0)), height: rows.length * line }), svg("text", { class: "allowed-words", x: x(band[1]), y: 14, "text-anchor": x(band[1]) > width / 2 ? "end" : "start" }, bandWords)] : [],
    limit === undefined ? [] : [svg("rect", { class: "forbidden", x: x(limit), y: top, width: Math.max(width - 8 - x(limit), 0), height: rows.length * line }), svg("line", { class: "limit", x1: x(limit), x2: x(limit), y1: top - 6, y2: top + rows.length * line }), svg("text", { class: "limit-words", x: x(limit), y: 14, "text-anchor": x(limit) > width / 2 ? "end" : "start" }, words)],
    rows.map((row, i) => {
      const y = top + i * line + 30;
      return svg("g", {}, svg("text", { class: "name", x: left, y: y - 13 }, row.name), ...[[row.mark, row.value, -13], [row.under, row.end, 22]].filter(([said]) => said).map(([said, at, dy]) => svg("text", { class: "name", x: Math.min(Math.max(x(at), left + 4 * said.length), width - 8 - 4 * said.length), y: y + dy, "text-anchor": "middle" }, said)), svg("line", { class: "rule", x1: left, x2: width - 8, y1: y, y2: y }),
        row.low === undefined ? null : svg("line", { class: `whisk ${row.tone ?? "blue"}`, x1: x(row.low), x2: x(row.high), y1: y, y2: y }),
        row.end === undefined ? null : svg("line", { class: "end", x1: x(row.end), x2: x(row.end), y1: y - 9, y2: y + 9 }),
        row.value === null || row.value === undefined ? null : svg("circle", { class: `point ${row.tone ?? "blue"}`, cx: x(row.value), cy: y, r: 6 }), svg("title", {}, row.said));
    }),
    ticks(0, most, width < 500 ? 3 : 6).map((t, i, { length }) => svg("text", { class: "axis", x: x(t), y: height - 6, "text-anchor": !t ? "start" : t > 0.9 * most ? "end" : "middle" }, i === length - 1 ? `${write(t)} ${unit}` : write(t))));
  node.replaceChildren(drawn);
}

// Draw now, and again when the width changes.
export function responsive(draw) {
  const node = el("div", { class: "chart" });
  let width = 0;
  new ResizeObserver(() => { if (node.clientWidth !== width) { width = node.clientWidth; draw(node); } }).observe(node);
  return node;
}
