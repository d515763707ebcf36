// What HTML has no words for: keys that move between questions, and an answer as it is given.
"use strict";

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const cards = [...document.querySelectorAll(".question[id]")];
  const here = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[here < 0 ? (step > 0 ? 0 : cards.length - 1) : here + step];
  if (next) next.focus(); // no key decides anything: that takes a button
});

// A click is for what was there when it was aimed: a card that has just come, or has moved, takes
// none until it could be seen. So no question that somebody else brings up is answered in place of
// another one.
const SEEN_MS = 1000;
const cards = new Map(); // by id, where it stands and from when on it takes clicks

const lookAtCards = (from) => {
  for (const card of document.querySelectorAll(".question[id]")) {
    const place = card.offsetTop;
    if (cards.get(card.id)?.place !== place) cards.set(card.id, { place, from });
  }
};

document.addEventListener("DOMContentLoaded", () => {
  lookAtCards(0);
  const look = () => lookAtCards(performance.now() + SEEN_MS);
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
});

document.addEventListener("click", (event) => {
  const card = event.target.closest(".question[id]");
  if (card && performance.now() < cards.get(card.id)?.from) event.preventDefault();
}, { capture: true });

document.addEventListener("piece", (event) => {
  const place = document.getElementById("pieces");
  if (place) place.append(JSON.parse(event.detail.data).text);
});

document.addEventListener("changed", () => {
  const place = document.getElementById("pieces");
  if (place) place.replaceChildren();
});

document.addEventListener("input", (event) => {
  const slider = event.target;
  const place = slider.id === "at" && document.getElementById("where");
  if (place) place.textContent = `${slider.value} of ${slider.max}`;
});
