// The owner's overview: asks once a second whether anything has changed, and redraws what has.
import { get } from "./api.js";
import { $, ago, alertUser, el, fill, number, percent, table } from "./dom.js";
import { curves } from "./charts.js";

let etag = null;
let last = null;

const tile = (name, value, words, tone) => el("div", { class: `tile ${tone ?? ""}` }, el("h2", {}, name), el("p", { class: "value" }, value), el("p", { class: "words" }, words));
const range = (guess, show) => `${show(guess.low)} to ${show(guess.high)}`;
const three = (value) => value.toFixed(3);

function tiles(status) {
  const fitted = status.history.findLast((entry) => entry.digest === status.model?.digest) ?? status.history.at(-1);
  const which = status.model ? `; model of round ${status.model.round + 1}` : "";
  const guess = fitted?.estimate;
  const gap = guess?.violation;
  const soon = status.labels ? "after 30 labels of both classes" : "no labels yet";
  const judged = !gap ? "" : gap.high <= status.tolerance ? "good" : gap.low > status.tolerance ? "bad" : "open";
  const words = { good: "within", bad: "above", open: "cannot tell yet:" }[judged];
  const certificate = status.certificate;
  return [
    tile("Labels", `${number(status.labels)}`, `of ${number(status.budget)}; ${number(status.open)} out, ${number(status.skipped)} skipped`),
    guess ? tile("Accuracy", percent(guess.accuracy.value), `95 % interval ${range(guess.accuracy, (v) => percent(v, 0))}${which}`) : tile("Accuracy", "–", soon),
    gap ? tile("Violation", three(gap.value), `${words} tolerance ${status.tolerance}; interval ${range(gap, three)}`, judged) : tile("Violation", "–", guess ? "a group has no such labels yet" : soon),
    certificate ? tile("Certificate", certificate.verdict, `upper bound ${three(certificate.upper)}${certificate.model ? `; model of round ${certificate.model.round + 1}${certificate.model.digest === status.model?.digest ? "" : ", not the present one"}` : ""}`, { certified: "good", refuted: "bad" }[certificate.verdict] ?? "open") : tile("Certificate", "none", "an estimate is no promise"),
  ];
}

function groups(status) {
  const most = Math.max(...status.groups.map((g) => Math.max(g.labels / Math.max(status.labels, 1), g.pool / status.rows)), 0.01);
  const bar = (share, tone, title) => el("span", { class: `part ${tone}`, title, style: `width:${(100 * share) / most}%` });
  return status.groups.map((g) => el("div", { class: "group" },
    el("h3", { dir: "auto" }, g.group),
    el("p", { class: "share" }, el("span", { class: "side" }, "labels"), el("span", { class: "track" }, inOrder(Object.keys(g.components)).map((name) => [name, g.components[name]]).map(([name, n]) => bar(n / Math.max(status.labels, 1), `c-${name}`, `${name}: ${n}`))), el("span", { class: "side end" }, `${g.labels} (${percent(g.labels / Math.max(status.labels, 1), 0)})`)),
    el("p", { class: "share" }, el("span", { class: "side" }, "pool"), el("span", { class: "track" }, bar(g.pool / status.rows, "c-pool", `${g.pool} rows`)), el("span", { class: "side end" }, `${number(g.pool)} (${percent(g.pool / status.rows, 0)})`))))
    .concat(legend(status));
}

const COMPONENTS = { uniform: "uniform (first batch)", diff: "where models disagree", fair: "all groups alike", ranked: "ranked", audit: "audit" };

const inOrder = (names) => [...names].sort((a, b) => Object.keys(COMPONENTS).indexOf(a) - Object.keys(COMPONENTS).indexOf(b));

function legend(status) {
  const used = inOrder(new Set(status.groups.flatMap((g) => Object.keys(g.components))));
  return el("p", { class: "legend" }, used.map((name) => el("span", {}, el("i", { class: `c-${name}`, "aria-hidden": "true" }), COMPONENTS[name] ?? name)));
}

function people(status) {
  if (!status.people.length) return el("p", { class: "empty" }, "Nobody has answered yet.");
  const rows = status.people.map((p) => [p.who, p.labels, p.skips, { number: p.seconds === null ? "–" : `${p.seconds.toFixed(1)} s` }]);
  const agreed = status.agreement;
  const words = agreed.rows ? `${percent(agreed.share, 0)} of pairs of answers agree on ${agreed.rows} rows answered by several` + (agreed.alpha === null ? "." : ` (Krippendorff's alpha ${agreed.alpha.toFixed(2)}).`) : status.overlap > 1 ? "No row has two answers yet." : "Each row is answered once, so agreement is not measured.";
  return el("div", {}, table(["Person", { number: "Labels" }, { number: "Skips" }, { number: "Pace" }], rows, "People"), el("p", { class: "hint" }, words));
}

const STORIES = {
  labelled: (e, c) => `labelled row ${e.row}: ${c[e.label]}`,
  skipped: (e) => `skipped row ${e.row}`,
  withdrawn: (e) => `took back row ${e.row}`,
  corrected: (e, c) => `corrected row ${e.row} to ${c[e.label]}`,
  proposed: (e) => `drew batch ${e.batch + 1}: ${e.count} rows`,
  fitted: (e) => `fitted model ${e.round + 1} on ${e.labels} labels`,
  configured: () => "changed the words",
  certified: () => "asked for a certificate",
  access: (e) => (e.what === "signed in" ? "signed in" : `${e.what} ${e.name}`),
  audit: (e) => (e.size ? `began an audit of ${e.size} labels` : "ended the audit"),
};

function feed(events, classes) {
  return events.slice(0, 12).map((e) => el("li", { class: e.kind }, el("span", { class: "who", dir: "auto" }, e.who), " ", el("span", { dir: "auto" }, STORIES[e.kind]?.(e, classes) ?? e.kind, e.note ? ` (“${e.note}”)` : ""), " ", el("time", { datetime: e.at }, ago(e.at))));
}

function draw(status) {
  fill($("tiles"), ...tiles(status));
  const any = status.history.some((entry) => entry.estimate);
  $("curves").hidden = !any;
  $("curves-empty").hidden = any;
  document.querySelector(".table-for-chart").hidden = !any;
  if (status.labels) $("curves-empty").textContent = "Not enough labels to estimate: the curves begin at 30 labels of both classes.";
  if (any && window.Plotly) {
    curves($("curves"), status.history, status.tolerance, status.budget);
    const rows = status.history.filter((e) => e.estimate).map((e) => [e.labels, { number: percent(e.estimate.accuracy.value) }, { number: e.estimate.violation ? three(e.estimate.violation.value) : "–" }]);
    fill($("curves-table"), table([{ number: "Labels" }, { number: "Accuracy" }, { number: "Violation" }], rows, "Rounds"));
    $("curves").dataset.points = rows.length;
  }
  fill($("groups"), ...(status.labels ? groups(status) : [el("p", { class: "empty" }, "No labels yet.")]));
  fill($("people"), people(status));
}

function live(status) {
  const now = status.people_now;
  const words = status.error ? "stopped" : status.complete ? "complete" : status.busy ?? (now ? `live, ${now} labelling` : "live");
  $("live-words").textContent = words;
  $("live").className = `live ${status.error ? "bad" : status.busy ? "busy" : ""}`;
  alertUser(status.error ? `Drawing and fitting have stopped: ${status.error}` : null);
}

async function look() {
  try {
    const status = await get("/status", etag ? { "If-None-Match": etag } : {});
    if (!status.unchanged) {
      ({ etag } = status);
      last = status;
      draw(status);
      fill($("feed"), ...feed(await get("/events?limit=30"), status.classes));
      if (!$("feed").children.length) fill($("feed"), el("li", { class: "empty" }, "Nothing yet."));
    }
    live(last);
  } catch (error) {
    $("live-words").textContent = "not connected";
    $("live").className = "live bad";
    alertUser(error.message);
  }
  setTimeout(look, document.hidden ? 5000 : 1000);
}

addEventListener("themechange", () => last && draw(last));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => last && draw(last));
look();
