//===- Text.cpp - An explanation as a report ------------------------------===//

#include "Numbers.h"
#include "Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::explain;

/// Prints a line, with a column for its heading.
static void printLine(llvm::raw_ostream &os, llvm::StringRef heading,
                      llvm::StringRef text) {
  if (!text.empty())
    os << "  " << llvm::left_justify(heading, 12) << text << '\n';
}

static void printRows(const std::vector<Row> &rows, llvm::raw_ostream &os) {
  for (const Row &row : rows)
    printLine(os, row.heading, row.text);
}

static void printRemarks(llvm::ArrayRef<Remark> remarks,
                         llvm::raw_ostream &os) {
  for (const auto &[remark, places] : groupRemarks(remarks))
    printLine(os, "remark",
              remark->name + " " + remark->kind + places + ": " + remark->text +
                  " [" + remark->pass + "]");
}

static void printOp(const OpExplanation &op, llvm::raw_ostream &os) {
  os << "\nop " << describeOp(op) << '\n';
  printLine(os, "mask", op.mask);
  if (op.map)
    printLine(os, "tiles", describeMap(*op.map));
  for (const auto &[fields, reason] : groupFields(op))
    os << "    " << fields << '\n' << "      " << reason << '\n';
}

void explain::printText(const Explanation &all, llvm::raw_ostream &os) {
  os << "kernel " << all.signature << '\n';
  printLine(os, "for", describeTarget(all));
  printRows(listRows(all), os);
  printRemarks(all.remarks, os);
  for (auto [index, program] : llvm::enumerate(all.programs)) {
    os << llvm::formatv("\nprogram {0} of {1}: {2}\n", index + 1,
                        all.programs.size(), program.name);
    printRows(listRows(program, all), os);
    printRemarks(program.remarks, os);
  }
  for (const OpExplanation &op : all.ops)
    printOp(op, os);
}
