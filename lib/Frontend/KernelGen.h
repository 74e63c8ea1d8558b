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

/// Resolves names, checks everything and generates the kernel op in one walk
/// over the syntax. A mistake is reported once: its value becomes
/// `Bound::Kind::Unknown`, which causes no further errors.
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
  /// `ofFraction` says what to write instead of a number below 1.
  std::optional<int64_t> evaluateInt(const ast::Expr *expr,
                                     const llvm::Twine &what, int64_t least,
                                     llvm::StringRef ofFraction = "");
  /// Which of `choices` the name is.
  std::optional<unsigned>
  evaluateChoice(const ast::Expr *expr, const llvm::Twine &what,
                 llvm::ArrayRef<llvm::StringRef> choices);
  /// Adds a note that says where the value of a parameter in `expr` comes from.
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
  Dims orderAsInputs(llvm::ArrayRef<mlir::Attribute> dims,
                     llvm::ArrayRef<int64_t> order) const;
  std::string adviseResult(const ast::Type &declared,
                           llvm::ArrayRef<mlir::Attribute> dims,
                           nsa::NamedTensorType type);
  void explainHeads(Problem &problem, llvm::StringRef declared,
                    mlir::Value value);
  nsa::NamedTensorType matchResult(const ast::Result &result, mlir::Value value,
                                   Range range);

  // SemaLayout.cpp
  /// Finds the names of heads and tokens, from markers and from their places in
  /// tensors with marked heads.
  void collectRoles();
  bool isHeads(const ast::Dim &dim) const;
  std::string spellHeadsFirst(const ast::Type &declared,
                              llvm::ArrayRef<mlir::Attribute> written) const;
  std::optional<size_t> findTokens(const ast::Type &type) const;
  std::optional<size_t> findTokensByPlace(const ast::Type &type) const;
  /// For each declared dimension, its index in the tensor's type: in the type,
  /// tokens come before heads.
  llvm::SmallVector<int64_t, 4> getOrder(const ast::Type &type) const;
  mlir::DenseI64ArrayAttr getOrderAttr(const ast::Type &type);
  /// Records that a name means heads, or tokens. It has one meaning in the
  /// whole kernel.
  bool noteRole(mlir::Attribute dim, bool heads, Range range);
  bool noteRoles(const Sequence &sequence);
  /// Warns of names that suggest that heads come before tokens.
  void checkNames(const Sequence &sequence);
  /// Adds a note on how to declare the operand that has heads before tokens, if
  /// the other one has them after tokens.
  void adviseHeads(Problem &problem, llvm::ArrayRef<mlir::Attribute> one,
                   llvm::ArrayRef<mlir::Attribute> other) const;

  // SemaWarnings.cpp
  void checkUnused();
  /// Adds the warnings about the finished kernel's IR.
  void lint();
  /// Whether an input is used, or gives the size of a used dimension that isn't
  /// in `sized`; if so, adds the input's dimensions to it.
  bool givesSize(const Symbol &input, llvm::StringSet<> &sized) const;
  /// Warns if inputs among queries, keys and values, or the first of them, have
  /// different element types.
  void checkElementTypes(llvm::ArrayRef<mlir::Value> operands,
                         llvm::ArrayRef<const ast::Expr *> exprs);

  // MLIRGenKernel.cpp
  void generateBody();
  void generateAssignment(const ast::Statement &statement);
  void generateReturn(const ast::Statement &statement);
  /// Adds a note if there is a comma between the conditions of a mask, or
  /// within a number.
  void explainComma(Problem &problem, const ast::Statement &statement) const;
  /// Whether the comma in `0,5` is a decimal comma.
  bool isDecimalComma(const ast::Expr &value, const ast::Expr &next) const;
  mlir::Value generateResult(const ast::Result &result, const ast::Expr *expr);
  void finish(llvm::ArrayRef<mlir::Value> results);
  std::string getResultName(size_t index) const;

  // MLIRGenTensor.cpp
  Bound generate(const ast::Expr *expr);
  Bound generateName(const ast::NameExpr *expr);
  Bound generateCall(const ast::CallExpr *expr);
  /// A tensor; reports an expression that isn't one.
  mlir::Value generateTensor(const ast::Expr *expr, const llvm::Twine &what);
  mlir::Value asTensor(const Bound &bound, Range range,
                       const llvm::Twine &what);
  /// An importance to return: absent entries of probabilities become 0.
  mlir::Value returnImportance(const Bound &bound, Range range);

  // MLIRGenElementwise.cpp
  bool isElementwise(const ast::Expr *expr) const;
  /// One nsa.map for the whole tree. `element` is the result's element type,
  /// if the context says.
  bool reportSizes(const ast::Expr *expr);
  Bound generateElementwise(const ast::Expr *expr, mlir::Type element = {});
  mlir::Value convert(mlir::Value tensor, mlir::Type element, Range range);
  struct Operands;
  bool collect(const ast::Expr *expr, Operands &operands, Dims &dims);
  /// Checks that each operand has only one place in the result's dimensions.
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
  /// Values in the order of `parameters`, null for missing ones.
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
  /// The token dimension of pooled keys, blocks, or selections that are inputs:
  /// `of`, or the only possible one.
  nsa::NamedDimAttr resolveTokenDim(const ast::CallExpr *call,
                                    const ast::Expr *of,
                                    mlir::Attribute except);

  // SemaAttend.cpp
  std::optional<Sequence> getSequence(mlir::Value tensor, const ast::Expr *expr,
                                      llvm::StringRef what,
                                      llvm::StringRef rows = "S, H");
  /// Reports a dimension that a computed result would have twice.
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
  /// Constants in the text that are 0 or false.
  llvm::SmallVector<llvm::StringRef> findSwitches(const ast::Expr *expr) const;
  bool generateClause(nsa::Clause clause, const ast::Clause *syntax,
                      mlir::Region &region, ScalarScope scope);
  ScalarScope makeScope(nsa::Clause clause, mlir::Region &region,
                        llvm::StringRef keyword);
  /// Sets the dimensions that b, t, i, h and j count in `scope`, for warnings.
  void setCounted(ScalarScope &scope, mlir::Attribute batch,
                  mlir::Attribute tokens, mlir::Attribute heads,
                  mlir::Attribute keys);
  Bound generateMerge(const ast::CallExpr *call);
  Bound generateLse(const ast::CallExpr *call);

  // MLIRGenImportance.cpp
  Bound generateImportance(const ast::CallExpr *call);
  bool copyClauses(nsa::ScoringOpInterface from, nsa::ImportanceOp to,
                   Range range);
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
    int64_t top = 0;                     ///< most indices of a row
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
  /// Names of result dimensions that no input has, and their dimensions.
  llvm::StringMap<mlir::Attribute> resultDims;
  /// The meaning of a name, and the place where it was first given.
  struct Role {
    bool heads;
    Range range;
  };
  llvm::StringMap<Role> roles;
  /// Only markers change the order of a type; uses of a name don't.
  llvm::StringSet<> markedHeads;
  /// Token dimensions of inputs that are keys; found when first needed.
  std::optional<llvm::SetVector<nsa::NamedDimAttr>> keyDims;
  /// Limits copies of clauses: they must not make a program much larger than
  /// its text.
  size_t copiedOps = 0;
};

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_KERNELGEN_H
