// What the theme leaves out for those who hear the page, or use no mouse. Its own scripts add parts later.
function mend() {
  for (const line of document.querySelectorAll("a[id^='__codelineno'][href]")) line.removeAttribute("href"); // links without a word
  for (const choice of document.querySelectorAll("input.md-option[aria-hidden]:not([hidden])")) choice.hidden = true; // the system chooses
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) table.tabIndex = 0; // keys scroll it
  for (const part of document.querySelectorAll("nav nav:not([role]), nav.md-code__nav:not([role])")) {
    part.setAttribute("role", "none"); // lists inside one landmark, and not forty of them
    for (const said of ["aria-label", "aria-labelledby", "aria-expanded"]) part.removeAttribute(said);
  }
  for (const corner of document.querySelectorAll("th:empty:not([role])")) corner.setAttribute("role", "cell");
}
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
