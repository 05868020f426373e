// The last fitted model in numbers.
import { get, post } from "./api.js";
import { follow } from "./live.js";
import { $, ago, alertUser, el, fill, number, percent, table } from "./dom.js";

const CONDITIONS = { "y=1": "true positive rate", "y=0": "false positive rate", all: "selection rate" };
const panel = (title, ...content) => el("section", { class: "panel" }, el("h2", {}, title), ...content);

function rates(entry) {
  const list = entry.estimate?.rates ?? entry.rates.map((rate) => ({ ...rate, value: rate.rate }));
  return el("div", { class: "rates" }, list.map((rate) => el("div", { class: "rate" },
    el("p", { dir: "auto" }, el("strong", {}, rate.group), ` ${CONDITIONS[rate.condition]}`),
    rate.value === null ? el("p", { class: "missing" }, "no such labels yet") : el("div", { class: "whisker", role: "img", "aria-label": `${percent(rate.value)}` + (rate.low === undefined ? "" : `, interval ${percent(rate.low)} to ${percent(rate.high)}`) },
      rate.low === undefined ? "" : el("span", { class: "span", style: `left:${100 * rate.low}%;width:${100 * (rate.high - rate.low)}%` }), el("span", { class: "point", style: `left:${100 * rate.value}%` })),
    rate.value === null ? "" : el("p", { class: "words" }, `${percent(rate.value)}` + (rate.low === undefined ? "" : ` (${percent(rate.low, 0)} to ${percent(rate.high, 0)}, ${rate.labels} labels)`)))));
}

function weights(member) {
  if (!member.weights.length) return el("p", { class: "empty" }, "The same answer for everybody.");
  const most = Math.max(...member.weights.map((w) => Math.abs(w.weight)), 1e-9);
  return el("ul", { class: "weights" }, member.weights.map((w) => el("li", {}, el("span", { class: "feature", dir: "auto" }, w.feature),
    el("span", { class: "track" }, el("span", { class: `part ${w.weight < 0 ? "minus" : "plus"}`, style: `width:${(50 * Math.abs(w.weight)) / most}%` })), el("span", { class: "end" }, w.weight.toFixed(2)))));
}

function show(model) {
  if (!model.history.length) {
    fill($("model"), el("section", { class: "panel" }, el("p", { class: "empty" }, "No model yet. One is fitted when the first batch is answered.")));
    return;
  }
  $("download").hidden = false;
  const entry = model.model;
  const note = entry.interpolates ? "The model separates its labels without error, so the constraint binds nothing yet: more labels will tell." : entry.feasible ? "" : "No classifier within the tolerance was found on these labels.";
  const history = [...model.history].reverse().map((e) => [{ number: e.round + 1 }, { number: number(e.labels) }, { number: e.estimate ? percent(e.estimate.accuracy.value) : "–" }, { number: e.estimate?.violation ? e.estimate.violation.value.toFixed(3) : "–" }, { number: e.tolerance.toFixed(3) }, ago(e.at)]);
  const again = el("button", { type: "button", onclick: () => post("/model").then(() => get("/model")).then(show).catch((error) => alertUser(error.message)) }, "Fit another model");
  const which = panel(`Round ${entry.round + 1}, on ${number(entry.labels)} labels`,
    el("p", {}, entry.certified ? "This is the certified model. It stays the study's model, and the one that is downloaded, until you ask for another fit." : "This is the last model fitted, and the one that is downloaded. No certificate is about it."),
    el("p", { class: "hash" }, `digest ${entry.digest}`), entry.certified ? again : "");
  fill($("model"), which,
    panel("Rates by group", el("p", { class: "hint" }, entry.estimate ? "Out of fold, weighted by how rows were drawn, with 95 % intervals." : "On the labels it was fitted to; estimates begin at 30 labels."), rates(entry), note ? el("p", { class: "warn" }, note) : ""),
    panel(model.members.length > 1 ? "A mixture of classifiers" : "The classifier", el("p", { class: "hint" }, model.members.length > 1 ? "The fair model draws one of these for each row, with the probability given." : "The twelve largest weights of its features, which are standardised."), el("div", { class: "pair" }, model.members.map((m) => el("div", {}, model.members.length > 1 ? el("h3", {}, `With probability ${m.probability.toFixed(3)}`) : "", weights(m))))),
    panel("Rounds", el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "History of rounds" }, table([{ number: "Round" }, { number: "Labels" }, { number: "Accuracy" }, { number: "Violation" }, { number: "Fitted within" }, "When"], history, "History of rounds"))));
}

let rounds = "";
follow(async (status) => {
  const now = `${status.history.length} ${status.model?.digest} ${status.model?.certified}`;
  if (now === rounds) return; // it is the same model
  show(await get("/model"));
  rounds = now;
});
