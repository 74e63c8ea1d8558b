//===- ProgramNames.cpp - Names of a program for editors ------------------===//

#include "ProgramNames.h"
#include "Lines.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Frontend/Outline.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;
using namespace llvm;

namespace {

/// A word of a program, in bytes.
struct WordAt {
  StringRef name;
  size_t begin = 0, end = 0;
};

} // namespace

static bool isOfWord(char c) { return isAlnum(c) || c == '_'; }

/// The word at `offset`; empty if there is none.
static WordAt findWord(StringRef text, size_t offset) {
  WordAt word;
  word.begin = word.end = std::min(offset, text.size());
  while (word.begin > 0 && isOfWord(text[word.begin - 1]))
    --word.begin;
  while (word.end < text.size() && isOfWord(text[word.end]))
    ++word.end;
  word.name = text.slice(word.begin, word.end);
  return word;
}

static bool isKnownAt(const frontend::Definition &definition, size_t offset) {
  return definition.kernelBegin <= offset && offset <= definition.kernelEnd;
}

static std::optional<frontend::Definition> find(StringRef text,
                                                const WordAt &word) {
  for (frontend::Definition &each : frontend::listDefinitions(text))
    if (each.name == word.name && isKnownAt(each, word.begin))
      return std::move(each);
  return std::nullopt;
}

/// The type of a statement's value; empty if the program has errors.
static std::string findType(StringRef text, StringRef kernel, StringRef name) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  auto module = frontend::compile(MemoryBufferRef(text, ""),
                                  frontend::Options(), context);
  std::string type;
  if (!module)
    return type;
  auto found = module->lookupSymbol<nsa::KernelOp>(kernel);
  if (!found)
    return type;
  for (mlir::Operation &op : found.getBody().front())
    if (auto own = op.getLoc()->findInstanceOf<mlir::NameLoc>();
        own && own.getName() == name && op.getNumResults() > 0)
      raw_string_ostream(type) << op.getResult(0).getType();
  return type;
}

static lsp::Hover makeHover(lsp::Range range, const Twine &code,
                            const Twine &meaning) {
  lsp::Hover hover(range);
  hover.contents.kind = lsp::MarkupKind::Markdown;
  hover.contents.value = ("```nsa\n" + code + "\n```" + "\n" + meaning).str();
  return hover;
}

std::optional<lsp::Hover> nsacc::findHover(StringRef text,
                                           lsp::Position place) {
  Lines lines(text);
  WordAt word = findWord(text, lines.getOffset(place));
  if (word.name.empty())
    return std::nullopt;
  lsp::Range range = lines.getRange(word.begin, word.end);
  if (auto own = find(text, word)) {
    StringRef kernel = findWord(text, own->kernelBegin).name;
    return makeHover(range, own->text, findType(text, kernel, word.name));
  }
  for (const frontend::Word &each : frontend::getWords())
    if (each.name == word.name)
      return makeHover(range, each.form, each.meaning);
  return std::nullopt;
}

std::optional<lsp::Location> nsacc::findDefinition(const lsp::URIForFile &uri,
                                                   StringRef text,
                                                   lsp::Position place) {
  Lines lines(text);
  auto own = find(text, findWord(text, lines.getOffset(place)));
  if (!own)
    return std::nullopt;
  return lsp::Location(uri, lines.getRange(own->begin, own->end));
}

std::vector<lsp::Location> nsacc::listReferences(const lsp::URIForFile &uri,
                                                 StringRef text,
                                                 lsp::Position place,
                                                 bool withDefinition) {
  Lines lines(text);
  std::vector<lsp::Location> found;
  auto own = find(text, findWord(text, lines.getOffset(place)));
  if (!own)
    return found;
  for (auto [begin, end] : frontend::listUses(text, *own))
    if (withDefinition || begin != own->begin)
      found.emplace_back(uri, lines.getRange(begin, end));
  return found;
}

lsp::CompletionList nsacc::listCompletions(StringRef text,
                                           lsp::Position place) {
  lsp::CompletionList list;
  StringSet<> known;
  auto add = [&](StringRef name, lsp::CompletionItemKind kind,
                 StringRef detail) {
    if (!known.insert(name).second)
      return;
    lsp::CompletionItem item(name, kind);
    item.detail = detail.str();
    list.items.push_back(std::move(item));
  };
  size_t offset = Lines(text).getOffset(place);
  for (const frontend::Definition &each : frontend::listDefinitions(text))
    if (isKnownAt(each, offset))
      add(each.name, lsp::CompletionItemKind::Variable, each.text);
  for (const frontend::Word &each : frontend::getWords())
    add(each.name, lsp::CompletionItemKind::Function, each.form);
  for (StringRef keyword : frontend::getKeywords())
    add(keyword, lsp::CompletionItemKind::Keyword, "");
  return list;
}
