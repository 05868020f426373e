// Answers that the server has not acknowledged yet. The browser keeps them, so that neither a session that ended
// nor a closed tab loses one; they are sent when the same person is back. One entry for each row: its answer, which
// with `correct` replaces the one that the server has; with `undo` what the server may have is taken back before.
import { post, put, remove, root } from "./api.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
const KEY = `fairask outbox ${root} ${meta("study")} ${meta("person")}`;

export const waiting = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");
export const waits = (row) => waiting().find((kept) => kept.row === row);
function write(list) {
  if (list.length) localStorage.setItem(KEY, JSON.stringify(list));
  else localStorage.removeItem(KEY);
  dispatchEvent(new Event("outbox"));
}

export const drop = (row) => write(waiting().filter((kept) => kept.row !== row));

// Keep an answer the moment it is given, whatever is sent before it.
export const keep = (given) => write([...waiting().filter((kept) => kept.row !== given.row), given]);

// Another tab of the same person has given, or sent, an answer.
export const otherwise = (act) => addEventListener("storage", (event) => event.key === KEY && act());

async function pass({ row, undo, correct, ...answer }) {
  if (undo) await remove(`/answers/${row}`).catch((error) => { if (error.status !== 404 || error.why !== "refused") throw error; });
  if (answer.label === undefined) return null;
  return correct ? put(`/answers/${row}`, answer) : post("/answers", { row, ...answer });
}

// Send what is kept of a row, and keep it until the server has it or refuses it. Resolves to what was sent and what
// was answered; to null if nothing is kept.
export async function send(row) {
  const given = waits(row);
  if (!given) return null;
  const done = () => { if (JSON.stringify(waits(row)) === JSON.stringify(given)) drop(row); };
  try {
    const saved = await pass(given);
    done();
    return { given, saved };
  } catch (error) {
    if (error.why === "refused") done();
    throw error;
  }
}

// Send what an earlier page could not. A refusal is said when the others are sent.
export async function flush() {
  let refused = null;
  for (const { row } of waiting()) {
    try {
      await send(row);
    } catch (error) {
      if (error.why !== "refused") throw error;
      refused = error;
    }
  }
  if (refused) throw refused;
}
