// Where a study stands: one verdict, one reason, one action, alike on all pages.
import { root } from "./api.js";
import { el, owns, tight } from "./dom.js";

export const headline = ({ verdict, proof, reason }, heading = "p") => [el(heading, { class: "advice" }, verdict), el("p", { dir: "auto" }, proof ? el("strong", {}, `${tight(proof)} `) : "", tight(reason))];

// The one thing to do next. A new study is made at the home, where this one has one.
export function action({ words, page, why }, { case: kind }) {
  const home = document.querySelector(`header a[href$="/../../"]`)?.href;
  const href = page === "new" ? home && `${home}new` : `${root}/${page}`;
  const button = !owns && !/^(label|rows)/.test(page) ? `The owners' next step: ${words.toLowerCase()}. ` // other pages are the owners'
    : href ? el("a", { class: "button primary", href, download: page.startsWith("api/") }, words) : el("span", {}, el("strong", {}, `${words}: `), "add ", el("code", {}, "--vectors EMBEDDINGS.npy"), " and --to ANOTHER-NAME to the command that made this one, or choose New study on the page of ", el("code", {}, "fairask studio"), ".");
  const anyway = /^un(seen|heard)/.test(kind) ? el("a", { class: "button", href: `${root}/label` }, "Label rows anyway") : "";
  return [button, el("span", { class: "hint" }, tight(why)), anyway];
}
