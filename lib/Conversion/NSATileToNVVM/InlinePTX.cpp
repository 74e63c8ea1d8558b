//===- InlinePTX.cpp - Instructions missing in NVVM -----------------------===//

#include "InlinePTX.h"
#include "NSATile/IR/SharedShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nsacc;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Intrinsics
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kExp2 = "llvm.nvvm.ex2.approx.ftz";

static Value callIntrinsic(CodeBuilder &b, StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name), x)
      .getResult(0);
}

Value ptx::exp2(CodeBuilder &b, Value x) { return callIntrinsic(b, kExp2, x); }

bool ptx::isExp2(Value value) {
  auto call = value.getDefiningOp<LLVM::CallIntrinsicOp>();
  return call && call.getIntrin() == kExp2;
}

Value ptx::log2(CodeBuilder &b, Value x) {
  return callIntrinsic(b, "llvm.nvvm.lg2.approx.ftz.f", x);
}

void ptx::waitAllCopies(CodeBuilder &b) {
  LLVM::CallIntrinsicOp::create(
      b, b.getStringAttr("llvm.nvvm.cp.async.wait.all"), ValueRange());
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static char getConstraint(Type type) {
  if (type.isF32())
    return 'f';
  if (type.isF64())
    return 'd';
  if (isa<LLVM::LLVMPointerType>(type) || type.isInteger(64))
    return 'l';
  return type.getIntOrFloatBitWidth() == 16 ? 'h' : 'r';
}

/// Writes inline assembly. Operands in `text` are $0, …, results first.
/// Constraints of operands follow from types, except for operands tied to a
/// result: `ties[i]` is in the same register as result i.
static SmallVector<Value> assemble(CodeBuilder &b, StringRef text,
                                   TypeRange results, ValueRange operands,
                                   ValueRange ties = {},
                                   bool earlyClobber = false) {
  SmallVector<std::string> constraints;
  for (Type type : results)
    constraints.push_back((earlyClobber ? "=&" : "=") +
                          std::string(1, getConstraint(type)));
  for (Value operand : operands)
    constraints.push_back(std::string(1, getConstraint(operand.getType())));
  for (size_t i = 0; i < ties.size(); ++i)
    constraints.push_back(std::to_string(i));

  SmallVector<Value> all(operands);
  llvm::append_range(all, ties);
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            llvm::to_vector(results));
  auto op = LLVM::InlineAsmOp::create(
      b, type ? TypeRange(type) : TypeRange(), all, text,
      llvm::join(constraints, ","), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0, e = results.size(); i < e; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, op.getRes(), i));
  return values;
}

Value ptx::readThread(CodeBuilder &b) {
  return assemble(b, "mov.u32 $0, %tid.x;", b.getI32Type(), {})[0];
}

Value ptx::addHidden(CodeBuilder &b, Value lhs, Value rhs) {
  return assemble(b, "add.s32 $0, $1, $2;", lhs.getType(), {lhs, rhs})[0];
}

Value ptx::allThreads(CodeBuilder &b, int64_t barrier, int64_t threads,
                      Value condition) {
  Value mine = b.make<arith::ExtUIOp>(b.getI32Type(), condition);
  std::string text =
      formatv("{{ .reg .pred mine, all; setp.ne.b32 mine, $1, 0; "
              "barrier.cta.red.and.pred all, {0}, {1}, mine; "
              "selp.b32 $0, 1, 0, all; }",
              barrier, threads)
          .str();
  Value all = assemble(b, text, b.getI32Type(), mine)[0];
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, all, b.i32(0));
}

void ptx::waitBarrier(CodeBuilder &b, Value barrier, Value parity) {
  assemble(b,
           "{ .reg .pred done; again: "
           "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
           "@done bra.uni end; bra.uni again; end: }",
           {}, {barrier, parity});
}

void ptx::waitForCount(CodeBuilder &b, Value pointer, Value count) {
  assemble(b,
           "{ .reg .pred waits; .reg .b32 word; again: "
           "ld.acquire.gpu.global.b32 word, [$0]; "
           "setp.lt.u32 waits, word, $1; @waits bra again; }",
           {}, {pointer, count});
}

void ptx::arriveIf(CodeBuilder &b, Value barrier, Value predicate) {
  assemble(b,
           "{ .reg .pred mine; setp.ne.b32 mine, $1, 0; "
           "@mine mbarrier.arrive.shared::cta.b64 _, [$0]; }",
           {}, {barrier, predicate});
}

Value ptx::loadSharedIf(CodeBuilder &b, Value address, Value predicate) {
  return assemble(b,
                  "{ .reg .pred mine; setp.ne.b32 mine, $2, 0; mov.b32 $0, 0; "
                  "@mine ld.volatile.shared::cta.b32 $0, [$1]; }",
                  b.getI32Type(), {address, predicate}, /*ties=*/{},
                  /*earlyClobber=*/true)[0];
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

/// The operands from `first` on as a list in braces.
static std::string listOperands(size_t first, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// The instructions of a product. The first `count` operands of the assembly
/// are its results; members say where its other operands are.
namespace {
struct ProductText {
  const ptx::WarpgroupProduct &product;
  size_t count, rhs, head, lhs = 0;

  std::string getStep(int64_t step, StringRef addition) const;
};
} // namespace

/// Inner elements of one instruction, and instructions of one slab.
static constexpr int64_t kStep = 16;
static constexpr int64_t kSlabSteps = nsatile::kSlabColumns / kStep;
/// Bytes of 16 rows of a slab.
static constexpr int64_t kStepRowBytes = kStep * 2 * nsatile::kSlabColumns;

/// Descriptors count in units of 16 bytes.
static int64_t encode(int64_t bytes) { return bytes >> 4; }

std::string ProductText::getStep(int64_t step, StringRef addition) const {
  int64_t inSlab = step % kSlabSteps * (kStep * 2), slab = step / kSlabSteps;
  int64_t rhsOffset = product.transposeRhs
                          ? slab * product.rhsSlabBytes + inSlab
                          : step * kStepRowBytes;
  std::string text =
      formatv("add.s64 b, ${0}, {1}; ", rhs, encode(rhsOffset)).str();
  bool isInHead = step < static_cast<int64_t>(product.head.size() / 4);
  std::string left = "a";
  if (isInHead)
    left = listOperands(head + 4 * step, 4);
  else
    text += formatv("add.s64 a, ${0}, {1}; ", lhs,
                    encode(product.transposeLhs
                               ? step * kStepRowBytes
                               : slab * product.lhsSlabBytes + inSlab))
                .str();
  StringRef type = product.element.isF16() ? "f16" : "bf16";
  return text +
         formatv("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {2}, "
                 "{3}, b, {4}, 1, 1, {5}{6}; ",
                 product.columns, type, listOperands(0, count), left, addition,
                 isInHead               ? ""
                 : product.transposeLhs ? "1, "
                                        : "0, ",
                 product.transposeRhs ? 0 : 1)
             .str();
}

SmallVector<Value> ptx::startProduct(CodeBuilder &b,
                                     const WarpgroupProduct &product) {
  size_t count = product.columns / 2;
  SmallVector<Value> operands;
  auto addOperand = [&](Value value) {
    operands.push_back(value);
    return count + operands.size() - 1;
  };
  ProductText steps{product, count, addOperand(product.rhs),
                    count + operands.size()};
  llvm::append_range(operands, product.head);
  if (product.lhs)
    steps.lhs = addOperand(product.lhs);
  std::string first = product.acc.empty() ? "0" : "1";
  if (product.adds)
    first = "$" + std::to_string(addOperand(
                      LLVM::ZExtOp::create(b, b.getI32Type(), product.adds)));
  std::string text = "{ .reg .pred first, adds; .reg .b64 a, b; "
                     ".reg .b32 one, z; mov.b32 one, 1; mov.b32 z, " +
                     first +
                     "; setp.ne.b32 first, z, 0; setp.ne.b32 adds, one, 0; "
                     "wgmma.fence.sync.aligned; ";
  for (int64_t step = 0; step * kStep < product.inner; ++step)
    text += steps.getStep(step, step == 0 ? "first" : "adds");
  text += "wgmma.commit_group.sync.aligned; }";
  // The first instruction writes a fresh accumulator before later ones read the
  // operands.
  return assemble(b, text, SmallVector<Type>(count, b.getF32Type()), operands,
                  product.acc, /*earlyClobber=*/product.acc.empty());
}

SmallVector<Value> ptx::waitProducts(CodeBuilder &b, int64_t allow,
                                     ValueRange acc) {
  return assemble(b, formatv("wgmma.wait_group.sync.aligned {0};", allow).str(),
                  SmallVector<Type>(acc.size(), b.getF32Type()), {}, acc);
}
