// What was drawn, by whom it was answered and why it was drawn; a label can be decided here.
import { get, put } from "./api.js";
import { follow } from "./live.js";
import { cardBody } from "./card.js";
import { $, ago, alertUser, el, fill, number, say } from "./dom.js";

const PAGE = 50;
const classes = JSON.parse($("classes").textContent);
let offset = 0;

const query = () => {
  const chosen = [...new FormData($("filter"))].filter(([, value]) => value);
  return new URLSearchParams([...chosen, ["offset", offset], ["limit", PAGE]]);
};

const answered = (row) => Object.entries(row.answers).map(([who, label]) => `${who}: ${label}`).join(", ") || "–";

function line(row) {
  const split = new Set(Object.values(row.answers).filter((a) => a !== "skipped")).size > 1;
  return el("tr", { class: split ? "split" : null }, el("td", { class: "number" }, row.row), el("td", { dir: "auto" }, row.label ?? el("span", { class: "missing" }, row.state)),
    el("td", { dir: "auto" }, row.group), el("td", { dir: "auto" }, answered(row), row.by.includes("(decided)") ? el("em", {}, " decided") : ""), el("td", {}, row.at ? ago(row.at) : "–"),
    el("td", {}, row.component), el("td", { class: "number" }, row.propensity === null ? "–" : row.propensity.toPrecision(3)), el("td", { class: "note-cell", dir: "auto" }, row.note),
    el("td", {}, el("button", { type: "button", onclick: () => open(row), "aria-label": `Open row ${row.row}` }, "Open")));
}

async function load() {
  try {
    const { total, rows } = await get(`/rows?${query()}`);
    fill(document.querySelector("#rows tbody"), ...rows.map(line));
    $("empty").hidden = total > 0;
    $("empty").textContent = [...new FormData($("filter"))].some(([name, v]) => v && name !== "state") ? "No row fits this filter." : "No such rows yet. Rows appear when they are drawn, and are labelled one by one.";
    $("page").textContent = total ? `${number(offset + 1)} to ${number(Math.min(offset + PAGE, total))} of ${number(total)}` : "";
    $("newer").disabled = offset === 0;
    $("older").disabled = offset + PAGE >= total;
    alertUser(null);
  } catch (error) { alertUser(error.message); }
}

async function open(row) {
  try {
    const card = await get(`/rows/${row.row}`);
    $("row-title").textContent = `Row ${row.row}`;
    fill($("row-fields"), cardBody(card));
    const buttons = row.state === "labelled" ? classes.map((label) => el("button", { type: "button", class: "answer", "aria-pressed": String(label === row.label), onclick: () => decide(row, label) }, el("span", { dir: "auto" }, label))) : [el("p", { class: "hint" }, "Not labelled yet, so there is nothing to correct.")];
    fill($("row-answers"), ...buttons);
    $("row-box").showModal();
  } catch (error) { alertUser(error.message); }
}

async function decide(row, label) {
  try {
    await put(`/rows/${row.row}`, { label });
    $("row-box").close();
    say(`Row ${row.row} is ${label}.`);
    await load();
  } catch (error) { $("row-box").close(); alertUser(error.message); }
}

$("filter").addEventListener("change", () => { offset = 0; load(); });
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("newer").addEventListener("click", () => { offset -= PAGE; load(); });
$("older").addEventListener("click", () => { offset += PAGE; load(); });

// New groups of choices are added as they appear; what is chosen stays chosen.
function choices(status) {
  const add = (id, values) => {
    const known = new Set([...$(id).options].map((option) => option.value));
    $(id).append(...values.filter((value) => !known.has(value)).map((value) => el("option", { value }, value)));
  };
  add("filter-group", status.groups.map((g) => g.group));
  add("filter-component", [...new Set(status.groups.flatMap((g) => Object.keys(g.components)))]);
  add("filter-who", status.people.map((p) => p.who));
}

follow(async (status, first) => {
  choices(status);
  // Rows do not move under somebody who reads on another page, is in the table or has one open.
  const reading = offset > 0 || $("row-box").open || document.querySelector(".scroll").contains(document.activeElement);
  if (first || !reading) await load();
});
