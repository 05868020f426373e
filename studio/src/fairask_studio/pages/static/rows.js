// The rows that were drawn, as a grid: search, filters, order and pages are the server's. A row opens beside it.
import { call, get, post, put, remove } from "./api.js";
import { cardBody } from "./card.js";
import { thread, writing } from "./flags.js";
import { follow } from "./live.js";
import { $, ago, alertUser, el, fill, number, say } from "./dom.js";

const PAGE = 50;
const classes = JSON.parse($("classes").textContent);
const columns = JSON.parse($("columns").textContent); // {name, title}
const KEY = "fairask columns";
const COMPONENTS = { uniform: "first batch", diff: "where models disagree", fair: "all groups alike", audit: "audit" };
let offset = 0;
let sort = "";
let shown = []; // rows of the page
let open = null; // row number in the side panel
let wanted = 0;

const OWN = [
  { name: "row", title: "Row", number: true, cell: (r) => number(r.row) },
  { name: "label", title: "Label", cell: (r) => el("span", {}, r.tied ? el("span", { class: "missing" }, "a tie") : r.label ?? el("span", { class: "missing" }, r.state), r.flags ? el("span", { class: "flag", title: "open flag" }, " ⚑", el("span", { class: "unseen" }, " flagged")) : null) },
  { name: "group", title: "Group", cell: (r) => r.group },
  { name: "by", title: "Answered by", cell: (r) => !r.by ? "" : el("span", {}, Object.entries(r.answers).map(([who, label]) => `${who}: ${label}${r.via[who] ? ` (${r.via[who]})` : ""}`).join(", "), r.by.includes("(decided)") ? el("em", {}, " decided") : "") },
  { name: "at", title: "When", cell: (r) => (r.at ? ago(r.at) : "") },
  { name: "component", title: "Drawn by", drawn: true, cell: (r) => COMPONENTS[r.component] ?? r.component },
  { name: "propensity", title: "Probability", number: true, drawn: true, cell: (r) => (r.propensity === null ? "–" : r.propensity.toPrecision(3)) },
  { name: "note", title: "Note", long: true, cell: (r) => [r.reason && `skipped: ${r.reason}`, r.note].filter(Boolean).join("; ") },
];

const chosen = () => [...$("chooser").querySelectorAll("input:checked")].map((input) => input.value);
const all = () => [OWN[0], OWN[1], ...columns.filter((c) => chosen().includes(c.name)).map((c) => ({ ...c, long: true, pool: true, cell: (r) => r.cells?.[c.name] ?? "" })), ...OWN.slice(2).filter((c) => !view || !c.drawn)]; // how a row was drawn helps nobody to decide it

let view = new URLSearchParams(location.search).get("view") ?? "";
for (const button of $("views").children) button.addEventListener("click", () => { view = button.dataset.view; offset = 0; load(); });

function query() {
  const fields = [...new FormData($("filter"))].filter(([, value]) => value);
  for (const button of $("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  return new URLSearchParams([...(view ? [["view", view]] : []), ...fields, ...chosen().map((name) => ["columns", name]), ...(sort ? [["sort", sort]] : []), ["offset", offset], ["limit", PAGE]]);
}

// What is shown is in the address, so that it can be kept and sent.
function keep() {
  const fields = [...new FormData($("filter"))].filter(([, value]) => value);
  history.replaceState(null, "", `?${new URLSearchParams([...(view ? [["view", view]] : []), ...fields, ...(sort ? [["sort", sort]] : [])])}${open === null ? "" : `#${open}`}`);
}

function heads() {
  fill($("heads"), ...all().map((c) => {
    const way = sort === c.name ? "ascending" : sort === `-${c.name}` ? "descending" : "none";
    return el("th", { scope: "col", class: c.number ? "number" : null, "aria-sort": way }, el("button", { type: "button", class: "sort", onclick: () => order(c.name) }, c.title, el("span", { "aria-hidden": "true" }, { ascending: " ↑", descending: " ↓", none: "" }[way])));
  }));
}

function order(name) {
  sort = sort === name ? `-${name}` : sort === `-${name}` ? "" : name;
  offset = 0;
  load().then(() => [...$("heads").querySelectorAll("button")].find((b) => b.textContent.startsWith(all().find((c) => c.name === name).title))?.focus());
}

function line(row) {
  const split = new Set(Object.values(row.answers).filter((a) => a !== "skipped")).size > 1;
  return el("tr", { class: [split ? "split" : "", row.row === open ? "open" : ""].join(" ").trim() || null, "data-row": row.row, tabindex: "-1", onclick: (event) => { if (!event.target.closest("button, a")) show(row.row); } },
    all().map((c, i) => el("td", { class: c.number ? "number" : c.long ? "note-cell" : null, dir: "auto", "data-title": c.title, title: c.long ? c.cell(row) : null }, i ? c.cell(row) : el("button", { type: "button", class: "more", onclick: () => show(row.row), "aria-label": `Open row ${row.row}` }, c.cell(row)))));
}

async function load() {
  const turn = (wanted += 1);
  try {
    const { total, rows } = await get(`/rows?${query()}`);
    if (turn !== wanted) return; // another search was begun
    shown = rows;
    heads();
    fill(document.querySelector("#rows tbody"), ...rows.map(line));
    $("empty").hidden = total > 0;
    $("empty").textContent = [...new FormData($("filter"))].some(([, v]) => v) ? "No row fits this filter." : view === "inbox" ? "Nothing waits for a decision: no open flag, no disagreement, no note." : "No such rows yet. Rows appear when they are drawn, and are labelled one by one.";
    $("page").textContent = total ? `${number(offset + 1)} to ${number(Math.min(offset + PAGE, total))} of ${number(total)}` : "";
    document.querySelector(".pages").hidden = !total;
    $("newer").disabled = offset === 0;
    $("older").disabled = offset + PAGE >= total;
    alertUser(null);
    keep();
  } catch (error) {
    alertUser(error.message);
    if (error.why === "away") setTimeout(() => { if (turn === wanted) load(); }, 2000); // the server is asked again
  }
}

const STORIES = {
  drawn: (e) => `drew it in batch ${e.batch + 1}, ${COMPONENTS[e.component] ?? e.component}${e.propensity === null ? "" : `, with probability ${e.propensity.toPrecision(2)}`}`,
  labelled: (e) => `said ${e.label}`,
  skipped: (e) => `skipped it${e.reason ? `: ${e.reason}` : ""}`,
  withdrawn: () => "took the answer back",
  reopened: () => "took answers away: the row is asked again",
  restored: () => "gave answers back",
  refused: (e) => `an answer${e.label ? ` ${e.label}` : ""} from another tool was refused: ${e.reason}`,
  checked: (e) => (e.label === null ? "took back a check" : `was checked, and said ${e.label}`),
  flagged: () => "asked",
  "flag answered": () => "answered",
  "flag resolved": () => "resolved the flag",
  corrected: (e) => (e.decides ? `decided: ${e.label}` : `changed the answer to ${e.label}`),
};

async function show(row, focus = true) {
  try {
    const [card, past, flags] = await Promise.all([get(`/rows/${row}`), get(`/rows/${row}/history`), get(`/flags?row=${row}`)]);
    open = row;
    const now = past.now;
    $("row-title").textContent = `Row ${number(row)}`;
    fill($("row-answers"), ...(now?.state === "labelled" ? classes.map((label) => el("button", { type: "button", class: "answer", "aria-pressed": String(label === now.label && !now.tied), onclick: () => decide(row, label) }, el("span", { dir: "auto" }, label))) : [el("p", { class: "hint" }, now?.state === "skipped" ? "Skipped: there is no label to decide on." : "Not labelled yet, so there is nothing to decide.")]));
    fill($("row-fields"), cardBody(card));
    fill($("row-history"), ...past.history.map((e) => el("li", {}, el("span", {}, el("span", { class: "who", dir: "auto" }, e.who), el("span", { dir: "auto" }, STORIES[e.kind]?.(e) ?? e.kind, e.note ? ` (“${e.note}”)` : "")), el("time", { datetime: e.at }, ago(e.at)))));
    threads(row, flags);
    showKnown(row, past);
    $("side").hidden = false;
    $("both").classList.add("opened");
    for (const tr of document.querySelectorAll("#rows tbody tr")) tr.classList.toggle("open", Number(tr.dataset.row) === row);
    if (focus) $("side").focus({ preventScroll: true }); // rows do not move under a hand that goes through them
    keep();
  } catch (error) { alertUser(error.message); }
}

// Flags of the open row, and a form to ask about it oneself.
function threads(row, flags) {
  if (Number($("row-flags").dataset.row) === row && writing($("row-flags"))) return; // not under somebody who writes
  const again = () => Promise.all([load(), show(row, false)]);
  const box = el("textarea", { rows: 2, maxlength: 2000, id: "flag-text", dir: "auto" });
  const ask = async (event) => {
    event.preventDefault();
    const text = box.value.trim();
    if (!text) { box.focus(); return; }
    try {
      await post("/flags", { row, text });
      box.value = "";
      box.blur();
      say(`Row ${row} is flagged.`);
      await again();
    } catch (error) { alertUser(error.message); }
  };
  $("row-flags").dataset.row = row;
  fill($("row-flags"), ...(flags.length ? [el("h3", {}, "Flags")] : []), ...flags.map((flag) => thread(flag, again)),
    el("details", {}, el("summary", {}, "Flag this row"), el("form", { onsubmit: ask }, el("label", { for: "flag-text" }, "What is the question?"), box, el("p", { class: "buttons" }, el("button", {}, "Flag")))));
}

// The known answer of the open row, for owners.
function showKnown(row, { now, known }) {
  const form = $("known-form");
  if (!form) return;
  const moved = Number(form.dataset.row) !== row;
  if (!moved && form.contains(document.activeElement) && document.activeElement.tagName === "TEXTAREA") return;
  form.dataset.row = row;
  form.elements.use.value = known?.use ?? "example";
  form.elements.label.value = known?.label ?? now?.label ?? classes[0];
  form.elements.why.value = known?.why ?? "";
  $("unmark").hidden = !known;
  $("row-known").querySelector("summary").textContent = known ? `Known answer: ${known.label} (${known.use})` : "Known answer";
  if (moved) { $("row-known").open = Boolean(known); $("known-said").textContent = ""; }
}

async function mark(action, words) {
  const row = Number($("known-form").dataset.row);
  try {
    await action(row);
    $("known-said").textContent = words;
    document.activeElement.blur();
    await show(row, false);
    alertUser(null);
  } catch (error) { alertUser(error.message); }
}
$("known-form")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const { use, label, why } = Object.fromEntries(new FormData(event.target));
  mark((row) => put(`/known/${row}`, { use, label, why }), "Saved.");
});
$("unmark")?.addEventListener("click", () => mark((row) => remove(`/known/${row}`), "Not known any more."));

function close() {
  const row = open;
  open = null;
  $("side").hidden = true;
  $("both").classList.remove("opened");
  document.querySelector(`#rows tr[data-row="${row}"] button`)?.focus();
  document.querySelector("#rows tr.open")?.classList.remove("open");
  keep();
}

// Decide, and go on to the next row of the list.
async function decide(row, label) {
  const at = shown.findIndex((one) => one.row === row), next = shown[at + 1]?.row ?? row;
  try {
    await put(`/rows/${row}`, { label });
    say(next === row ? `Row ${row} is ${label}.` : `Row ${row} is ${label}. Next: row ${next}.`);
    await Promise.all([load(), show(next, false)]);
  } catch (error) { alertUser(error.message); }
}

// Up and down go through the rows, also with one open; numbers decide the open one.
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (event.key === "Escape" && open !== null) close();
  else if (event.key === "/") $("filter").elements.search.focus();
  else if (step && shown.length) {
    const at = shown.findIndex((row) => row.row === open);
    const next = shown[Math.min(Math.max(at + step, 0), shown.length - 1)];
    if (next.row !== open) show(next.row);
  } else if (open !== null && classes[Number(event.key) - 1] && $("row-answers").querySelector("button")) decide(open, classes[Number(event.key) - 1]);
  else return;
  event.preventDefault();
});

$("fold").open = matchMedia("(min-width: 50rem)").matches; // a phone has rows on its first screen
let pause = null;
$("filter").addEventListener("input", (event) => {
  clearTimeout(pause);
  if (event.target.closest("#chooser")) localStorage.setItem(KEY, JSON.stringify(chosen()));
  pause = setTimeout(() => { offset = 0; load(); }, event.target.name === "search" ? 250 : 0);
});
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("newer").addEventListener("click", () => { offset -= PAGE; load(); });
$("older").addEventListener("click", () => { offset += PAGE; load(); });
$("close").addEventListener("click", close);

$("import")?.addEventListener("click", () => { $("import-said").textContent = ""; $("import-box").showModal(); });
$("import-close")?.addEventListener("click", () => $("import-box").close());
$("import-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target.elements;
  const file = form.file.files[0];
  const flags = new URLSearchParams({ name: file.name, correct: form.correct.checked, unchecked: form.unchecked.checked });
  try {
    const found = await call("POST", `/labels?${flags}`, file);
    $("import-said").className = "";
    $("import-said").textContent = [...found.notes, `${number(found.new)} new labels, ${number(found.known)} known already, ${number(found.corrected)} corrected.`].join(" ");
    event.target.reset();
    await load();
  } catch (error) { $("import-said").className = "refused"; $("import-said").textContent = error.message; }
});

// New groups of choices are added as they appear; what is chosen stays chosen.
function choices(status) {
  const add = (id, values) => {
    const known = new Set([...$(id).options].map((option) => option.value));
    $(id).append(...values.filter((value) => !known.has(value)).map((value) => el("option", { value }, id === "filter-component" ? COMPONENTS[value] ?? value : value)));
  };
  add("filter-group", status.groups.map((g) => g.group));
  add("filter-component", [...new Set(status.groups.flatMap((g) => Object.keys(g.components)))]);
  add("filter-who", status.people.map((p) => p.who));
  const reasons = status.skip_reasons.map((r) => r.reason).filter(Boolean);
  add("filter-reason", reasons);
  $("reason-label").hidden = !reasons.length;
}

const kept = JSON.parse(localStorage.getItem(KEY) ?? "null") ?? (columns.filter((c) => c.reads).slice(0, 1).concat(columns.filter((c) => !c.reads)).slice(0, columns.some((c) => c.reads) ? 1 : 2)).map((c) => c.name);
$("chooser").append(...columns.map((c) => el("label", { class: "check", dir: "auto" }, el("input", { type: "checkbox", value: c.name, checked: kept.includes(c.name) }), c.title)));
const asked = new URLSearchParams(location.search);
sort = asked.get("sort") ?? "";

follow(async (status, first) => {
  choices(status);
  if (first) {
    for (const [name, value] of asked) {
      const field = $("filter").elements[name];
      if (field?.type === "checkbox") field.checked = value === "true"; else if (field) field.value = value;
    }
    if (/^#\d+$/.test(location.hash)) show(Number(location.hash.slice(1)), false);
  }
  // Rows do not move under somebody who reads on another page, is in the table or has one open.
  const reading = offset > 0 || open !== null || $("import-box")?.open || document.querySelector(".scroll").contains(document.activeElement);
  if (first || !reading) await load();
});
