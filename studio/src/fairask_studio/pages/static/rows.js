// The rows that were drawn, as a grid: search, filters, order and pages are the server's. A row opens beside it.
import { call, get, post, put, remove } from "./api.js";
import { thread, writing } from "./flags.js";
import { follow } from "./live.js";
import { $, ago, alertUser, el, fill, number, say } from "./dom.js";

const PAGE = matchMedia("(max-width: 50rem)").matches ? 20 : 50;
const classes = JSON.parse($("classes").textContent);
const columns = JSON.parse($("columns").textContent); // {name, title}
const KEY = "fairask columns";
const COMPONENTS = { uniform: "first batch", diff: "where models disagree", fair: "all groups alike", audit: "audit" };
let offset = 0;
let sort = "";
let shown = []; // rows of the page
let total = 0; // rows of all pages
let open = null; // row number in the side panel
let wanted = 0;
let came = 0; // the load that came last

const STATES = { labelled: "answered", asked: "waits for an answer", skipped: "skipped", "not drawn": "not drawn" };
const none = (words) => el("span", { class: "missing" }, words);
const label = (r) => (r.tied ? none("a tie") : r.label);
// Names; who said what only where people differ.
function by(r) {
  const given = Object.entries(r.answers), named = (who) => `${who}${r.via[who] ? ` (${r.via[who]})` : ""}`;
  const same = new Set(given.map(([, said]) => said)).size === 1;
  return el("span", {}, given.map(([who, said]) => (same ? named(who) : `${named(who)}: ${said}`)).join(", "), r.by.includes("(decided)") ? el("em", {}, `${given.length ? "; " : ""}${r.by.split(", ").at(-1).replace(" (decided)", "")} decided`) : "");
}
const flag = (r) => (r.flags ? el("span", { class: "flag", title: "open flag" }, " ⚑", el("span", { class: "unseen" }, " flagged")) : null);

// The grid's own columns, by view; the columns of the pool that somebody chose come after the content.
const OWN = {
  row: { title: "Row", number: true, cell: (r) => number(r.row) },
  why: { title: "Why it is here", plain: true, cell: (r) => el("span", {}, r.why.map((why, i) => el("span", { class: i ? "why hint" : "why" }, why.words))) },
  label: { title: "Label", cell: (r) => (r.tied || r.label !== null || (r.flags && view !== "inbox") ? el("span", {}, label(r), view === "inbox" ? null : flag(r)) : "") },
  state: { title: "State", cell: (r) => none(STATES[r.state] ?? r.state) },
  content: { title: "Content", plain: true, long: true, cell: (r) => r.content },
  by: { title: "Answered by", cell: (r) => (r.by ? by(r) : "") },
  group: { title: "Group", cell: (r) => r.group },
  component: { title: "Why drawn", cell: (r) => COMPONENTS[r.component] ?? r.component },
  since: { title: "Since", plain: true, cell: (r) => (r.why.length ? ago(r.why[0].at) : "") },
  at: { title: "When", cell: (r) => (r.at ? ago(r.at) : "") },
  reason: { title: "Reason", cell: (r) => r.reason || none("none given") },
  note: { title: "Note", long: true, cell: (r) => r.note },
};
const OF_VIEW = {
  inbox: ["row", "why", "content", "label", "by", "since"],
  answered: ["row", "label", "content", "by", "group", "at", "note"],
  skipped: ["row", "reason", "content", "by", "group", "at", "note"],
  drawn: ["row", "state", "label", "content", "by", "group", "component", "at"],
};

const chosen = () => [...$("chooser").querySelectorAll("input:checked")].map((input) => input.value);
const picked = () => columns.filter((c) => chosen().includes(c.name)).map((c) => ({ ...c, long: true, cell: (r) => r.cells?.[c.name] ?? "" }));
const BESIDE = ["row", "why", "reason", "state", "label", "content"]; // there is room for these beside an open row
const names = () => OF_VIEW[view].filter((name) => open === null || BESIDE.includes(name));
const all = () => names().flatMap((name) => [{ name, ...OWN[name] }, ...(name === "content" ? picked() : [])]);

const asked = new URLSearchParams(location.search);
let view = asked.get("view") ?? (asked.size || location.hash ? "drawn" : "inbox");
let looking = !asked.size && !location.hash; // for the first view that has rows
for (const button of $("views").children) button.addEventListener("click", () => { view = button.dataset.view; sort = ""; offset = 0; looking = false; load(); });

function query() {
  const fields = [...new FormData($("filter"))].filter(([, value]) => value);
  return new URLSearchParams([["view", view], ...fields, ...chosen().map((name) => ["columns", name]), ...(sort ? [["sort", sort]] : []), ["offset", offset], ["limit", PAGE]]);
}

// What is shown is in the address, so that it can be kept and sent.
function keep() {
  const fields = [...new FormData($("filter"))].filter(([, value]) => value);
  history.replaceState(null, "", `?${new URLSearchParams([["view", view], ...fields, ...(sort ? [["sort", sort]] : [])])}${open === null ? "" : `#${open}`}`);
}

function heads() {
  fill($("heads"), ...all().map((c) => {
    if (c.plain) return el("th", { scope: "col" }, c.title);
    const way = sort === c.name ? "ascending" : sort === `-${c.name}` ? "descending" : "none";
    return el("th", { scope: "col", class: c.number ? "number" : null, "aria-sort": way }, el("button", { type: "button", class: "sort", onclick: () => order(c.name) }, c.title, el("span", { "aria-hidden": "true" }, { ascending: " ↑", descending: " ↓", none: "" }[way])));
  }));
}

function draw() {
  heads();
  fill(document.querySelector("#rows tbody"), ...shown.map(line));
}

function order(name) {
  sort = sort === name ? `-${name}` : sort === `-${name}` ? "" : name;
  offset = 0;
  load().then(() => [...$("heads").querySelectorAll("button")].find((b) => b.textContent.startsWith(all().find((c) => c.name === name).title))?.focus());
}

function line(row) {
  const split = new Set(Object.values(row.answers).filter((a) => a !== "skipped")).size > 1;
  const words = (c) => (c.long && typeof c.cell(row) === "string" ? c.cell(row) : null);
  return el("tr", { class: [split ? "split" : "", row.row === open ? "open" : ""].join(" ").trim() || null, "data-row": row.row, tabindex: "-1", onclick: (event) => { if (!event.target.closest("button, a")) show(row.row); } },
    all().map((c, i) => el("td", { class: c.number ? "number" : c.long ? "note-cell" : null, dir: "auto", "data-title": c.title, title: words(c) }, i ? c.cell(row) : el("button", { type: "button", class: "more", onclick: () => show(row.row), "aria-label": `Open row ${row.row}` }, c.cell(row)))));
}

const filtered = () => [...new FormData($("filter"))].some(([, value]) => value);
const EMPTY = { inbox: "Nothing waits for a decision: no open flag, no disagreement, no note.", skipped: "Nobody has skipped a row." };

// What each view holds; nobody looks for skipped rows before there is one.
function tabs(counts) {
  for (const button of $("views").children) {
    const name = button.dataset.view;
    button.setAttribute("aria-pressed", String(name === view));
    button.hidden = name === "skipped" && !counts.skipped && view !== name;
    fill(button.querySelector(".count-of"), number(counts[name]), ...(name === "drawn" ? [el("span", { class: "roomy" }, ` of ${number(Number($("views").dataset.rows))}`)] : []));
  }
  for (const node of document.querySelectorAll("[data-of]")) node.hidden = node.dataset.of !== view;
}

// Rows do not move under somebody who reads on another page, is in the table or has one open.
const reading = () => offset > 0 || open !== null || $("import-box")?.open || document.querySelector(".scroll").contains(document.activeElement);

// Unasked: because something has happened, and not for whoever looks at the page.
async function load(unasked = false) {
  const instead = came !== wanted; // of a load that somebody waits for
  const turn = (wanted += 1);
  try {
    const found = await get(`/rows?${query()}`);
    if (turn !== wanted) return; // another search was begun
    came = turn;
    if (unasked && !instead && reading()) return; // somebody has begun to read meanwhile
    if (looking) {
      view = ["inbox", "answered"].find((name) => found.counts[name]) ?? "drawn";
      looking = false;
      return void (await load());
    }
    ({ total, rows: shown } = found);
    tabs(found.counts);
    draw();
    $("empty").hidden = total > 0;
    $("empty").textContent = filtered() ? "No row fits this filter." : EMPTY[view] ?? "No such rows yet. Rows appear when they are drawn, and are labelled one by one.";
    $("page").textContent = total ? `${number(offset + 1)} to ${number(Math.min(offset + PAGE, total))} of ${number(total)}` : "";
    document.querySelector(".pages").hidden = total <= PAGE;
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
  flagged: (e) => `asked: ${e.note}`,
  "flag answered": (e) => `answered: ${e.note}`,
  "flag resolved": (e) => `resolved the flag${e.note ? `: ${e.note}` : ""}`,
  corrected: (e) => (e.decides ? `decided: ${e.label}` : `changed the answer to ${e.label}`),
};

async function show(row, focus = true) {
  try {
    const [card, past, flags, { cardBody }] = await Promise.all([get(`/rows/${row}`), get(`/rows/${row}/history`), get(`/flags?row=${row}`), import("./card.js")]); // a card is fetched when somebody looks at one
    open = row;
    const now = past.now;
    const { why } = past;
    const at = shown.findIndex((one) => one.row === row);
    $("row-title").textContent = why[0]?.words ?? `Row ${number(row)}`;
    fill($("row-why"), why.length ? el("p", { class: "hint" }, `Row ${number(row)}`) : "", ...why.slice(1).map((one) => el("p", { dir: "auto" }, one.words)));
    $("place").textContent = at < 0 ? "" : `${number(offset + at + 1)} of ${number(total)}`;
    $("before").disabled = at <= 0;
    $("after").disabled = at < 0 || at === shown.length - 1;
    fill($("row-answers"), ...(now?.state === "labelled" ? classes.map((label, i) => el("button", { type: "button", class: "answer", "aria-pressed": String(label === now.label && !now.tied), onclick: () => decide(row, label) }, el("span", { dir: "auto" }, label), i < 9 ? el("kbd", { "aria-hidden": "true" }, i + 1) : null)) : flags.some((flag) => flag.open) ? [] : [el("p", { class: "hint" }, now?.state === "skipped" ? "Skipped: there is no label to decide on." : "Nobody has labelled this row yet.")]));
    fill($("row-fields"), cardBody(card));
    fill($("row-history"), ...past.history.map((e) => el("li", {}, el("span", {}, el("span", { class: "who", dir: "auto" }, e.who), el("span", { dir: "auto" }, STORIES[e.kind]?.(e) ?? e.kind, e.note && !e.kind.startsWith("flag") ? `, with a note: ${e.note}` : "")), el("time", { datetime: e.at }, ago(e.at)))));
    threads(row, flags);
    showKnown(row, past);
    $("side").hidden = false;
    $("both").classList.add("opened");
    draw();
    if (focus) $("side").focus({ preventScroll: true }); // rows do not move under a hand that goes through them
    keep();
  } catch (error) { alertUser(error.message); }
}

// Flags of the open row; the first one that is open has the key for its answer.
function threads(row, flags) {
  if (Number($("row-flags").dataset.row) === row && writing($("row-flags"))) return; // not under somebody who writes
  const again = () => Promise.all([load(), show(row, false)]);
  $("row-flags").dataset.row = row;
  fill($("row-flags"), ...flags.map((flag) => thread(flag, again, null, () => goOn(row))));
  if (Number($("row-ask").dataset.row) !== row) { $("row-ask").dataset.row = row; $("row-ask").open = false; $("flag-text").value = ""; }
}

$("flag-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const row = Number($("row-ask").dataset.row), text = $("flag-text").value.trim();
  if (!text) { $("flag-text").focus(); return; }
  try {
    await post("/flags", { row, text });
    $("flag-text").value = "";
    $("flag-text").blur();
    $("row-ask").open = false;
    say(`Row ${row} is flagged.`);
    await Promise.all([load(), show(row, false)]);
  } catch (error) { alertUser(error.message); }
});

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
  draw();
  document.querySelector(`#rows tr[data-row="${row}"] button`)?.focus();
  keep();
}

// Go on to the row after the one that was settled; in the Inbox to what is left, until it is empty.
async function goOn(row) {
  const next = shown[shown.findIndex((one) => one.row === row) + 1]?.row;
  await load();
  const left = next ?? (view === "inbox" ? shown[0]?.row : row);
  if (left === undefined) { close(); $("views").firstElementChild.focus(); } else await show(left, false);
  return left;
}

async function decide(row, label) {
  try {
    await put(`/rows/${row}`, { label });
    const next = await goOn(row);
    say(next === row ? `Row ${row} is ${label}.` : next === undefined ? `Row ${row} is ${label}. The Inbox is empty.` : `Row ${row} is ${label}. Next: row ${next}.`);
  } catch (error) { alertUser(error.message); }
}

function step(by) {
  const at = shown.findIndex((row) => row.row === open);
  const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
  if (next && next.row !== open) show(next.row);
}

// Up and down go through the rows, also with one open; numbers decide the open one.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("#side textarea")) { $("side").focus({ preventScroll: true }); event.preventDefault(); return; }
  if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key], box = $("row-flags").querySelector(".thread:not(.closed) textarea");
  if (event.key === "Escape" && open !== null) close();
  else if (event.key === "/") { $("fold").open = true; $("filter").elements.search.focus(); }
  else if (by) step(by);
  else if (open !== null && event.key === "a" && box) box.focus();
  else if (open !== null && classes[Number(event.key) - 1] && $("row-answers").querySelector("button")) decide(open, classes[Number(event.key) - 1]);
  else return;
  event.preventDefault();
});

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
$("before").addEventListener("click", () => step(-1));
$("after").addEventListener("click", () => step(1));

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

const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
$("chooser").append(...columns.map((c) => el("label", { class: "check", dir: "auto" }, el("input", { type: "checkbox", value: c.name, checked: kept.includes(c.name) }), c.title)));
sort = asked.get("sort") ?? "";

follow(async (status, first) => {
  choices(status);
  if (first) {
    for (const [name, value] of asked) {
      const field = $("filter").elements[name];
      if (field?.type === "checkbox") field.checked = value === "true"; else if (field) field.value = value;
    }
    $("fold").open = filtered() || (view !== "inbox" && matchMedia("(min-width: 50rem)").matches); // rows on the first screen
    if (/^#\d+$/.test(location.hash)) show(Number(location.hash.slice(1)), false);
  }
  if (first || !reading()) await load(!first);
});
