// Answers that the server has not acknowledged yet. The browser keeps them, so that neither a session that ended
// nor a closed tab loses one; they are sent when the same person is back.
import { post, root } from "./api.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
const KEY = `fairask outbox ${root} ${meta("study")} ${meta("person")}`;

export const away = (error) => error.status === 0 || error.status === 503;
export const waiting = () => JSON.parse(localStorage.getItem(KEY) ?? "[]");
function write(list) {
  if (list.length) localStorage.setItem(KEY, JSON.stringify(list));
  else localStorage.removeItem(KEY);
  dispatchEvent(new Event("outbox"));
}

export const drop = (row) => write(waiting().filter((kept) => kept.row !== row));

// Keep an answer the moment it is given, whatever is sent before it.
export const keep = (given) => write([...waiting().filter((kept) => kept.row !== given.row), given]);

// Send an answer and keep it until the server has it or refuses it.
export async function send(given) {
  keep(given);
  try {
    const saved = await post("/answers", given);
    drop(given.row);
    return saved;
  } catch (error) {
    if (!away(error) && error.status !== 401) drop(given.row);
    throw error;
  }
}

// Send what an earlier page could not. A refusal is said when the others are sent.
export async function flush() {
  let refused = null;
  for (const given of waiting()) {
    try {
      await send(given);
    } catch (error) {
      if (away(error) || error.status === 401) throw error;
      refused = error;
    }
  }
  if (refused) throw refused;
}
