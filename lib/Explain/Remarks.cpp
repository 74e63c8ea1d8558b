//===- Remarks.cpp - Remarks of passes ------------------------------------===//

#include "nsacc/Explain/Remarks.h"
#include "Parts.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include <functional>

using namespace nsacc::explain;

namespace {

class Streamer : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::function<void(Remark)> add) : add(std::move(add)) {}

  void
  streamOptimizationRemark(const mlir::remark::detail::Remark &from) override {
    Remark remark;
    remark.place = findPlace(from.getLocation());
    remark.program = from.getFunction().str();
    remark.name = from.getRemarkName().str();
    remark.kind = from.getRemarkTypeString().lower();
    for (const auto &part : from.getArgs())
      remark.text += part.val;
    remark.pass = from.getCategoryName().str();
    add(std::move(remark));
  }

private:
  std::function<void(Remark)> add;
};

} // namespace

std::string Remark::toString() const {
  std::string line;
  llvm::raw_string_ostream os(line);
  if (place.line > 0)
    os << place.file << ':' << place.line << ':' << place.column << ": ";
  os << "remark: " << program << ": " << name << ' ' << kind << ": " << text
     << " [" << pass << ']';
  return line;
}

void Remarks::listen(mlir::MLIRContext &context) {
  if (context.getRemarkEngine())
    return;
  mlir::remark::RemarkCategories categories;
  // Remarks of this project's passes; the pattern matches whole names.
  categories.passed = categories.missed = categories.analysis =
      "(convert-)?nsa.*";
  auto streamer = std::make_unique<Streamer>(
      [this](Remark remark) { add(std::move(remark)); });
  auto policy = std::make_unique<mlir::remark::RemarkEmittingPolicyAll>();
  // Fails only for streamers to files that can't be opened.
  (void)mlir::remark::enableOptimizationRemarks(context, std::move(streamer),
                                                std::move(policy), categories);
}

void Remarks::add(Remark remark) {
  std::lock_guard<std::mutex> lock(mutex);
  if (known.insert(remark.toString()).second)
    list.push_back(std::move(remark));
}

void Remarks::print(llvm::raw_ostream &os) const {
  for (const Remark &remark : list)
    os << remark.toString() << '\n';
}
