// Who labels: invitations, pace, agreement, answers by group; answers of a person can be taken away and given back.
import { get, post, put, remove, root } from "./api.js";
import { $, ago, alertUser, arrived, confirmed, el, fill, number, owns, percent, reasons, say, table } from "./dom.js";
import { follow } from "./live.js";

const fail = (error) => alertUser(error.message);
const path = (name) => `/people/${encodeURIComponent(name)}`;

const ROLES = ["annotator", "reviewer", "owner"];

// Where others reach the studio: the owners' setting, or the address of this page.
const reached = () => $("address").elements.address.defaultValue || location.origin;
const alone = () => /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(reached());
function where() {
  $("alone").hidden = !alone();
  $("address-box").hidden = alone();
  $("address-said").textContent = reached();
  (alone() ? $("step-address") : $("address-box")).append($("address"), $("address-refused"));
}
const invite = async (name) => `${reached()}${root}${(await post(`${path(name)}/invitation`, { hours: 72 })).path}`;
const copied = (text, words = "Copy") => {
  const button = el("button", { type: "button", onclick: () => navigator.clipboard?.writeText(text).then(() => { button.textContent = "Copied"; }) }, words);
  return button;
};

async function link(name, token = null) {
  const address = await invite(name);
  const field = el("input", { readonly: true, value: address, "aria-label": `Link for ${name}`, onfocus: (event) => event.target.select() });
  const code = el("div", { class: "qr" });
  fill($("invited"), el("p", {}, el("strong", { dir: "auto" }, name), " signs in with this link, once, within 72 hours. It is shown only now."), el("div", { class: "filters" }, el("label", { class: "wide" }, "Link", field), copied(address)), alone() ? el("p", { class: "bad-word" }, "It opens on this computer only: see above.") : "", code,
    token ? el("details", {}, el("summary", {}, "A token, for programs and other browsers"), el("code", { class: "hash" }, token)) : "");
  $("invited").hidden = false;
  const svg = await fetch(`${root}/api/qr`, { method: "POST", headers: { "X-CSRF-Token": document.querySelector('meta[name="csrf"]').content }, body: address }).then((r) => (r.ok ? r.text() : ""));
  if (svg) code.append(el("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '))}`, alt: `QR code of the link for ${name}`, width: 180, height: 180 }));
}

let here = new Set(); // names of those who can sign in

// A pasted list: everybody is added, and all links are copied at once.
async function links(names, role) {
  const lines = [], refused = [];
  for (const name of names) {
    if (here.has(name)) { refused.push(`${name} is here already: “New link” below makes another.`); continue; }
    try {
      await post("/people", { name, role });
      lines.push([name, await invite(name)]);
    } catch (error) { refused.push(`${name}: ${error.message}`); }
  }
  fill($("invited"), lines.length ? el("p", {}, `${lines.length === 1 ? "1 person is" : `${number(lines.length)} people are`} invited. Each link signs in one of them, once, within 72 hours. They are shown only now.`) : "",
    alone() && lines.length ? el("p", { class: "bad-word" }, "They open on this computer only: see above.") : "",
    lines.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Links" }, table(["Name", "Link"], lines, "Links")) : "",
    lines.length ? el("p", { class: "buttons" }, copied(lines.map((line) => line.join("\t")).join("\n"), "Copy all")) : "",
    refused.length ? el("ul", { class: "refused" }, refused.map((words) => el("li", {}, words))) : "");
  $("invited").hidden = false;
  return refused;
}

// Which answers of a person are meant: all, those of some time, only skips. What they are is counted before anything happens.
function take(p) {
  const utc = (name) => (form.elements[name].value ? new Date(form.elements[name].value).toISOString() : undefined);
  const wanted = () => ({ name: p.name, since: utc("since"), until: utc("until"), skips: form.elements.skips.checked });
  const count = el("p", { role: "status" });
  const yes = el("button", { class: "primary", disabled: true }, "Take them away");
  const form = el("form", {}, el("div", { class: "filters" }, el("label", {}, "From, in your time", el("input", { type: "datetime-local", name: "since" })), el("label", {}, "Until", el("input", { type: "datetime-local", name: "until" }))),
    el("label", { class: "check" }, el("input", { type: "checkbox", name: "skips" }), " skipped rows only"), count,
    el("p", { class: "buttons" }, yes, el("button", { type: "button", onclick: () => box.close() }, "Cancel")));
  const box = el("dialog", { "aria-labelledby": "take-title" }, el("h2", { id: "take-title", dir: "auto" }, `Take away answers of ${p.name}?`), el("p", {}, "Their rows are asked again. You can give them back on this page."), form);
  let turn = 0;
  const look = async () => {
    const mine = (turn += 1);
    yes.disabled = true;
    try {
      const found = await post("/reopened", { ...wanted(), look: true });
      if (mine !== turn) return; // another time was chosen meanwhile
      count.className = "";
      count.textContent = found.answers ? `${number(found.answers)} answers, ${number(found.labels)} of them labels.` : "No answer of that time.";
      yes.disabled = !found.answers;
    } catch (error) { if (mine === turn) { count.className = "refused"; count.textContent = error.message; } }
  };
  form.addEventListener("input", look);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const found = await post("/reopened", wanted());
      box.close();
      say(`${found.answers} answers of ${p.name} are taken away.`);
      await load();
    } catch (error) { count.className = "refused"; count.textContent = error.message; }
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return look();
}

const act = (action) => () => action().then(() => alertUser(null)).catch(fail);

function people(list) {
  if (!list.length) return el("p", { class: "hint" }, "Nobody yet: this study is for whoever opened the address that the studio printed. Invite an owner first, then annotators.");
  // Nobody removes herself or gives up her role by accident: another owner can.
  const me = document.querySelector('meta[name="person"]').content;
  const button = (offered, words, whose, action, quiet = null) => (offered ? el("button", { type: "button", class: quiet, onclick: act(action), "aria-label": whose }, words) : el("span", {}));
  const buttons = (p) => el("span", { class: "row-buttons" }, button(p.role, "New link", `New link for ${p.name}`, () => link(p.name)), button(p.labels + p.skips, "Take away answers…", `Take away answers of ${p.name}`, () => take(p)), button(p.role && p.name !== me, "Remove", `Remove ${p.name}`, () => drop(p.name), "quiet"));
  const skips = (p) => (p.reasons.some((r) => r.reason) ? el("details", {}, el("summary", {}, number(p.skips)), reasons(p.reasons)) : number(p.skips));
  // Right answers to gold rows, with the limits of the share.
  const gold = (p) => (p.gold === null ? "–" : el("span", { class: p.gold.below ? "bad-word" : null }, `${number(p.gold.right)} of ${number(p.gold.asked)}${p.gold.below ? ": too few" : ""}`, p.gold.asked ? el("div", { class: "hint small" }, `${percent(p.gold.low, 0)} to ${percent(p.gold.high, 0)}`) : ""));
  const known = list.some((p) => p.gold !== null), shared = list.some((p) => p.pairs);
  const alone = Number($("people").dataset.overlap) > 1 ? "No row has two answers yet, so agreement is not measured." : "Each row is answered once, so agreement is not measured.";
  const role = (p) => (owns && p.role && p.name === me ? `${p.role} (you)` : owns && p.role ? el("select", { "aria-label": `Role of ${p.name}`, onchange: (event) => put(path(p.name), { role: event.target.value }).then(() => { alertUser(null); say(`${p.name} is ${event.target.value} from now on.`); }).catch((error) => { fail(error); event.target.blur(); return load(); }) }, ROLES.map((one) => el("option", { value: one, selected: one === p.role }, one))) : p.role ?? "–");
  const offered = (p) => (owns ? [buttons(p)] : []);
  const rows = list.map((p) => [p.name, role(p), p.last ? ago(p.last) : "never", p.labels, { number: skips(p) }, { number: p.seconds === null ? "–" : el("span", { class: p.too_fast ? "bad-word" : null }, `${p.seconds.toFixed(1)} s${p.too_fast ? ": too fast to read" : ""}`) }, ...(shared ? [{ number: p.agreement === null ? "–" : `${percent(p.agreement, 0)} of ${number(p.pairs)}` }] : []), ...(known ? [{ number: gold(p) }] : []), ...offered(p)]);
  const titles = ["Name", "Role", "Last answer", { number: "Labels" }, { number: "Skips" }, { number: "Per answer" }, ...(shared ? [{ number: "Agreement" }] : []), ...(known ? [{ number: "Gold rows right" }] : []), ...(owns ? [""] : [])];
  return el("div", {}, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "People" }, table(titles, rows, "People")), shared ? "" : el("p", { class: "hint small" }, alone));
}

async function drop(name) {
  if (await confirmed(`Remove ${name}?`, "Their answers stay. They cannot sign in any more.", "Remove")) await remove(path(name)).then(load);
}

function bias(list) {
  const rows = list.flatMap((p) => p.groups.filter((g) => g.shared).map((g) => [p.name, g.group, { number: percent(g.mine, 0) }, { number: percent(g.theirs, 0) }, { number: `${g.mine >= g.theirs ? "+" : "−"}${Math.abs(100 * (g.mine - g.theirs)).toFixed(0)} points` }, g.shared]));
  $("bias-panel").hidden = !rows.length || owns; // owners see who errs
  fill($("bias"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers by group" }, table(["Person", "Group", { number: "Says yes" }, { number: "Others" }, { number: "Difference" }, { number: "Rows" }], rows, "Answers by group")));
}

// Who says no to those who deserve yes: one line per person and group, with what to look at above.
function erring(found) {
  $("errors-panel").hidden = !found.shared;
  if (!found.shared) return;
  const classes = $("errors-panel").dataset, lines = new Map();
  for (const e of found.errors) lines.set(JSON.stringify([e.person, e.group]), { ...lines.get(JSON.stringify([e.person, e.group])), person: e.person, group: e.group, [e.label]: e });
  const cell = (e) => ({ number: e.answers < 0.5 ? "–" : el("span", { class: e.low > e.others + 0.05 ? "bad-word" : null }, percent(e.wrong, 0), el("div", { class: "hint small" }, `${percent(e.low, 0)} to ${percent(e.high, 0)}, ${number(Math.round(e.answers))} rows`)) });
  const rows = [...lines.values()].map((line) => [line.person, line.group, cell(line[1]), cell(line[0])]);
  const titles = ["Person", "Group", { number: `Says “${classes.no}” though “${classes.yes}” is right` }, { number: `Says “${classes.yes}” though “${classes.no}” is right` }];
  const made = table(titles, rows, "Errors by person and group");
  made.className = "cards";
  for (const line of made.querySelectorAll("tbody tr")) [...line.cells].forEach((one, i) => { one.dataset.title = titles[i].number ?? titles[i]; });
  fill($("errors"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Errors by person and group" }, made));
  fill($("suspects"), found.suspects.map((s) => el("li", {}, el("strong", {}, s.words), s.rows.length ? el("details", {}, el("summary", {}, "Rows of these answers"), s.rows.slice(0, 200).flatMap((row) => [el("a", { href: `${root}/rows#${row}` }, String(row)), " "])) : "")));
  $("errors-audit").textContent = found.refused ? `No audit can begin: ${found.refused}.` : found.labels ? `Audits allow for wrong labels as gold rows show them: ${Object.entries(found.labels).map(([name, e]) => `${name} ${percent(e.wrong[1], 1)} of “${classes.yes}” and ${percent(e.wrong[0], 1)} of “${classes.no}”`).join("; ")}.`
    : "Audits take labels as right. To allow for wrong ones, an audit needs 20 gold rows of each group and answer, each answered by as many people as a row has.";
}

const moment = (at) => new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
const between = (r) => (r.since ? ` from ${moment(r.since)}` : "") + (r.until ? ` until ${moment(r.until)}` : "");

function taken(list) {
  $("taken-panel").hidden = !list.length;
  fill($("taken"), el("ul", {}, list.map((r) => el("li", {}, `${number(r.answers)} answers${r.name ? ` of ${r.name}` : ""}${between(r)}, ${ago(r.at)} `, el("button", { type: "button", onclick: act(() => remove(`/reopened/${r.event}`).then(load)) }, "Give them back")))));
}

const day = (at) => new Date(at).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

function programs(list) {
  const end = async (name) => { if (await confirmed(`Revoke the token of ${name}?`, "The program is refused from now on. What it did stays.", "Revoke")) await remove(`/programs/${encodeURIComponent(name)}`).then(load); };
  const rows = list.map((p) => [p.name, p.role, day(p.since), el("span", { class: p.ended ? "bad-word" : null }, `${p.ended ? "ended " : ""}${day(p.until)}`), el("button", { type: "button", class: "quiet", onclick: act(() => end(p.name)), "aria-label": `Revoke ${p.name}` }, "Revoke")]);
  fill($("programs"), rows.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Programs" }, table(["Name", "Role", "Since", "Until", ""], rows, "Programs")) : "");
}

async function load() {
  const [list, away, machines, found] = await Promise.all([get("/people/figures"), ...(owns ? [get("/reopened"), get("/programs"), get("/people/errors")] : [[], []])]);
  if (owns) erring(found);
  if (owns) programs(machines);
  const known = Array.isArray(list) ? list : Object.values(list);
  here = new Set(known.filter((p) => p.role).map((p) => p.name));
  fill($("people"), people(known));
  bias(known);
  taken(Array.isArray(away) ? away : Object.values(away));
  if (owns) $("first-owner").hidden = known.some((p) => p.role);
}

$("again")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { rows } = await post("/people/again", { rows: Number(event.target.elements.rows.value) });
    alertUser(null);
    say(`${number(rows)} rows are asked again.`);
  } catch (error) { fail(error); }
});
$("new-person")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, role } = Object.fromEntries(new FormData(event.target));
  const names = [...new Set(name.split(/[\n\r\t,;]+/).map((one) => one.trim()).filter(Boolean))];
  try {
    if (names.length === 1 && !here.has(names[0])) {
      const made = await post("/people", { name: names[0], role });
      event.target.reset(); // before the rest: somebody may be typing the next name
      await link(names[0], made.token);
    } else {
      event.target.reset();
      await links(names, role);
    }
    await load();
    alertUser(null);
  } catch (error) { fail(error); }
});

if (owns) {
  where();
  if (!$("first-owner").hidden) $("new-person").elements.role.value = "owner"; // the first one must be
  $("for-others").after(copied($("for-others").textContent));
}
$("address")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = event.target.elements.address;
  try {
    field.defaultValue = (await put("/address", { address: field.value })).address;
    field.value = field.defaultValue;
    $("address-refused").hidden = true;
    $("address-box").open = false;
    where();
    say("The address is saved.");
  } catch (error) { $("address-refused").textContent = error.message; $("address-refused").hidden = false; }
});

if (owns) $("new-program").elements.until.valueAsNumber = Date.now() + 90 * 86400e3;
$("new-program")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, role, until } = Object.fromEntries(new FormData(event.target));
  try {
    const made = await post("/programs", { name, role, until });
    event.target.elements.name.value = "";
    fill($("program-token"), el("p", {}, el("strong", { dir: "auto" }, name), ` sends this token with each request, until ${day(made.until)}. It is shown only now.`), el("code", { class: "hash" }, made.token));
    $("program-token").hidden = false;
    await load();
    alertUser(null);
  } catch (error) { fail(error); }
});

follow(async () => { if (!document.querySelector("dialog[open], #people :focus, #programs :focus")) await load().finally(() => arrived($("people"))); }, 3);
