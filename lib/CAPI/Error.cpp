//===- Error.cpp - Error objects of the C interface -----------------------===//

#include "Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc::capi;
using nsacc::frontend::DiagnosticData;

static nsacc_status getStatus(nsacc_error_kind kind) {
  switch (kind) {
  case NSACC_ERROR_KIND_COMPILE:
  case NSACC_ERROR_KIND_ARGUMENT:
  case NSACC_ERROR_KIND_TARGET:
  case NSACC_ERROR_KIND_FILE:
  case NSACC_ERROR_KIND_INTERRUPTED:
    return NSACC_ERROR_USER;
  case NSACC_ERROR_KIND_USAGE:
    return NSACC_ERROR_USAGE;
  case NSACC_ERROR_KIND_INTERNAL:
    return NSACC_ERROR_INTERNAL;
  }
  return NSACC_ERROR_INTERNAL;
}

Failure nsacc::capi::fail(nsacc_error_kind kind, std::string message) {
  auto failure = std::make_unique<nsacc_error>();
  failure->kind = kind;
  failure->text = message;
  failure->message = std::move(message);
  return failure;
}

std::vector<nsacc_diagnostic>
nsacc::capi::toC(std::vector<DiagnosticData> diagnostics,
                 llvm::MemoryBufferRef source) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(source,
                                       /*RequiresNullTerminator=*/false),
      llvm::SMLoc());
  std::vector<nsacc_diagnostic> result;
  for (DiagnosticData &diagnostic : diagnostics) {
    std::string text;
    llvm::raw_string_ostream os(text);
    frontend::print(diagnostic, sources, os);
    result.emplace_back(std::move(diagnostic)).text = std::move(text);
  }
  return result;
}

Failure nsacc::capi::fail(nsacc_error_kind kind,
                          std::vector<DiagnosticData> diagnostics,
                          llvm::MemoryBufferRef source) {
  auto isError = [](const DiagnosticData &diagnostic) {
    return diagnostic.severity == DiagnosticData::Severity::Error;
  };
  // Errors come first: readers of the first line alone should see the error.
  std::vector<DiagnosticData> ordered;
  for (bool ofErrors : {true, false})
    for (DiagnosticData &diagnostic : diagnostics)
      if (isError(diagnostic) == ofErrors)
        ordered.push_back(std::move(diagnostic));
  Failure failure = fail(kind, "the program doesn't compile");
  failure->diagnostics = toC(std::move(ordered), source);
  failure->text.clear();
  for (const nsacc_diagnostic &diagnostic : failure->diagnostics)
    failure->text += diagnostic.text;
  if (!failure->diagnostics.empty() &&
      isError(failure->diagnostics.front().data))
    failure->message = failure->diagnostics.front().data.message;
  return failure;
}

nsacc_status nsacc::capi::report(Failure failure, nsacc_error **error) {
  if (!failure)
    return NSACC_OK;
  nsacc_status status = getStatus(failure->kind);
  if (error)
    *error = failure.release();
  return status;
}

nsacc_status nsacc_error_status(const nsacc_error *error) {
  return error ? getStatus(error->kind) : NSACC_OK;
}

nsacc_error_kind nsacc_error_get_kind(const nsacc_error *error) {
  return error ? error->kind : static_cast<nsacc_error_kind>(0);
}

const char *nsacc_error_message(const nsacc_error *error) {
  return error ? error->message.c_str() : nullptr;
}

const char *nsacc_error_text(const nsacc_error *error) {
  return error ? error->text.c_str() : nullptr;
}

size_t nsacc_error_num_diagnostics(const nsacc_error *error) {
  return error ? error->diagnostics.size() : 0;
}

const nsacc_diagnostic *nsacc_error_diagnostic(const nsacc_error *error,
                                               size_t index) {
  return error ? at(error->diagnostics, index) : nullptr;
}

void nsacc_error_destroy(nsacc_error *error) { delete error; }

nsacc_diagnostic::nsacc_diagnostic(DiagnosticData data)
    : data(std::move(data)) {
  for (DiagnosticData &note : this->data.notes)
    notes.emplace_back(std::move(note));
  this->data.notes.clear();
}

static nsacc_severity toC(DiagnosticData::Severity severity) {
  switch (severity) {
  case DiagnosticData::Severity::Error:
    return NSACC_SEVERITY_ERROR;
  case DiagnosticData::Severity::Warning:
    return NSACC_SEVERITY_WARNING;
  case DiagnosticData::Severity::Remark:
    return NSACC_SEVERITY_REMARK;
  case DiagnosticData::Severity::Note:
    return NSACC_SEVERITY_NOTE;
  }
  return NSACC_SEVERITY_ERROR;
}

nsacc_severity nsacc_diagnostic_severity(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? toC(diagnostic->data.severity)
                    : static_cast<nsacc_severity>(0);
}

const char *nsacc_diagnostic_severity_name(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? nsacc::frontend::getName(diagnostic->data.severity).data()
                    : nullptr;
}

const char *nsacc_diagnostic_message(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->data.message.c_str() : nullptr;
}

const char *nsacc_diagnostic_text(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->text.c_str() : nullptr;
}

const char *nsacc_diagnostic_file(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->data.file.c_str() : nullptr;
}

uint32_t nsacc_diagnostic_line(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->data.line : 0;
}

uint32_t nsacc_diagnostic_column(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->data.column : 0;
}

uint32_t nsacc_diagnostic_end_line(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->data.endLine : 0;
}

uint32_t nsacc_diagnostic_end_column(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->data.endColumn : 0;
}

size_t nsacc_diagnostic_num_notes(const nsacc_diagnostic *diagnostic) {
  return diagnostic ? diagnostic->notes.size() : 0;
}

const nsacc_diagnostic *
nsacc_diagnostic_note(const nsacc_diagnostic *diagnostic, size_t index) {
  return diagnostic ? at(diagnostic->notes, index) : nullptr;
}
