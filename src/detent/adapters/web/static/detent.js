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
