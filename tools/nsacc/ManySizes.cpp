//===- ManySizes.cpp - nsacc tune --dims-file -----------------------------===//

#include "ManySizes.h"
#include "Files.h"
#include "Messages.h"
#include "TunedStore.h"
#include "nsacc/Support/Suggestions.h"
#include "nsacc/Tensor/GivenSizes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

//===-- Reading -----------------------------------------------------------===//

/// A number spelled as in JSON; none for other values.
static std::optional<std::string> spellNumber(const llvm::json::Value &value) {
  if (auto number = value.getAsInteger())
    return std::to_string(*number);
  return std::nullopt;
}

static llvm::Error addSize(GivenSizes &sizes, llvm::StringRef name,
                           const llvm::json::Value &value) {
  auto reject = [&] {
    return llvm::createStringError(
        llvm::formatv("'{0}': {1} isn't a size, expected a number from 0 to "
                      "2^40, or a list of the lengths of a ragged dimension's "
                      "rows",
                      name, value)
            .str());
  };
  const llvm::json::Array *rows = value.getAsArray();
  if (!rows) {
    auto number = spellNumber(value);
    return number ? sizes.addNumber(name, *number) : reject();
  }
  std::vector<std::string> lengths;
  for (const llvm::json::Value &row : *rows) {
    auto number = spellNumber(row);
    if (!number)
      return reject();
    lengths.push_back(std::move(*number));
  }
  std::vector<llvm::StringRef> texts(lengths.begin(), lengths.end());
  return sizes.addRows(name, texts);
}

static llvm::Expected<DimSizes> readShape(const llvm::json::Value &value,
                                          const Signature &signature) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return llvm::createStringError(
        "expected an object of sizes by dimension, as {\"B\": 1, \"T\": 4096}");
  GivenSizes sizes(signature, SizeSyntax::Mapping);
  for (const auto &[name, size] : *object)
    if (llvm::Error error = addSize(sizes, name, size))
      return std::move(error);
  return bindAllSizes(signature, sizes.take(), "a shape", SizeSyntax::Mapping);
}

static llvm::Expected<std::vector<DimSizes>>
readShapes(llvm::StringRef path, const Signature &signature) {
  auto value = readJSONFile(path, "a list of sizes");
  if (!value)
    return value.takeError();
  const llvm::json::Array *list = value->getAsArray();
  if (!list || list->empty())
    return makeError("'" + path + "' has no list of sizes",
                     "as [{\"B\": 1, \"T\": 4096}, {\"B\": 8, \"T\": 512}]");
  std::vector<DimSizes> shapes;
  for (auto [index, each] : llvm::enumerate(*list)) {
    auto sizes = readShape(each, signature);
    if (!sizes)
      return makeError("shape " + llvm::Twine(index + 1) + " of '" + path +
                       "': " + llvm::toString(sizes.takeError()));
    shapes.push_back(std::move(*sizes));
  }
  return shapes;
}

/// Whether all sizes and all rows are equal.
static bool areEqual(const DimSizes &lhs, const DimSizes &rhs) {
  auto isIn = [](const auto &map, const auto &each) {
    auto found = map.find(each.first());
    return found != map.end() && found->second == each.second;
  };
  return lhs.sizes.size() == rhs.sizes.size() &&
         lhs.offsets.size() == rhs.offsets.size() &&
         llvm::all_of(
             lhs.sizes,
             [&](const auto &each) { return isIn(rhs.sizes, each); }) &&
         llvm::all_of(lhs.offsets, [&](const auto &each) {
           return isIn(rhs.offsets, each);
         });
}

/// Drops equal shapes: measuring a shape twice takes time and gives nothing
/// new.
static std::vector<DimSizes> dropEqual(std::vector<DimSizes> shapes,
                                       llvm::StringRef path) {
  std::vector<DimSizes> kept;
  std::vector<size_t> numbers;
  for (auto [index, shape] : llvm::enumerate(shapes)) {
    auto same = llvm::find_if(
        kept, [&](const DimSizes &each) { return areEqual(each, shape); });
    if (same == kept.end()) {
      numbers.push_back(index + 1);
      kept.push_back(std::move(shape));
      continue;
    }
    printWarning(("shape " + llvm::Twine(index + 1) + " of '" + path +
                  "' has the sizes of shape " +
                  llvm::Twine(numbers[same - kept.begin()]) +
                  ", and is left out")
                     .str());
  }
  return kept;
}

llvm::Expected<ManySizes> nsacc::readManySizes(llvm::StringRef path,
                                               llvm::StringRef heldOutPath,
                                               const Signature &signature) {
  ManySizes sizes;
  auto shapes = readShapes(path, signature);
  if (!shapes)
    return shapes.takeError();
  sizes.shapes = dropEqual(std::move(*shapes), path);
  if (heldOutPath.empty())
    return sizes;
  auto heldOut = readShapes(heldOutPath, signature);
  if (!heldOut)
    return heldOut.takeError();
  sizes.heldOut = dropEqual(std::move(*heldOut), heldOutPath);
  for (const DimSizes &each : sizes.heldOut)
    if (llvm::any_of(sizes.shapes, [&](const DimSizes &other) {
          return areEqual(each, other);
        }))
      printWarning("the shape " + tuning::spellSizes(each) + " of '" +
                   heldOutPath.str() + "' isn't held out: it is in '" +
                   path.str() + "', too");
  return sizes;
}

//===-- Printing ----------------------------------------------------------===//

std::string nsacc::spellTooShort(const std::string &what) {
  return "the time was over before anything was compared with the compiler's "
         "choice" +
         what + ": give more with --budget";
}

void nsacc::printKept(bool isKept, const std::string &why,
                      const tuning::TuneOptions &options) {
  if (isKept) {
    llvm::outs() << "kept in " << options.store.folder;
    if (std::string mode = spellReplay(options.policy); mode != "replay")
      llvm::outs() << " for NSACC_TUNE=" << mode;
    llvm::outs() << '\n';
    return;
  }
  llvm::outs() << "not kept: ";
  if (!why.empty())
    llvm::outs() << why;
  else if (options.store.folder.empty())
    llvm::outs() << "there is no folder for it: NSACC_CACHE_DIR names one";
  else if (std::string readOnly = explainReadOnly(options.store);
           !readOnly.empty())
    llvm::outs() << readOnly;
  else
    llvm::outs() << "nothing can be written into '" << options.store.folder
                 << "': NSACC_CACHE_DIR names another folder";
  llvm::outs() << '\n';
}

/// "", or " for shape 2", " for shapes 1 and 3".
static std::string spellNumbers(llvm::ArrayRef<size_t> numbers) {
  std::string text = numbers.size() == 1 ? " for shape " : " for shapes ";
  for (auto [index, number] : llvm::enumerate(numbers)) {
    if (index > 0)
      text += index + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(number);
  }
  return text;
}

static void printShapes(const tuning::ShapesResult &result,
                        llvm::StringRef what,
                        llvm::ArrayRef<tuning::ShapeTimes> shapes) {
  for (const tuning::ShapeTimes &shape : shapes) {
    size_t chosen = result.rule.find(shape.sizes);
    llvm::outs() << llvm::formatv(
        "{0} {1}: {2:f4} ms, {3:f3} times its fastest; '{4}'\n", what,
        tuning::spellSizes(shape.sizes), shape.milliseconds[chosen],
        shape.getSlowdown(chosen), result.schedules[chosen]);
  }
}

/// Prints the result of a tuning that was interrupted.
static void printStopped(const tuning::ShapesResult &result,
                         const tuning::ShapesOptions &options) {
  llvm::outs() << llvm::formatv("interrupted after {0:f1} s, ", result.seconds);
  if (result.tunedShapes == 0) {
    llvm::outs() << "before a shape was tuned: nothing is kept\n";
    return;
  }
  llvm::outs() << "with " << result.tunedShapes << " shape"
               << (result.tunedShapes == 1 ? "" : "s")
               << " tuned: there is no rule, but a schedule for each of these "
                  "alone\n";
  printKept(result.keptShapes > 0, "", options.tuning);
}

void nsacc::printManySizes(const tuning::ShapesResult &result,
                           const tuning::ShapesOptions &options) {
  if (result.isStopped)
    return printStopped(result, options);
  if (!result.notCompared.empty())
    return printKept(false, spellTooShort(spellNumbers(result.notCompared)),
                     options.tuning);
  printShapes(result, "shape", result.shapes);
  printShapes(result, "held out", result.heldOut);
  llvm::outs() << "rule: " << result.rule.describe(result.schedules) << '\n';
  bool hasPassed = result.hasPassed(options);
  llvm::outs() << (hasPassed ? "passed" : "FAILED")
               << llvm::formatv(": at worst, a shape takes {0:f3} times the "
                                "time of its own fastest schedule",
                                result.rule.slowdown);
  if (!result.heldOut.empty())
    llvm::outs() << llvm::formatv(", one that was held out {0:f3} times",
                                  result.heldOutSlowdown);
  llvm::outs() << llvm::formatv("; {0:f3} times are allowed\n",
                                options.mostSlowdown);
  llvm::outs() << llvm::formatv(
      "{0} schedules measured with {1} shapes, in {2:f1} s\n",
      result.schedules.size(), result.shapes.size() + result.heldOut.size(),
      result.seconds);
  printKept(result.isKept,
            hasPassed ? ""
                      : "a shape is slower than is allowed: allow more with "
                        "--max-slowdown, or more schedules with "
                        "--most-schedules",
            options.tuning);
}
