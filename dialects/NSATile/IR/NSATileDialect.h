//===- NSATileDialect.h - The nsatile dialect -------------------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_NSATILEDIALECT_H
#define NSACC_NSATILE_IR_NSATILEDIALECT_H

#include "mlir/IR/Dialect.h"

#include "NSATile/IR/NSATileDialect.h.inc"

#endif // NSACC_NSATILE_IR_NSATILEDIALECT_H
