// One row at a time. The next card is already here when an answer is given; saving happens behind it.
import { get, post } from "./api.js";
import { drop, flush, keep, otherwise, send, setAside, waiting, waits } from "./outbox.js";
import { cardBody, place, release } from "./card.js";
import { thread, writing } from "./flags.js";
import { markdown } from "./markdown.js";
import { $, alertUser, el, fill, number, say } from "./dom.js";

const LOOK_AGAIN = ["q", "w", "e", "r", "t"];
const meta = document.querySelector('meta[name="study"]').content;
const buttons = [...document.querySelectorAll("#answers .answer")];
let cards = []; // rows held, the one shown first
let recent = []; // last answers, newest first: {row, label}
let again = null; // the earlier row being looked at, if any
let saving = Promise.resolve();
// A finger is often away from a good connection: more rows are held, to go on without one.
const HELD = matchMedia("(pointer: coarse)").matches ? 10 : 2;
const answered = new Map(); // the cards of rows that I answered here: one that is taken back is here at once
const begun = new Set(); // rows of which something is being sent
let saves = 0; // answers that were sent since this page began, here or in another tab
const isTakenBack = (row) => waits(row)?.undo && waits(row).label === undefined;
let timer = null;
// The second click of a double click must not answer the row that came after the first.
const READ = 300; // milliseconds that a row is shown, with all that it holds, before it can be answered
let shown = { row: null, at: 0 }; // "seen" when its pictures and sounds are there; "missing" is what is not
const SAID = 4000; // milliseconds for which the last answer is said
let pressed = null; // the row shown when a button was pressed
const IDLE = 600_000; // milliseconds without a key or a pointer after which rows are no longer held
let active = Date.now();
const drafts = new Map(); // notes by row: a note belongs to the row it was typed for
let noteRow = null;
let leaving = false;

const current = () => again ?? cards[0] ?? null;
let told = false; // whether the answer to a practice row is being read

function show() {
  const card = current();
  $("card").setAttribute("aria-busy", String(!card));
  if (card) delete $("card").dataset.state;
  const practice = again ? 0 : (card?.practice ?? 0);
  if (card) draw(card);
  for (const button of buttons) button.disabled = !card || told || !shown.seen || covered();
  $("flag").disabled = !card || told;
  for (const button of [$("skip"), $("note")]) button.disabled = !card || told || Boolean(again || practice);
  $("practice").hidden = !practice;
  $("practice").textContent = practice ? `Practice: ${practice === 1 ? "the last row" : `${practice} rows left`}. It does not count; you are told the answer.` : "";
  fitNote(again ? null : (card?.row ?? null));
  $("correcting").hidden = !again;
  if (again) fill($("correcting"), `Row ${again.row} again. You said: `, el("strong", { dir: "auto" }, again.label ?? "skipped"), ". ", el("button", { type: "button", class: "more", onclick: leave }, "Back"));
  $("undo").disabled = recent.length === 0;
  fill($("strip"), recent.length ? recent.map(stripItem) : el("li", { class: "none" }, "Your last answers appear here."));
  tell();
}

// Nobody judges a row before its pictures and sounds are there: reading begins when all can be seen and played.
function draw(card) {
  if (card.row === shown.row) return;
  release($("card"));
  fill($("card"), title(`Row ${card.row}`), cardBody(card));
  $("card").scrollTop = 0;
  const figures = [...$("card").querySelectorAll("figure")];
  const mine = (shown = { row: card.row, at: performance.now(), kinds: figures.map((figure) => figure.dataset.kind) });
  delete $("card").dataset.ready;
  mine.seen = !figures.length;
  if (mine.seen) return read(mine);
  return Promise.all(figures.map((figure) => figure.ready)).then((ready) => {
    if (shown !== mine) return;
    mine.missing = mine.kinds[ready.indexOf(false)];
    mine.seen = !mine.missing;
    read(mine);
    show();
    if (mine.missing) say(`${LACKS[mine.missing]} It can be skipped.`);
    fetchAhead();
  });
}
// What lies over the row: nobody judges it meanwhile. Beside it there is room in wide windows only.
const wide = matchMedia("(min-width: 80rem)");
wide.addEventListener("change", show);
const covered = () => !$("flags").hidden || ($("guide") && !$("guide").hidden && !wide.matches);
let wasCovered = false;
function uncover() {
  if (wasCovered && !covered() && (shown.seen || shown.missing)) read(shown);
  wasCovered = covered();
  show();
}
// From now on a row is read; in a moment it can be answered.
function read(mine) {
  const at = (mine.at = performance.now());
  delete $("card").dataset.ready;
  setTimeout(() => { if (shown === mine && mine.at === at) $("card").dataset.ready = mine.row; }, READ);
}
const LACKS = { picture: "A picture of this row cannot be shown.", sound: "A sound of this row cannot be played." };

// Pictures and sounds of the rows that come next, so that they are here when the row is: the browser keeps them. One
// after another, when those of this row are here: on a slow connection they would keep it, and answers, waiting.
const ahead = new Set();
let fetching = false;
async function fetchAhead() {
  const files = () => cards.slice(1).flatMap((card) => card.fields.filter((field) => ["image", "audio"].includes(field.display) && field.value !== "").map((field) => place(card.row, field)));
  if (fetching) return;
  fetching = true;
  for (let from; !stuck && (from = files().find((file) => !ahead.has(file)));) {
    ahead.add(from);
    await fetch(from, { priority: "low" }).then((response) => response.blob()).catch(() => ahead.delete(from) && pause(2000));
  }
  fetching = false;
}
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// One sound plays at a time: the one that plays, or was stopped, or the first.
const sounds = () => [...$("card").querySelectorAll("audio")];
const heardLast = () => sounds().find((one) => !one.paused) ?? sounds().find((one) => one.currentTime > 0 && !one.ended) ?? sounds()[0];
$("card").addEventListener("play", (event) => { for (const one of sounds()) if (one !== event.target) one.pause(); }, true);
const SOUND_KEYS = {
  p: (one) => (one.paused ? one.play() : one.pause()),
  arrowleft: (one) => { one.currentTime -= 5; },
  arrowright: (one) => { one.currentTime += 5; },
};

// One line above the answers: what keeps this row from being answered, what waits, what was saved.
let last = null; // the last answer that was saved
function tell() {
  tellAside();
  const kept = waiting().filter((one) => one.label !== undefined).length;
  const line = $("told"), lacking = shown.missing && current() && !told ? `${shown.row}` : "";
  if (lacking && line.dataset.lacking === lacking) return; // no button goes away under a finger
  line.dataset.lacking = lacking;
  line.className = "told";
  if (lacking) {
    line.classList.add("open");
    const again = () => { shown = { row: null, at: 0 }; show(); };
    fill(line, `${LACKS[shown.missing]} `, el("button", { type: "button", class: "more", onclick: again }, "Try again"), " ", el("button", { type: "button", class: "more", id: "missing", onclick: () => answer(null, `${shown.missing} missing`) }, `Skip: ${shown.missing} missing`));
  } else if (kept > (stuck ? 0 : 1) || (stuck && waiting().length)) {
    line.classList.add("open");
    fill(line, kept ? `${kept} ${kept === 1 ? "answer waits" : "answers wait"} to be sent` : "What you took back waits to be sent");
  } else if (current() && !shown.seen) fill(line, shown.kinds.length === 1 ? `Its ${shown.kinds[0]} is loading…` : `Its ${shown.kinds.length} ${new Set(shown.kinds).size > 1 ? "files" : `${shown.kinds[0]}s`} are loading…`);
  else if (current() && covered()) fill(line, `Close the ${$("flags").hidden ? "guidelines" : "questions"} to answer.`);
  else if (last) {
    // The button below and the key do the same: Tab goes from the row to the answers.
    fill(line, "Saved: ", el("strong", { dir: "auto" }, last), ". ", el("button", { type: "button", class: "more", tabindex: -1, onclick: undo }, "Undo", el("kbd", { "aria-hidden": "true" }, "U")));
  } else fill(line);
}
let stuck = false; // whether an answer could not be sent

// Answers that the server failed on, while those behind them were sent: tried again each minute, and when asked for.
function tellAside() {
  const list = setAside(), one = list.length === 1;
  const named = ({ row, label, undo }) => `row ${row}, ${label ?? (undo ? "taken back" : "skipped")}`;
  const names = list.slice(0, 3).map(named).join("; ") + (list.length > 3 ? `; and ${list.length - 3} more` : "");
  const words = list.length ? `${one ? "1 answer" : `${list.length} answers`} could not be saved: ${names}. ${list.at(-1).aside} ${one ? "It is" : "They are"} kept in this browser and tried again each minute; if this stays, tell an owner. ` : "";
  $("aside").hidden = !words;
  if ($("aside").dataset.words === words) return;
  $("aside").dataset.words = words;
  fill($("aside"), words, el("button", { type: "button", class: "more", onclick: tryAside }, "Try again now"));
}
function tryAside() {
  for (const { row } of setAside()) dispatch(row);
  saving.then(() => { if (setAside().length) say("Still not saved."); });
}
setInterval(() => { if (!document.hidden && Date.now() - active < IDLE) tryAside(); }, 60_000);
let hide = null;
function saidSaved(words) {
  last = words;
  clearTimeout(hide);
  hide = setTimeout(() => { last = null; tell(); }, SAID);
  tell();
}
addEventListener("outbox", () => { if (!waiting().length) stuck = false; tell(); });

const title = (words) => el("h2", { class: "unseen", id: "card-title" }, words);

// A screen reader goes on from here with the row itself; the next stop is the answers.
function toCard() {
  $("card").focus({ preventScroll: true });
}

function stripItem(given, i) {
  return el("li", {}, el("button", { type: "button", onclick: () => lookAgain(i), "aria-keyshortcuts": LOOK_AGAIN[i].toUpperCase(), "aria-label": `Row ${given.row}, ${given.label ?? "skipped"}: look again` },
    el("span", { class: "row" }, given.row), el("span", { class: "said", dir: "auto" }, given.label ?? "skipped"), el("kbd", { "aria-hidden": "true" }, LOOK_AGAIN[i].toUpperCase())));
}

function showProgress(progress) {
  const share = Math.min(100, (100 * progress.labels) / progress.budget);
  $("bar").setAttribute("aria-valuenow", share.toFixed(0));
  $("bar").firstElementChild.style.width = `${share}%`;
  const people = progress.people > 1 ? `, ${progress.people} people labelling` : "";
  $("progress").textContent = `${number(progress.labels)} of ${number(progress.budget)}, batch ${Math.max(progress.batch, 1)}${people}, ${number(progress.mine)} by you${progress.skipped ? `, ${number(progress.skipped)} skipped` : ""}`;
}

function blank(...words) {
  release($("card"));
  fill($("card"), el("div", { class: "state" }, words));
  shown = { row: null, at: 0 };
}

function showState(heading, words) {
  if ($("card").dataset.state === heading) return; // said once, not at every look
  blank(el("h2", { class: "big", id: "card-title" }, heading), el("p", {}, words));
  $("card").dataset.state = heading;
  say(`${heading} ${words}`);
}

async function refill() {
  clearTimeout(timer);
  if (told) return; // the row of an explanation stays until it is read
  const before = saves;
  const answer = await post("/next", { count: Math.min(HELD + setAside().length, 10) });
  if (saves !== before) return refill(); // a late reply may hold rows that were answered meanwhile
  const reading = current()?.row;
  cards = [...cards.filter((card) => isTakenBack(card.row)), ...answer.cards.filter((card) => !waits(card.row))];
  // The row that is being read stays, even if an earlier one has come back.
  if (!again) cards.sort((a, b) => (b.row === reading) - (a.row === reading));
  showProgress(answer.progress);
  if (current()?.row !== reading || !cards.length) show();
  if (shown.seen) fetchAhead();
  if (!cards.length && !again && !waiting().length) {
    if (answer.training) {
      showState("Choosing the next rows…", answer.progress.labels ? "Training on the labels so far; this takes a moment." : "This takes a moment.");
      timer = setTimeout(() => guard(refill), 1000 * answer.retry);
    } else if (answer.notice) {
      showState("The next rows are late", answer.notice);
      timer = setTimeout(() => guard(refill), 2000);
    } else if (answer.progress.complete) {
      showState("Done. Thank you!", "The budget is spent: there is nothing left to label. If more is asked for, it appears here.");
      timer = setTimeout(() => guard(refill), 5000);
    } else {
      showState("Nothing for you right now", "Others hold the remaining rows. This page looks again by itself.");
      timer = setTimeout(() => guard(refill), 4000);
    }
  } else timer = setTimeout(renew, Math.min(60, answer.hold / 2) * 1000);
  await heard(answer.news); // last: no row waits for the answers to questions
}

// Keeps the rows mine while I think, but not when I have left.
const renew = () => (document.hidden || Date.now() - active > IDLE ? null : guard(refill));

function awake() {
  const idle = Date.now() - active > IDLE;
  active = Date.now();
  if (idle) guard(refill);
}

// Run a request; when it fails say so, and when the server is away try again by itself.
async function guard(action, quiet = false) {
  try {
    const result = await action();
    if (!quiet) alertUser(null);
    return result;
  } catch (error) {
    if (error.why === "away") {
      stuck = true;
      tell();
      if (!current() && !told) showState("No more rows are here", "The server cannot be reached. Your answers are kept in this browser and are sent when it is back; then more rows come.");
      alertUser(`${error.message.replace(/ Try again.*/, "")} Trying again…`);
      await pause(2000);
      return guard(action, false);
    }
    if (error.why === "signed out") return undefined; // the browser keeps the answer until I am back
    if (error.why === "stale") { // I signed in again in another tab: the answer is sent when this page is new
      leaving = true;
      location.reload();
      return undefined;
    }
    alertUser(error.message);
    const known = await get("/answers").catch(() => recent);
    recent = [...recent.filter((given) => waits(given.row) && !known.some((k) => k.row === given.row)), ...known.filter((k) => !isTakenBack(k.row))].slice(0, 5);
    again = null;
    show();
    return undefined;
  }
}

function answer(label, reason = "") {
  const card = current();
  if (!card || performance.now() - shown.at < READ || (label !== null && !shown.seen)) return;
  if (again) return label === null ? undefined : correct(label);
  if (card.practice) return practise(card, label);
  const note = $("note-text").value.trim();
  keep({ row: card.row, label, note, ...(reason ? { reason } : {}), ...(waits(card.row)?.undo ? { undo: true } : {}) }); // now, and not when those before it are sent
  answered.set(card.row, card);
  $("note-text").value = "";
  drafts.delete(card.row);
  cards = cards.slice(1);
  recent = [{ row: card.row, label }, ...recent].slice(0, 5);
  for (const row of answered.keys()) if (!recent.some((given) => given.row === row)) answered.delete(row);
  if (!cards.length) blank(el("h2", { class: "big", id: "card-title" }, stuck ? "The next row comes when the server answers" : "Fetching a row…"));
  show();
  toCard();
  dispatch(card.row);
}

// Send what is kept of a row, after all that was given before it.
const LATE = 2000; // milliseconds after which it is said that it waits
function dispatch(row) {
  saving = saving.then(async () => {
    begun.add(row);
    const late = setTimeout(() => { stuck = true; tell(); }, LATE);
    const sent = await guard(() => send(row));
    clearTimeout(late);
    saves += 1;
    begun.delete(row);
    if (sent === null) return; // taken back before it was sent
    const { given, saved } = sent ?? {};
    if (saved) {
      const { label, reason, correct } = given;
      if (!correct) showProgress(saved);
      saidSaved(label ?? (reason ? `skipped, ${reason}` : "skipped"));
      say(correct ? `Saved: row ${row} is now ${label}.` : `Saved: row ${row}, ${label ?? (reason ? `skipped: ${reason}` : "skipped")}. ${cards.length ? `Now row ${cards[0].row}.` : ""}`);
    }
    if (!saved || cards.length <= HELD / 2) await guard(refill, true); // a refusal stays on screen until the next answer
  });
}

// Practice: the right answer and why, before the next row.
function practise(card, label) {
  told = true;
  show();
  saving = saving.then(() => guard(async () => {
    const { practice } = await post("/answers", { row: card.row, label });
    saves += 1;
    $("verdict-title").textContent = label === null ? `Skipped; the answer is ${practice.label}.` : practice.right ? `Right: ${practice.label}.` : `You said ${label}; the answer is ${practice.label}.`;
    $("verdict").classList.toggle("good", practice.right);
    fill($("verdict-why"), ...markdown(practice.why));
    $("verdict").hidden = false;
    $("go-on").focus();
    say(`${$("verdict-title").textContent} ${practice.why}`);
  })).then(() => { if ($("verdict").hidden) goOn(); });
}
function goOn() {
  told = false;
  $("verdict").hidden = true;
  cards = [];
  shown = { row: null, at: 0 };
  guard(refill).then(() => { show(); toCard(); });
}
$("go-on").addEventListener("click", goOn);

function correct(label) {
  const { row } = again;
  if (label === again.label) {
    saidSaved(label);
    return leave();
  }
  keep({ row, label, correct: true });
  recent = recent.map((given) => (given.row === row ? { ...given, label } : given));
  leave();
  dispatch(row);
}

const lookAgain = async (i) => (recent[i] ? lookAt(recent[i]) : null);

async function lookAt(given) {
  await saving;
  const card = await guard(() => get(`/answers/${given.row}`));
  if (!card) return;
  again = { ...card, label: given.label };
  show();
  toCard();
  say(`Row ${given.row} again. You said ${given.label ?? "skipped"}.`);
}

function leave() {
  again = null;
  if (cards.length) show();
  else guard(refill);
  toCard();
}

async function undo() {
  const row = (again ?? recent[0])?.row;
  if (row === undefined) return;
  const card = answered.get(row) ?? again ?? (await guard(() => get(`/answers/${row}`)));
  if (!card || !recent.some((given) => given.row === row)) return;
  recent = recent.filter((given) => given.row !== row);
  again = null;
  last = null;
  cards = [card, ...cards.filter((other) => other.row !== row)];
  const kept = waits(row);
  if (kept && !kept.undo && !kept.correct && !kept.aside && !begun.has(row)) drop(row); // the server has no answer of this row
  else {
    keep({ row, undo: true });
    dispatch(row);
  }
  show();
  toCard();
  say(`Took back row ${row}. It is yours to answer again.`);
}

function openNote() {
  showNote(true);
  $("note-text").focus();
}

function showNote(open) {
  $("note-box").hidden = !open;
  $("note").setAttribute("aria-expanded", String(open));
}

// Put the note of another row aside, and show that of this one.
function fitNote(row) {
  if (row === noteRow) return;
  if (noteRow !== null) drafts.set(noteRow, $("note-text").value);
  noteRow = row;
  $("note-text").value = drafts.get(row) ?? "";
  showNote($("note-text").value !== "");
}

// A click counts for the row that was shown when the button went down, and once. A finger that taps one answer
// after another is no double click, whatever the browser counts.
const clicked = (label) => (event) => {
  if ((event.detail > 1 && event.pointerType !== "touch") || (event.detail && pressed !== current()?.row)) return;
  if (label === null && $("skip-box")) askReason();
  else answer(label);
};

// Why a row is skipped: the number of a reason, or words.
function askReason() {
  if (!current() || performance.now() - shown.at < READ) return;
  $("skip-form").reset();
  $("skip-go").disabled = true;
  $("skip-box").dataset.row = current().row;
  $("skip-box").showModal();
  $("skip-box").querySelector(".reason").focus();
}
function skipFor(reason) {
  const meant = Number($("skip-box").dataset.row) === current()?.row; // the row may have gone meanwhile
  $("skip-box").close();
  if (meant && reason) answer(null, reason);
  else toCard();
}
if ($("skip-box")) {
  const reasons = [...$("skip-box").querySelectorAll(".reason")];
  for (const button of reasons) button.addEventListener("click", () => skipFor(button.dataset.reason));
  $("skip-other").addEventListener("input", () => { $("skip-go").disabled = !$("skip-other").value.trim(); });
  $("skip-form").addEventListener("submit", (event) => { event.preventDefault(); skipFor($("skip-other").value.trim()); });
  $("skip-cancel").addEventListener("click", () => skipFor(""));
  $("skip-box").addEventListener("cancel", () => setTimeout(toCard));
  $("skip-box").addEventListener("keydown", (event) => {
    if (event.target === $("skip-other") || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !$("keys").checked) return;
    const chosen = reasons[Number(event.key) - 1];
    if (!chosen) return;
    event.preventDefault();
    event.stopPropagation(); // the same key would answer the next row
    skipFor(chosen.dataset.reason);
  });
}
// Flags: a question about the row at hand, and the answers to those asked before.
let asked = null; // the row that the dialog is about
let news = -1; // the last event in my threads that I know of
async function threads() {
  const mine = await get("/flags/mine");
  $("flags-open").hidden = !mine.length;
  if (writing($("flags"))) return;
  const open = new Set([...$("threads").querySelectorAll("details[open]")].map((node) => node.dataset.flag));
  const seen = localStorage.getItem(`fairask study flags ${meta}`) ?? "";
  const answered = (flag) => flag.comments.at(-1).who !== flag.who && flag.comments.at(-1).at > seen;
  const count = mine.filter(answered).length;
  $("flags-open").textContent = count ? `Questions: ${count} answered` : "Questions";
  $("flags-open").classList.toggle("fresh", count > 0);
  fill($("threads"), ...mine.map((flag) => {
    const fresh = answered(flag);
    const extra = recent.some((given) => given.row === flag.row) ? el("button", { type: "button", onclick: () => lookAt(recent.find((given) => given.row === flag.row)) }, "Look at the row again") : null;
    return el("li", { class: "wide" }, el("details", { "data-flag": flag.id, open: open.has(String(flag.id)) || fresh },
      el("summary", { dir: "auto" }, `Row ${number(flag.row)}: ${flag.comments[0].text.slice(0, 80)}`, fresh ? el("strong", {}, " answered") : flag.open ? "" : " (resolved)"), thread(flag, threads, extra)));
  }));
}
async function heard(number) {
  if (number === news) return;
  const first = news < 0;
  news = number;
  await threads();
  if (!first && number) say("A question of yours was answered. It is under Questions.");
}
function ask() {
  if (!current()) return;
  asked = current().row;
  $("flag-form").reset();
  $("flag-said").textContent = "";
  $("flag-box").showModal();
  $("flag-text").focus();
}
$("flag").addEventListener("click", ask);
$("flag-cancel").addEventListener("click", () => { $("flag-box").close(); toCard(); });
$("flag-box").addEventListener("cancel", () => setTimeout(toCard));
$("flag-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await post("/flags", { row: asked, text: $("flag-text").value.trim() });
    $("flag-box").close();
    say(`Row ${asked} is flagged. It is still yours to answer or skip.`);
    await threads();
    toCard();
  } catch (error) { $("flag-said").textContent = error.message; }
});

for (const button of [...buttons, $("skip")]) {
  button.addEventListener("pointerdown", () => { pressed = current()?.row ?? null; });
  button.addEventListener("click", clicked(button === $("skip") ? null : button.dataset.label));
}
for (const kind of ["pointerdown", "pointermove", "keydown"]) addEventListener(kind, awake);
document.addEventListener("visibilitychange", () => { if (!document.hidden && cards.length) guard(refill); });
// Answers to my questions are new until they were open.
function openFlags(open) {
  if (!open && !$("flags").hidden) { localStorage.setItem(`fairask study flags ${meta}`, new Date().toISOString()); guard(threads); }
  $("flags").hidden = !open;
  $("flags-open").setAttribute("aria-expanded", String(open));
  if (open && $("guide")) guide(false);
  uncover();
  if (open) $("flags").focus();
}
$("flags-open").addEventListener("click", () => openFlags($("flags").hidden));
$("flags-close").addEventListener("click", () => { openFlags(false); toCard(); });
addEventListener("signedout", () => { leaving = true; });
addEventListener("beforeunload", (event) => { if (waiting().length && !leaving) event.preventDefault(); });
otherwise(() => { saves += 1; tell(); guard(refill, true); });
$("undo").addEventListener("click", undo);
$("note").addEventListener("click", () => ($("note-box").hidden ? openNote() : $("note-text").focus()));
$("help").addEventListener("click", () => $("help-box").showModal());

// Guidelines: open at the first visit, and again when they have changed.
function guide(open) {
  if (open) openFlags(false);
  $("guide").hidden = !open;
  $("guide-open").setAttribute("aria-expanded", String(open));
  if (!open) localStorage.setItem(`fairask guide ${meta}`, edition());
  uncover();
}
const edition = () => $("guidelines").textContent + ($("examples")?.children.length ?? "");
async function examples() {
  const found = await get("/examples");
  fill($("examples"), ...found.map((known) => el("li", { class: "small-card" }, cardBody(known.card), el("p", { class: "gap-top" }, "Answer: ", el("strong", { dir: "auto" }, known.label)), el("div", { class: "prose" }, markdown(known.why)))));
}
if ($("guide")) {
  $("guide").addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); guide(false); toCard(); } });
  fill($("guide-text"), ...markdown(JSON.parse($("guidelines").textContent)));
  $("guide-open").addEventListener("click", () => guide($("guide").hidden));
  $("guide-close").addEventListener("click", () => { guide(false); toCard(); });
  if ($("examples")) await examples().catch((error) => alertUser(error.message));
  if (localStorage.getItem(`fairask guide ${meta}`) !== edition()) guide(true);
}

$("keys").checked = localStorage.getItem("keys") !== "off";
$("keys").addEventListener("change", () => localStorage.setItem("keys", $("keys").checked ? "on" : "off"));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.repeat || (!$("keys").checked && event.key !== "Escape")) return; // a key held down answers one row
  if (event.target.closest("textarea, input:not([type=checkbox])")) {
    if (event.key === "Escape") toCard();
    return;
  }
  const key = event.key.toLowerCase();
  const place = LOOK_AGAIN.indexOf(key);
  if (buttons[Number(key) - 1]) buttons[Number(key) - 1].click();
  else if (key === "s") $("skip").click();
  else if (key === "f") $("flag").click();
  else if (key === "u") $("undo").click();
  else if (key === "n") $("note").click();
  else if (key === "g" && $("guide")) guide($("guide").hidden);
  else if (key === "?") $("help").click();
  else if (SOUND_KEYS[key] && heardLast()) SOUND_KEYS[key](heardLast());
  else if (key === "escape" && !$("flags").hidden) openFlags(false), toCard();
  else if (key === "escape" && again) leave();
  else if (place >= 0 && recent[place]) lookAgain(place);
  else return;
  event.preventDefault();
});

await guard(flush);
recent = (await guard(() => get("/answers"))) ?? [];
await guard(refill);
show();
if (!current()) await guard(refill);
