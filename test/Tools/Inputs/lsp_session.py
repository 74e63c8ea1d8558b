"""Talks to a language server as an editor that leaves its pipe open: lsp_session.py SERVER SPEC.

Functions and names of the specification's sections 2.3 and 2.4 have a hover.
The server has to end by itself behind `exit`: with 0 where `shutdown` came before, else with 1."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

BROKEN = "kernel f(q: [B, T]) -> [B, T] {\n  scaled = q * 2;\n  return scaled + nowhere;\n}\n"
LABELS = ("kernel f<top = 2>(q: [B, T, H, D]) -> i32[B, T, H, top] {\n"
          "  return indices(topk(score(attend(q, pool(q, 4))), top=top));\n}\n")
Server = subprocess.Popen


def send(server: Server, method: str, params: Any, number: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    assert server.stdin
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def receive(stream: BinaryIO, number: int) -> Any:
    """The answer to a request; what comes before it is skipped."""
    while True:
        length = 0
        while line := stream.readline().strip():
            if line.startswith(b"Content-Length:"):
                length = int(line.split(b":")[1])
        message = json.loads(stream.read(length))
        if message.get("id") == number:
            return message.get("result")


def start(path: str) -> Server:
    server = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    send(server, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    assert server.stdout
    answer = receive(server.stdout, 1)
    assert answer["serverInfo"]["name"] == "nsacc-lsp-server", answer
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", answer["serverInfo"]["version"]), answer
    assert {"hoverProvider", "referencesProvider"} <= answer["capabilities"].keys(), answer
    send(server, "initialized", {})
    return server


def open_text(server: Server, name: str, text: str) -> dict:
    document = {"uri": f"file:///{name}.nsa", "languageId": "nsa", "version": 1, "text": text}
    send(server, "textDocument/didOpen", {"textDocument": document})
    return {"uri": document["uri"]}


def list_words(spec: Path) -> list[str]:
    text = spec.read_text()
    tables = text[text.index("\n### 2.3 "):text.index("\n### 2.5 ")]
    cells = re.findall(r"^\| (`.*?) \|", tables, re.MULTILINE)
    words = [word for cell in cells for word in re.findall(r"`([a-zG]\w*)(?:\([^`]*\))?`", cell)]
    return [word for word in words if word != "name"]


def check_words(server: Server, words: list[str]) -> None:
    assert len(words) >= 40, words
    place = open_text(server, "words", "\n".join(words))
    for line, word in enumerate(words):
        send(server, "textDocument/hover",
             {"textDocument": place, "position": {"line": line, "character": 0}}, 100 + line)
        found = receive(server.stdout, 100 + line)
        assert found and word in found["contents"]["value"], f"no hover of '{word}': {found}"


def check_references(server: Server) -> None:
    place = open_text(server, "labels", LABELS)
    for number, (declared, expected) in enumerate(((True, [(0, 9), (0, 51), (1, 56)]),
                                                   (False, [(0, 51), (1, 56)]))):
        send(server, "textDocument/references",
             {"textDocument": place, "position": {"line": 0, "character": 10},
              "context": {"includeDeclaration": declared}}, 10 + number)
        found = [one["range"]["start"] for one in receive(server.stdout, 10 + number)]
        assert [(one["line"], one["character"]) for one in found] == expected, found


def main(path: str, spec: str) -> None:
    server = start(path)
    check_words(server, list_words(Path(spec)))
    check_references(server)
    document = {"uri": "file:///f.nsa", "languageId": "nsa", "version": 1, "text": BROKEN}
    send(server, "textDocument/didOpen", {"textDocument": document})
    place = {"textDocument": {"uri": "file:///f.nsa"}, "position": {"line": 2, "character": 12}}
    send(server, "textDocument/hover", place, 2)
    assert "scaled = q * 2" in receive(server.stdout, 2)["contents"]["value"]
    send(server, "textDocument/definition", place, 3)
    assert receive(server.stdout, 3)["range"]["start"] == {"line": 1, "character": 2}
    send(server, "shutdown", None, 4)
    receive(server.stdout, 4)
    send(server, "exit", None)
    assert server.wait(timeout=60) == 0
    abrupt = start(path)
    send(abrupt, "exit", None)
    assert abrupt.wait(timeout=60) == 1


main(sys.argv[1], sys.argv[2])
