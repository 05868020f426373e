// Words, people and files.
import { get, post, put, remove } from "./api.js";
import { $, alertUser, confirmed, el, fill } from "./dom.js";

const DISPLAYS = { number: "number", date: "date", text: "short text", long: "long text", link: "link", image: "image", markdown: "Markdown", none: "not shown" };
const shownAs = (column) => column.display || (column.kind === "number" ? "number" : "text");
const fail = (error) => alertUser(error.message);
let columns = [];

async function words() {
  ({ columns } = await get("/settings"));
  const field = (column, name) => el("input", { name: `${name}`, "data-column": column.name, value: column[name], maxlength: name === "unit" ? 40 : 120, "aria-label": `${name} of ${column.name}`, dir: "auto" });
  const chooser = (column) => el("select", { name: "display", "data-column": column.name, "aria-label": `how ${column.name} is shown` },
    Object.entries(DISPLAYS).map(([value, words]) => el("option", { value, selected: value === shownAs(column) }, words)));
  fill($("columns"), el("table", { "aria-label": "Column dictionary" }, el("thead", {}, el("tr", {}, ["Column", "Role", "Title", "Unit", "Shown as"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, columns.slice(0, 200).map((c) => el("tr", {}, el("td", { dir: "auto" }, c.name), el("td", {}, c.role), el("td", {}, field(c, "title")), el("td", {}, field(c, "unit")), el("td", {}, chooser(c)))))));
}

$("words").addEventListener("submit", async (event) => {
  event.preventDefault();
  const changed = {};
  for (const column of columns) {
    const inputs = [...$("columns").querySelectorAll("input, select")].filter((input) => input.dataset.column === column.name);
    const now = Object.fromEntries(inputs.map((input) => [input.name, input.value]));
    if (inputs.length && (now.title !== column.title || now.unit !== column.unit || now.display !== shownAs(column))) changed[column.name] = { ...now, values: column.values };
  }
  try {
    await put("/settings", { question: $("question-text").value, columns: changed });
    $("words-saved").textContent = "Saved.";
    await words();
  } catch (error) { fail(error); }
});

async function people() {
  const list = await get("/people");
  if (!list.length) {
    fill($("people"), el("p", { class: "hint" }, "This page is for whoever opened the address that the studio printed. Add an owner, then annotators, to share it; they sign in with their tokens."));
    $("new-person").elements.role.value = "owner"; // the first one must be
    return;
  }
  fill($("people"), el("table", { "aria-label": "People" }, el("thead", {}, el("tr", {}, ["Name", "Role", ""].map((h) => el("th", { scope: "col" }, h || el("span", { class: "unseen" }, "Actions"))))),
    el("tbody", {}, list.map((p) => el("tr", {}, el("td", { dir: "auto" }, p.name), el("td", {}, p.role), el("td", {}, el("button", { type: "button", onclick: () => renew(p.name), "aria-label": `New token for ${p.name}` }, "New token"), " ",
      el("button", { type: "button", onclick: () => drop(p.name), "aria-label": `Remove ${p.name}` }, "Remove")))))));
}

async function renew(name) {
  if (await confirmed(`New token for ${name}?`, "The old token stops working, and its sessions end.", "Make a new token")) await post(`/people/${encodeURIComponent(name)}/token`).then(showToken).catch(fail);
}

async function drop(name) {
  if (await confirmed(`Remove ${name}?`, "Their answers stay. They cannot sign in any more.", "Remove")) await remove(`/people/${encodeURIComponent(name)}`).then(people).catch(fail);
}

function showToken(made) {
  $("token").hidden = false;
  fill($("token"), `${made.name} signs in with this token, shown only now: `, el("code", {}, made.token));
}

$("new-person").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  try {
    showToken(await post("/people", Object.fromEntries(form)));
    event.target.reset();
    await people();
  } catch (error) { fail(error); }
});

words().catch(fail);
people().catch(fail);
