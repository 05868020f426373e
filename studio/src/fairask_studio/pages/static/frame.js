// What every page has: theme, sign-out, the demo's pause.
import { get, put, remove, root as base } from "./api.js";
import { $ } from "./dom.js";
import { flush } from "./outbox.js";

// The page of rows sends them itself.
if ($("signout") && !$("card")) flush().catch(() => {});

const root = document.documentElement;
$("theme")?.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  dispatchEvent(new Event("themechange"));
});

$("signout")?.addEventListener("click", async () => {
  await remove("/session");
  location.assign(`${base}/signin`);
});

// On a phone, or zoomed in, the views are wider than the screen: where we are is always in sight.
const here = document.querySelector('nav [aria-current="page"]');
const inSight = () => { here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2; };
if (here) new ResizeObserver(inSight).observe(here.parentElement);

const robot = $("robot");
if (robot) {
  const show = ({ paused }) => {
    robot.hidden = false;
    robot.textContent = paused ? "Resume the robot" : "Pause the robot";
    robot.setAttribute("aria-pressed", String(paused));
  };
  robot.addEventListener("click", async () => show(await put("/demo", { paused: robot.getAttribute("aria-pressed") !== "true" })));
  show(await get("/demo"));
}
