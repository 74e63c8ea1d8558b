//===- KernelGen.h - One kernel, checked and generated ----------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_KERNELGEN_H
#define NSACC_LIB_FRONTEND_KERNELGEN_H

#include "AST.h"
#include "NSA/IR/NSAClauses.h"
#include "ScalarGen.h"
#include "Symbols.h"
#include "mlir/IR/Builders.h"
#include "nsacc/Frontend/Frontend.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace nsacc::frontend {

class MaskProof;

/// Gives names their meaning, checks everything and generates the kernel op in
/// one walk over the syntax. What is wrong is reported once: its value becomes
/// `Bound::Kind::Unknown`, which nothing complains about.
class KernelGen {
public:
  KernelGen(const Source &source, Problems &problems, const Options &options,
            const ast::Kernel &kernel, mlir::ModuleOp module);

  void generate();

private:
  using Dims = llvm::SmallVector<mlir::Attribute, 4>;

  // SemaParams.cpp
  void declareParams();
  void reportUnknownParams();
  std::optional<Constant> evaluateParam(const ast::Param &param);
  std::optional<Constant> parseGiven(const ast::Param &param,
                                     llvm::StringRef text);
  std::optional<Constant> convertParam(const ast::Param &param,
                                       const Constant &value, bool given);
  mlir::DictionaryAttr getParamsAttr();

  // SemaConstants.cpp
  std::optional<Constant> evaluate(const ast::Expr *expr);
  /// An integer of at least `least` that dimensions can have; `what` names it
  /// in messages.
  std::optional<int64_t> evaluateInt(const ast::Expr *expr,
                                     const llvm::Twine &what, int64_t least);
  /// Which of `choices` the name is.
  std::optional<unsigned>
  evaluateChoice(const ast::Expr *expr, const llvm::Twine &what,
                 llvm::ArrayRef<llvm::StringRef> choices);
  /// Tells where the value of a parameter in `expr` comes from.
  void explainParams(Problem &problem, const ast::Expr *expr);

  struct Sequence;

  // SemaTypes.cpp
  bool declare(const ast::Name &name, Symbol symbol);
  void declareInputs();
  void declareOffsets();
  mlir::Type resolveDType(const std::optional<ast::Name> &name);
  mlir::Type findDType(const ast::Name &name);
  nsa::NamedTensorType resolveType(const ast::Type &type);
  mlir::Attribute resolveDim(const ast::Dim &dim, size_t index);
  mlir::Attribute resolveNamedDim(const ast::Dim &dim, ast::Name name);
  mlir::Attribute resolveConstantDim(const ast::Dim &dim);
  bool checkDistinct(const ast::Type &type,
                     llvm::ArrayRef<mlir::Attribute> dims);
  mlir::Attribute matchResultDim(const ast::Dim &dim, mlir::Attribute found);
  /// The declared type of a result with the dimensions of what is returned.
  Dims orderAsInputs(llvm::ArrayRef<mlir::Attribute> dims,
                     llvm::ArrayRef<int64_t> order) const;
  nsa::NamedTensorType matchResult(const ast::Result &result,
                                   nsa::NamedTensorType found, Range range);

  // SemaLayout.cpp
  /// Which names are heads and tokens, from markers and from their places in
  /// tensors with marked heads.
  void collectRoles();
  bool isHeads(const ast::Dim &dim) const;
  std::optional<size_t> findTokens(const ast::Type &type) const;
  std::optional<size_t> findTokensByPlace(const ast::Type &type) const;
  /// Which dimension of the tensor's type each declared one is: in the type,
  /// tokens stand in front of heads.
  llvm::SmallVector<int64_t, 4> getOrder(const ast::Type &type) const;
  mlir::DenseI64ArrayAttr getOrderAttr(const ast::Type &type);
  /// A name means heads or tokens throughout the kernel.
  bool noteRole(mlir::Attribute dim, bool heads, Range range);
  bool noteRoles(const Sequence &sequence);
  /// Warns of names that suggest that heads stand in front of tokens.
  void checkNames(const Sequence &sequence);
  /// Tells how to declare the one of two operands that has heads in front of
  /// tokens, where the other has them behind.
  void adviseHeads(Problem &problem, llvm::ArrayRef<mlir::Attribute> one,
                   llvm::ArrayRef<mlir::Attribute> other) const;

  // SemaWarnings.cpp
  void checkUnused();
  /// Whether a dimension that the program asks for has its size from the input
  /// alone, as dimensions in `sized` don't; adds the input's dimensions to it.
  bool givesSize(const Symbol &input, llvm::StringSet<> &sized) const;
  /// Of queries, keys and values, or the first of them.
  void checkElementTypes(llvm::ArrayRef<mlir::Value> operands,
                         llvm::ArrayRef<const ast::Expr *> exprs);

  // SemaScores.cpp
  /// Warns of a constant scale that isn't positive, or one that grows.
  void checkScale(nsa::AttendOp attend, const ast::Clause *scale);
  /// Warns of clauses whose constants leave nothing.
  void checkConstants(nsa::AttendOp attend, const ast::CallExpr *call);
  void checkWeightRange(nsa::AttendOp attend, const ast::CallExpr *call);
  /// Warns of formulas of the score and the weight.
  void checkScores(nsa::AttendOp attend, const ast::CallExpr *call,
                   const Sequence &query, const Sequence &key);
  /// Of a score that is divided by the root of its features once more.
  void checkScaledTwice(mlir::Region &clause, const ast::Clause *syntax,
                        mlir::Attribute features);
  /// Of a formula that is infinite or NaN at a visible pair; false where it
  /// is.
  bool checkFinite(nsa::AttendOp attend, mlir::Region &clause,
                   const ast::Clause *syntax, llvm::StringRef what);
  /// Of a bias towards far keys.
  void checkDistance(nsa::AttendOp attend, const Sequence &key,
                     const ast::Clause *score);
  /// Of exponentials that nothing normalizes.
  void checkExponential(nsa::AttendOp attend, const ast::Clause *weight);

  // SemaScoreTrials.cpp
  /// Warns of a softmax's score that doesn't grow with s, or of which 0 stands
  /// for keys that are to be hidden.
  void checkDependence(nsa::AttendOp attend, const Sequence &key,
                       const ast::CallExpr *call);
  bool checkZeros(nsa::AttendOp attend, const Sequence &key, Range range);
  /// Of a score that falls as s grows.
  void checkFalling(nsa::AttendOp attend, Range range);
  /// Of a divisor that is 0 for a query that sees keys.
  void checkDivisor(nsa::AttendOp attend, const Sequence &key,
                    const ast::Clause *normalize);

  // SemaSelections.cpp
  /// Warns of a causal selection that shows later tokens of a query's block.
  void checkOwnBlock(nsa::AttendOp attend, nsa::TopKOp topk,
                     const Sequence &key, const ast::CallExpr *call);
  /// Of a causal attention's selection that later tokens choose.
  void checkGistFuture(nsa::AttendOp attend, nsa::TopKOp topk,
                       const ast::CallExpr *call);

  // SemaMasks.cpp
  /// Warns of a mask that hides every key, or whatever `keys` are.
  void checkVisible(mlir::Region &mask, const ast::Clause *where,
                    llvm::StringRef keys, MaskProof &proof);
  /// Warns of a mask that compares positions and hides nothing.
  void checkHidden(nsa::AttendOp attend, const Sequence &key,
                   const ast::Clause *where, MaskProof &proof);
  /// Warns of a mask that shows the keys after a query, but few before it, or
  /// none.
  void checkFuture(nsa::AttendOp attend, const Sequence &key,
                   const ast::Clause *where);
  /// Warns of branches of a merge whose masks let through the same pairs; a
  /// branch that is no attention by itself is null.
  void checkOverlap(llvm::ArrayRef<nsa::AttendOp> branches,
                    llvm::ArrayRef<const ast::Expr *> exprs);

  // MLIRGenKernel.cpp
  void generateBody();
  void generateAssignment(const ast::Statement &statement);
  void generateReturn(const ast::Statement &statement);
  /// Tells where a comma stands between the conditions of a mask, or within a
  /// number.
  void explainComma(Problem &problem, const ast::Statement &statement) const;
  /// Whether `0,5` ends one value and begins the next.
  bool isDecimalComma(const ast::Expr &value, const ast::Expr &next) const;
  mlir::Value generateResult(const ast::Result &result, const ast::Expr *expr);
  void finish(llvm::ArrayRef<mlir::Value> results);
  std::string getResultName(size_t index) const;

  // MLIRGenTensor.cpp
  Bound generate(const ast::Expr *expr);
  Bound generateName(const ast::NameExpr *expr);
  Bound generateCall(const ast::CallExpr *expr);
  /// A tensor, from anything that is one; reports what isn't.
  mlir::Value generateTensor(const ast::Expr *expr, const llvm::Twine &what);
  mlir::Value asTensor(const Bound &bound, Range range,
                       const llvm::Twine &what);
  /// As it is returned: absent entries of probabilities become 0.
  mlir::Value returnImportance(const Bound &bound, Range range);

  // MLIRGenElementwise.cpp
  bool isElementwise(const ast::Expr *expr) const;
  /// One nsa.map for the whole tree. `element` is the result's element type,
  /// if the context says.
  Bound generateElementwise(const ast::Expr *expr, mlir::Type element = {});
  mlir::Value convert(mlir::Value tensor, mlir::Type element, Range range);
  struct Operands;
  bool collect(const ast::Expr *expr, Operands &operands, Dims &dims);
  /// Each operand stands in the result's dimensions in one way.
  bool checkPlaces(const Operands &operands,
                   llvm::ArrayRef<mlir::Attribute> dims, Range range);
  bool collectChildren(llvm::ArrayRef<ast::Expr *> children, Range range,
                       Operands &operands, Dims &dims);
  bool collectLeaf(const ast::Expr *expr, Operands &operands, Dims &dims);
  std::optional<mlir::Type> getMapElement(ScalarType found, mlir::Type wanted,
                                          Range range);

  // SemaCalls.cpp
  struct Parameter {
    llvm::StringRef name;
    bool required = true;
    bool labelOnly = false;
  };
  /// Values in the order of `parameters`, null for those not given.
  std::optional<llvm::SmallVector<const ast::Expr *>>
  bindArguments(const ast::CallExpr *call,
                llvm::ArrayRef<Parameter> parameters);

  // MLIRGenPool.cpp
  Bound generatePool(const ast::CallExpr *call);
  bool resolvePooling(const ast::CallExpr *call, const ast::Expr *lenExpr,
                      const ast::Expr *strideExpr, int64_t &len,
                      int64_t &stride);
  bool generatePoolKind(const ast::Expr *by, nsa::NamedTensorType input,
                        int64_t len, nsa::PoolKind &kind, mlir::Value &weights);
  Bound generatePooled(const ast::CallExpr *call);
  /// The token dimension that pooled keys, blocks and selections which were
  /// handed in are about: `of`, or the only one that can be meant.
  nsa::NamedDimAttr resolveTokenDim(const ast::CallExpr *call,
                                    const ast::Expr *of,
                                    mlir::Attribute except);

  // SemaAttend.cpp
  std::optional<Sequence> getSequence(mlir::Value tensor, const ast::Expr *expr,
                                      llvm::StringRef what,
                                      llvm::StringRef rows = "S, H");
  /// What is computed from tensors may name a dimension twice.
  bool checkComputedDims(llvm::ArrayRef<mlir::Attribute> dims, Range range);
  bool checkQueryKey(const Sequence &query, const Sequence &key);
  bool checkKeyValue(const Sequence &key, const Sequence &value);
  // MLIRGenAttend.cpp
  Bound generateAttend(const ast::CallExpr *call);
  mlir::Value generateSelectionOperand(const ast::CallExpr *call,
                                       const Sequence &query,
                                       const Sequence &key);
  bool checkClauses(const ast::CallExpr *call, bool softmax);
  bool generateClauses(const ast::CallExpr *call, nsa::AttendOp attend,
                       const Sequence &query, const Sequence &key);
  bool generateClause(nsa::Clause clause, const ast::Clause *syntax,
                      mlir::Region &region, ScalarScope scope);
  ScalarScope makeScope(nsa::Clause clause, mlir::Region &region,
                        llvm::StringRef keyword);
  /// Tells `scope` what b, t, i, h and j count, for warnings.
  void setCounted(ScalarScope &scope, mlir::Attribute batch,
                  mlir::Attribute tokens, mlir::Attribute heads,
                  mlir::Attribute keys);
  Bound generateMerge(const ast::CallExpr *call);
  Bound generateLse(const ast::CallExpr *call);

  // MLIRGenImportance.cpp
  Bound generateImportance(const ast::CallExpr *call);
  bool copyClauses(nsa::AttendOp from, nsa::ImportanceOp to, Range range);
  Bound generateBlocks(const ast::CallExpr *call);
  Bound declareBlocks(const ast::CallExpr *call, const ast::Expr *scores,
                      int64_t block, const ast::Expr *of);

  // MLIRGenTopK.cpp
  Bound generateTopK(const ast::CallExpr *call);
  std::string spellShort(const ast::Expr *expr) const;
  std::optional<nsa::BlocksDimAttr> getBlocks(const Bound &scores,
                                              const ast::Expr *expr);
  struct Forced {
    int64_t first = 0, last = 0;
    bool plus = false;
  };
  std::optional<Forced> evaluateForced(const ast::CallExpr *call, int64_t top);
  struct Sharing {
    int64_t size = 1;
    nsa::ShareBy by = nsa::ShareBy::Sum;
  };
  std::optional<Sharing> evaluateSharing(const ast::Clause *clause);
  mlir::Value generateCount(const ast::Expr *expr,
                            llvm::ArrayRef<mlir::Attribute> rows);

  // MLIRGenSelection.cpp
  mlir::Value generateIntegers(const ast::Expr *expr, const llvm::Twine &what);
  struct Lists {
    mlir::Value indices, count, offsets; ///< the last two may be null
    int64_t top = 0;                     ///< indices of a row at most
    Dims rows;
  };
  std::optional<Lists> generateLists(const ast::Expr *expr,
                                     const ast::Expr *count, bool hasGroups);
  std::optional<Lists> generatePackedLists(const ast::Expr *expr,
                                           const ast::Expr *offsets,
                                           const ast::Expr *top);
  Bound generateSelection(const ast::CallExpr *call);
  Bound generateUnion(const ast::CallExpr *call);
  Bound generateIndices(const ast::CallExpr *call);

  Bound bindTensor(mlir::Value value) {
    Bound bound;
    bound.kind = Bound::Kind::Tensor;
    bound.value = value;
    return bound;
  }
  mlir::Location getLoc(Range range) {
    return getLocation(source, range, file);
  }
  mlir::Type getF32() { return builder.getF32Type(); }
  nsa::NamedTensorType getTensorType(llvm::ArrayRef<mlir::Attribute> dims,
                                     mlir::Type element) {
    return nsa::NamedTensorType::get(builder.getContext(), dims, element);
  }

  const Source &source;
  Problems &problems;
  const Options &options;
  const ast::Kernel &kernel;
  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  mlir::StringAttr file;
  Symbols symbols;
  nsa::KernelOp op;
  /// Names of result dimensions that no input has, and what they stand for.
  llvm::StringMap<mlir::Attribute> resultDims;
  /// What a name stands for, and where that was first said.
  struct Role {
    bool heads;
    Range range;
  };
  llvm::StringMap<Role> roles;
  /// Only marks change the order of a type, not what uses tell of a name.
  llvm::StringSet<> markedHeads;
  /// Token dimensions of inputs that are keys; found when first asked for.
  std::optional<llvm::SetVector<nsa::NamedDimAttr>> keyDims;
  /// Copies of clauses may not make a program much larger than its text.
  size_t copiedOps = 0;
};

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_KERNELGEN_H
