// An image as large as the window: wheel, pinch, double click and + − enlarge it; drag and arrows move it.
import { el } from "./dom.js";

const MOST = 12; // times its size in the window

export function zoom(image) {
  const big = el("img", { src: image.src, alt: image.alt, draggable: "false" });
  const act = (words, label, what) => el("button", { type: "button", "aria-label": label, onclick: what }, words);
  const stage = el("div", { class: "zoom-stage", tabindex: "0", role: "group", "aria-label": `${image.alt}, enlarged: plus and minus, arrows` }, big);
  const box = el("dialog", { class: "zoom", "aria-label": image.alt }, stage,
    el("div", { class: "zoom-bar" }, act("−", "Smaller", () => scale(1 / 1.5)), act("+", "Larger", () => scale(1.5)), act("Fit", "As large as the window", () => set(1, 0, 0)), act("Close", "Close the image", () => box.close())));
  let size = 1, x = 0, y = 0; // the middle of the image lies x, y off the middle of the window
  function set(...to) {
    [size, x, y] = to;
    size = Math.min(Math.max(size, 1), MOST);
    // Some of the image stays in the window.
    const far = (length, room) => Math.max((size * length - room) / 2, 0);
    const [w, h] = [far(big.offsetWidth, stage.clientWidth), far(big.offsetHeight, stage.clientHeight)];
    x = Math.min(Math.max(x, -w), w);
    y = Math.min(Math.max(y, -h), h);
    big.style.transform = `translate(${x}px, ${y}px) scale(${size})`;
    box.dataset.size = size.toFixed(2);
  }
  // What is under the point stays under it.
  function scale(by, event = null) {
    const to = Math.min(Math.max(size * by, 1), MOST), times = to / size;
    const at = event ? [event.clientX - stage.clientWidth / 2, event.clientY - stage.clientHeight / 2] : [0, 0];
    set(to, at[0] - (at[0] - x) * times, at[1] - (at[1] - y) * times);
  }
  const down = new Map();
  const apart = () => { const [a, b] = [...down.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
  stage.addEventListener("pointerdown", (event) => { down.set(event.pointerId, event); stage.setPointerCapture(event.pointerId); });
  stage.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    if (down.size === 2) {
      const from = apart();
      down.set(event.pointerId, event);
      const [a, b] = [...down.values()];
      if (from) scale(apart() / from, { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 });
    } else {
      down.set(event.pointerId, event);
      set(size, x + event.clientX - before.clientX, y + event.clientY - before.clientY);
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) stage.addEventListener(kind, (event) => down.delete(event.pointerId));
  stage.addEventListener("dblclick", (event) => (size > 1 ? set(1, 0, 0) : scale(3, event)));
  stage.addEventListener("wheel", (event) => { event.preventDefault(); scale(Math.exp(-event.deltaY / 400), event); }, { passive: false });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) set(size, x + step[0], y + step[1]);
    else if (event.key === "+" || event.key === "=") scale(1.5);
    else if (event.key === "-") scale(1 / 1.5);
    else if (event.key === "0") set(1, 0, 0);
    else return;
    event.preventDefault();
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  stage.focus();
}
