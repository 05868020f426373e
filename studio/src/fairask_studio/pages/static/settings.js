// Words and files.
import { call, get, put, remove, root } from "./api.js";
import { cardBody } from "./card.js";
import { $, alertUser, arrived, el, fill, number, table } from "./dom.js";
import { markdown } from "./markdown.js";

const DISPLAYS = { number: "number", date: "date", text: "short text", long: "long text", link: "link", image: "image", audio: "audio", markdown: "Markdown", none: "not shown" };
const shownAs = (column) => column.display || (column.kind === "number" ? "number" : "text");
const fail = (error) => alertUser(error.message);
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
let columns = [];
let card = null;
let saved = "";

// All that is written in the form; what differs from what was saved is not saved yet.
const written = () => JSON.stringify([...$("words").querySelectorAll("input, textarea, select")].map((field) => field.value));
const unsaved = () => saved !== "" && written() !== saved;
addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });

function preview() {
  $("words-saved").textContent = unsaved() ? "Not saved yet." : $("words-saved").textContent;
  $("preview-question").textContent = $("question-text").value;
  fill($("preview-guidelines"), ...($("guidelines").value ? markdown($("guidelines").value) : [el("p", { class: "empty" }, "No guidelines yet.")]));
  if (!card) return;
  const now = (name, field) => $("columns").querySelector(`[data-column="${CSS.escape(name)}"][name="${field}"]`)?.value;
  const fields = card.fields.filter((f) => now(f.name, "display") !== "none").map((f) => ({ ...f, title: now(f.name, "title") || f.name, unit: now(f.name, "unit") ?? f.unit, display: now(f.name, "display") ?? f.display }));
  fill($("preview-card"), cardBody({ ...card, fields }));
}

async function words() {
  ({ columns } = await get("/settings"));
  const field = (column, name) => el("input", { name: `${name}`, "data-column": column.name, value: column[name], maxlength: name === "unit" ? 40 : 120, "aria-label": `${name} of ${column.name}`, dir: "auto" });
  const chooser = (column) => el("select", { name: "display", "data-column": column.name, "aria-label": `how ${column.name} is shown` },
    Object.entries(DISPLAYS).map(([value, words]) => el("option", { value, selected: value === shownAs(column) }, words)));
  fill($("columns"), table(["Column", "Role", "Title", "Unit", "Shown as"], columns.slice(0, 200).map((c) => [c.name, c.role, field(c, "title"), field(c, "unit"), chooser(c)]), "Column dictionary"));
  saved = written();
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
    await words();
    $("words-saved").textContent = "Saved.";
  } catch (error) { fail(error); }
});

$("words").addEventListener("input", preview);
$("budget").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { more } = event.target.elements, budget = Number($("budget-now").textContent.replaceAll(/\D/g, "")) + Number(more.value);
  try {
    await put("/settings", { budget });
    more.max -= more.value;
    $("budget-now").textContent = number(budget);
    $("budget-saved").textContent = `Added ${number(Number(more.value))}.`;
    more.value = "";
    alertUser(null);
  } catch (error) { fail(error); }
});

// Rows with known answers.
async function known() {
  const list = Object.values(await get("/known"));
  const rows = list.map((k) => [el("a", { href: `${root}/rows#${k.row}` }, `Row ${number(k.row)}`), k.use, k.label, k.why,
    el("button", { type: "button", "aria-label": `Unmark row ${k.row}`, onclick: () => remove(`/known/${k.row}`).then(known).catch(fail) }, "Unmark")]);
  fill($("known"), list.length ? table(["Row", "Use", "Answer", "Why", ""], rows, "Rows with known answers") : el("p", { class: "empty" }, "No row is marked yet."));
}

$("gold").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { gold_every, gold_least } = Object.fromEntries(new FormData(event.target));
  try {
    await put("/settings", { gold_every: Number(gold_every), gold_least: Number(gold_least) });
    $("gold-saved").textContent = "Saved.";
    alertUser(null);
  } catch (error) { fail(error); }
});

$("known-file").addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = event.target.elements.file.files[0];
  try {
    const found = await call("POST", `/known?${new URLSearchParams({ name: file.name, unchecked: event.target.elements.unchecked.checked })}`, file);
    $("known-said").className = "";
    $("known-said").textContent = `${number(found.marked)} rows are marked; ${number(found.known)} in all.`;
    event.target.reset();
    await known();
  } catch (error) { $("known-said").className = "refused"; $("known-said").textContent = error.message; }
});

words().then(async () => { card = await get("/rows/0"); preview(); }).catch(fail).finally(() => arrived($("preview-card")));
known().catch(fail).finally(() => arrived($("known")));
