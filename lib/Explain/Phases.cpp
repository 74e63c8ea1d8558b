//===- Phases.cpp - Results of phases, and their source lines -------------===//

#include "nsacc/Pipelines/Phases.h"
#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/Transforms/Passes.h"
#include "Parts.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Target/CUDA/Lowering.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;
using namespace nsacc::explain;

Place explain::findPlace(mlir::Location loc) {
  auto place = loc->findInstanceOf<mlir::FileLineColLoc>();
  if (!place)
    return {};
  return {llvm::json::fixUTF8(place.getFilename()), place.getLine(),
          place.getColumn()};
}

/// All lines in a location: code may come from several.
static llvm::SmallVector<unsigned, 1> listLines(mlir::Location loc) {
  llvm::SmallVector<unsigned, 1> lines;
  loc->walk([&](mlir::Location each) {
    if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(each);
        place && place.getLine() > 0 &&
        !llvm::is_contained(lines, place.getLine()))
      lines.push_back(place.getLine());
    return mlir::WalkResult::advance();
  });
  return lines;
}

/// Lines of programs, by their symbols.
using LinesOfPrograms = llvm::StringMap<llvm::SmallVector<unsigned, 1>>;

/// The lines of the program around an op, if the op's location is no more
/// precise.
static llvm::ArrayRef<unsigned> findProgramLines(mlir::Operation *op,
                                                 const LinesOfPrograms &lines) {
  mlir::Operation *program = op;
  while (program &&
         !mlir::isa_and_present<mlir::ModuleOp>(program->getParentOp()))
    program = program->getParentOp();
  auto name = program ? program->getAttrOfType<mlir::StringAttr>(
                            mlir::SymbolTable::getSymbolAttrName())
                      : nullptr;
  if (!name || findPlace(op->getLoc()) != findPlace(program->getLoc()))
    return {};
  auto found = lines.find(name);
  return found == lines.end() ? llvm::ArrayRef<unsigned>() : found->second;
}

static PhaseText printWithLines(mlir::ModuleOp module, llvm::StringRef name,
                                const LinesOfPrograms &programs) {
  PhaseText phase;
  phase.name = name.str();
  mlir::AsmState::LocationMap places;
  mlir::AsmState state(module, mlir::OpPrintingFlags(), &places);
  llvm::raw_string_ostream os(phase.text);
  module->print(os, state);
  phase.lines.resize(llvm::count(phase.text, '\n') + 1);
  module->walk([&](mlir::Operation *op) {
    auto found = places.find(op);
    // The module's location is the file's first line, which means nothing.
    if (found == places.end() || op->getLoc() == module->getLoc())
      return;
    size_t line = found->second.first;
    if (line == 0 || line > phase.lines.size())
      return;
    auto &own = phase.lines[line - 1];
    auto add = [&](llvm::ArrayRef<unsigned> lines) {
      for (unsigned each : lines)
        if (!llvm::is_contained(own, each))
          own.push_back(each);
    };
    add(listLines(op->getLoc()));
    add(findProgramLines(op, programs));
  });
  return phase;
}

PhaseText explain::printPhase(mlir::ModuleOp module, llvm::StringRef name) {
  return printWithLines(module, name, {});
}

/// "attend" of "flash_attend_0"
static std::string getWhat(llvm::StringRef program, llvm::StringRef kernel) {
  llvm::StringRef what = program;
  what.consume_front(kernel);
  what.consume_front("_");
  llvm::StringRef number = what.rsplit('_').second;
  bool isNumbered = !number.empty() && llvm::all_of(number, llvm::isDigit);
  return (isNumbered ? what.rsplit('_').first : what).str();
}

static std::vector<TileProgram> listPrograms(mlir::ModuleOp module,
                                             llvm::StringRef kernel) {
  std::vector<TileProgram> programs;
  for (auto program : module.getOps<nsatile::ProgramOp>()) {
    TileProgram &found = programs.emplace_back();
    found.name = program.getSymName().str();
    found.what = getWhat(found.name, kernel);
    found.place = findPlace(program.getLoc());
    if (auto ops =
            program->getAttrOfType<mlir::ArrayAttr>(nsatile::kOpsAttrName))
      for (auto name : ops.getAsRange<mlir::StringAttr>())
        found.ops.push_back(name.str());
    if (auto exact = program->getAttrOfType<mlir::FlatSymbolRefAttr>(
            nsatile::kExactProgramAttrName))
      found.exact = exact.getValue().str();
  }
  return programs;
}

/// Lines of the ops that a program computes, and of the program.
static llvm::SmallVector<unsigned, 1>
listLines(const TileProgram &program, llvm::ArrayRef<OpExplanation> ops) {
  llvm::SmallSetVector<unsigned, 4> lines;
  if (program.place.line > 0)
    lines.insert(program.place.line);
  for (const OpExplanation &op : ops)
    if (llvm::is_contained(program.ops, op.name) && op.place.line > 0)
      lines.insert(op.place.line);
  return {lines.begin(), lines.end()};
}

llvm::Expected<LoweredKernel>
explain::lower(nsa::KernelOp kernel, const schedule::Goal &goal,
               const schedule::Settings &schedule,
               llvm::ArrayRef<OpExplanation> ops) {
  auto module = kernel->getParentOfType<mlir::ModuleOp>();
  std::string name = kernel.getSymName().str();
  mlir::MLIRContext *context = module.getContext();
  mlir::DialectRegistry registry;
  cuda::registerLowering(registry);
  context->appendDialectRegistry(registry);
  Remarks remarks;
  remarks.listen(*context);
  // The streamer refers to variables of this function.
  llvm::scope_exit endListening([&] { context->setRemarkEngine(nullptr); });
  LoweredKernel lowered;
  lowered.phases.push_back(printPhase(module, getName(Phase::NSA)));
  // The kernel's sizes are already set.
  PhaseOptions options;
  options.schedule = schedule;
  options.device = goal.device;
  options.queries = goal.queries;
  std::vector<Phase> phases = {Phase::Tile};
  if (goal.device)
    phases.insert(phases.end(), {Phase::TileOpt, Phase::NVVM});
  for (Phase phase : phases) {
    if (mlir::failed(runPhase(module, phase, options)))
      return llvm::createStringError("phase '" + getName(phase) + "' failed");
    if (phase == Phase::Tile)
      lowered.programs = listPrograms(module, name);
    LinesOfPrograms lines;
    for (const TileProgram &program : lowered.programs)
      lines[program.name] = listLines(program, ops);
    lowered.phases.push_back(printWithLines(module, getName(phase), lines));
  }
  lowered.remarks = remarks.getList();
  return lowered;
}

namespace {

/// Finds the source lines of lines of PTX.
class CodeLines {
public:
  CodeLines(const std::vector<TileProgram> &programs,
            llvm::ArrayRef<OpExplanation> ops)
      : programs(programs), ops(ops) {}

  /// Looks at the next line of the code.
  llvm::SmallVector<unsigned, 1> next(llvm::StringRef line);

private:
  void enter(llvm::StringRef name);
  void follow(llvm::StringRef place);

  const std::vector<TileProgram> &programs;
  llvm::ArrayRef<OpExplanation> ops;
  Place place;
  llvm::SmallVector<unsigned, 1> ofProgram, current;
};

} // namespace

void CodeLines::enter(llvm::StringRef name) {
  for (const TileProgram &program : programs)
    if (program.name == name) {
      place = program.place;
      ofProgram = current = listLines(program, ops);
    }
}

/// ".loc FILE LINE COLUMN": line 0 means none. The program's place only says
/// that the line belongs to the program.
void CodeLines::follow(llvm::StringRef loc) {
  llvm::SmallVector<llvm::StringRef> parts;
  loc.split(parts, ' ', -1, /*KeepEmpty=*/false);
  unsigned line, column;
  if (parts.size() < 3 || parts[1].getAsInteger(10, line) ||
      parts[2].getAsInteger(10, column))
    return;
  current.clear();
  if (line == place.line && column == place.column)
    current = ofProgram;
  else if (line > 0)
    current.push_back(line);
}

llvm::SmallVector<unsigned, 1> CodeLines::next(llvm::StringRef line) {
  llvm::StringRef loc = line.ltrim();
  if (line.contains(".entry "))
    enter(line.split(".entry ").second.take_until(
        [](char c) { return c == '(' || c == ' '; }));
  else if (loc.consume_front(".loc"))
    follow(loc.take_until([](char c) { return c == ','; }).trim());
  llvm::SmallVector<unsigned, 1> lines = current;
  if (line == "}")
    current.clear();
  return lines;
}

PhaseText explain::makeCodePhase(const rt::Package &package,
                                 const std::vector<TileProgram> &programs,
                                 llvm::ArrayRef<OpExplanation> ops) {
  PhaseText phase;
  phase.name = "ptx";
  for (const rt::Image &image : package.images) {
    if (image.ptx.empty())
      continue;
    CodeLines places(programs, ops);
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(image.ptx).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      phase.text += (line + "\n").str();
      phase.lines.push_back(places.next(line));
    }
  }
  phase.lines.emplace_back();
  return phase;
}
