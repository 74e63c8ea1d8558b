//===- Build.cpp - From a program to its explanation ----------------------===//

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAOps.h"
#include "Parts.h"
#include "nsacc/Schedule/Choose.h"
#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;
using namespace nsacc::explain;
using schedule::Field;

static std::string spell(const Signature &signature) {
  auto list = [](llvm::ArrayRef<Argument> arguments) {
    auto names = llvm::map_range(
        arguments, [](const Argument &each) { return toString(each); });
    return "(" + llvm::join(names, ", ") + ")";
  };
  std::vector<std::string> params;
  for (const auto &[name, value] : signature.params)
    params.push_back(name + " = " + value);
  return signature.kernel +
         (params.empty() ? "" : "<" + llvm::join(params, ", ") + ">") +
         list(signature.inputs) + " -> " + list(signature.results);
}

/// Sizes in the order in which the inputs name them; for ragged rows, their
/// number.
static std::string spell(const Signature &signature, const DimSizes &sizes) {
  std::vector<std::string> names, texts;
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims) {
      auto found = sizes.sizes.find(dim.name);
      bool isOwn =
          dim.kind == Dim::Kind::Named || dim.kind == Dim::Kind::Ragged;
      if (!isOwn || found == sizes.sizes.end() ||
          llvm::is_contained(names, dim.name))
        continue;
      names.push_back(dim.name);
      std::string text = dim.name + "=" + std::to_string(found->second);
      if (dim.kind == Dim::Kind::Ragged && sizes.batchRows)
        text += " in " + std::to_string(*sizes.batchRows) + " rows";
      texts.push_back(text);
    }
  return llvm::join(texts, ", ");
}

namespace {

/// Fills an explanation from a kernel with its sizes.
class Builder {
public:
  Builder(Explanation &explanation, nsa::KernelOp kernel,
          const schedule::Goal &goal, const DimSizes &sizes, unsigned threads)
      : explanation(explanation), kernel(kernel), goal(goal), sizes(sizes),
        threads(threads), callSizes(kernel, sizes) {}

  llvm::Error addOps(const schedule::Settings &schedule);
  llvm::Error addPrograms(const Signature &signature,
                          const CodeDetails &details);

private:
  OpExplanation explainOp(const schedule::OpChoice &op) const;
  void addMap(OpExplanation &found, const schedule::OpChoice &op) const;
  void addRemarks(std::vector<Remark> remarks);

  Explanation &explanation;
  nsa::KernelOp kernel;
  const schedule::Goal &goal;
  const DimSizes &sizes;
  unsigned threads;
  tuning::CallSizes callSizes;
  std::optional<schedule::KernelChoice> choice;
};

} // namespace

void Builder::addMap(OpExplanation &found, const schedule::OpChoice &op) const {
  auto scoring = mlir::dyn_cast<nsa::ScoringOpInterface>(op.op);
  if (!scoring || !scoring.getValue())
    return;
  int64_t keys = op.get(Field::Keys);
  if (scoring.getSelection()) {
    auto type =
        mlir::cast<nsa::SelectionType>(scoring.getSelection().getType());
    keys = std::min<int64_t>(keys, type.getBlock());
  }
  found.mask = nsa::toString(nsa::analyzeMask(scoring));
  found.map = makeTileMap(scoring, callSizes, op.get(Field::Tokens), keys);
}

OpExplanation Builder::explainOp(const schedule::OpChoice &op) const {
  OpExplanation found;
  found.name = op.name;
  found.kind = op.getInterface().getScheduleName().str();
  found.place = findPlace(op.op->getLoc());
  for (const schedule::FieldInfo &info : schedule::getFields())
    if (const auto &field = op.fields[static_cast<size_t>(info.field)])
      found.fields.push_back({info.field, schedule::getFullName(info.field),
                              schedule::toString(info.field, field->value),
                              field->reason});
  addMap(found, op);
  return found;
}

llvm::Error Builder::addOps(const schedule::Settings &schedule) {
  auto chosen = schedule::choose(kernel, goal, schedule);
  if (!chosen)
    return chosen.takeError();
  choice.emplace(std::move(*chosen));
  for (const schedule::OpChoice &op : choice->ops)
    explanation.ops.push_back(explainOp(op));
  explanation.rates = tuning::Rates::get(goal, threads);
  explanation.device = goal.device;
  explanation.queries = describeQueries(goal.queries);
  return llvm::Error::success();
}

/// Adds remarks about programs to those programs. A remark about the kernel
/// that names an op's place is added to the program that computes the op, if
/// there is just one.
void Builder::addRemarks(std::vector<Remark> remarks) {
  for (Remark &remark : remarks) {
    auto program = llvm::find_if(explanation.programs, [&](const auto &each) {
      return each.name == remark.program;
    });
    if (program == explanation.programs.end())
      program = llvm::find_if(explanation.programs, [&](const auto &each) {
        return llvm::any_of(each.counted, [&](size_t op) {
          return remark.place.line > 0 &&
                 explanation.ops[op].place == remark.place;
        });
      });
    auto &list = program == explanation.programs.end() ? explanation.remarks
                                                       : program->remarks;
    list.push_back(std::move(remark));
  }
}

llvm::Error Builder::addPrograms(const Signature &signature,
                                 const CodeDetails &details) {
  tuning::ModelOptions model;
  model.budget = tuning::kFloorBudget;
  model.threads = threads;
  auto prediction =
      tuning::predict(kernel, goal, details.schedule, sizes, model);
  if (!prediction)
    return prediction.takeError();
  for (auto [op, predicted] : llvm::zip(explanation.ops, prediction->ops))
    op.predicted = predicted;
  explanation.predictedSeconds = prediction->seconds;
  explanation.work = prediction->work;
  explanation.floor = tuning::Floor(prediction->work, explanation.rates);
  if (llvm::Error error = addLaunches(explanation, signature, sizes, details))
    return error;
  // Lowering consumes the kernel, so programs over tiles are made from a copy.
  mlir::OwningOpRef<mlir::ModuleOp> copy =
      kernel->getParentOfType<mlir::ModuleOp>().clone();
  auto lowered = lower(*copy->getOps<nsa::KernelOp>().begin(), goal,
                       details.schedule, explanation.ops);
  if (!lowered)
    return lowered.takeError();
  addWork(explanation, kernel, *choice, callSizes, lowered->programs);
  addRemarks(std::move(lowered->remarks));
  for (PhaseText &phase : lowered->phases)
    explanation.phases.push_back(std::move(phase));
  if (goal.device)
    explanation.phases.push_back(
        makeCodePhase(details.package, lowered->programs, explanation.ops));
  return llvm::Error::success();
}

/// Fails if a kernel's ops can't have a schedule.
static llvm::Error checkTuned(const CompiledProgram &program,
                              llvm::StringRef kernel, const DimSizes &sizes,
                              llvm::StringRef schedule) {
  return program.withKernel(
      kernel, sizes,
      [&](nsa::KernelOp op, const schedule::Goal &goal,
          const schedule::Settings &given) -> llvm::Error {
        schedule::Settings settings = given;
        if (llvm::Error error = settings.addTuned(schedule))
          return error;
        if (llvm::Error error = schedule::check(
                op->getParentOfType<mlir::ModuleOp>(), goal, settings))
          return error;
        return schedule::choose(op, goal, settings).takeError();
      });
}

/// Whether a schedule can be used. As in runs, an unusable one is a miss with a
/// warning.
static bool canUse(const CompiledProgram &program, llvm::StringRef kernel,
                   const DimSizes &sizes, const BuildOptions &options,
                   llvm::StringRef schedule) {
  llvm::Error error = checkTuned(program, kernel, sizes, schedule);
  if (!error)
    return true;
  std::string why = describeUnused(schedule, kernel, std::move(error));
  if (options.warn)
    options.warn(why);
  return false;
}

/// Finds the schedule that measuring found for such calls, or for many sizes,
/// if schedules are looked up.
static llvm::Error findTuned(const CompiledProgram &program,
                             llvm::StringRef kernel, const DimSizes &sizes,
                             const BuildOptions &options,
                             Explanation &explanation) {
  if (options.tuning.mode == TuneMode::Off)
    return llvm::Error::success();
  auto key = program.getTuningKey(kernel, sizes);
  if (!key)
    return key.takeError();
  TunedSchedules store(options.tuning.store, options.warn);
  auto tuned = store.find(*key);
  if (tuned && canUse(program, kernel, sizes, options, tuned->schedule)) {
    explanation.tuned = std::move(*tuned);
    return llvm::Error::success();
  }
  std::string ruleKey = getRuleKey(*key);
  auto rule = store.findRule(ruleKey);
  if (!rule)
    return llvm::Error::success();
  auto signature = program.getSignature(kernel);
  if (!signature)
    return signature.takeError();
  if (std::string why = describeUnused(*rule, *signature, ruleKey);
      !why.empty()) {
    if (options.warn)
      options.warn(why);
    return llvm::Error::success();
  }
  const TunedRule::Case *found = rule->find(sizes.sizes);
  if (found && canUse(program, kernel, sizes, options, found->schedule)) {
    explanation.ruled = found->schedule;
    explanation.rule = std::move(*rule);
  }
  return llvm::Error::success();
}

static void explainRegisters(Explanation &explanation,
                             const CodeDetails &details,
                             llvm::ArrayRef<std::string> ptxas) {
  if (!explanation.device || !details.kernels.empty())
    return;
  explanation.noRegisters =
      !details.notAsked.empty()
          ? "ptxas can't be asked, so registers aren't known: " +
                details.notAsked
      : cuda::findPtxas(ptxas)
          ? "ptxas is too old for " + explanation.device->name +
                ", so registers aren't known: put a newer one on the PATH"
          : "ptxas wasn't found, so registers aren't known: put it on the PATH";
}

llvm::Expected<Explanation> explain::build(const CompiledProgram &program,
                                           llvm::StringRef kernel,
                                           const DimSizes &sizes,
                                           BuildOptions options) {
  auto signature = program.getSignature(kernel);
  if (!signature)
    return signature.takeError();
  Explanation explanation;
  explanation.kernel = signature->kernel;
  explanation.signature = spell(*signature);
  explanation.sizes = spell(*signature, sizes);
  explanation.target = program.getTargetName();
  explanation.file = llvm::json::fixUTF8(options.file);
  explanation.source = std::move(options.source);
  if (llvm::Error error =
          findTuned(program, kernel, sizes, options, explanation))
    return std::move(error);
  std::string tuned =
      explanation.tuned ? explanation.tuned->schedule : explanation.ruled;
  // Uses the model as a run does. Modes that measure would find a schedule that
  // isn't known before.
  bool isModelled = !explanation.tuned && !explanation.rule &&
                    options.tuning.mode == TuneMode::Model;
  if (isModelled) {
    tuning::ModelOptions model;
    model.agreement = options.tuning.policy.agreement;
    model.threads = options.threads;
    if (llvm::Error error = tuning::chooseByModel(program, kernel, sizes, model)
                                .moveInto(tuned))
      return std::move(error);
  }
  std::optional<CodeDetails> details;
  if (options.compiles) {
    explanation.phases = std::move(options.earlier);
    auto compiled = program.compileInDetail(kernel, sizes, tuned, isModelled);
    if (!compiled)
      return compiled.takeError();
    details = std::move(*compiled);
    explanation.losses = details->losses;
    explanation.schedule = details->schedule.toString();
  }
  auto use = [&](nsa::KernelOp op, const schedule::Goal &goal,
                 const schedule::Settings &given) -> llvm::Error {
    Builder builder(explanation, op, goal, sizes, options.threads);
    schedule::Settings settings = given;
    if (llvm::Error error = settings.addTuned(tuned, isModelled))
      return error;
    // Tiles that had no room were left out, with a warning, or made smaller:
    // this schedule wasn't measured.
    if (details && details->schedule.getKey() != settings.getKey())
      explanation.tuned.reset();
    if (llvm::Error error =
            builder.addOps(details ? details->schedule : settings))
      return error;
    return details ? builder.addPrograms(*signature, *details)
                   : llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(kernel, sizes, use))
    return std::move(error);
  if (details)
    explainRegisters(explanation, *details, options.ptxas);
  return explanation;
}
