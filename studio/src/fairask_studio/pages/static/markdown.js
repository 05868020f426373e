// A small part of Markdown: headings, paragraphs, lists, quotes, code, emphasis, links. Text stays text.
import { el } from "./dom.js";

const INLINE = /(`[^`]+`)|(\*\*[^*]+\*\*|__[^_]+__)|(\*[^*\s][^*]*\*|(?<![\w])_[^_\s][^_]*_(?![\w]))|(!?\[[^\]]*\]\([^)\s]+\))|(https?:\/\/[^\s<>)\]]+)/g;

export const link = (address, words = address) => (/^(https?:\/\/|mailto:)/i.test(address) ? el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, words) : words);

function inline(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(at, found.index));
    const [whole, code, strong, soft, linked, address] = found;
    if (code) parts.push(el("code", {}, whole.slice(1, -1)));
    else if (strong) parts.push(el("strong", {}, inline(whole.slice(2, -2))));
    else if (soft) parts.push(el("em", {}, inline(whole.slice(1, -1))));
    else if (linked) { const [, words, place] = /!?\[([^\]]*)\]\(([^)\s]+)\)/.exec(whole); parts.push(link(place, words || place)); }
    else if (address) parts.push(link(whole));
    at = found.index + whole.length;
  }
  return [...parts, text.slice(at)].filter((part) => part !== "");
}

const lines = (text) => text.split("\n").flatMap((line, i) => (i ? [el("br"), ...inline(line)] : inline(line)));

// Quotes within quotes; those that are deeper stay text: a cell of thousands of ">" would end the script.
const DEEPEST = 8;

function block(text, depth) {
  const heading = /^(#{1,6})\s+(.*)$/.exec(text);
  if (heading) return el(`h${Math.min(heading[1].length + 2, 6)}`, { dir: "auto" }, inline(heading[2]));
  const rows = text.split("\n");
  if (depth < DEEPEST && rows.every((row) => /^\s*>/.test(row))) return el("blockquote", { dir: "auto" }, markdown(rows.map((row) => row.replace(/^\s*> ?/, "")).join("\n"), depth + 1));
  for (const [tag, mark] of [["ul", /^\s*[-*+]\s+/], ["ol", /^\s*\d+[.)]\s+/]]) {
    if (mark.test(rows[0])) {
      const items = [];
      for (const row of rows) mark.test(row) || !items.length ? items.push(row.replace(mark, "")) : items.push(`${items.pop()}\n${row.trim()}`);
      return el(tag, { dir: "auto" }, items.map((item) => el("li", {}, lines(item))));
    }
  }
  return el("p", { dir: "auto" }, lines(text));
}

// The nodes of a text; fenced code is kept as it is.
export function markdown(text, depth = 0) {
  return text.replaceAll("\r\n", "\n").split(/^```.*$/m).flatMap((part, i) => {
    if (i % 2) return [el("pre", {}, el("code", {}, part.replace(/^\n|\n$/g, "")))];
    const apart = part.replace(/^(#{1,6}\s.*)$/gm, "\n\n$1\n\n").split(/\n\s*\n/);
    return apart.map((one) => one.replace(/^\n+|\s+$/g, "")).filter(Boolean).map((one) => block(one, depth));
  });
}
