// A row as people read it: long texts first and whole, then images and recordings, then facts in a quiet grid.
import { root } from "./api.js";
import { el, number } from "./dom.js";
import { link, markdown } from "./markdown.js";

const MANY = 60; // facts shown at once
const WIDE = 60; // characters from which a fact has a line of its own
const LONG = 200; // characters from which a text is long, whatever its column usually holds
export const place = (row, field) => field.src ?? `${root}/api/cells/${row}/${encodeURIComponent(field.name)}`;
const missing = () => el("span", { class: "missing" }, "not given");

function written(field) {
  const { value, display } = field;
  if (display === "number" && /^-?\d+(\.\d+)?$/.test(value) && Math.abs(Number(value)) >= 10000) {
    const [whole, part] = value.split(".");
    return number(BigInt(whole)) + (part ? `.${part}` : "");
  }
  if (display === "date" && /^\d{4}-\d\d-\d\d/.test(value)) {
    const day = new Date(`${value.slice(0, 10)}T00:00:00Z`);
    const time = value.slice(11, 16);
    const words = day.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
    return Number.isNaN(day.getTime()) ? value : words + (time && time !== "00:00" ? `, ${time}` : "");
  }
  return value;
}

function rest(row, field) {
  const more = field.length - field.value.length;
  return more > 0 ? el("p", { class: "hint" }, `${number(more)} more characters: `, el("a", { href: place(row, field), target: "_blank" }, "the whole text")) : null;
}

function text(row, field) {
  const paragraphs = field.display === "markdown" ? markdown(field.value)
    : field.value.replaceAll("\r\n", "\n").split(/\n{2,}/).map((part) => el("p", { dir: "auto" }, part));
  return el("section", { class: "long" }, el("h3", { dir: "auto" }, field.title), el("div", { class: "prose", dir: "auto" }, paragraphs), rest(row, field));
}

// A figure is `ready` when it can be judged: true, or false if it cannot be shown or played.
function picture(row, field) {
  const figure = el("figure", { "data-kind": "picture" }, el("figcaption", { dir: "auto" }, field.title));
  const image = el("img", { src: place(row, field), alt: `${field.title} of row ${row}`, decoding: "async" });
  const button = el("button", { type: "button", class: "picture", "aria-label": `Enlarge: ${field.title}`, onclick: () => enlarge(image) }, image);
  image.addEventListener("error", async () => {
    const said = await fetch(image.src).then((r) => r.json()).catch(() => ({}));
    button.replaceWith(el("p", { class: "missing" }, said.detail ?? "The image cannot be shown."));
  }, { once: true });
  figure.append(button);
  figure.ready = image.decode().then(() => true, () => false);
  return figure;
}

// A recording is fetched whole: it plays without a connection, and any place of it can be sought.
function sound(row, field, i) {
  const player = el("audio", { controls: true, "aria-label": `${field.title} of row ${row}` });
  const figure = el("figure", { class: "sound", "data-kind": "sound" }, el("figcaption", { dir: "auto" }, field.title, i ? "" : el("kbd", { "aria-hidden": "true" }, "P")), player);
  const load = async () => {
    const response = await fetch(place(row, field));
    if (!response.ok) throw new Error((await response.json()).detail);
    player.src = URL.createObjectURL(await response.blob());
    await new Promise((resolve, reject) => {
      player.addEventListener("canplaythrough", resolve, { once: true });
      // Some phones read no more than its beginning until somebody plays it.
      for (const kind of ["loadedmetadata", "suspend"]) player.addEventListener(kind, () => setTimeout(resolve, 1000), { once: true });
      player.addEventListener("error", () => reject(new Error("This browser cannot play the recording.")), { once: true });
    });
    return true;
  };
  figure.ready = load().catch((error) => {
    player.replaceWith(el("p", { class: "missing" }, error instanceof TypeError ? "The recording did not load." : error.message));
    return false;
  });
  return figure;
}

// What a card holds of images and recordings, to be taken out of the page: a recording is kept until then.
export function release(node) {
  for (const player of node.querySelectorAll("audio")) URL.revokeObjectURL(player.src);
}

const enlarge = async (image) => (await import("./zoom.js")).zoom(image);

function fact(field) {
  const words = written(field);
  const value = field.value === "" ? missing() : field.display === "link" ? link(field.value) : words;
  return el("div", { class: field.value.length + field.title.length > WIDE ? "wide" : null }, el("dt", { dir: "auto" }, field.title),
    el("dd", { dir: "auto" }, value, field.unit && field.value !== "" ? el("span", { class: "unit" }, ` ${field.unit}`) : null));
}

const isLong = (field) => field.value !== "" && (field.display === "long" || field.display === "markdown" || (field.display === "text" && (field.value.length > LONG || field.value.includes("\n"))));

// The body of a card.
export function cardBody(card) {
  const long = card.fields.filter(isLong);
  const of = (kind) => card.fields.filter((field) => field.display === kind && field.value !== "");
  const [images, sounds] = [of("image"), of("audio")];
  const facts = card.fields.filter((field) => ![long, images, sounds].some((some) => some.includes(field)));
  const list = el("dl", { class: "fields" }, facts.slice(0, MANY).map(fact));
  const more = facts.length > MANY ? el("button", { type: "button", class: "more all", onclick: () => { list.append(...facts.slice(MANY).map(fact)); more.remove(); } }, `Show all ${number(facts.length)} fields`) : null;
  return el("div", { class: "body" }, long.map((field) => text(card.row, field)), images.length ? el("div", { class: "pictures" }, images.map((field) => picture(card.row, field))) : null, sounds.map((field, i) => sound(card.row, field, i)), facts.length ? list : null, more);
}
