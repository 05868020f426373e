// What happened last, in words. The same thing done by the same person many times is one line.
import { ago, el, number } from "./dom.js";

const MOST = 14;
const rows = (n) => `${number(n)} rows`;
const STORIES = {
  labelled: (e, c, n) => (n > 1 ? `labelled ${rows(n)}` : `labelled row ${e.row}: ${c[e.label]}`),
  skipped: (e, c, n) => (n > 1 ? `skipped ${rows(n)}` : `skipped row ${e.row}${e.reason ? `: ${e.reason}` : ""}`),
  withdrawn: (e, c, n) => (n > 1 ? `took back ${rows(n)}` : `took back row ${e.row}`),
  corrected: (e, c, n) => (n > 1 ? `corrected ${rows(n)}` : `corrected row ${e.row} to ${c[e.label]}`),
  proposed: (e, c, n, total) => (n > 1 ? `drew ${n} batches: ${rows(total)}` : `drew batch ${e.batch + 1}: ${e.count} rows`),
  fitted: (e, c, n) => (n > 1 ? `fitted ${n} models, the last on ${number(e.labels)} labels` : `fitted model ${e.round + 1} on ${number(e.labels)} labels`),
  configured: () => "changed the words",
  certified: () => "issued a certificate",
  watched: () => "watched the certified model for a month",
  "fit asked": () => "asked for another model",
  access: (e) => (e.what === "signed in" ? "signed in" : `${e.what} ${e.name}`),
  linked: (e) => `linked ${e.link}`,
  sent: (e, c, n, total) => `sent ${rows(total)} to ${e.link}`,
  refused: (e) => `was not heard: ${e.reason}`,
  known: (e, c, n, total) => `marked ${total === 1 ? "a row" : rows(total)} with known answers`,
  "known removed": (e, c, n, total) => `unmarked ${total === 1 ? "a row" : rows(total)}`,
  checked: (e, c, n) => (n > 1 ? `answered ${rows(n)} with known answers` : `answered row ${e.row}, whose answer is known`),
  limits: () => "changed limits",
  budget: () => "added labels to the budget",
  warned: (e) => `noticed ${e.name}: ${{ skips: "many skips", pace: "very fast", gold: "many wrong answers to gold rows" }[e.what] ?? e.what}`,
  flagged: (e) => `asked about row ${e.row}: ${e.text}`,
  "flag answered": (e) => `answered about row ${e.row}: ${e.text}`,
  "flag resolved": (e) => `resolved the flag of row ${e.row}`,
  audit: (e) => (e.size ? `began an audit of at most ${number(e.size)} labels` : "ended the audit"),
};
// Answers of one person are one line although the studio draws and fits in between.
const QUIET = new Set(["proposed", "fitted"]);

function grouped(events) {
  const found = [];
  for (const event of events) {
    const key = `${event.who} ${event.kind} ${event.kind === "access" ? event.what + event.name : ""}`;
    const since = found.findIndex((group) => !QUIET.has(group.event.kind));
    const near = found.slice(QUIET.has(event.kind) ? 0 : Math.max(found.length - 3, 0)).findLast((group) => group.key === key && !event.note && !group.event.note);
    if (near && (QUIET.has(event.kind) || since >= 0)) { near.count += 1; near.total += event.count ?? 0; } else found.push({ key, event, count: 1, total: event.count ?? 0 });
  }
  return found;
}

export function feed(events, classes) {
  if (!events.length) return [el("li", { class: "empty" }, "Nothing yet.")];
  return grouped(events).slice(0, MOST).map(({ event: e, count, total }) => el("li", { class: e.kind }, el("span", {}, el("span", { class: "who", dir: "auto" }, e.who),
    el("span", { dir: "auto" }, STORIES[e.kind]?.(e, classes, count, total) ?? e.kind, e.note ? `, with a note: ${e.note}` : "")), el("time", { datetime: e.at }, ago(e.at))));
}
