// What can be promised, and what cannot yet.
import { get, post, remove } from "./api.js";
import { $, alertUser, ago, el, fill, number } from "./dom.js";

const WORDS = { tprp: "true positive rates", fprp: "false positive rates", eo: "true and false positive rates", dp: "selection rates" };
const VERDICTS = { certified: ["Certified", "good"], refuted: ["Refuted", "bad"], undecided: ["Cannot tell yet", "open"] };
const panel = (title, ...content) => el("section", { class: "panel" }, el("h2", {}, title), ...content);
const act = (action) => () => action().then(load).then(() => alertUser(null)).catch((error) => alertUser(error.message));

function verdict(c) {
  const [words, tone] = VERDICTS[c.verdict];
  return el("section", { class: `panel verdict ${tone}` }, el("h2", {}, words),
    el("p", {}, `With ${100 * (1 - c.delta)} % confidence the violation is at most ${c.upper.toFixed(3)} (estimate ${c.estimate === null ? "unknown" : c.estimate.toFixed(3)}, tolerance ${c.alpha}).`),
    el("p", {}, `Method ${c.method}, ${c.valid}; ${number(c.n_labels)} labels, ${ago(c.at)}.`),
    c.model ? el("p", { class: "hash" }, `About the model of round ${c.model.round + 1}, digest ${c.model.digest}.`) : "",
    c.more_labels ? el("p", {}, `About ${number(c.more_labels)} more labels would likely decide.`) : "",
    el("details", {}, el("summary", {}, "What this rests on"), el("ul", {}, [c.target, ...c.assumptions].map((a) => el("li", {}, a)))));
}

function audit(state) {
  if (!state.fitted) return panel("Audit", el("p", { class: "hint" }, "First a model must be fitted."));
  if (state.audit) return panel("Audit under way",
    el("p", {}, `${number(state.audited)} of ${number(state.audit.size)} labels. Rows are drawn by group and decision, in at most ${number(state.audit.looks)} batches, and nothing is trained meanwhile. The audit ends as soon as a complete batch decides: looking in between would break its promise.`),
    el("p", { class: "buttons" }, el("button", { class: "primary", type: "button", disabled: !state.audit.done, onclick: act(() => post("/certificate")) }, "Certify"),
      el("button", { type: "button", onclick: act(() => remove("/audit")) }, "End the audit")));
  const size = el("input", { type: "number", min: 1, max: state.left, value: Math.min(200, state.left), id: "audit-size" });
  const form = el("form", { class: "filters" }, el("label", {}, "Labels to spend", size), el("button", { class: "primary" }, "Start an audit"));
  form.addEventListener("submit", (event) => { event.preventDefault(); act(() => post("/audit", { labels: Number(size.value) }))(); });
  return panel("Start an audit", el("p", { class: "hint" }, "Labels that trained a model cannot certify it. An audit draws fresh rows for the annotators, on top of the budget, and holds the model still until it ends."), form);
}

async function load() {
  const state = await get("/certificate");
  const parts = [];
  parts.push(state.certificate ? verdict(state.certificate) : panel("No certificate yet", el("p", {}, `A certificate would promise, with 95 % confidence, that the groups' ${WORDS[state.metric]} differ by at most ${state.tolerance} on people the model has not seen.`)));
  parts.push(audit(state));
  fill($("certificate"), ...parts);
  $("certificate").dataset.audited = state.audited;
}

load().catch((error) => { alertUser(error.message); fill($("certificate")); });
setInterval(() => document.activeElement?.id !== "audit-size" && !document.hidden && !document.querySelector("#certificate details[open]") && load().catch(() => {}), 3000);
