// Answers that the server has not acknowledged yet. The browser keeps them, so that neither a session that ended
// nor a closed tab loses one; they are sent when the same person is back. One entry for each row: its answer, which
// with `correct` replaces the one that the server has; with `undo` what the server may have is taken back before.
import { post, put, remove, root } from "./api.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
const KEY = `fairask outbox ${root} ${meta("study")} ${meta("person")}`;

const all = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");
export const waiting = () => all().filter((kept) => !kept.aside);
// What the server failed on again and again: it stays here, and those behind it are sent.
export const setAside = () => all().filter((kept) => kept.aside);
export const waits = (row) => all().find((kept) => kept.row === row);
function write(list) {
  if (list.length) localStorage.setItem(KEY, JSON.stringify(list));
  else localStorage.removeItem(KEY);
  dispatchEvent(new Event("outbox"));
}

export const drop = (row) => write(all().filter((kept) => kept.row !== row));

// Keep an answer the moment it is given, whatever is sent before it.
export function keep(given) {
  tried.delete(given.row);
  write([...all().filter((kept) => kept.row !== given.row), given]);
}

// Another tab of the same person has given, or sent, an answer.
export const otherwise = (act) => addEventListener("storage", (event) => event.key === KEY && act());

async function pass({ row, undo, correct, aside, ...answer }) {
  if (undo) await remove(`/answers/${row}`).catch((error) => { if (error.status !== 404 || error.why !== "refused") throw error; });
  if (answer.label === undefined) return null;
  return correct ? put(`/answers/${row}`, answer) : post("/answers", { row, ...answer });
}

// A server that is reached and fails may fail on this answer alone. One that is away (502 to 504) fails on all.
const fails = (error) => error.why === "away" && error.status >= 400 && error.status < 502;
const TRIES = 5;
const tried = new Map(); // how often the server failed on the answer to a row

// Send what is kept of a row, and keep it until the server has it or refuses it. Resolves to what was sent and what
// was answered, which is nothing if the answer was set aside; to null if nothing is kept.
export async function send(row) {
  const given = waits(row);
  if (!given) return null;
  const same = () => JSON.stringify(waits(row)) === JSON.stringify(given);
  const done = () => { if (same()) drop(row); };
  try {
    const saved = await pass(given);
    done();
    return { given, saved };
  } catch (error) {
    if (error.why === "refused") done();
    if (!fails(error) || !same()) throw error;
    tried.set(row, (tried.get(row) ?? 0) + 1);
    if (tried.get(row) < TRIES && !given.aside) throw error;
    keep({ ...given, aside: error.message });
    return { given };
  }
}

// Send what an earlier page could not. A refusal is said when the others are sent.
let refused = null;
export async function flush() {
  let failed = null;
  for (const { row } of all()) {
    try {
      await send(row);
    } catch (error) {
      if (error.why === "refused") refused = error;
      else if (fails(error)) failed = error;
      else throw error;
    }
  }
  const said = failed ?? refused;
  if (!failed) refused = null;
  if (said) throw said;
}
