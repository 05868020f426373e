/* A page of more than six screens of a phone is read by its titles there: each section is folded, and opened by its title or a link to it. */
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article.bd-article");
  const reference = /\/api\/|\/changes\.html$/.test(location.pathname);
  if (!article || reference || innerWidth > 720 || article.scrollHeight < 5 * innerHeight) return;
  for (const section of article.querySelectorAll(":scope > section > section")) {
    const fold = document.createElement("details");
    const title = document.createElement("summary");
    const heading = section.querySelector(":scope > h2");
    if (!heading) continue;
    fold.className = "fold";
    title.append(heading);
    fold.append(title, ...section.childNodes);
    section.append(fold);
  }
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target.querySelector(":scope > details.fold") || target; at; at = at.parentElement) {
      if (at.matches("details")) at.open = true;
    }
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  open();
});
