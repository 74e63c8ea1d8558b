//===- NSAAssembly.h - Custom directives of the ops' assembly ---*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSAASSEMBLY_H
#define NSACC_NSA_IR_NSAASSEMBLY_H

#include "NSA/IR/NSAOps.h"
#include "mlir/IR/DialectImplementation.h"

namespace nsacc::nsa {

/// An enumeration as a bare word: `mean`.
template <typename AttrT>
mlir::ParseResult parseWord(mlir::OpAsmParser &parser, AttrT &word) {
  using EnumT = decltype(word.getValue());
  mlir::FailureOr<EnumT> value = mlir::FieldParser<EnumT>::parse(parser);
  if (mlir::failed(value))
    return mlir::failure();
  word = AttrT::get(parser.getContext(), *value);
  return mlir::success();
}

template <typename AttrT>
void printWord(mlir::OpAsmPrinter &printer, mlir::Operation *, AttrT word) {
  printer << stringifyEnum(word.getValue());
}

/// Attributes, and as `nsa.name` the name that the program gives the statement.
/// The op has the name in its location, so that equal ops stay equal;
/// KernelOp's parser puts it back there.
mlir::ParseResult parseNamedAttrs(mlir::OpAsmParser &parser,
                                  mlir::NamedAttrList &attributes);
void printNamedAttrs(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::DictionaryAttr attributes);

/// `share_tokens 2 by last share_heads 4 by sum`, each absent if nothing is
/// shared.
mlir::ParseResult parseSharing(mlir::OpAsmParser &parser,
                               mlir::IntegerAttr &tokens, ShareByAttr &tokensBy,
                               mlir::IntegerAttr &heads, ShareByAttr &headsBy);
void printSharing(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::IntegerAttr tokens, ShareByAttr tokensBy,
                  mlir::IntegerAttr heads, ShareByAttr headsBy);

/// Each clause is on its own line, `mask (%b, %h, %t, %i, %j) { … }`, and
/// absent if the region is empty.
mlir::ParseResult parseMaskClause(mlir::OpAsmParser &parser,
                                  mlir::Region &mask);
void printMaskClause(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::Region &mask);

mlir::ParseResult parseScoreClauses(mlir::OpAsmParser &parser,
                                    mlir::Region &scale, mlir::Region &mask,
                                    mlir::Region &score, mlir::Region &weight);
void printScoreClauses(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       mlir::Region &scale, mlir::Region &mask,
                       mlir::Region &score, mlir::Region &weight);

mlir::ParseResult parseClauses(mlir::OpAsmParser &parser, mlir::Region &scale,
                               mlir::Region &mask, mlir::Region &score,
                               mlir::Region &weight, mlir::Region &normalize,
                               mlir::Region &sink);
void printClauses(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::Region &scale, mlir::Region &mask, mlir::Region &score,
                  mlir::Region &weight, mlir::Region &normalize,
                  mlir::Region &sink);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSAASSEMBLY_H
