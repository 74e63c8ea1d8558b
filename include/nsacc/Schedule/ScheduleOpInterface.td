#ifndef NSACC_SCHEDULE_SCHEDULEOPINTERFACE_TD
#define NSACC_SCHEDULE_SCHEDULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def NSACC_ScheduleOpInterface : OpInterface<"ScheduleOpInterface"> {
  let cppNamespace = "::nsacc::schedule";
  let description = [{
    Ops of a kernel that get schedules, or that decide how the kernel is cut into programs. lib/Schedule knows an op by
    this interface alone (docs/Rationale/Axes.md). Ops of the `nsa` dialect have models in ScheduleModels.cpp, which any
    context finds. An op of another dialect implements the interface itself.
  }];
  let methods = [
    InterfaceMethod<
      "name of such ops in messages, and of values without a name: \"attend\"",
      "::llvm::StringRef", "getScheduleName", (ins), "",
      "return $_op->getName().stripDialect();">,
    InterfaceMethod<
      "fields that a schedule of the op may have; an op without any has no schedule",
      "std::vector<::nsacc::schedule::Field>", "getFields", (ins), "",
      "return ::nsacc::schedule::getFieldsOf($_op->getName().stripDialect());">,
    InterfaceMethod<
      "operands that programs read from memory; others are computed where they are used",
      "::llvm::SmallVector<::mlir::Value>", "getOperandsInMemory", (ins), "",
      "return {};">,
    InterfaceMethod<
      "whether results stand in memory, whoever reads them: many query tiles share them",
      "bool", "isShared", (ins), "", "return false;">,
    InterfaceMethod<
      "name of the programs that compute a shared op: \"select\"",
      "::llvm::StringRef", "getProgramName", (ins), "",
      "return $_op->getName().stripDialect();">,
    InterfaceMethod<[{
        Chooses the value of each field, where none is given. Fails with an error of the settings where a given value
        doesn't hold for the op. Ops with scores get tiles of queries and keys by default.
      }],
      "::llvm::Error", "choose",
      (ins "::nsacc::schedule::Chooser &":$chooser,
           "::nsacc::schedule::OpChoice &":$choice), "",
      "return ::nsacc::schedule::chooseDefault(chooser, choice);">
  ];
  let extraClassDeclaration = [{
    /// Finds the models of the nsa dialect's ops, too.
    static Concept *getInterfaceFor(::mlir::Operation *op);
    /// Whether the op's schedule may have the field.
    bool has(::nsacc::schedule::Field field) {
      return ::llvm::is_contained(getFields(), field);
    }
  }];
}

#endif // NSACC_SCHEDULE_SCHEDULEOPINTERFACE_TD
