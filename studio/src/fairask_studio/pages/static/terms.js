// A word with its meaning behind it: a button that opens a short explanation.
import { el } from "./dom.js";

const MEANINGS = {
  "right answers": "The share of rows for which the model gives the right answer, estimated on rows that it was not trained on, and corrected for how rows were drawn.",
  "gap between groups": "The largest difference between two groups in the rates that the study compares. 10 points apart means: 80 of 100 in one group, 70 of 100 in the other.",
  interval: "With few labels an estimate is uncertain. The true value lies in the 95 % interval in about 95 of 100 such cases.",
  certificate: "A promise about one model: with 95 % confidence its gap is at most the bound. It rests on labels of an audit, drawn for this and used for nothing else.",
  audit: "Rows drawn fresh and labelled only to judge the model. While it lasts nothing is trained.",
  budget: "How many labels the study may spend. Labels of audits come on top.",
  "where models disagree": "Rows on which fair models that fit the labels about as well give different answers: their labels decide most.",
  "all groups alike": "Rows drawn evenly over groups and predictions, so that no group is left out.",
  "first batch": "Rows drawn at random before there is a model.",
  agreement: "How often two people gave the same answer to the same row. Krippendorff's alpha is 1 for full agreement and 0 for chance.",
  "one answer for all": "The answer that is right most often, given to everybody: it has no gap and needs no model. A model must beat it.",
  "without a limit": "The same classifier, trained on the same labels without any limit on the gap.",
};

let count = 0;

export function term(name, words = name) {
  const id = `term-${(count += 1)}`;
  const box = el("span", { id, popover: "auto", class: "meaning", role: "note" }, MEANINGS[name]);
  return el("span", { class: "term-of" }, el("button", { type: "button", class: "term", popovertarget: id, "aria-label": `${words}: what is this?` }, words), box);
}
