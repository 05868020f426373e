// Threads about rows: what was asked and answered, a box to write in, a button to resolve.
import { post } from "./api.js";
import { ago, alertUser, el, say } from "./dom.js";

const state = (flag) => (!flag.open ? `resolved by ${flag.resolved_by}` : flag.waits ? "waits for an answer" : "answered");

// One thread; `changed` is called after something was written.
export function thread(flag, changed, extra = null) {
  const box = el("textarea", { rows: 2, maxlength: 2000, "aria-label": `Answer about row ${flag.row}`, dir: "auto" });
  const send = async (resolve) => {
    const text = box.value.trim();
    if (!text && !resolve) { box.focus(); return; }
    try {
      await post(`/flags/${flag.id}`, { text, resolve });
      box.value = ""; // what was typed is sent: nothing keeps the thread from being drawn again
      say(resolve ? "The flag is resolved." : "The answer is sent.");
      await changed();
    } catch (error) { alertUser(error.message); }
  };
  return el("div", { class: `thread ${flag.open ? "" : "closed"}`, "data-flag": flag.id },
    el("p", { class: "state-of" }, state(flag)),
    el("ol", { class: "comments" }, flag.comments.map((c) => el("li", {}, el("span", { class: "who", dir: "auto" }, c.who), el("time", { datetime: c.at }, ago(c.at)), el("p", { dir: "auto" }, c.text)))),
    box, el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => send(false) }, flag.open ? "Answer" : "Write again"), flag.open ? el("button", { type: "button", onclick: () => send(true) }, "Resolve") : null, extra));
}

// Whether somebody is writing: threads are not drawn again under them.
export const writing = (node) => [...node.querySelectorAll("textarea")].some((box) => box.value || box === document.activeElement);
