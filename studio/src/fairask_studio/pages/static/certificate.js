// What can be promised about which model, on what it rests, and how to find out more.
import { get, post, remove, root } from "./api.js";
import { $, alertUser, ago, confirmed, el, fill, number, percent, points, table, tight } from "./dom.js";
import { atWorst, onAxis, responsive } from "./charts.js";
import { action, headline } from "./standing.js";
import { term } from "./terms.js";

const VERDICTS = { certified: ["Certified", "good"], refuted: ["Refuted", "bad"], undecided: ["Cannot tell yet", "open"] };
const panel = (title, ...content) => el("section", { class: "panel" }, el("h2", {}, title), ...content);
const busy = (button, action) => async () => {
  button.disabled = true;
  try { if ((await action()) !== false) await load(); alertUser(null); } catch (error) { alertUser(error.message); } finally { button.disabled = false; }
};
const button = (words, tone, action) => { const made = el("button", { type: "button", class: tone }, words); made.addEventListener("click", busy(made, action)); return made; };

const named = (model) => `model ${model.round + 1}, trained on ${number(model.labels)} labels`;

// The limit that the verdict rests on.
const bound = (c) => `${atWorst({ low: Math.max(c.lower ?? 0, 0), high: c.upper }, c.tolerance)} points`;

function axis(c, tone) {
  const most = Math.min(1, 1.15 * Math.max(c.upper, 1.6 * c.tolerance, c.estimate ?? 0));
  const low = Math.max(c.lower ?? 0, 0), found = c.estimate === null ? "" : `found ${points(c.estimate)}`;
  const row = { name: "", tone, value: c.estimate, low, high: c.upper, end: low > c.tolerance ? low : c.upper, mark: found, under: bound(c).replace(" points", ""),
    said: `gap ${c.estimate === null ? "unknown" : points(c.estimate)} points, ${bound(c)}` };
  return responsive((node) => onAxis(node, [row], { limit: c.tolerance, words: `you allow ${points(c.tolerance)}`, most, unit: "points" }));
}

function verdict(c, { model, advice, gap_is, audit }, first, again = "") {
  const [words, tone] = VERDICTS[c.verdict];
  const present = c.model && c.model.digest === model?.digest;
  // A certificate is about one day: the months since may have said otherwise.
  const since = first && present && c.verdict === "certified" && advice.case !== "certified" && VERDICTS[advice.case];
  const told = c.verdict === "undecided" ? words : tight(`${words}: the gap is ${bound(c)}`);
  const sure = `${+(100 * (1 - c.delta)).toFixed(6)} % confidence`, short = first && !since && c.verdict !== "undecided"; // the heading says the rest
  const found = c.estimate === null ? "" : ` In the audit it was ${points(c.estimate)} points.`;
  const promise = tight(`${c.verdict === "undecided" ? "The audit could not tell. " : ""}${short ? `That holds with ${sure}.` : `With ${sure} the gap is ${bound(c)}.`}${found} You allow ${points(c.tolerance)} points.`);
  const about = c.model ? el("p", {}, `About ${named(c.model)}. `, present ? "It is the study's model now." : "It is not the study's model any more.") : el("p", {}, "Which model it is about was not written down.");
  const usable = present && !since && c.verdict === "certified"; // nobody is offered a model that failed its audit
  const offers = first ? el("p", { class: "buttons" },
    el("a", { class: present && !audit && c.verdict !== "undecided" ? "button primary" : "button", href: `${root}/api/export/certificate.html`, download: true }, "Page to print and sign"), el("a", { class: "button", href: `${root}/api/export/certificate.json`, download: true }, "certificate.json"), usable ? el("a", { class: "button", href: `${root}/api/export/model.skops`, download: true }, "Download this model") : null) : null;
  const digest = c.model ? el("li", { class: "hash" }, `digest ${c.model.digest} `, first ? el("button", { type: "button", class: "small", onclick: () => navigator.clipboard?.writeText(c.model.digest) }, "Copy") : "") : null;
  return el("section", { class: `panel verdict lead ${since ? since[1] : tone}` }, el(first ? "h2" : "h3", { class: first ? "advice" : null }, since ? "No longer certified" : told), since ? el("p", { dir: "auto" }, el("strong", {}, advice.proof)) : null, el("p", {}, since ? `On the day of the certificate: ${promise[0].toLowerCase()}${promise.slice(1)}` : promise), axis(c, tone), first ? el("p", { dir: "auto" }, `${gap_is} Groups: ${c.groups.join(", ")}.`) : null, about, offers,
    el("details", { "data-key": `rests-${c.event}` }, el("summary", {}, "What this rests on"), el("ul", { class: "rests" }, [`${number(c.n_labels)} labels, ${ago(c.at)}; ${c.method}, ${c.valid}.`, c.target, ...c.assumptions].map((a) => el("li", {}, a)), digest)), again);
}

function underWay({ audit, advice, model }) {
  const share = Math.min(100, (100 * audit.labels) / audit.size);
  const own = /^audit/.test(advice.case); // of a certified model the certificate stands meanwhile
  const rows = `${number(audit.labels)} of at most ${number(audit.size)} rows are answered`;
  return el("section", { class: "panel lead verdict open" }, el("div", { class: "headline" }, own ? headline(advice, "h2") : [el("h2", { class: "advice" }, audit.done ? "The audit has ended" : "Another audit is under way"), el("p", {}, `${rows}.`)]),
    el("div", { class: "bar", role: "progressbar", "aria-label": "Labels of the audit", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share.toFixed(0) }, el("span", { style: `width:${share}%` })),
    audit.done ? "" : el("p", { class: "gap-top" }, tight(`It is checked ${audit.looks === 1 ? "once" : `at most ${number(audit.looks)} times, next`} at ${number(audit.next_look)} labels${audit.looks === 1 ? "" : ", and ends as soon as a check decides"}. Nothing is trained meanwhile. It is about ${named(model)}.`)),
    el("p", { class: "buttons" }, audit.done ? button("Issue the certificate", "primary", () => post("/certificate")) : el("a", { class: "button primary", href: `${root}/label` }, "Label the audit's rows")),
    el("details", { "data-key": "end" }, el("summary", {}, "End it without a certificate"), el("p", { class: "buttons" }, button("End the audit without a certificate", "", async () => ((await confirmed("End the audit?", "Its labels stay, and train the next model. There is no certificate.", "End the audit")) ? remove("/audit") : false)))));
}

// The form stays as it is while somebody types: it is made once.
const size = el("input", { type: "number", min: 1, id: "audit-size", required: true });
const why = el("p", { class: "hint small", id: "audit-why" });
const buys = el("div", {});
const form = el("form", { class: "filters" }, el("label", {}, "Labels to spend at most", size), el("button", { class: "primary" }, "Start the audit"));
const about = el("p", { class: "hint" }, "Labels that trained a model cannot certify it. An ", term("audit"), " draws fresh rows for the annotators, on top of the budget, and holds the model still until it ends.");
const start = el("div", { id: "start" });
const submit = form.querySelector("button");
// An audit is offered openly where it is the next step, and folded where it is not: after a verdict, and of a
// model that nobody should use.
function offer(folded) {
  submit.className = folded ? "" : "primary";
  if (start.dataset.folded !== folded) fill(start, folded ? el("details", { "data-key": "again" }, el("summary", {}, folded), about, form, why, buys) : el("div", {}, about, form, why, buys));
  start.dataset.folded = folded;
  return start;
}
// No audit has judged the model: the study's verdict on it, and what is to be done.
function unjudged({ advice, next, model, tolerance, gap_is, audit, left }) {
  const here = next.page === "certificate";
  const folded = here ? "" : /^(useless|plain|above|short)/.test(advice.case) ? "Audit it anyway" : "Audit it now";
  const shut = /^(useless|plain|above|short)/.test(advice.case) ? "An audit of this model is not worth its labels." : "";
  return el("section", { class: `panel lead verdict ${advice.tone}` }, el("div", { class: "headline" }, headline(advice, "h2"), shut ? el("p", {}, el("strong", {}, shut)) : ""),
    here ? "" : el("p", { class: "next" }, action(next, advice)),
    el("p", { dir: "auto" }, "No certificate yet. A ", term("certificate"), tight(` promises, with 95 % confidence, that the gap is at most ${points(tolerance)} points. ${gap_is}`), model ? ` It would be about ${named(model)}.` : ""),
    model && left ? offer(folded) : "");
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
  why.textContent = tight(found.suggested ? `${number(found.suggested)} to begin with. ${found.why}` : "");
  fill(buys, found.budgets.length ? el("details", { "data-key": "buys" }, el("summary", {}, "What an audit of each size would find, simulated"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sizes of audits" }, table([{ number: "Labels" }, { number: "certifies equal groups" }, { number: "certifies the estimated gap" }, { number: "certifies half the allowed gap" }, { number: "refutes one and a half times it" }],
    found.budgets.map((b) => [b.labels, { number: percent(b.certifies_alike, 0) }, { number: b.certifies_estimate === null ? "–" : percent(b.certifies_estimate, 0) }, { number: percent(b.certifies_half, 0) }, { number: percent(b.refutes, 0) }]), "Sizes of audits"))) : "");
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
  const judged = Boolean(state.model) && latest?.model?.digest === state.model.digest;
  if (state.audit) parts.push(underWay(state));
  else if (!judged) parts.push(unjudged(state));
  if (latest) parts.push(verdict(latest, state, true, judged && !state.audit && state.left ? offer(latest.verdict === "undecided" ? "" : "Audit this model again") : ""));
  if (past.length) parts.push(panel(`Earlier certificates (${past.length})`, el("div", { class: "past" }, past.map((c) => verdict(c, state, false)))));
  fill($("certificate"), ...parts);
  for (const details of document.querySelectorAll("#certificate details")) details.open ||= open.has(details.dataset.key);
  $("certificate").dataset.audited = state.audit?.labels ?? 0;
  if (state.model && !state.audit && state.left) await plan(state).catch((error) => { planned = null; shown = ""; throw error; }); // tried again
}

load().catch((error) => { alertUser(error.message); fill($("certificate")); });
setInterval(() => !document.hidden && !document.querySelector("dialog[open]") && !start.contains(document.activeElement) && load().catch(() => {}), 2000);
