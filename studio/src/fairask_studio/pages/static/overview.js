// The owner's overview: what is, what to do next, and the numbers behind it. Asks once a second, redraws what changed.
import { get, put, root } from "./api.js";
import { $, alertUser, el, fill, number, owns, percent, points, span, table, tenths, tight } from "./dom.js";
import { atWorst, curves, responsive } from "./charts.js";
import { feed } from "./feed.js";
import { action, headline } from "./standing.js";
import { term } from "./terms.js";

const report = document.querySelector(".title-row .button");
let etag = null;
let last = null;

const tile = (name, value, words, tone) => el("div", { class: `tile ${tone ?? ""}` }, el("h2", {}, name), el("p", { class: "value" }, value), el("p", { class: "words" }, words));
const audited = ({ gap, labels, without_audits: own }) => (gap?.by === "audit" ? { ...gap, labels: labels - own.labels } : null);
const drawn = (node, status) => curves(node, status.history, status.tolerance, status.without_audits.budget, audited(status));
const chart = responsive((node) => last && drawn(node, last));
$("curves").append(chart);

function tiles(status, story) {
  const fitted = status.history.findLast((entry) => entry.digest === status.model?.digest) ?? status.history.at(-1);
  const guess = fitted?.estimate, { gap, certificate } = status;
  const own = status.without_audits;
  const soon = "after 30 labels of both classes";
  const allowed = `you allow ${points(status.tolerance)}`;
  const audited = gap?.by === "audit"; // its limit is a promise, and the gap is the audit's on all pages
  const present = certificate?.model && certificate.model.digest === status.model?.digest;
  const verdict = present && status.watch ? status.watch.verdict : certificate?.verdict;
  // An audit is about its day: no good gap once the months say otherwise.
  const same = gap && !audited && gap.high === 0;
  const judged = !gap || same || (audited && verdict !== certificate.verdict) ? "" : gap.high <= status.tolerance ? "good" : gap.low > status.tolerance ? "bad" : "open";
  const limits = !gap ? (guess ? "a group has no such labels yet" : soon) : audited ? `by the audit; ${atWorst(gap, status.tolerance)}, ${allowed}` : same ? "everybody gets the same answer" : `estimated, between ${points(gap.low)} and ${points(gap.high)}; ${allowed}`;
  const left = story.hours_left === null ? "" : `; about ${span(story.hours_left)} left`;
  const pace = status.complete ? "" : story.pace === null ? (status.open ? `; ${number(status.open)} with annotators` : "") : `; ${number(Math.round(story.pace))} per hour${left}`;
  return [
    tile(term("budget", "Labels"), number(own.labels), `of ${number(own.budget)}${status.labels > own.labels ? `, and ${number(status.labels - own.labels)} for audits` : ""}${pace}`),
    tile(term("right answers", "Right answers"), guess ? percent(guess.accuracy.value) : "–", guess ? `between ${percent(guess.accuracy.low, 0)} and ${percent(guess.accuracy.high, 0)}, model ${fitted.round + 1}` : soon),
    tile(term("gap between groups", "Gap between groups"), gap ? `${points(gap.value)} points` : "–", limits, judged),
    tile(term("certificate", "Certificate"), verdict ?? "none", certificate?.model ? `model ${certificate.model.round + 1}${present ? "" : ", not the present one"}; ${number(certificate.n_labels)} labels` : status.audit ? `audit: ${number(status.audit.labels)} of at most ${number(status.audit.size)} rows` : "an estimate is no promise", certificate && present ? { certified: "good", refuted: "bad" }[verdict] ?? "open" : ""),
  ];
}

function lead(status, story) {
  const { tone } = status.advice;
  $("lead").className = `lead panel ${status.labels ? `verdict ${tone}` : ""}`;
  fill($("headline"), ...headline(status.advice));
  fill($("next"), ...action(story.next, status.advice));
  fill($("steps"), ...story.steps.map((step) => el("li", { class: step.state, "aria-current": step.state === "now" ? "step" : null }, el("strong", {}, step.name), el("span", {}, step.words))));
  $("safety").hidden = !status.safety;
  $("safety").textContent = status.safety ?? "";
  $("unseen").hidden = !status.unseen || /^un(seen|heard)/.test(status.advice.case);
  if (report) report.hidden = !status.history.length; // of nothing
  $("unseen").textContent = status.unseen ?? "";
  $("first-day").hidden = !owns || !story.checklist.length;
  fill($("checklist"), ...story.checklist.map((item) => el("li", { class: item.done ? "done" : null }, el("span", { class: "tick-box", "aria-hidden": "true" }, item.done ? "✓" : ""), el("a", { href: `${root}/${item.page}` }, item.words), item.done ? el("span", { class: "unseen" }, " (done)") : "")));
}

// What waits for a decision, with its count and the way there.
function settle(story) {
  flags(story.flags);
  $("disagreements").hidden = !story.disagreements;
  fill($("disagreements"), count(story.disagreements), el("a", { href: `${root}/rows?view=inbox&disagree=true` }, story.disagreements === 1 ? "row on which people disagree" : "rows on which people disagree"));
  $("notes").hidden = !story.notes;
  fill($("notes"), count(story.notes), el("a", { href: `${root}/rows?view=inbox&note=true` }, story.notes === 1 ? "row with a note" : "rows with a note"));
  $("inbox").hidden = !story.inbox;
  fill($("inbox"), el("a", { href: `${root}/rows?view=inbox` }, `Inbox: ${number(story.inbox)} ${story.inbox === 1 ? "row" : "rows"}`));
  $("wrong").hidden = !story.wrong.length;
  fill($("wrong"), count(story.wrong.length), el("a", { href: `${root}/people` }, story.wrong.length === 1 ? "person below your share of right gold rows" : "people below your share of right gold rows"), el("ul", {}, story.wrong.map((p) => el("li", { dir: "auto" }, `${p.name} was right on ${number(p.right)} of ${number(p.asked)} gold rows.`))));
  $("settle").hidden = ["flags", "disagreements", "notes", "wrong", "proxies"].every((id) => $(id).hidden);
}
const count = (n) => el("strong", { class: "count" }, number(n));

// Open flags, those that wait for an answer first; each leads to its row.
function flags(open) {
  $("flags").hidden = !open.length;
  const waiting = open.filter((flag) => flag.waits);
  const first = [...waiting, ...open.filter((flag) => !flag.waits)].slice(0, 3);
  fill($("flags"), count(open.length), el("a", { href: `${root}/rows?view=inbox&flag=open` }, open.length === 1 ? "open flag" : "open flags"), waiting.length ? (open.length === 1 ? ", without an answer" : `, ${number(waiting.length)} of them without an answer`) : ", all answered, none resolved",
    el("ul", {}, first.map((flag) => el("li", {}, el("a", { href: `${root}/rows?view=inbox#${flag.row}` }, `Row ${number(flag.row)}`), el("span", { dir: "auto" }, ` ${flag.who}: ${flag.comments[0].text.slice(0, 140)}`)))));
}

const COMPONENTS = { uniform: "first batch", diff: "where models disagree", fair: "all groups alike", ranked: "ranked", audit: "audit" };
const inOrder = (names) => [...names].sort((a, b) => Object.keys(COMPONENTS).indexOf(a) - Object.keys(COMPONENTS).indexOf(b));

function groups(status, story) {
  const share = (n, of) => n / Math.max(of, 1);
  const most = Math.max(...status.groups.map((g) => Math.max(share(g.labels, status.labels), share(g.pool, status.rows))), 0.01);
  const bar = (part, tone, title) => el("span", { class: `part ${tone}`, title, style: `width:${(100 * part) / most}%` });
  const line = (side, parts, end) => el("p", { class: "share" }, el("span", { class: "side" }, side), el("span", { class: "track" }, parts), el("span", { class: "side end" }, end));
  const used = inOrder(new Set(status.groups.flatMap((g) => Object.keys(g.components))));
  return [...status.groups.map((g, i) => {
    const { labels, positives } = story.positives[i] ?? { labels: 0, positives: 0 };
    return el("div", { class: "group" }, el("h3", { dir: "auto" }, g.group),
      line("labels", inOrder(Object.keys(g.components)).map((name) => bar(share(g.components[name], status.labels), `c-${name}`, `${COMPONENTS[name] ?? name}: ${g.components[name]}`)), `${number(g.labels)} (${percent(share(g.labels, status.labels), 0)})`),
      line("pool", bar(share(g.pool, status.rows), "c-pool", `${number(g.pool)} rows`), `${number(g.pool)} (${percent(share(g.pool, status.rows), 0)})`),
      labels ? el("p", { class: "hint small", dir: "auto" }, `${number(positives)} of ${number(labels)} labels are “${status.classes[1]}” (${percent(positives / labels, 0)})`) : "");
  }), el("p", { class: "legend" }, used.map((name) => el("span", {}, el("i", { class: `c-${name}`, "aria-hidden": "true" }), COMPONENTS[name] ? term(COMPONENTS[name]) : name))),
    el("p", { class: "hint small" }, "Rows are chosen for what they tell, so shares of labels are not shares of the pool.")];
}

// Why rows were skipped, once somebody has said so; each reason leads to its rows.
function skipped({ skip_reasons: found }) {
  if (!found.some((r) => r.reason)) return null;
  const entry = (r) => [r.reason ? el("a", { href: `${root}/rows?${new URLSearchParams({ reason: r.reason })}` }, r.reason) : "no reason given", r.skips];
  return el("div", { class: "gap-top" }, table(["Skipped because", { number: "Rows" }], found.slice(0, 8).map(entry), "Reasons to skip"));
}

function people(status) {
  const rows = status.people.map((p) => [p.who, p.labels, p.skips, { number: p.seconds === null ? "–" : `${p.seconds.toFixed(1)} s` }]);
  const agreed = status.agreement;
  const words = agreed.rows ? `${percent(agreed.share, 0)} of pairs of answers agree on ${number(agreed.rows)} rows answered by several` + (agreed.alpha === null ? "." : ` (Krippendorff's alpha ${agreed.alpha.toFixed(2)}).`) : status.overlap > 1 ? "No row has two answers yet." : "Each row is answered once, so agreement is not measured.";
  return el("div", {}, table(["Person", { number: "Labels" }, { number: "Skips" }, { number: "Per answer" }], rows, "People"), el("p", { class: "hint" }, words, " ", agreed.rows ? term("agreement", "What is this?") : ""), skipped(status));
}

function beside(status) {
  const fitted = status.history.at(-1), found = status.story, guess = fitted?.estimate;
  $("beside-panel").hidden = !found;
  if (!found) return;
  const row = (name, accuracy, gap) => [name, { number: percent(accuracy) }, { number: gap === null ? "–" : tenths(gap) }];
  fill($("beside"), el("p", { dir: "auto" }, el("strong", {}, `${found.worth} `), status.advice.reason.startsWith(found.points) ? "" : tight(found.points)), found.columns ? el("p", { class: "warn", dir: "auto" }, found.columns) : "", table([`Model ${fitted.round + 1}`, { number: "Right answers" }, { number: "Gap, in points" }],
    [row("This model", guess.accuracy.value, status.gap?.value ?? null), row(term("without a limit", "Without a limit on the gap"), guess.plain.accuracy.value, guess.plain.gap?.value ?? null), row(term("one answer for all", `Always “${found.answer}”`), guess.constant.accuracy, 0)], "Models side by side"));
  $("beside").append(el("p", { class: "hint small" }, `${status.gap?.by === "audit" ? "The gap of this model is the audit's; the other numbers" : "These"} are estimates: each row is predicted by a model trained without it.`));
}

// A certified model goes on deciding: what its months said, and the way to add one.
function watch({ watch: found, certificate, model }) {
  const held = certificate?.verdict === "certified" && certificate.model?.digest === model?.digest;
  $("watch").hidden = !held;
  if (!held) return;
  const month = new Date().toISOString().slice(0, 7);
  const command = (...words) => el("p", {}, el("code", {}, ["fairask study watch", $("watch").dataset.place, ...words].flatMap((word) => [el("span", {}, word), " "])));
  const next = found?.awaited ? [el("p", {}, `${number(found.awaited)} rows of ${found.month} wait for a label. Then:`), command(`--tell watch-${found.month}.csv`)] : [el("p", {}, found ? "Add the table of the next month:" : "New rows may be unlike those of the audit. Each month, let the model decide on a table of new rows, and label a few:"), command("TABLE", `--month ${found && found.month >= month ? "YYYY-MM" : month}`)];
  fill($("watched"), found ? el("p", {}, el("strong", {}, found.headline)) : "", found ? el("p", { dir: "auto" }, found.details) : "", ...(found?.shift ?? []).map((words) => el("p", { class: "hint small", dir: "auto" }, words)), ...(owns ? next : []));
}

function draw(status, story) {
  watch(status);
  lead(status, story);
  settle(story);
  $("evidence").hidden = !status.people.length; // nobody has answered
  fill($("tiles"), ...tiles(status, story));
  const any = status.history.some((entry) => entry.estimate);
  $("curves").hidden = !any;
  $("curves-empty").hidden = any;
  document.querySelector(".table-for-chart").hidden = !any;
  if (any) {
    drawn(chart, status);
    const rows = status.history.filter((e) => e.estimate).map((e) => [e.labels, { number: percent(e.estimate.accuracy.value) }, { number: e.estimate.gap ? tenths(e.estimate.gap.value) : "–" }]);
    fill($("curves-table"), table([{ number: "Labels" }, { number: "Right answers" }, { number: "Gap, in points" }], rows, "Rounds"));
    $("curves").dataset.points = rows.length;
  }
  fill($("groups"), ...groups(status, story));
  fill($("people"), people(status));
  beside(status);
}

function live(status) {
  const now = status.people_now;
  const words = status.error ? "stopped" : status.complete ? "all labels in" : status.busy ?? (now ? `live, ${now} labelling` : "live");
  $("live-words").textContent = words;
  $("live").className = `live ${status.error ? "bad" : status.busy ? "busy" : ""}`;
  alertUser(status.error ? `Drawing and training have stopped: ${status.error}` : null);
}

// Columns from which annotators can tell the hidden group; asked for once, and after one was hidden.
async function proxies() {
  const found = Object.values(await get("/proxies"));
  $("proxies").hidden = !found.length;
  fill($("proxies"), count(found.length), `${found.length === 1 ? "column tells" : "columns tell"} annotators the group, which is hidden from them. Hiding a column from them leaves it to the model.`, el("ul", {}, found.map((p) => el("li", { dir: "auto" }, `${p.title}: ${percent(p.lift, 0)} of the way from guessing to certainty `,
    el("button", { type: "button", onclick: () => put("/settings", { columns: { [p.column]: { display: "none" } } }).then(proxies).catch((error) => alertUser(error.message)) }, `Hide ${p.title}`)))));
  $("settle").hidden &&= !found.length;
}

// An explanation that is open stays open: nothing is redrawn under a reader.
const reading = () => document.querySelector(".meaning:popover-open") !== null;

async function look() {
  try {
    const status = await get("/status", etag ? { "If-None-Match": etag } : {});
    if (!status.unchanged && !reading()) {
      const [story, events] = await Promise.all([get("/story"), get("/events?limit=200")]);
      ({ etag } = status);
      last = status;
      draw(status, story);
      fill($("feed"), ...feed(events, status.classes));
    }
    live(last ?? status);
  } catch (error) {
    $("live-words").textContent = "not connected";
    $("live").className = "live bad";
    alertUser(error.message);
  }
  setTimeout(look, document.hidden ? 5000 : 1000);
}

look().then(() => (owns ? proxies() : null)).catch(() => {});
