// Words and files.
import { get, put } from "./api.js";
import { $, alertUser, el, fill } from "./dom.js";

const DISPLAYS = { number: "number", date: "date", text: "short text", long: "long text", link: "link", image: "image", markdown: "Markdown", none: "not shown" };
const shownAs = (column) => column.display || (column.kind === "number" ? "number" : "text");
const fail = (error) => alertUser(error.message);
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
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
    await put("/settings", { question: $("question-text").value, guidelines: $("guidelines").value, skip_reasons: lines($("skip-reasons").value), columns: changed });
    $("words-saved").textContent = "Saved.";
    await words();
  } catch (error) { fail(error); }
});

words().catch(fail);
