// Building the page from data: text is always text, never markup.

export const $ = (id) => document.getElementById(id);
// What a reviewer may not do is not offered; the server refuses it in any case.
export const owns = document.querySelector('meta[name="role"]')?.content === "owner";

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined).map((c) => (c instanceof Node ? c : String(c))));
  return node;
}

export const fill = (node, ...children) => node.replaceChildren(...children.flat().map((c) => (c instanceof Node ? c : String(c))));

// What a section waited for is here, or does not come: what stands below it is shown, and is moved no more.
export const arrived = (node) => node.closest(".waits")?.classList.remove("waits");

export function say(words) {
  $("said").textContent = "";
  requestAnimationFrame(() => { $("said").textContent = words; });
}

export function alertUser(words) {
  const box = $("alert");
  box.textContent = words ?? "";
  box.hidden = !words;
}

export const percent = (value, digits = 1) => `${(100 * value).toFixed(digits)} %`;
// A gap is in points everywhere: 0.1 is 10.
export const points = (value) => `${+(100 * value).toFixed(1)}`;
export const tenths = (value) => (100 * value).toFixed(1); // of gaps and rates beside others
// No line ends between a number and its unit.
export const tight = (words) => words.replace(/(\d) (?=(points?|%|of|labels)\b|%)/g, "$1\u00a0");
export const number = (value) => value.toLocaleString("en");

// Reasons with their numbers: [{reason, skips}].
export const reasons = (list) => list.map((r) => `${r.reason || "no reason given"} (${number(r.skips)})`).join(", ");

// Hours in words.
export function span(hours) {
  if (hours < 1 / 60) return "a minute";
  if (hours < 1) return `${Math.ceil(60 * hours)} min`;
  if (hours < 48) return `${hours.toFixed(hours < 10 ? 1 : 0)} h`;
  return `${number(Math.round(hours / 24))} days`;
}

export function ago(at) {
  const seconds = Math.max(0, (Date.now() - Date.parse(at)) / 1000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(at).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

export function table(heads, rows, caption) {
  // On a phone each row is a card: a cell knows what heads its column.
  const cell = (tag) => (value, i) => el(tag, { class: typeof value === "number" || value?.number ? "number" : null, dir: "auto", ...(tag === "th" ? { scope: "col" } : { "data-title": heads[i].number ?? heads[i] }) }, value?.number ?? (typeof value === "number" ? number(value) : value));
  return el("table", {}, caption ? el("caption", { class: "unseen" }, caption) : null,
    el("thead", {}, el("tr", {}, heads.map(cell("th")))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell("td"))))));
}

// Ask before what cannot be undone; resolves to whether it was meant. With `typed`, the word must be typed.
export function confirmed(heading, words, action, typed = null) {
  return new Promise((resolve) => {
    const input = typed === null ? null : el("input", { "aria-label": `Type ${typed} to confirm`, autocomplete: "off" });
    const yes = el("button", { value: "yes", class: "primary", disabled: typed !== null }, action);
    const box = el("dialog", { class: "confirm", "aria-label": heading }, el("h2", {}, heading), el("p", { dir: "auto" }, words),
      typed === null ? null : el("p", {}, "Type ", el("strong", {}, typed), " to confirm.", input), el("form", { method: "dialog", class: "buttons" }, yes, el("button", { value: "no", autofocus: typed === null }, "Cancel")));
    input?.addEventListener("input", () => { yes.disabled = input.value !== typed; });
    box.addEventListener("close", () => { resolve(box.returnValue === "yes"); box.remove(); });
    document.body.append(box);
    box.showModal();
  });
}
