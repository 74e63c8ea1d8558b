"""The page of `nsacc explain --html` and Program.explain: its data, and its look in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

import nsacc
from harness import EXAMPLES

STATIC_PAGE = EXAMPLES.parent / "lib/Explain/Page.html"
SIZES = {"B": 1, "T": 512, "S": 512, "HQ": 8, "H": 2, "D": 64, "DV": 64}
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

# Runs in the page: chooses line 6 by keys, opens every phase, and records the page's state.
PROBE = """
<script>
addEventListener("load", () => {
  const list = document.getElementById("source");
  list.focus();
  for (let press = 0; press < 50; ++press) {
    const chosen = list.querySelector("[aria-selected=true]");
    if (chosen && chosen.dataset.line === "LINE") break;
    list.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  }
  for (const each of document.querySelectorAll("details")) each.open = true;
  const overlaps = [];
  for (const picture of document.querySelectorAll("svg")) {
    const words = [...picture.querySelectorAll("text")];
    const boxes = words.map(each => each.getBoundingClientRect());
    const frame = picture.getBoundingClientRect();
    words.forEach((word, index) => {
      const box = boxes[index];
      if (box.left < frame.left - 1 || box.right > frame.right + 1)
        overlaps.push(word.textContent + " leaves its picture");
      for (let other = 0; other < index; ++other) {
        const theirs = boxes[other];
        if (box.left < theirs.right && theirs.left < box.right &&
            box.top < theirs.bottom && theirs.top < box.bottom)
          overlaps.push(word.textContent + " over " + words[other].textContent);
      }
    });
  }
  const marked = {};
  for (const phase of document.querySelectorAll(".phase"))
    marked[phase.dataset.phase] = phase.querySelectorAll(".lLINE").length &&
      getComputedStyle(phase.querySelector(".lLINE")).backgroundColor !== "rgba(0, 0, 0, 0)";
  const found = document.createElement("script");
  found.type = "application/json";
  found.id = "found";
  found.textContent = JSON.stringify({ overlaps, marked,
    width: document.documentElement.scrollWidth, shown: innerWidth });
  document.body.append(found);
});
</script></body>"""


# Runs in a page with a frame for each page, and records every frame's state.
FRAMES = """
<script>
addEventListener("load", () => {
  const states = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument;
    const odd = [...page.querySelectorAll("svg, svg *")].flatMap(each =>
      [...each.attributes].filter(({ value }) => /NaN|Infinity|undefined|null/.test(value))
        .map(({ name, value }) => `${each.tagName} ${name}="${value}"`));
    return { title: page.title, odd, height: frame.clientHeight,
      shown: page.documentElement.scrollHeight,
      broken: [...page.querySelectorAll(".broken")].map(each => each.textContent),
      figures: [...page.querySelectorAll("figure h3")].map(each => each.textContent),
      labels: [...page.querySelectorAll("svg")].map(each => each.getAttribute("aria-label")),
      text: page.body.textContent };
  });
  const found = document.createElement("script");
  found.type = "application/json";
  found.id = "found";
  found.textContent = JSON.stringify(states).replaceAll("<", "\\\\u003c");
  document.body.append(found);
});
</script></body>"""


def find_browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    pytest.skip(f"there is no browser to look at the page: none of {', '.join(BROWSERS)} is on "
                f"the PATH")


def browse(page: Path, *flags: str) -> str:
    command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               f"--user-data-dir={page.parent / 'profile'}", *flags, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def read_pixels(png: bytes) -> bytes:
    """The filtered bytes of a picture: enough to see that there is something on it."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    data, at = b"", 8
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += length + 12
    return zlib.decompress(data)


def read_found(dom: str) -> Any:
    """The record that a probe left."""
    return json.loads(re.search(r'id="found">(.*?)</script>', dom, re.DOTALL)[1])


def browse_frames(tmp_path: Path, frames: list[str]) -> list[dict[str, Any]]:
    page = tmp_path / "frames.html"
    page.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body>{''.join(frames)}{FRAMES}")
    return read_found(browse(page, "--virtual-time-budget=10000", "--dump-dom"))


def read_data(page: str) -> Any:
    """The JSON within a page."""
    block = re.search(r'<script type="application/json" id="explanation">([^<]*)</script>', page)[1]

    def refuse(number: str) -> None:
        raise ValueError(f"{number} is no JSON")

    return json.loads(block, parse_constant=refuse)


@pytest.fixture(scope="module")
def explanation() -> nsacc.Explanation:
    return nsacc.compile(EXAMPLES / "flash.nsa", target="sm_90a").explain(SIZES)


def test_pages_are_the_static_one_with_data(explanation):
    data = read_data(explanation.html)
    head, tail = STATIC_PAGE.read_text().split(">null</script>")
    assert explanation.html.startswith(head + ">") and explanation.html.endswith("</script>" + tail)
    assert data == data | explanation.data
    assert sorted(data.keys() - explanation.data.keys()) == ["phases", "source", "version"]


def test_pages_have_the_lines_of_the_report(explanation):
    data = explanation.data
    places = [data, *data["programs"]]
    for row in [row for place in places for row in place["rows"]]:
        assert f"  {row['heading']:12}{row['text']}\n" in explanation.text
    for op in data["ops"]:
        for each in op["reasons"]:
            assert f"    {each['fields']}\n      {each['reason']}\n" in explanation.text
    main = data["programs"][0]
    floors = sorted(main["floors_ms"], key=main["floors_ms"].get, reverse=True)
    assert [bar["name"] for bar in main["bars"]] == [*floors, "L2 cache", "predicted"]
    assert main["bars"][-1]["ms"] == main["predicted_ms"]


def test_lines_of_phases_come_from_the_source(explanation):
    data = read_data(explanation.html)
    assert data["source"]["text"] == (EXAMPLES / "flash.nsa").read_text().rstrip("\n")
    assert [phase["name"] for phase in data["phases"]] == [
        "frontend", "nsa", "tile", "tile-opt", "nvvm", "ptx"]
    for phase in data["phases"]:
        lines, begin, attends = phase["text"].split("\n"), 0, []
        for count, *source in phase["runs"]:
            if 6 in source:
                attends += lines[begin:begin + count]
            begin += count
        assert begin == len(lines)
        assert attends, phase["name"]
        if phase["name"] in ("frontend", "nsa"):
            assert any("nsa.attend" in line for line in attends)


def test_steps_and_ceilings_are_data(explanation):
    op = explanation.data["ops"][0]
    timeline, cycles = op["timeline"], op["step_cycles"]
    assert timeline["cycles"] == cycles["all"]
    parts = {part["kind"]: part for part in timeline["parts"]}
    for kind in ("loads", "products", "scores", "rescale"):
        assert parts[kind]["end"] - parts[kind]["begin"] == pytest.approx(cycles[kind])
        assert parts[kind]["lane"] in timeline["lanes"]
    roofline, main = explanation.data["roofline"], explanation.data["programs"][0]
    assert {each["kind"]: each.get("flop_per_s") for each in roofline["ceilings"]} == {
        "products": explanation.data["rates"]["products_per_s"], "memory": None,
        "exponentials": pytest.approx(256 * explanation.data["rates"]["exponentials_per_s"])}
    dot, = roofline["dots"]
    assert dot["flop_per_s"] == pytest.approx(
        main["work"]["operations"] / main["predicted_ms"] * 1e3)
    assert dot["flop_per_byte"] == pytest.approx(main["work"]["operations"] / main["work"]["bytes"])


def test_frames_of_notebooks_hold_the_page(explanation):
    frame = explanation._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == explanation.html


def test_pages_need_no_other_file(explanation):
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", explanation.html)
    assert "@import" not in explanation.html


@pytest.mark.parametrize("width", [1000, 1600])
@pytest.mark.parametrize("name, target, line", [
    ("flash", "sm_90a", 6), ("nsa", "sm_80", 11), ("nsa", "cpu", 12)])
def test_pages_are_readable_in_a_browser(tmp_path, name, target, line, width):
    find_browser()
    program = nsacc.compile(EXAMPLES / f"{name}.nsa", target=target)
    page = tmp_path / "page.html"
    text = program.explain(SIZES).html
    page.write_text(text.replace("</body>", PROBE.replace("LINE", str(line))))
    dom = browse(page, f"--window-size={width},2400", "--virtual-time-budget=5000", "--dump-dom")
    for section in ("summary", "programs", "pictures", "schedules", "code"):
        assert f'<section id="{section}">' in dom
    assert dom.count("<svg") >= 3
    found = read_found(dom)
    assert found["overlaps"] == []
    assert found["width"] <= found["shown"], "the page is wider than its window"
    phases = ("frontend", "nsa", "tile", "tile-opt", "nvvm", "ptx")
    assert found["marked"] == {phase: True for phase in
                               (phases[:3] if target == "cpu" else phases)}

    picture = tmp_path / "page.png"
    page.write_text(text)
    browse(page, f"--window-size={width},2400", f"--screenshot={picture}")
    pixels = read_pixels(picture.read_bytes())
    assert len(set(pixels)) > 64, "the page is blank"



HOSTILE = """// </script><script>document.title = "taken"</script><!-- <script> &amp; é
kernel f(q: [B, T, H, D]) -> [B, T, H, D] { return attend(q, q, q) where j <= i; }
"""


def test_no_text_ends_the_data(tmp_path):
    page = nsacc.compile(HOSTILE).explain({"B": 1, "T": 64, "H": 1, "D": 16}).html
    assert read_data(page)["source"]["text"] == HOSTILE.rstrip("\n")
    found, = browse_frames(tmp_path, [make_frame(page)])
    assert found["title"] == "f for cpu"
    assert HOSTILE.split("\n")[0] in found["text"]


def test_odd_bytes_of_names_are_replaced(tmp_path):
    command = shutil.which("nsacc")
    assert command, "nsacc isn't on PATH: build it, and add build/dev/bin"
    source = tmp_path / "odd\udcff.nsa"
    source.write_text(HOSTILE)
    arguments = [command, "explain", source, "--dims", "B=1,T=64,H=1,D=16"]
    page = subprocess.run([*arguments, "--html", "-"], check=True, capture_output=True).stdout
    data = read_data(page.decode())
    assert data["source"]["file"].endswith("odd\ufffd.nsa")
    numbers = subprocess.run([*arguments, "--json"], check=True, capture_output=True).stdout
    assert json.loads(numbers)["ops"][0]["place"]["file"].endswith("odd\ufffd.nsa")


def make_frame(page: str) -> str:
    return f'<iframe srcdoc="{html.escape(page)}"></iframe>'


def test_every_picture_of_real_works_is_drawn(tmp_path):
    """Dense, sparse, pooled, paged and ragged works, one query and none, on a GPU and a CPU."""
    find_browser()
    long = {**SIZES, "T": 4096, "S": 4096}
    pages = {**SIZES, "T": 1, "S": 8192, "P": 512}
    works = [("flash", "sm_90a", long), ("flash", "cpu", long),
             ("flash", "sm_80", {**SIZES, "T": 1}), ("flash", "cpu", {**SIZES, "T": 0, "S": 0}),
             ("nsa", "sm_90a", SIZES),
             ("nsa", "cpu", SIZES), ("moba", "sm_90a", {**SIZES, "HQ": 2}),
             ("moba", "cpu", {**SIZES, "HQ": 2}), ("paged_decode", "sm_90a", pages),
             ("paged_decode", "cpu", pages),
             ("hstu_bsa", "cpu", {"T": [5, 0, 127], "H": 2, "D": 16, "DV": 16})]
    programs = [nsacc.compile(EXAMPLES / f"{name}.nsa", target=target)
                for name, target, _ in works]
    explanations = [program.explain(sizes) for program, (_, _, sizes) in zip(programs, works)]
    frames = browse_frames(tmp_path, [make_frame(each.html) for each in explanations])
    for work, explanation, found in zip(works, explanations, frames, strict=True):
        data = explanation.data
        assert (found["broken"], found["odd"]) == ([], []), work
        assert found["title"] == f"{data['kernel']} for {data['target']}"
        expected = [f"{what} of {op['name']}"
                    for what, key in (("Tiles", "tiles"), ("Steps", "timeline"))
                    for op in data["ops"]
                    if op.get(key) and op[key].get("cells", True)]
        assert found["figures"] == expected + ["Roofline"] * bool(data["roofline"]), work
        assert len(found["labels"]) == len(found["figures"]) and all(found["labels"])
        ops = data["ops"]
        texts = [row["text"] for place in (data, *data["programs"]) for row in place["rows"]
                 if row["heading"] != "floors"]
        texts += [text for op in ops for each in op["reasons"] for text in each.values()]
        texts += [text for op in ops if op.get("tiles") and op["tiles"]["cells"]
                  for text in (op["tiles"]["caption"], *op["tiles"]["legend"].values())]
        texts += [part["text"] for op in ops if op.get("timeline")
                  for part in op["timeline"]["parts"]]
        texts += [bar["text"] for program in data["programs"] for bar in program["bars"]]
        texts += [remark["text"] for place in (data, *data["programs"])
                  for remark in place["remarks"]]
        assert [text for text in texts if text not in found["text"]] == [], work


def test_frames_of_programs_show_their_tiles(tmp_path):
    """Frames of notebooks are as high as their pictures."""
    programs = [nsacc.compile(EXAMPLES / f"{name}.nsa") for name in ("flash", "nsa")]
    for program in programs:
        program._known_sizes = SIZES
    flash, nsa = browse_frames(tmp_path, [program._repr_html_() for program in programs])
    assert flash["figures"] == ["Tiles of a"]
    assert nsa["figures"] == ["Tiles of cmp", "Tiles of slc", "Tiles of swa"]
    for found in (flash, nsa):
        assert (found["broken"], found["odd"]) == ([], [])
        assert found["height"] >= found["shown"] > 200


def test_pages_without_good_data_say_so(tmp_path):
    page = STATIC_PAGE.read_text()
    broken = page.replace(">null</script>", '>{"kernel": </script>')
    lacking = page.replace(">null</script>", """>{"kernel": "f", "ops": [], "roofline": {
        "ceilings": [{"kind": "products", "flop_per_s": 1}, {"kind": "memory", "bytes_per_s": 1}],
        "dots": [{"flop_per_byte": 1, "flop_per_s": 0}]}}</script>""")
    empty, wrong, part = browse_frames(tmp_path, list(map(make_frame, (page, broken, lacking))))
    assert "nsacc explain --html writes one" in empty["broken"][0]
    assert "This page can't be drawn" in wrong["broken"][0]
    assert part["broken"] == ["The roofline can't be drawn: an axis is from 0 to 1.5"]
