//===- TileLayout.cpp - Elements in a thread's registers ------------------===//

#include "NSATile/IR/TileLayout.h"
#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Expressions in bounded dimensions
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> nsacc::nsatile::getRange(AffineExpr expr,
                                                     ArrayRef<int64_t> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {0, sizes[dim.getPosition()] - 1};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto [low, high] = getRange(binary.getLHS(), sizes);
  auto [least, greatest] = getRange(binary.getRHS(), sizes);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return {low + least, high + greatest};
  case AffineExprKind::Mul:
    return std::minmax(low * least, high * least);
  case AffineExprKind::FloorDiv:
    return {llvm::divideFloorSigned(low, least),
            llvm::divideFloorSigned(high, least)};
  case AffineExprKind::Mod:
    if (llvm::divideFloorSigned(low, least) ==
        llvm::divideFloorSigned(high, least))
      return {llvm::mod(low, least), llvm::mod(high, least)};
    return {0, least - 1};
  default:
    llvm_unreachable("layouts have no other expressions");
  }
}

namespace {

/// A sum of multiples and a constant.
class LinearForm {
public:
  explicit LinearForm(AffineExpr expr) : context(expr.getContext()) {
    add(expr, 1);
  }

  /// Quotient and remainder by `divisor`. Terms that are always 0 for
  /// dimensions of `sizes` are left out.
  std::pair<AffineExpr, AffineExpr> divide(int64_t divisor,
                                           ArrayRef<int64_t> sizes) const {
    AffineExpr zero = getAffineConstantExpr(0, context), quotient = zero;
    // The greatest factors first.
    std::vector<std::pair<AffineExpr, int64_t>> rest;
    for (auto [term, factor] : terms) {
      quotient = quotient + term * llvm::divideFloorSigned(factor, divisor);
      int64_t left = llvm::mod(factor, divisor);
      if (left != 0)
        rest.insert(llvm::find_if(
                        rest, [&](auto &other) { return other.second < left; }),
                    {term, left});
    }
    quotient = quotient + llvm::divideFloorSigned(constant, divisor);
    int64_t shift = llvm::mod(constant, divisor);
    // The rest is multiples of `step` and a part below `step`. That part
    // doesn't change the quotient.
    int64_t step = divisor;
    for (size_t numHigh = 0;; ++numHigh) {
      AffineExpr high = getAffineConstantExpr(shift / step, context);
      AffineExpr low = getAffineConstantExpr(shift % step, context);
      for (auto [term, factor] :
           llvm::reverse(ArrayRef(rest).take_front(numHigh)))
        high = term * (factor / step) + high;
      for (auto [term, factor] :
           llvm::reverse(ArrayRef(rest).drop_front(numHigh)))
        low = term * factor + low;
      auto [least, greatest] = getRange(low, sizes);
      if (least < 0 || greatest >= step) {
        step = std::gcd(step, rest[numHigh].second);
        continue;
      }
      auto [lowest, highest] = getRange(high, sizes);
      int64_t limit = divisor / step;
      if (lowest >= 0 && highest < limit)
        return {quotient, high * step + low};
      return {quotient + high.floorDiv(limit), high % limit * step + low};
    }
  }

private:
  void add(AffineExpr expr, int64_t factor) {
    if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
      constant += factor * value.getValue();
      return;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (binary && expr.getKind() == AffineExprKind::Add) {
      add(binary.getLHS(), factor);
      add(binary.getRHS(), factor);
      return;
    }
    auto scale = binary && expr.getKind() == AffineExprKind::Mul
                     ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                     : AffineConstantExpr();
    if (scale)
      return add(binary.getLHS(), factor * scale.getValue());
    terms[expr] += factor;
  }

  MLIRContext *context;
  llvm::MapVector<AffineExpr, int64_t> terms;
  int64_t constant = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading layouts
//===----------------------------------------------------------------------===//

std::optional<TileLayout> TileLayout::get(RankedTensorType tile) {
  return get(tile.getShape(), tile.getEncoding());
}

std::optional<TileLayout> TileLayout::get(ArrayRef<int64_t> shape,
                                          Attribute layout) {
  TileLayout result(shape);
  if (!layout || !result.read(layout))
    return std::nullopt;
  return result;
}

bool TileLayout::read(Attribute layout) {
  return llvm::TypeSwitch<Attribute, bool>(layout)
      .Case([&](MmaLayoutAttr mma) {
        if (shape.size() != 2)
          return false;
        readMma(mma.getWarps(), mma.getContext());
        return true;
      })
      .Case([&](BlockedLayoutAttr blocked) {
        if (ShapedType::isDynamicShape(shape))
          return false;
        readBlocked(blocked.getThreads(), blocked.getVector(),
                    blocked.getContext());
        return true;
      })
      .Case([&](SliceLayoutAttr slice) {
        return readSlice(slice.getDim(), slice.getOf());
      })
      .Case([&](PartialLayoutAttr partial) { return read(partial.getOf()); })
      .Case([&](ReshapeLayoutAttr reshape) {
        return readReshape(reshape.getAs(), reshape.getOf());
      })
      .Default([](Attribute) { return false; });
}

static AffineExpr getDim(ThreadDim dim, MLIRContext *context) {
  return getAffineDimExpr(static_cast<unsigned>(dim), context);
}

void TileLayout::addCondition(Register &reg, AffineExpr expr,
                              int64_t bound) const {
  if (getRange(expr, sizes).second >= bound)
    reg.conditions.push_back({expr, bound});
}

void TileLayout::readMma(int64_t warps, MLIRContext *context) {
  threads = 32 * warps;
  sizes = {warps, 8, 4, threads};
  AffineExpr row =
      getDim(ThreadDim::Warp, context) * 16 + getDim(ThreadDim::Group, context);
  AffineExpr column = getDim(ThreadDim::InGroup, context) * 2;
  // One register stands for a missing dimension.
  bool hasRows = !ShapedType::isDynamic(shape[0]);
  bool hasColumns = !ShapedType::isDynamic(shape[1]);
  int64_t m = hasRows ? llvm::divideCeil(shape[0], 16 * warps) : 1;
  int64_t n = hasColumns ? llvm::divideCeil(shape[1], 8) : 1;
  for (int64_t i = 0; i < m * n * 4; ++i) {
    int64_t rowShift = i / (n * 4) * 16 * warps + i / 2 % 2 * 8;
    int64_t columnShift = i / 4 % n * 8 + i % 2;
    if ((!hasRows && rowShift) || (!hasColumns && columnShift))
      continue;
    Register reg;
    reg.coordinates = {hasRows ? row + rowShift : AffineExpr(),
                       hasColumns ? column + columnShift : AffineExpr()};
    if (hasRows)
      addCondition(reg, row + rowShift, shape[0]);
    if (hasColumns)
      addCondition(reg, column + columnShift, shape[1]);
    registers.push_back(std::move(reg));
  }
}

/// Coordinates in a shape; last dimensions change fastest. Dimensions of
/// unknown size get none, and neighbours among them count as one.
static TileLayout::Coordinates unflatten(AffineExpr flat, int64_t total,
                                         ArrayRef<int64_t> shape,
                                         ArrayRef<int64_t> sizes) {
  int64_t known = 1;
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size))
      known *= size;
  TileLayout::Coordinates coordinates(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    bool isKnown = !ShapedType::isDynamic(shape[dim]);
    if (!isKnown && dim > 0 && ShapedType::isDynamic(shape[dim - 1]))
      continue;
    int64_t size = isKnown ? shape[dim] : total / known;
    auto [quotient, remainder] = LinearForm(flat).divide(size, sizes);
    flat = quotient;
    if (isKnown)
      coordinates[dim] = remainder;
  }
  return coordinates;
}

void TileLayout::readBlocked(int64_t numThreads, int64_t vector,
                             MLIRContext *context) {
  threads = numThreads;
  sizes = {static_cast<int64_t>(llvm::divideCeil(threads, 32)), 8, 4, threads};
  int64_t total = ShapedType::getNumElements(shape);
  AffineExpr first = getDim(ThreadDim::Thread, context) * vector;
  int64_t count = llvm::divideCeil(total, threads * vector) * vector;
  for (int64_t i = 0; i < count; ++i) {
    AffineExpr flat = first + (i / vector * threads * vector + i % vector);
    Register reg;
    addCondition(reg, flat, total);
    reg.coordinates = unflatten(flat, total, shape, sizes);
    registers.push_back(std::move(reg));
  }
}

bool TileLayout::readSlice(int64_t dim, Attribute of) {
  SmallVector<int64_t, 3> whole(shape);
  whole.insert(whole.begin() + dim, ShapedType::kDynamic);
  TileLayout parent(whole);
  if (!parent.read(of))
    return false;
  sizes = parent.sizes;
  threads = parent.threads;
  for (Register &reg : parent.registers) {
    reg.coordinates.erase(reg.coordinates.begin() + dim);
    bool isKnown = llvm::any_of(registers, [&](const Register &other) {
      return other.coordinates == reg.coordinates;
    });
    if (!isKnown)
      registers.push_back(std::move(reg));
  }
  return true;
}

bool TileLayout::readReshape(ArrayRef<int64_t> as, Attribute of) {
  TileLayout parent(as);
  // With two gaps, the size of each can't be known.
  unsigned gaps = 0;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size) &&
        (dim == 0 || !ShapedType::isDynamic(shape[dim - 1])))
      ++gaps;
  int64_t known = 1;
  for (int64_t size : shape)
    known *= ShapedType::isDynamic(size) ? 1 : size;
  if (gaps > 1 || ShapedType::isDynamicShape(as) ||
      known > ShapedType::getNumElements(as) || !parent.read(of))
    return false;
  sizes = parent.sizes;
  threads = parent.threads;
  registers = std::move(parent.registers);
  for (Register &reg : registers) {
    AffineExpr flat = reg.coordinates.front();
    for (size_t dim = 1; dim < as.size(); ++dim)
      flat = flat * as[dim] + reg.coordinates[dim];
    reg.coordinates =
        unflatten(flat, ShapedType::getNumElements(as), shape, sizes);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

bool TileLayout::isPadding(int64_t index) const {
  return llvm::any_of(getConditions(index), [&](const Condition &condition) {
    return getRange(condition.expr, sizes).first >= condition.bound;
  });
}

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), dims);
  int64_t rhs = evaluate(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  case AffineExprKind::Mod:
    return llvm::mod(lhs, rhs);
  default:
    llvm_unreachable("layouts have no other expressions");
  }
}

std::optional<SmallVector<int64_t, 3>>
TileLayout::getElement(int64_t thread, int64_t index) const {
  int64_t dims[] = {thread / 32, thread % 32 / 4, thread % 4, thread};
  for (const Condition &condition : getConditions(index))
    if (evaluate(condition.expr, dims) >= condition.bound)
      return std::nullopt;
  SmallVector<int64_t, 3> element;
  for (AffineExpr coordinate : getCoordinates(index))
    element.push_back(evaluate(coordinate, dims));
  return element;
}

SmallVector<ThreadDim, 3> TileLayout::getCopies() const {
  auto isUsed = [&](ThreadDim dim) {
    auto inExpr = [&](AffineExpr expr) {
      return expr.isFunctionOfDim(static_cast<unsigned>(dim));
    };
    return llvm::any_of(registers, [&](const Register &reg) {
      return llvm::any_of(reg.coordinates, inExpr) ||
             llvm::any_of(reg.conditions, [&](const Condition &condition) {
               return inExpr(condition.expr);
             });
    });
  };
  SmallVector<ThreadDim, 3> copies;
  if (isUsed(ThreadDim::Thread))
    return copies;
  for (ThreadDim dim : {ThreadDim::Warp, ThreadDim::Group, ThreadDim::InGroup})
    if (sizes[static_cast<unsigned>(dim)] > 1 && !isUsed(dim))
      copies.push_back(dim);
  return copies;
}

//===----------------------------------------------------------------------===//
// Layouts of other tiles
//===----------------------------------------------------------------------===//

Attribute TileLayout::getSlice(Attribute layout, int64_t dim) {
  auto slice = dyn_cast<SliceLayoutAttr>(layout);
  if (!slice || dim < slice.getDim())
    return SliceLayoutAttr::get(layout.getContext(), dim, layout);
  return SliceLayoutAttr::get(layout.getContext(), slice.getDim(),
                              getSlice(slice.getOf(), dim + 1));
}

Attribute TileLayout::getReshaped(ArrayRef<int64_t> shape, Attribute layout,
                                  ArrayRef<int64_t> result) {
  if (auto reshape = dyn_cast<ReshapeLayoutAttr>(layout)) {
    shape = reshape.getAs();
    layout = reshape.getOf();
  }
  if (shape == result || isa<BlockedLayoutAttr>(layout))
    return layout;
  return ReshapeLayoutAttr::get(layout.getContext(), shape, layout);
}
