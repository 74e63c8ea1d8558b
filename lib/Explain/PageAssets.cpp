//===- PageAssets.cpp - Styles and scripts of pages -----------------------===//

#include "SVG.h"

using namespace nsacc;

/// Pictures are also shown in notebooks, so the style applies to nothing else.
const llvm::StringLiteral explain::kPictureStyle = R"css(
.nsacc-pictures { --full: #2563a8; --partial: #e0a030; --empty: #eceff3;
  --maybe: #7aa6d4; --edge: #ffffff; --frame: #8a94a3; --words: #1d2530;
  --muted: #5b6675; --loads: #3f8f63; --products: #2563a8; --scores: #c8641c;
  --rescale: #9aa3af; --spills: #8e44ad; --dot: #b3261e; --measured: #2e7d32; }
@media (prefers-color-scheme: dark) {
  .nsacc-pictures { --full: #5c9be0; --partial: #d99b2b; --empty: #262c35;
    --maybe: #3d648f; --edge: #14181e; --frame: #6b7686; --words: #e3e8ef;
    --muted: #9aa6b5; --loads: #56b07e; --products: #5c9be0; --scores: #e08a4a;
    --rescale: #6b7686; --spills: #c58fe0; --dot: #ff8a80; --measured: #81c784; } }
.nsacc-pictures figure { margin: 0; color: var(--words); min-width: 0;
  max-width: 600px; }
.nsacc-pictures figure h3 { margin: 0 0 .5em; font-size: 1em; }
.nsacc-pictures svg { max-width: 100%; height: auto; display: block;
  font: 12px system-ui, sans-serif; }
.nsacc-pictures svg text { fill: var(--words); }
.nsacc-pictures svg .muted { fill: var(--muted); }
.nsacc-pictures .full { fill: var(--full); background: var(--full); }
.nsacc-pictures .partial { fill: var(--partial); background: var(--partial); }
.nsacc-pictures .empty { fill: var(--empty); background: var(--empty); }
.nsacc-pictures .maybe { fill: var(--maybe); background: var(--maybe); }
.nsacc-pictures .maybe-partial { fill: var(--partial);
  background: var(--partial); }
.nsacc-pictures .cell-edge { stroke: var(--edge); stroke-width: .6; }
.nsacc-pictures .frame { fill: none; stroke: var(--frame); }
.nsacc-pictures .loads { fill: var(--loads); background: var(--loads); }
.nsacc-pictures .products { fill: var(--products);
  background: var(--products); }
.nsacc-pictures .scores { fill: var(--scores); background: var(--scores); }
.nsacc-pictures .rescale { fill: var(--rescale); background: var(--rescale); }
.nsacc-pictures .spills { fill: var(--spills); background: var(--spills); }
.nsacc-pictures svg rect.loads, .nsacc-pictures svg rect.products,
.nsacc-pictures svg rect.scores, .nsacc-pictures svg rect.rescale, .nsacc-pictures svg rect.spills {
  stroke: var(--edge); stroke-width: 1; }
.nsacc-pictures .tick { stroke: var(--frame); stroke-width: .5;
  stroke-dasharray: 2 3; }
.nsacc-pictures .ceiling { stroke-width: 2; }
.nsacc-pictures .ceiling-products { stroke: var(--products); }
.nsacc-pictures .ceiling-memory { stroke: var(--loads); }
.nsacc-pictures .ceiling-exponentials { stroke: var(--scores);
  stroke-dasharray: 7 4; }
.nsacc-pictures .swatch.ceiling-products { border-color: var(--products); }
.nsacc-pictures .swatch.ceiling-memory { border-color: var(--loads); }
.nsacc-pictures .swatch.ceiling-exponentials { border-color: var(--scores);
  border-style: dashed; }
.nsacc-pictures .dot { fill: var(--dot); stroke: var(--edge); }
.nsacc-pictures .measured { fill: var(--measured); }
.nsacc-pictures svg .dot-number { fill: var(--edge); font-weight: bold; }
.nsacc-pictures .legend { list-style: none; padding: 0; margin: .5em 0;
  display: flex; flex-wrap: wrap; gap: .25em 1.25em; font-size: .875em; }
.nsacc-pictures .legend li { white-space: normal; margin: 0; }
.nsacc-pictures .swatch { display: inline-block; width: .9em; height: .9em;
  margin-right: .4em; vertical-align: -.1em; border: 1px solid var(--frame); }
.nsacc-pictures .swatch.stroke { width: 1.6em; height: 0;
  border-width: 3px 0 0; vertical-align: .25em; background: none; }
.nsacc-pictures figcaption { font-size: .875em; color: var(--muted); }
)css";

const llvm::StringLiteral explain::kPageStyle = R"css(
:root { color-scheme: light dark; --page: #ffffff; --card: #f7f8fa;
  --text: #1d2530; --soft: #5b6675; --rule: #d5dae1; --link: #1f5fa8;
  --marked: #ffe9a8; --bar: #2563a8; --predicted: #9aa3af; --missed: #a4510f; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181e; --card: #1b2028; --text: #e3e8ef; --soft: #9aa6b5;
    --rule: #343c48; --link: #8ab8f0; --marked: #57471a; --bar: #5c9be0;
    --predicted: #6b7686; --missed: #e6a06a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0 auto; padding: 1.25rem; max-width: 1560px;
  background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h1 small { font-size: 1rem;
  font-weight: normal; color: var(--soft); }
h2 { font-size: 1.2rem; border-bottom: 1px solid var(--rule);
  padding-bottom: .25rem; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: .92em; }
.signature { margin: .25rem 0 .5rem; overflow-wrap: anywhere; }
a { color: var(--link); } nav a { margin-right: 1rem; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
dl { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr);
  gap: .2rem .75rem; margin: 0 0 .75rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.cards { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(460px, 100%), 1fr)); }
article { background: var(--card); border: 1px solid var(--rule);
  border-radius: 6px; padding: .9rem 1rem; min-width: 0; }
.bars { border-collapse: collapse; width: 100%; font-size: .92em;
  margin-bottom: .5rem; }
.bars caption { text-align: left; color: var(--soft); }
.bars th { font-weight: normal; text-align: left; }
.bars th, .bars td { padding: .1rem .5rem .1rem 0; white-space: nowrap; }
.bars .bar { width: 55%; } .bars .bar span { display: block; height: .7em;
  min-width: 2px; background: var(--bar); }
.bars .bar .predicted { background: var(--predicted); }
summary { cursor: pointer; } details { margin: .25rem 0; }
.remarks { padding-left: 1.1rem; margin: .4rem 0; font-size: .92em; }
.remarks small { color: var(--soft); } .remarks .missed b {
  color: var(--missed); }
.figures { display: grid; gap: 2rem 1.5rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(460px, 100%), 1fr)); }
.fields { border-collapse: collapse; margin: .4rem 0 1rem; }
.fields th, .fields td { text-align: left; vertical-align: top;
  padding: .2rem 1rem .2rem 0; border-bottom: 1px solid var(--rule);
  overflow-wrap: anywhere; }
.columns { display: grid; gap: 1rem; align-items: start;
  grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); }
.source { position: sticky; top: .75rem; min-width: 0; }
#source { border: 1px solid var(--rule); border-radius: 6px; padding: .4rem 0;
  overflow: auto; max-height: 80vh; background: var(--card); }
.source-line { white-space: pre; padding-right: .75rem; width: max-content;
  min-width: 100%; } .source-line[role=option] { cursor: pointer; }
.source-line .number { display: inline-block; width: 3.2em; text-align: right;
  padding-right: 1em; color: var(--soft); user-select: none; }
.source-line[role=option] .number { color: var(--link); font-weight: bold; }
.source-line[aria-selected=true] { background: var(--marked); }
.hint { color: var(--soft); font-size: .875em; }
.phases { min-width: 0; } .phase { border: 1px solid var(--rule);
  border-radius: 6px; margin: 0 0 .6rem; } .phase summary { padding: .5rem
  .75rem; } .phase .count { color: var(--soft); }
.phase pre { margin: 0; padding: .5rem .75rem; overflow: auto;
  max-height: 78vh; background: var(--card); border-top: 1px solid var(--rule);
  line-height: 1.35; tab-size: 8; }
footer { margin-top: 2rem; color: var(--soft); font-size: .875em; }
@media (max-width: 760px) { .columns { grid-template-columns: minmax(0, 1fr); }
  .source { position: static; } }
)css";

const llvm::StringLiteral explain::kPageScript = R"js(
(() => {
  const list = document.getElementById("source");
  const options = [...list.querySelectorAll("[role=option]")];
  const mark = document.getElementById("mark");
  const phases = [...document.querySelectorAll(".phase")];
  let chosen = -1;
  const choose = index => {
    if (index < 0 || index >= options.length) return;
    if (chosen >= 0) options[chosen].setAttribute("aria-selected", "false");
    chosen = index;
    const option = options[chosen], line = option.dataset.line;
    option.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", option.id);
    const top = option.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 24)
      list.scrollTop = top - list.clientHeight / 2;
    mark.textContent = ".phase .l" + line + " { background: var(--marked); }";
    for (const phase of phases) {
      const places = [...phase.querySelectorAll(".l" + line)];
      const lines = places.reduce(
        (sum, each) => sum + each.textContent.split("\n").length - 1, 0);
      phase.querySelector(".count").textContent =
        "\u2013 " + lines + " from line " + line;
      phase.dataset.next = 0;
      if (phase.open) goToNext(phase);
    }
  };
  const goToNext = phase => {
    if (chosen < 0) return;
    const places =
      [...phase.querySelectorAll(".l" + options[chosen].dataset.line)];
    if (!places.length) return;
    const next = Number(phase.dataset.next || 0) % places.length;
    phase.dataset.next = next + 1;
    const text = phase.querySelector("pre");
    text.scrollTop += places[next].getBoundingClientRect().top -
      text.getBoundingClientRect().top - 48;
  };
  list.addEventListener("click", event => {
    const index = options.indexOf(event.target.closest("[role=option]"));
    choose(index);
  });
  list.addEventListener("keydown", event => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 0,
      End: options.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(options.length - 1, to)));
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "n" || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const own = document.activeElement.closest(".phase");
    for (const phase of own ? [own] : phases)
      if (phase.open) goToNext(phase);
  });
  for (const phase of phases)
    phase.addEventListener("toggle", () => {
      phase.dataset.next = 0;
      if (phase.open) goToNext(phase);
    });
})();
)js";
