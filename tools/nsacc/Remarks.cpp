//===- Remarks.cpp - What passes did, and why they didn't -----------------===//

#include "Remarks.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include <functional>

using namespace nsacc;

namespace {

using Remark = mlir::remark::detail::Remark;

class Streamer : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::function<void(std::string)> add)
      : add(std::move(add)) {}

  void streamOptimizationRemark(const Remark &remark) override {
    std::string line;
    llvm::raw_string_ostream os(line);
    if (auto place =
            remark.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
      os << place.getFilename().getValue() << ':' << place.getLine() << ':'
         << place.getColumn() << ": ";
    os << "remark: " << remark.getFunction() << ": " << remark.getRemarkName()
       << ' ' << remark.getRemarkTypeString().lower() << ": ";
    for (const Remark::Arg &part : remark.getArgs())
      os << part.val;
    os << " [" << remark.getCategoryName() << ']';
    add(std::move(line));
  }

private:
  std::function<void(std::string)> add;
};

} // namespace

void Remarks::listen(mlir::MLIRContext &context) {
  if (context.getRemarkEngine())
    return;
  mlir::remark::RemarkCategories categories;
  // Of this project's passes; the pattern is for whole names.
  categories.passed = categories.missed = categories.analysis =
      "(convert-)?nsa.*";
  auto streamer = std::make_unique<Streamer>(
      [this](std::string line) { add(std::move(line)); });
  auto policy = std::make_unique<mlir::remark::RemarkEmittingPolicyAll>();
  // Fails for streamers to files that can't be opened.
  (void)mlir::remark::enableOptimizationRemarks(context, std::move(streamer),
                                                std::move(policy), categories);
}

void Remarks::add(std::string line) {
  std::lock_guard<std::mutex> lock(mutex);
  if (known.insert(line).second)
    lines.push_back(std::move(line));
}

void Remarks::print(llvm::raw_ostream &os) const {
  for (const std::string &line : lines)
    os << line << '\n';
}
