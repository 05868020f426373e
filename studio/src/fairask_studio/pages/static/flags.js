// Threads about rows: what was asked and answered, a box to write in, a button to resolve.
import { post } from "./api.js";
import { ago, alertUser, el, say } from "./dom.js";

const state = (flag) => (!flag.open ? `resolved by ${flag.resolved_by}` : flag.waits ? "waits for an answer" : "answered");
const touch = matchMedia("(hover: none) and (pointer: coarse)").matches; // there Enter is a new line

// One thread; `changed` is called after something was written. Whoever answers for others goes on with `next`.
export function thread(flag, changed, extra = null, next = null) {
  const judges = next && flag.open;
  const box = el("textarea", { rows: 2, maxlength: 2000, "aria-label": judges ? null : `Answer about row ${flag.row}`, dir: "auto" });
  const send = async (resolve, empty = false) => {
    const text = box.value.trim();
    if (!text && !empty) { box.focus(); return; }
    try {
      await post(`/flags/${flag.id}`, { text, resolve });
      box.value = ""; // what was typed is sent: nothing keeps the thread from being drawn again
      box.blur();
      say(resolve ? "The flag is resolved." : "The answer is sent.");
      await (resolve && next ? next() : changed());
    } catch (error) { alertUser(error.message); }
  };
  const button = (words, act, options = {}) => el("button", { type: "button", onclick: act, ...options }, words);
  if (judges && !touch) box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(true);
  });
  return el("div", { class: `thread ${flag.open ? "" : "closed"}`, "data-flag": flag.id },
    el("p", { class: "state-of" }, state(flag)),
    el("ol", { class: "comments" }, flag.comments.map((c) => el("li", {}, el("span", { class: "who", dir: "auto" }, c.who), el("time", { datetime: c.at }, ago(c.at)), el("p", { dir: "auto" }, c.text)))),
    judges ? el("label", {}, `Your answer to ${flag.who} `, el("kbd", { "aria-hidden": "true" }, "A"), box) : box,
    el("p", { class: "buttons" }, judges ? [button(["Answer and resolve ", el("kbd", { "aria-hidden": "true" }, "Enter")], () => send(true), { class: "primary" }), button("Answer", () => send(false)), button("Resolve without an answer", () => send(true, true))]
      : [button(flag.open ? "Answer" : "Write again", () => send(false)), flag.open ? button("Resolve", () => send(true, true)) : null], extra));
}

// Whether somebody is writing: threads are not drawn again under them.
export const writing = (node) => [...node.querySelectorAll("textarea")].some((box) => box.value || box === document.activeElement);
