// What can be promised about which model, on what it rests, and how to find out more.
import { get, post, remove, root } from "./api.js";
import { $, alertUser, ago, confirmed, el, fill, number, percent, points, table } from "./dom.js";
import { atWorst, onAxis, responsive } from "./charts.js";
import { term } from "./terms.js";

const VERDICTS = { certified: ["Certified", "good"], refuted: ["Refuted", "bad"], undecided: ["Cannot tell yet", "open"] };
const panel = (title, ...content) => el("section", { class: "panel" }, el("h2", {}, title), ...content);
const busy = (button, action) => async () => {
  button.disabled = true;
  try { if ((await action()) !== false) await load(); alertUser(null); } catch (error) { alertUser(error.message); } finally { button.disabled = false; }
};
const button = (words, tone, action) => { const made = el("button", { type: "button", class: tone }, words); made.addEventListener("click", busy(made, action)); return made; };

const named = (model) => `model ${model.round + 1}, trained on ${number(model.labels)} labels`;

function axis(c, tone) {
  const most = Math.min(1, 1.15 * Math.max(c.upper, 1.6 * c.tolerance, c.estimate ?? 0));
  const low = Math.max(c.lower ?? 0, 0);
  // The bar at the end is the limit that the verdict rests on.
  const row = { name: "", tone, value: c.estimate, low, high: c.upper, end: low > c.tolerance ? low : c.upper,
    said: `gap ${c.estimate === null ? "unknown" : points(c.estimate)} points, ${atWorst({ low, high: c.upper }, c.tolerance)} points` };
  return responsive((node) => onAxis(node, [row], { limit: c.tolerance, words: `you allow ${points(c.tolerance)}`, most }));
}

function verdict(c, { model, advice, compares }, first) {
  const [words, tone] = VERDICTS[c.verdict];
  const present = c.model && c.model.digest === model?.digest;
  // A certificate is about one day: the months since may have said otherwise.
  const since = first && present && c.verdict === "certified" && advice.case !== "certified" && VERDICTS[advice.case];
  const said = c.said.replace(/^(Certified|Refuted)\. /, "");
  const found = c.estimate === null ? "You" : `In the audit it was ${points(c.estimate)}; you`;
  const promise = `${said[0].toUpperCase()}${said.slice(1)} ${found} allow ${points(c.tolerance)}.`;
  const about = c.model ? el("p", {}, `About ${named(c.model)}. `, present ? "It is the study's model now." : "It is not the study's model any more.") : el("p", {}, "Which model it is about was not written down.");
  const usable = present && !since && c.verdict === "certified"; // nobody is offered a model that failed its audit
  const offers = first ? el("p", { class: "buttons" }, usable ? el("a", { class: "button primary", href: `${root}/api/export/model.skops`, download: true }, "Download this model") : null,
    el("a", { class: usable || !present || c.verdict === "undecided" ? "button" : "button primary", href: `${root}/api/export/certificate.html`, download: true }, "Page to print and sign"), el("a", { class: "button", href: `${root}/api/export/certificate.json`, download: true }, "certificate.json"), c.model ? el("button", { type: "button", class: "quiet", onclick: () => navigator.clipboard?.writeText(c.model.digest), title: c.model.digest }, `Copy the digest ${c.model.digest.slice(0, 12)}…`) : null) : null;
  return el("section", { class: `panel verdict ${since ? since[1] : tone}` }, el(first ? "h2" : "h3", {}, since ? "No longer certified" : words), since ? el("p", { dir: "auto" }, el("strong", {}, advice.proof)) : null, el("p", {}, since ? `On the day of the certificate: ${promise[0].toLowerCase()}${promise.slice(1)}` : promise), axis(c, tone), first ? el("p", { dir: "auto" }, `Asked: whether, ${compares}, up to ${points(c.tolerance)} points. Groups: ${c.groups.join(", ")}.`) : null, about, offers,
    el("details", { "data-key": `rests-${c.event}` }, el("summary", {}, "What this rests on"), el("ul", { class: "rests" }, [`${number(c.n_labels)} labels, ${ago(c.at)}; ${c.method}, ${c.valid}.`, c.target, ...c.assumptions].map((a) => el("li", {}, a)), c.model ? el("li", { class: "hash" }, `digest ${c.model.digest}`) : null)));
}

function underWay(state) {
  const { audit } = state;
  const share = Math.min(100, (100 * audit.labels) / audit.size);
  return panel(audit.done ? (audit.labels < audit.size ? "The audit has decided" : "The audit has spent its labels") : "An audit is under way", el("div", { class: "bar", role: "progressbar", "aria-label": "Labels of the audit", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share.toFixed(0) }, el("span", { style: `width:${share}%` })),
    el("p", { class: "gap-top" }, `${number(audit.labels)} of at most ${number(audit.size)} labels. ${audit.done ? "Issue the certificate: it says what they show, and ends the audit." : `Nothing is trained meanwhile. It looks at its labels in at most ${number(audit.looks)} steps fixed beforehand, and ends as soon as one decides.`}`),
    el("p", { class: "buttons" }, audit.done ? button("Issue the certificate", "primary", () => post("/certificate")) : el("a", { class: "button primary", href: `${root}/label` }, "Label its rows"),
      button("End the audit without a certificate", "quiet", async () => ((await confirmed("End the audit?", "Its labels stay, and train the next model. There is no certificate.", "End the audit")) ? remove("/audit") : false))));
}

// The form stays as it is while somebody types: it is made once.
const size = el("input", { type: "number", min: 1, id: "audit-size", required: true });
const why = el("p", { class: "hint small", id: "audit-why" });
const buys = el("div", {});
const form = el("form", { class: "filters" }, el("label", {}, "Labels to spend at most", size), el("button", { class: "primary" }, "Start the audit"));
const about = el("p", { class: "hint" }, "Labels that trained a model cannot certify it. An ", term("audit"), " draws fresh rows for the annotators, on top of the budget, and holds the model still until it ends.");
const start = el("section", { class: "panel", id: "start" });
const submit = form.querySelector("button");
// After a verdict on the model another audit is no next step: it is folded, and its button is not the main one.
// Nor is an audit of a model that nobody should use: it says why.
function offer(judged, { case: kind, verdict: stands, reason }) {
  const against = !judged && /^(useless|plain|above|short)/.test(kind) ? `${stands}. ${reason}` : "";
  if (start.dataset.said === `${judged} ${against}`) return;
  start.dataset.said = `${judged} ${against}`;
  submit.className = judged || against ? "" : "primary";
  const parts = [about, against ? el("p", { class: "warn", dir: "auto" }, against) : "", form, why, buys];
  fill(start, ...(judged ? [el("details", { "data-key": "again" }, el("summary", {}, "Audit this model again"), parts)] : [el("h2", {}, "Start an audit"), ...parts]));
}
let touched = false;
let planned = null;
size.addEventListener("input", () => { touched = true; });
form.addEventListener("submit", (event) => { event.preventDefault(); const b = form.querySelector("button"); busy(b, async () => { await post("/audit", { labels: Number(size.value) }); touched = false; planned = null; })(); });

async function plan(state) {
  const key = `${state.model.digest} ${state.left}`;
  size.max = state.left;
  if (!size.value) size.value = Math.min(200, state.left);
  if (planned === key) return;
  planned = key;
  const found = await get("/audit");
  if (!touched && found.suggested) size.value = found.suggested;
  why.textContent = found.suggested ? `${number(found.suggested)} to begin with${found.why ? `: ${found.why}` : ""}.` : "";
  fill(buys, found.budgets.length ? el("details", { "data-key": "buys" }, el("summary", {}, "What an audit of each size would find, simulated"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sizes of audits" }, table([{ number: "Labels" }, { number: "certifies equal groups" }, { number: "certifies half the allowed gap" }, { number: "refutes one and a half times it" }],
    found.budgets.map((b) => [b.labels, { number: percent(b.certifies_alike, 0) }, { number: percent(b.certifies_half, 0) }, { number: percent(b.refutes, 0) }]), "Sizes of audits"))) : "");
}

let shown = "";
async function load() {
  const state = await get("/certificates");
  const now = JSON.stringify(state);
  if (now === shown) return;
  shown = now;
  const open = new Set([...document.querySelectorAll("#certificate details[open]")].map((d) => d.dataset.key));
  const [latest, ...past] = state.certificates;
  const parts = [];
  if (state.audit) parts.push(underWay(state));
  parts.push(latest ? verdict(latest, state, true) : panel("No certificate yet", el("p", { dir: "auto" }, `A `, term("certificate"), ` would promise, with 95 % confidence, that ${state.compares}, up to ${points(state.tolerance)} points.`)));
  if (!state.model) parts.push(panel("Audit", el("p", { class: "hint" }, "First a model must be fitted: label the first batch.")));
  else {
    if (latest?.model?.digest !== state.model.digest) parts.push(el("p", { class: "hint which" }, `The study's model now: ${named(state.model)}, digest ${state.model.digest.slice(0, 12)}…`));
    if (!state.audit && state.left) { offer(Boolean(latest?.model) && latest.model.digest === state.model.digest && latest.verdict !== "undecided", state.advice); parts.push(start); }
  }
  if (past.length) parts.push(panel(`Earlier certificates (${past.length})`, el("div", { class: "past" }, past.map((c) => verdict(c, state, false)))));
  fill($("certificate"), ...parts);
  for (const details of document.querySelectorAll("#certificate details")) details.open ||= open.has(details.dataset.key);
  $("certificate").dataset.audited = state.audit?.labels ?? 0;
  if (state.model && !state.audit && state.left) await plan(state).catch((error) => { planned = null; shown = ""; throw error; }); // tried again
}

load().catch((error) => { alertUser(error.message); fill($("certificate")); });
setInterval(() => !document.hidden && !document.querySelector("dialog[open]") && !start.contains(document.activeElement) && load().catch(() => {}), 2000);
