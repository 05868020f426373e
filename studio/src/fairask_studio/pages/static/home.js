// All studies of the folder: where each stands, and what can be done with it.
import { call, get, post, put, root } from "./api.js";
import { $, ago, alertUser, confirmed, el, fill, number, points } from "./dom.js";

const path = (name) => `/studies/${encodeURIComponent(name)}`;

const act = (action) => async () => { try { if ((await action()) !== false) await load(); alertUser(null); } catch (error) { alertUser(error.message); } };

async function copy(name) {
  const into = prompt("Name of the copy, which has the same pool and settings and no labels:", `${name}-2`);
  return into ? post(`${path(name)}/copy`, { name: into }) : false;
}

const drop = async (name) => ((await confirmed(`Delete ${name}?`, "Its labels, models and certificates are deleted for ever. Archive it instead if in doubt.", "Delete for ever", name)) ? call("DELETE", path(name), { name }) : false);

const button = (s, words, action, look = "quiet") => el("button", { type: "button", class: look, onclick: act(action), "aria-label": `${words} ${s.name}` }, words);

function card(s) {
  const menu = el("details", { class: "chooser" }, el("summary", { "aria-label": `More for ${s.name}` }, "⋯"),
    el("fieldset", {}, el("legend", { class: "unseen" }, `What to do with ${s.name}`), button(s, s.archived ? "Bring back" : "Archive", () => put(path(s.name), { archived: !s.archived })),
      s.error ? null : button(s, "Duplicate", () => copy(s.name)), button(s, "Delete", () => drop(s.name), "quiet bad-word")));
  if (s.error) return el("section", { class: "panel study" }, el("div", { class: "title-row" }, el("h2", {}, s.name), menu), el("p", { class: "refused" }, s.error));
  const waits = s.waits ? el("p", { class: "flag" }, `${number(s.waits)} ${s.waits === 1 ? "question waits" : "questions wait"} for an answer`) : null;
  const gap = !s.labels ? "" : s.gap === null ? "; gap not known yet" : `; gap ${points(s.gap)} points, ${points(s.tolerance)} allowed`;
  const named = [el("span", { class: "name" }, s.name), el("span", { dir: "auto" }, s.question)];
  return el("section", { class: "panel study", "aria-label": s.name }, el("div", { class: "title-row" }, el("h2", {}, s.archived ? named : el("a", { href: `${root}/open/${encodeURIComponent(s.name)}` }, named)), menu),
    el("div", { class: "bar", role: "progressbar", "aria-label": `Labels of ${s.name}`, "aria-valuemin": 0, "aria-valuemax": s.budget, "aria-valuenow": Math.min(s.labels, s.budget) }, el("span", { style: `width:${Math.min(100, (100 * s.labels) / s.budget)}%` })),
    el("p", { class: `verdict-word ${s.tone}` }, el("span", { class: `state-of ${s.state.split(" ")[0]}` }, s.state), " ", s.verdict),
    el("p", { class: "hint" }, `${number(s.labels)} of ${number(s.budget)} labels${gap}${s.people ? `; ${s.people} labelling now` : ""}; made ${ago(s.created)}.`), waits);
}

// What waits for somebody comes first, then what has labels.
const order = (s) => (s.waits ? 0 : s.labels ? 1 : 2);

async function load() {
  const all = await get("/studies");
  all.sort((a, b) => order(a) - order(b));
  const active = all.filter((s) => !s.archived), old = all.filter((s) => s.archived);
  fill($("studies"), ...(active.length ? active.map(card) : [el("section", { class: "panel" }, el("h2", {}, "No studies yet"), el("p", { class: "hint" }, "In a study people answer a question about rows, a model learns from the answers and treats groups alike, and an audit certifies it. It begins with a table, also with images or audio. The demo is a study of 1,000 loans, ready to label."))]),
    ...(old.length ? [el("details", {}, el("summary", {}, `Archived (${old.length})`), old.map(card))] : []));
}

load().catch((error) => alertUser(error.message));
setInterval(() => !document.hidden && !document.querySelector("dialog[open], #studies :focus, details[open]") && load().catch(() => {}), 5000);
