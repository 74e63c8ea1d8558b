//===- MaskSpelling.cpp - Text of a mask's analysis -----------------------===//

#include "NSA/Analysis/MaskAnalysis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nsacc::nsa;

/// x for an expression -x; null for others.
static AffineExpr negation(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return {};
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  return factor && factor.getValue() == -1 ? product.getLHS() : AffineExpr();
}

/// Writes `expr` with the program's names in place of d0, s0, …
static void spell(raw_ostream &os, AffineExpr expr, const MaskInfo &info,
                  bool parenthesize = false) {
  if (auto known = dyn_cast<AffineConstantExpr>(expr)) {
    os << known.getValue();
    return;
  }
  if (isa<AffineDimExpr>(expr)) {
    os << "i";
    return;
  }
  if (auto position = dyn_cast<AffineSymbolExpr>(expr)) {
    const MaskSymbol &symbol = info.symbols[position.getPosition()];
    if (symbol.kind == MaskSymbol::Kind::Dim)
      os << symbol.dim;
    else
      os << (symbol.kind == MaskSymbol::Kind::Head ? "h" : "b");
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto known = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (AffineExpr negated = negation(expr)) {
    os << "-";
    return spell(os, negated, info, /*parenthesize=*/true);
  }
  if (parenthesize)
    os << "(";
  bool isSum = binary.getKind() == AffineExprKind::Add;
  spell(os, binary.getLHS(), info, !isSum);
  if (isSum && known && known.getValue() < 0) {
    os << " - " << -known.getValue();
  } else if (AffineExpr negated = isSum ? negation(binary.getRHS()) : nullptr) {
    os << " - ";
    spell(os, negated, info, /*parenthesize=*/true);
  } else {
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      os << " + ";
      break;
    case AffineExprKind::Mul:
      os << " * ";
      break;
    case AffineExprKind::FloorDiv:
      os << " floordiv ";
      break;
    case AffineExprKind::CeilDiv:
      os << " ceildiv ";
      break;
    default:
      os << " mod ";
      break;
    }
    spell(os, binary.getRHS(), info, !isSum);
  }
  if (parenthesize)
    os << ")";
}

std::string nsacc::nsa::toString(const KeyInterval &interval,
                                 const MaskInfo &info) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](ArrayRef<AffineExpr> exprs, StringRef function) {
    if (exprs.size() > 1)
      os << function << "(";
    llvm::interleaveComma(exprs, os,
                          [&](AffineExpr expr) { spell(os, expr, info); });
    if (exprs.size() > 1)
      os << ")";
  };
  if (!interval.lower.empty()) {
    list(interval.lower, "max");
    os << " <= ";
  }
  os << "j";
  if (!interval.upper.empty()) {
    os << " < ";
    list(interval.upper, "min");
  }
  if (!interval.guards.empty()) {
    os << " if ";
    list(interval.guards, "min");
    os << " >= 0";
  }
  if (!interval.exact)
    os << ", each pair checked";
  return text;
}

std::string nsacc::nsa::toString(const MaskInfo &info) {
  if (info.intervals.empty())
    return "sees no keys";
  std::string text = "sees keys ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      info.intervals, os,
      [&](const KeyInterval &each) { os << toString(each, info); }, " or ");
  return text;
}
