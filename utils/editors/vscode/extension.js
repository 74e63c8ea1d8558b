// Starts nsacc-lsp-server and shows its diagnostics. The messages are few and plain JSON, so the
// extension speaks the protocol itself and needs no packages.

const { spawn } = require("child_process");
const vscode = require("vscode");

const LANGUAGES = new Set(["nsa", "mlir"]);

class Server {
  constructor(path, diagnostics) {
    this.diagnostics = diagnostics;
    this.buffer = Buffer.alloc(0);
    this.process = spawn(path, [], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.on("error", (error) => {
      vscode.window.showErrorMessage(
        `nsacc: can't start ${path} (${error.message}); set nsacc.server.path.`);
    });
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (data) => this.receive(data));
    this.send({ id: 1, method: "initialize",
                params: { processId: process.pid, rootUri: null, capabilities: {} } });
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
    if (message.id === 1 && message.result) this.send({ method: "initialized", params: {} });
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
    this.send({ id: 2, method: "shutdown", params: null });
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

let server;

function activate(context) {
  const diagnostics = vscode.languages.createDiagnosticCollection("nsacc");
  const path = vscode.workspace.getConfiguration("nsacc").get("server.path");
  server = new Server(path, diagnostics);
  const ours = (document) => LANGUAGES.has(document.languageId);
  vscode.workspace.textDocuments.filter(ours).forEach((document) => server.open(document));
  context.subscriptions.push(
    diagnostics,
    vscode.workspace.onDidOpenTextDocument((document) => ours(document) && server.open(document)),
    vscode.workspace.onDidChangeTextDocument(
      ({ document }) => ours(document) && server.change(document)),
    vscode.workspace.onDidCloseTextDocument((document) => ours(document) && server.close(document)));
}

function deactivate() {
  server?.stop();
}

module.exports = { activate, deactivate };
