// Starts nsacc-lsp-server, shows its diagnostics and asks it about names. The messages are few and plain JSON, so the
// extension speaks the protocol itself and needs no packages.

const { spawn } = require("child_process");
const vscode = require("vscode");

const LANGUAGES = new Set(["nsa", "mlir"]);

class Server {
  constructor(path, diagnostics) {
    this.diagnostics = diagnostics;
    this.requests = new Map();
    this.lastRequest = 0;
    this.buffer = Buffer.alloc(0);
    this.process = spawn(path, [], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.on("error", (error) => {
      vscode.window.showErrorMessage(
        `nsacc: can't start ${path} (${error.message}); set nsacc.server.path.`);
    });
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (data) => this.receive(data));
    this.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} })
      .then(() => this.send({ method: "initialized", params: {} }));
  }

  // The result of a request, or null if there is none.
  request(method, params) {
    const id = ++this.lastRequest;
    this.send({ id, method, params });
    return new Promise((resolve) => this.requests.set(id, resolve));
  }

  ask(what, document, { line, character }, more = {}) {
    return this.request(`textDocument/${what}`, {
      textDocument: { uri: document.uri.toString() }, position: { line, character }, ...more });
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }), "utf8");
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  receive(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const end = this.buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const header = this.buffer.toString("ascii", 0, end);
      const length = Number(/Content-Length: (\d+)/i.exec(header)[1]);
      if (this.buffer.length < end + 4 + length) return;
      const body = this.buffer.toString("utf8", end + 4, end + 4 + length);
      this.buffer = this.buffer.subarray(end + 4 + length);
      this.handle(JSON.parse(body));
    }
  }

  handle(message) {
    this.requests.get(message.id)?.(message.result ?? null);
    this.requests.delete(message.id);
    if (message.method !== "textDocument/publishDiagnostics") return;
    const uri = vscode.Uri.parse(message.params.uri);
    this.diagnostics.set(uri, message.params.diagnostics.map(toDiagnostic));
  }

  open(document) {
    this.send({ method: "textDocument/didOpen", params: { textDocument: {
      uri: document.uri.toString(), languageId: document.languageId,
      version: document.version, text: document.getText() } } });
  }

  change(document) {
    this.send({ method: "textDocument/didChange", params: {
      textDocument: { uri: document.uri.toString(), version: document.version },
      contentChanges: [{ text: document.getText() }] } });
  }

  close(document) {
    this.send({ method: "textDocument/didClose",
                params: { textDocument: { uri: document.uri.toString() } } });
  }

  stop() {
    this.request("shutdown", null);
    this.send({ method: "exit", params: null });
    this.process.stdin.end();
  }
}

function toRange(range) {
  return new vscode.Range(range.start.line, range.start.character,
                          range.end.line, range.end.character);
}

function toDiagnostic(item) {
  // The protocol counts severities from 1, the editor from 0.
  const severity = (item.severity ?? 1) - 1;
  const diagnostic = new vscode.Diagnostic(toRange(item.range), item.message, severity);
  diagnostic.source = item.source;
  diagnostic.relatedInformation = (item.relatedInformation ?? []).map((note) =>
    new vscode.DiagnosticRelatedInformation(
      new vscode.Location(vscode.Uri.parse(note.location.uri), toRange(note.location.range)),
      note.message));
  return diagnostic;
}

// Markup, or text, or a list of both.
function toMarkdown(contents) {
  return [contents].flat().map((part) => new vscode.MarkdownString(part.value ?? part));
}

// One place, a list of them, or none.
function toLocations(found) {
  return [found ?? []].flat().map((place) =>
    new vscode.Location(vscode.Uri.parse(place.uri), toRange(place.range)));
}

async function provideHover(document, position) {
  const found = await server.ask("hover", document, position);
  return found && new vscode.Hover(toMarkdown(found.contents), found.range && toRange(found.range));
}

async function provideDefinition(document, position) {
  return toLocations(await server.ask("definition", document, position));
}

async function provideReferences(document, position, context) {
  return toLocations(await server.ask("references", document, position, { context }));
}

async function provideCompletionItems(document, position) {
  const found = await server.ask("completion", document, position);
  return (found?.items ?? found ?? []).map((each) => {
    // The protocol counts kinds from 1, the editor from 0.
    const item = new vscode.CompletionItem(each.label, (each.kind ?? 1) - 1);
    item.detail = each.detail;
    return item;
  });
}

let server;

function activate(context) {
  const diagnostics = vscode.languages.createDiagnosticCollection("nsacc");
  const path = vscode.workspace.getConfiguration("nsacc").get("server.path");
  server = new Server(path, diagnostics);
  const ours = (document) => LANGUAGES.has(document.languageId);
  vscode.workspace.textDocuments.filter(ours).forEach((document) => server.open(document));
  const selector = [...LANGUAGES];
  context.subscriptions.push(
    diagnostics,
    vscode.languages.registerHoverProvider(selector, { provideHover }),
    vscode.languages.registerDefinitionProvider(selector, { provideDefinition }),
    vscode.languages.registerReferenceProvider(selector, { provideReferences }),
    vscode.languages.registerCompletionItemProvider(selector, { provideCompletionItems }),
    vscode.workspace.onDidOpenTextDocument((document) => ours(document) && server.open(document)),
    vscode.workspace.onDidChangeTextDocument(
      ({ document }) => ours(document) && server.change(document)),
    vscode.workspace.onDidCloseTextDocument((document) => ours(document) && server.close(document)));
}

function deactivate() {
  server?.stop();
}

module.exports = { activate, deactivate };
