// Make a study: a file, the question, what each column is for, how fair and how many labels.
import { get, post, root } from "./api.js";
import { dropped, sendTable } from "./send.js";
import { cardBody } from "./card.js";
import { $, alertUser, el, fill, number } from "./dom.js";

const DISPLAYS = { number: "number", date: "date", text: "short text", long: "long text", link: "link", image: "image", markdown: "Markdown", none: "not shown", drop: "left out" };
let table = null;
let preview = 0;

async function take(files) {
  if (!files.length) return;
  $("file-said").className = "";
  $("file-said").textContent = "Reading…";
  try {
    table = await sendTable(files, (words) => { $("file-said").textContent = words; });
  } catch (error) {
    $("file-said").className = "refused";
    $("file-said").textContent = error.message;
    return;
  }
  $("file-said").textContent = [`${table.file}: ${number(table.rows)} rows, ${table.columns.length} columns.`, ...table.notes].join(" ");
  $("name").value ||= table.file.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 60);
  $("budget").max = table.rows;
  $("budget").value = Math.min(250, table.rows);
  $("make").hidden = false;
  const possible = table.columns.filter((c) => c.values.length === 2 && c.known >= 80);
  fill($("labels"), el("option", { value: "" }, "none"), possible.map((c) => el("option", { value: c.name }, `${c.name}: ${c.values.join(", ")}`)));
  $("labels").closest("p").hidden = !possible.length;
  $("forecast").textContent = "";
  map();
  words();
  $("question").focus();
}

function map() {
  const heads = ["Column", "Protected", "Shown as", "Values"];
  const row = (c) => el("tr", {}, el("td", { dir: "auto" }, c.name), el("td", {}, el("input", { type: "checkbox", name: "protected", value: c.name, disabled: !c.can_group, "aria-label": `${c.name} is protected` })),
    el("td", {}, el("select", { "data-column": c.name, "aria-label": `how ${c.name} is shown` }, Object.entries(DISPLAYS).map(([value, said]) => el("option", { value, selected: value === c.display }, said)))),
    el("td", { class: "note-cell", dir: "auto" }, c.values.length ? c.values.join(", ") : `${number(c.different)} different`));
  fill($("map"), el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, table.columns.map(row)));
  show();
}

const chosen = () => [...$("map").querySelectorAll("input:checked")].map((input) => input.value);
const displays = () => Object.fromEntries([...$("map").querySelectorAll("select")].map((select) => [select.dataset.column, select.value]));

function show() {
  const shown = displays(), hidden = new Set(chosen()), row = table.preview[preview % table.preview.length];
  const fields = table.columns.filter((c) => !hidden.has(c.name) && !["none", "drop"].includes(shown[c.name])).map((c) => ({ name: c.name, title: c.name.replaceAll("_", " "), unit: "", value: row[c.name], length: row[c.name].length, display: shown[c.name], ...(shown[c.name] === "image" ? { src: `${root}/api/tables/${table.id}/image?name=${encodeURIComponent(row[c.name])}` } : {}) }));
  fill($("card"), cardBody({ row: preview, fields }));
}

function words() {
  const gap = Number($("tolerance").value), budget = Number($("budget").value), overlap = Number($("overlap").value);
  $("tolerance-said").textContent = `${gap} points`;
  $("tolerance-words").textContent = `If the model says “${$("positive").value}” to 80 of 100 in one group who should get it, it must say so to at least ${80 - gap} of 100 in every other.`;
  $("budget-words").textContent = `${number(budget)} rows of ${number(table?.rows ?? 0)}${overlap > 1 ? `, ${number(budget * overlap)} answers` : ""}. An audit that certifies the model comes on top: often 100 to 500 labels.`;
}

// What `fairask simulate` expects where some labels are known: computed beside, and nothing waits for it.
let asked = 0;
async function forecast() {
  const label = $("labels").value, grouped = chosen().filter((name) => name !== label), mine = ++asked;
  $("forecast").textContent = label && !grouped.length ? "Mark a protected column, and it is said here what to expect." : "";
  if (!label || !grouped.length) return;
  const place = `/tables/${table.id}/forecast`;
  const drop = Object.entries(displays()).filter(([name, shown]) => shown === "drop" && name !== label && !grouped.includes(name)).map(([name]) => name);
  try {
    let said = await post(place, { label, positive: $("positive").value, protected: grouped, drop, tolerance: Number($("tolerance").value) / 100, budget: Number($("budget").value) });
    while (said.state === "running" && mine === asked) {
      $("forecast").textContent = `Trying it on the ${number(said.rows)} rows with a label. You need not wait.`;
      await new Promise((resolve) => setTimeout(resolve, 2000));
      said = await get(place);
    }
    if (mine === asked) $("forecast").textContent = said.state === "done" ? `On the ${number(said.rows)} rows with a label: ${said.words}` : `Nothing could be found out: ${said.words}`;
  } catch (error) { if (mine === asked) $("forecast").textContent = error.message; }
}

$("labels").addEventListener("change", () => {
  const column = table.columns.find((c) => c.name === $("labels").value);
  if (!column) return;
  [$("negative").value, $("positive").value] = column.values;
  $("map").querySelector(`select[data-column="${CSS.escape(column.name)}"]`).value = "drop";
  show();
});
for (const id of ["labels", "map", "tolerance", "budget", "positive"]) $(id).addEventListener("change", forecast);
for (const id of ["file", "folder"]) {
  $(id).addEventListener("change", () => take($(id).files));
  take($(id).files); // chosen before this script ran
}
for (const kind of ["dragover", "dragleave", "drop"]) $("drop").addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.toggle("over", kind === "dragover"); if (kind === "drop") dropped(event.dataTransfer).then(take); });
$("map").addEventListener("change", show);
$("other").addEventListener("click", () => { preview += 1; show(); });
$("make").addEventListener("input", words);
$("make").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("refused").textContent = "";
  const shown = displays(), grouped = chosen();
  if (!grouped.length) { $("refused").textContent = "Mark at least one column as protected: groups are compared by it."; return; }
  const drop = Object.keys(shown).filter((name) => shown[name] === "drop" && !grouped.includes(name));
  const changed = Object.fromEntries(table.columns.filter((c) => shown[c.name] !== c.display && shown[c.name] !== "drop" && !grouped.includes(c.name)).map((c) => [c.name, shown[c.name]]));
  $("go").disabled = true;
  try {
    const name = $("name").value;
    await post("/studies", { table: table.id, name, question: $("question").value, classes: [$("negative").value, $("positive").value], protected: grouped, displays: changed, drop,
      tolerance: Number($("tolerance").value) / 100, budget: Number($("budget").value), overlap: Number($("overlap").value) });
    location.assign((await post(`/studies/${encodeURIComponent(name)}/open`)).address);
  } catch (error) { $("refused").textContent = error.message; alertUser(null); }
  $("go").disabled = false;
});
