//===- NSADialect.h - The nsa dialect ---------------------------*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSADIALECT_H
#define NSACC_NSA_IR_NSADIALECT_H

#include "mlir/IR/Dialect.h"

#include "NSA/IR/NSADialect.h.inc"

#endif // NSACC_NSA_IR_NSADIALECT_H
