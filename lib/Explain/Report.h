//===- Report.h - Lines of reports and data of pictures ---------*- C++ -*-===//

#ifndef NSACC_LIB_EXPLAIN_REPORT_H
#define NSACC_LIB_EXPLAIN_REPORT_H

#include "nsacc/Explain/Explanation.h"

namespace nsacc::explain {

/// A line of the report: "predicted", and "231 us by the model".
struct Row {
  llvm::StringRef heading;
  std::string text;
};

/// The lines about the whole kernel, and about a program.
std::vector<Row> listRows(const Explanation &all);
std::vector<Row> listRows(const ProgramExplanation &program,
                          const Explanation &all);

/// Data of a program's bars: its floors, the one that binds first, and its
/// time.
llvm::json::Array listBars(const ProgramExplanation &program);
/// Data of the pictures; null if there is nothing to show. A kind is a colour
/// of Page.html.
llvm::json::Value makeTimeline(const OpExplanation &op, bool isGPU,
                               double clock);
llvm::json::Value makeRoofline(const Explanation &all);
/// An op as part of an explanation.
llvm::json::Value toJSON(const OpExplanation &op, const Explanation &all);
/// Meanings of the numbers of a map's full, partial and empty tiles, and of the
/// whole picture.
llvm::json::Object makeLegend(const TileMap &map);
std::string describePicture(const TileMap &map, llvm::StringRef mask);

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_REPORT_H
