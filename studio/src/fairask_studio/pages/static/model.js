// The study's model: which it is, how it treats groups, what it looks at, and where it is unsure.
import { get, post, root } from "./api.js";
import { follow } from "./live.js";
import { onAxis, responsive } from "./charts.js";
import { $, ago, alertUser, confirmed, el, fill, number, percent, points, table, tenths } from "./dom.js";
import { action, headline } from "./standing.js";
import { term } from "./terms.js";

const panel = (title, ...content) => el("section", { class: "panel" }, el("h2", {}, title), ...content);
const CONDITIONS = (c) => ({ "y=1": `Of rows that are “${c[1]}”: answered “${c[1]}”`, "y=0": `Of rows that are “${c[0]}”: answered “${c[1]}”`, all: `Of all rows: answered “${c[1]}”` });
let status = null;

// One axis per condition; the band is where all groups must lie if the highest stays as it is.
function rates(entry) {
  const list = (status.gap?.rates ?? entry.estimate?.rates ?? entry.rates.map((rate) => ({ ...rate, value: rate.rate }))).filter((rate) => rate.value !== null);
  const kinds = [...new Set(list.map((rate) => rate.condition))];
  return kinds.map((kind) => {
    const mine = list.filter((rate) => rate.condition === kind);
    const high = Math.max(...mine.map((rate) => rate.value));
    const rows = mine.map((rate) => ({ name: rate.group, mark: `${tenths(rate.value)} of 100`, value: rate.value, low: rate.low, high: rate.high, said: `${rate.group}: ${percent(rate.value)}${rate.low === undefined ? "" : `, between ${percent(rate.low, 0)} and ${percent(rate.high, 0)}, ${number(rate.labels)} labels`}` }));
    const band = [high - status.tolerance, high];
    return el("div", {}, el("h3", { dir: "auto" }, CONDITIONS(status.classes)[kind]), responsive((node) => onAxis(node, rows, { most: 1, band, bandWords: `allowed: within ${points(status.tolerance)} points of the highest`, unit: "of 100", write: (v) => `${Math.round(100 * v)}` })));
  });
}

// Errors that an audit measured are the rates above: an estimate of the same would say another number.
function errors(found) {
  const measured = status.gap?.by === "audit" ? status.gap.rates.map((rate) => rate.condition) : [];
  const list = found.filter((e) => !measured.includes(`y=${e.truth}`));
  if (!list.length) return null;
  const [no, yes] = status.classes;
  const rows = list.map((e) => [e.group, e.truth ? `is “${yes}”, said “${no}”` : `is “${no}”, said “${yes}”`, { number: e.value === null ? "–" : percent(e.value, 0) }, { number: e.value === null ? "–" : `${percent(e.low, 0)} to ${percent(e.high, 0)}` }, e.labels]);
  return panel("Errors by group", el("p", { class: "hint" }, measured.length ? "The other kind of error. It is not part of the certificate: estimated before the audit, on rows that the model was not trained on." : "On labelled rows that the model was not trained on."), el("div", { class: "scroll compared", tabindex: "0", role: "region", "aria-label": "Errors by group" }, table(["Group", "Error", { number: "Share" }, { number: "95 % interval" }, { number: "Labels" }], rows, "Errors by group")));
}

// The columns that decide, by name, and why the others do not; more than these are folded.
const SOME = 20;
const learns = ({ learns: names, not_learned: others }) => panel("What it learns from", el("p", { dir: "auto" }, names.length ? `${names.slice(0, SOME).join(", ")}${names.length > SOME ? " and others." : "."}` : "No column."),
  names.length > SOME ? el("details", {}, el("summary", {}, `All ${number(names.length)} columns`), el("ul", { class: "rests names" }, names.map((name) => el("li", { dir: "auto" }, name)))) : "",
  others.length === 1 ? el("p", { class: "hint", dir: "auto" }, `Not from ${others[0][0]} (${others[0][1]}).`) : others.length ? el("details", { open: others.length <= 4 }, el("summary", {}, `Not from ${number(others.length)} columns`), el("ul", { class: "rests" }, others.map(([name, why]) => el("li", { dir: "auto" }, `${name}: ${why}`)))) : "");

function members(found) {
  const many = found.members.length > 1;
  const one = (m) => el("li", {}, many ? el("strong", {}, `${percent(m.probability, m.probability > 0.0995 && m.probability < 0.995 ? 0 : 1)} of decisions: `) : "", m.words,
    m.thresholds ? el("ul", {}, Object.entries(m.thresholds).map(([group, cut]) => el("li", { dir: "auto" }, `${group}: “${status.classes[1]}” from a probability of ${percent(cut, 0)}`))) : "");
  const forest = found.forest === null ? "" : found.forest === 0 ? "Probabilities come from a logistic regression." : `Probabilities are ${percent(1 - found.forest, 0)} logistic regression and ${percent(found.forest, 0)} random forest.`;
  return panel(many ? "How it decides: one of several rules, drawn for each row" : "How it decides", el("ul", { class: "members" }, found.members.map(one)), el("p", { class: "hint small" }, forest));
}

function looks(list, linear) {
  const seen = list.filter((entry) => entry.changes > 0).slice(0, 12);
  if (!list.length) return null;
  const most = Math.max(...seen.map((entry) => entry.changes), 1e-9);
  return panel("What it looks at", el("p", { class: "hint" }, `The share of decisions on the pool that change when a column is shuffled${list.length > seen.length && seen.length === 12 ? `: the 12 that matter most of ${number(list.length)} columns` : ""}.`),
    seen.length ? el("ul", { class: "weights" }, seen.map((entry) => el("li", {}, el("span", { class: "feature", dir: "auto", title: entry.column }, entry.column), el("span", { class: "track plain" }, el("span", { class: "part all", style: `width:${(100 * entry.changes) / most}%` })), el("span", { class: "end" }, percent(entry.changes))))) : el("p", { class: "empty" }, "No column changes a decision: everybody gets the same answer."),
    linear.length ? el("details", {}, el("summary", {}, "Weights of the linear rule"), weights(linear)) : "");
}

function weights(list) {
  const most = Math.max(...list.map((w) => Math.abs(w.weight)), 1e-9);
  return el("ul", { class: "weights" }, list.map((w) => el("li", {}, el("span", { class: "feature", dir: "auto", title: w.feature }, w.feature),
    el("span", { class: "track" }, el("span", { class: `part ${w.weight < 0 ? "minus" : "plus"}`, style: `width:${(50 * Math.abs(w.weight)) / most}%` })), el("span", { class: "end" }, w.weight.toFixed(2)))));
}

const near = (list) => (list.length ? panel("Rows it is least sure of", el("p", { class: "hint" }, "Rows of the pool nearest to the threshold, by group. Their answer would change first."),
  list.map((group) => {
    const box = el("div", { class: "near" });
    const show = async () => { // a card is fetched when somebody looks at one
      if (box.children.length) return;
      const { cardBody } = await import("./card.js");
      fill(box, ...group.rows.map((card) => el("article", { class: "small-card", "aria-label": `Row ${card.row}` }, el("h3", {}, `Row ${number(card.row)}`), cardBody(card))));
    };
    return el("details", { ontoggle: show }, el("summary", { dir: "auto" }, `${group.group}: rows ${group.rows.map((row) => number(row.row)).join(", ")}`), box);
  })) : null);

async function again() {
  if (!(await confirmed("Train another model?", "The certificate stays, but it is not about the new model.", "Train another model"))) return;
  try { await post("/model"); await load(); } catch (error) { alertUser(error.message); }
}

// The verdict moves while labels come in and the model stays.
async function standing(model) {
  const { next } = await get("/story");
  const { reason, tone } = status.advice, entry = model.model;
  const says = el("div", { class: "headline" }, headline(status.advice));
  const todo = el("p", { class: "next" }, action(next, status.advice));
  if (!entry) return el("section", { class: "panel lead", id: "standing" }, says, todo, el("p", { class: "hint" }, model.first));
  const audited = status.gap?.by === "audit";
  const note = entry.interpolates ? "The model separates its labels without error, so the limit on the gap changes nothing yet: more labels will tell." : status.safety ? status.safety : entry.feasible || entry.certified || audited ? "" : "No classifier within the allowed gap was found on these labels.";
  const download = (words, kind) => el("a", { class: `button ${kind}`, id: "download", href: `${root}/api/export/model.skops`, download: true }, words);
  return el("section", { class: `panel lead verdict ${tone}`, id: "standing" }, says,
    note && note !== reason ? el("p", { class: "warn" }, note) : "", status.unseen ? el("p", { class: "warn" }, status.unseen) : "",
    el("p", {}, `Model ${entry.round + 1}, trained on ${number(entry.labels)} labels. `, entry.certified ? "It stays the study's model until you train another." : "It is the last model."),
    next.page === "model" || next.page.endsWith("model.skops") ? "" : todo,
    el("p", { class: "buttons" }, tone === "good" ? download("Download the model", "primary") : null, el("a", { class: "button", href: `${root}/api/export/model-card.html`, download: true }, "Model card, one page"), entry.certified ? el("button", { type: "button", class: "quiet", onclick: again }, "Train another model") : null),
    el("details", {}, el("summary", {}, tone === "open" ? "Download it anyway, and its digest" : "Its digest"), tone === "open" ? el("p", { class: "buttons" }, download("Download the model", "")) : "", el("p", { class: "hash" }, entry.digest)));
}

let shown = null;
async function load() {
  const model = await get("/model");
  shown = model;
  const which = await standing(model);
  if (!model.history.length) return fill($("model"), which, learns(model));
  const entry = model.model, audited = status.gap?.by === "audit";
  const history = [...model.history].reverse().map((e) => [{ number: e.round + 1 }, e.labels, { number: e.estimate ? percent(e.estimate.accuracy.value) : "–" }, { number: audited && e.digest === entry.digest ? `${tenths(status.gap.value)} (audit)` : e.estimate?.gap ? tenths(e.estimate.gap.value) : "–" }, ago(e.at)]);
  const more = el("div", { id: "details", "aria-busy": "true" }, el("section", { class: "panel" }, el("p", { class: "empty" }, "Looking into the model…")));
  const from = audited ? "By the audit: its labels trained nothing, and those of before it are counted whole." : entry.estimate ? ["On rows it was not trained on, corrected for how rows were drawn, with 95 % ", term("interval", "intervals"), "."] : "On the labels it was trained on; estimates begin at 30 labels.";
  fill($("model"), which, panel("Rates by group", el("p", { class: "hint" }, from), ...rates(entry)), more,
    panel("All models", el("div", { class: "scroll compared", tabindex: "0", role: "region", "aria-label": "History of models" }, table([{ number: "Model" }, { number: "Labels" }, { number: "Right answers" }, { number: "Gap, in points" }, "When"], history, "History of models"))));
  const { found } = await get("/model/details");
  const linear = model.members.find((member) => member.weights.length)?.weights ?? [];
  fill(more, ...[learns(found), members(found), errors(found.errors), looks(found.importance, linear), near(found.near)].filter(Boolean));
  more.removeAttribute("aria-busy");
}

let rounds = "", said = "";
follow(async (now) => {
  status = now;
  const key = `${now.history.length} ${now.model?.digest} ${now.model?.certified}`, words = JSON.stringify([now.advice, now.labels, now.audit?.done]);
  if (key !== rounds) await load();
  else if (words !== said) $("standing").replaceWith(await standing(shown)); // it is the same model
  [rounds, said] = [key, words];
});
