// Make a study. The forms are the page's own and work without this script; it shows beforehand what comes of them.
import { get, post, root } from "./api.js";
import { dropped, sendTable } from "./send.js";
import { cardBody, release } from "./card.js";
import { curves, responsive } from "./charts.js";
import { $, el, fill, number } from "./dom.js";

// A file is sent as soon as it is chosen; a folder needs the script in any case.
async function take(files) {
  if (!files.length) return;
  const tell = (words, wrong = false) => { $("file-said").classList.toggle("refused", wrong); $("file-said").textContent = words; };
  tell("Reading…");
  try {
    const { id } = await sendTable(files, tell);
    location.assign(`${root}/new?table=${id}`);
  } catch (error) { tell(error.message, true); reader.hidden = false; }
}

const reader = $("send")?.querySelector(".buttons"); // for who has no script, and to try again
if (reader) {
  reader.hidden = true;
  for (const id of ["file", "folder"]) {
    $(id).addEventListener("change", () => take($(id).files));
    take($(id).files); // chosen before this script ran
  }
  $("send").addEventListener("submit", (event) => { event.preventDefault(); take([...$("file").files, ...$("folder").files]); });
  for (const kind of ["dragover", "dragleave", "drop"]) $("drop").addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.toggle("over", kind === "dragover"); if (kind === "drop") dropped(event.dataTransfer).then(take); });
}

const table = $("table") && JSON.parse($("table").textContent);
const map = $("map");
const chosen = () => [...map.querySelectorAll("input[type=checkbox]:checked")].map((input) => input.value);
const displays = () => Object.fromEntries([...map.querySelectorAll("select")].map((select) => [select.dataset.column, select.value]));
const bands = (name) => [...map.querySelectorAll(".bands")].find((input) => input.dataset.column === name)?.value.replaceAll(/[ ;]+/g, "") ?? "";
// As on the command line: age:30,50.
const specs = () => chosen().map((name) => (bands(name) ? `${name}:${bands(name)}` : name));
const dropped_ = () => Object.entries(displays()).filter(([name, shown]) => (shown === "drop" || name === $("labels").value) && !chosen().includes(name)).map(([name]) => name);
let preview = 0;

function show() {
  const shown = displays(), hidden = new Set($("show-protected").checked ? [] : chosen()), row = table.preview[preview % table.preview.length];
  if (!row) return;
  const fields = table.columns.filter((c) => !hidden.has(c.name) && c.name !== $("labels").value && !["none", "drop"].includes(shown[c.name])).map((c) => ({ name: c.name, title: c.name.replaceAll("_", " "), unit: "", value: row[c.name], length: row[c.name].length, display: shown[c.name], ...(["image", "audio"].includes(shown[c.name]) ? { src: `${root}/api/tables/${table.id}/file?name=${encodeURIComponent(row[c.name])}` } : {}) }));
  release($("card"));
  fill($("card"), cardBody({ row: preview, fields }));
  $("card-question").textContent = $("question").value || "Your question";
  fill($("card-answers"), ...["negative", "positive"].map((id) => el("span", { class: "button answer", dir: "auto" }, $(id).value)));
}

function words() {
  const gap = Number($("tolerance").value), budget = Number($("budget").value), overlap = Number($("overlap").value);
  $("tolerance-said").textContent = gap;
  for (const option of $("metric").options) {
    const said = option.dataset.form.replaceAll("{no}", $("negative").value).replaceAll("{yes}", $("positive").value);
    option.textContent = said[0].toUpperCase() + said.slice(1);
  }
  $("metric-words").textContent = `${$("metric").selectedOptions[0].textContent}.`;
  $("tolerance-words").textContent = `If one group has 80 of 100, every other must have at least ${80 - gap} of 100.`;
  const left = Math.max(table.rows - budget, 0), few = left < 100 ? "too few for a certificate" : left < 500 ? "which may be too few for a certificate" : "";
  $("budget-words").textContent = `${number(budget)} rows of ${number(table.rows)}${overlap > 1 ? `, ${number(budget * overlap)} answers` : ""}. An audit that certifies the model comes on top: often 100 to 500 labels.${few ? ` ${left ? `Only ${number(left)} rows are` : "No row is"} left for it, ${few}: spend fewer labels, or bring more rows.` : ""}`;
  $("budget-words").className = few ? "warn" : "hint";
}

// What the model will learn from, by name; asked again when a column changes its use.
let wanted = 0;
async function learns() {
  const mine = ++wanted;
  const shown = Object.fromEntries(table.columns.filter((c) => !["drop", c.display].includes(displays()[c.name])).map((c) => [c.name, displays()[c.name]]));
  const found = await post(`/tables/${table.id}/learned`, { protected: specs(), drop: dropped_(), displays: shown }).catch((error) => ({ refused: error.message }));
  if (mine !== wanted) return;
  fill($("learns"), el("h3", {}, "The model will learn from"), found.refused ? el("p", { class: "refused", dir: "auto" }, found.refused) : el("p", { dir: "auto" }, `${found.learns.join(", ")}.`),
    found.not_learned?.length ? el("details", { open: found.not_learned.length <= 4 }, el("summary", {}, `Not from ${found.not_learned.length === 1 ? "1 column" : `${number(found.not_learned.length)} columns`}`), el("ul", { class: "rests" }, found.not_learned.map(([name, why]) => el("li", { dir: "auto" }, `${name}: ${why}`)))) : "");
  $("learns").dataset.asked = mine;
}

// What `fairask simulate` expects where some labels are known: computed beside, and nothing waits for it.
let asked = 0;
async function forecast() {
  const label = $("labels").value, grouped = specs().filter((name) => name !== label), mine = ++asked;
  if (!label || !grouped.length) {
    fill($("forecast-chart"));
    $("forecast").textContent = label ? "Mark a protected column, and it is said here what to expect." : "Where some labels are known, choose their column in step 3, and it is said here what to expect.";
    return;
  }
  // What was found before stays until there is something new: the button below does not move under a click.
  const place = `/tables/${table.id}/forecast`, tolerance = Number($("tolerance").value) / 100, budget = Number($("budget").value);
  try {
    let said = await post(place, { label, positive: $("positive").value, protected: grouped, drop: dropped_().filter((name) => name !== label), tolerance, budget });
    while (said.state === "running" && mine === asked) {
      $("forecast").textContent = `Trying it on the ${number(said.rows)} rows with a label. You need not wait.`;
      await new Promise((resolve) => setTimeout(resolve, 2000));
      said = await get(place);
    }
    if (mine !== asked) return;
    const reach = said.curve && said.curve.labels.at(-1) < budget ? "As far as" : "On", on = reach === "On" ? "" : " reach";
    $("forecast").textContent = said.state === "done" ? `${reach} the ${number(said.rows)} rows with a label${on}: ${said.words.replace(/^With /, "with ")}` : `Nothing could be found out: ${said.words}`;
    fill($("forecast-chart"));
    if (said.curve) fill($("forecast-chart"), responsive((node) => drawForecast(node, said.curve, tolerance)));
  } catch (error) { if (mine === asked) $("forecast").textContent = `Nothing can be found out yet: ${error.message}`; }
}

function drawForecast(node, { labels, accuracy_by_round: accuracy, gap_by_round: gap }, tolerance) {
  const known = (value) => (value === null ? null : { value, low: value, high: value });
  curves(node, labels.map((n, i) => ({ labels: n, estimate: { accuracy: known(accuracy[i]), gap: known(gap[i]) } })), tolerance, labels.at(-1), null, 80);
}

// The column of known labels is no group and is not shown: what it could be is out of reach, and says why.
function settled() {
  for (const [i, { name }] of table.columns.entries()) {
    const cells = map.tBodies[0].rows[i].cells, known = name === $("labels").value, said = cells[3].querySelector(".known");
    cells[1].inert = cells[2].inert = known;
    if (known) cells[1].querySelector("[type=checkbox]").checked = false;
    if (known && !said) cells[3].append(el("span", { class: "known hint small" }, " – known labels: not shown, not learned from"));
    else if (!known) said?.remove();
  }
}

function labelled() {
  const column = table.columns.find((c) => c.name === $("labels").value);
  settled();
  if (column) [$("negative").value, $("positive").value] = column.values;
  words();
  show();
}

if (table) {
  $("labels").addEventListener("change", labelled);
  for (const id of ["labels", "map", "tolerance", "budget", "positive"]) $(id).addEventListener("change", forecast);
  for (const id of ["labels", "map"]) $(id).addEventListener("change", learns);
  // Bands make groups: whoever types them wants the column protected.
  map.addEventListener("input", (event) => { if (event.target.matches(".bands") && event.target.value) event.target.closest("td").querySelector("[type=checkbox]").checked = true; });
  map.addEventListener("change", show);
  $("show-protected").addEventListener("change", show);
  $("other").addEventListener("click", () => { preview += 1; show(); });
  $("make").addEventListener("input", words);
  // What was wrong with a field is said until the field changes.
  $("make").addEventListener("input", ({ target }) => { target.removeAttribute("aria-invalid"); $(`${target.name}-wrong`)?.remove(); });
  for (const id of ["question", "negative", "positive"]) $(id).addEventListener("input", show);
  $("make").addEventListener("submit", () => { $("go").disabled = true; });
  addEventListener("pageshow", () => { $("go").disabled = false; }); // back from the study that was made
  settled();
  show();
  words();
  learns();
  forecast();
}
