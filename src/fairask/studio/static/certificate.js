// What can be promised, and what cannot yet.
import { get, post } from "./api.js";
import { $, alertUser, ago, el, fill, number } from "./dom.js";

const WORDS = { tprp: "true positive rates", fprp: "false positive rates", eo: "true and false positive rates", dp: "selection rates" };
const VERDICTS = { certified: ["Certified", "good"], refuted: ["Refuted", "bad"], undecided: ["Cannot tell yet", "open"] };

async function load() {
  const state = await get("/certificate");
  const promise = `the groups' ${WORDS[state.metric]} differ by at most ${state.tolerance}`;
  const parts = [];
  if (!state.available) parts.push(el("section", { class: "panel" }, el("h2", {}, "Not available"), el("p", {}, "This installation has no fairask.certify, so nothing can be certified here. The estimates in the overview stay what they are: estimates.")));
  else if (state.certificate) {
    const c = state.certificate;
    const [words, tone] = VERDICTS[c.verdict];
    parts.push(el("section", { class: `panel verdict ${tone}` }, el("h2", {}, words), el("p", {}, `With ${100 * (1 - c.delta)} % confidence the violation is at most ${c.upper.toFixed(3)} (estimate ${c.estimate === null ? "unknown" : c.estimate.toFixed(3)}, tolerance ${c.alpha}).`),
      el("p", {}, `Method ${c.method}, ${c.valid}; ${number(c.n_labels)} labels, ${ago(c.at)}.`), c.more_labels ? el("p", {}, `About ${number(c.more_labels)} more labels would likely decide.`) : "", el("details", {}, el("summary", {}, "What this rests on"), el("ul", {}, [c.target, ...c.assumptions].map((a) => el("li", {}, a))))));
  } else parts.push(el("section", { class: "panel" }, el("h2", {}, "No certificate yet"), el("p", {}, `A certificate would promise, with 95 % confidence, that ${promise} on people the model has not seen.`)));
  if (state.available) parts.push(el("section", { class: "panel" }, el("h2", {}, "Certify the last model"), el("p", {}, state.fitted ? `Labels that trained a model cannot certify it. ${number(state.fresh)} labels were given after the last fit; a certificate would rest on those.` : "First a model must be fitted."),
    el("p", {}, el("button", { class: "primary", type: "button", disabled: !state.fitted || !state.fresh, onclick: () => post("/certificate").then(load).catch((error) => alertUser(error.message)) }, "Certify now"))));
  fill($("certificate"), ...parts);
}

load().catch((error) => { alertUser(error.message); fill($("certificate")); });
