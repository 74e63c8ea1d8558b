//===- RoomAdvice.cpp - Advice about sizes with room on the target --------===//

#include "NSA/IR/NSAOps.h"
#include "TileCompiler.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Driver/CompileError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace nsacc;

/// Fields of buffers, with the most that the compiler chooses beside tiles that
/// aren't smaller.
static constexpr std::pair<schedule::Field, int64_t> kBuffers[] = {
    {schedule::Field::Stages, 2}, {schedule::Field::QueryStages, 1}};

int64_t TileCompiler::findBuffers(schedule::Field field, int64_t given,
                                  schedule::Settings &tiles,
                                  const Signature &signature,
                                  const Specialization &code) const {
  auto hasRoom = [&](const schedule::Settings &fewer,
                     const Specialization &each) {
    NoRoom noRoom;
    llvm::Error error = findRoom(fewer, signature, each, noRoom);
    bool fits = !error;
    llvm::consumeError(std::move(error));
    return fits;
  };
  int64_t fits = 0;
  for (int64_t beyond = given; beyond - fits > 1;) {
    int64_t middle = (fits + beyond) / 2;
    schedule::Settings fewer = tiles;
    fewer.limit(field, middle);
    bool isEnough = hasRoom(fewer, code) &&
                    llvm::all_of(code.others, [&](const Specialization &each) {
                      return hasRoom(fewer, each);
                    });
    (isEnough ? fits : beyond) = middle;
  }
  if (fits > 0)
    tiles.limit(field, fits);
  return fits;
}

std::string TileCompiler::adviseBuffers(llvm::ArrayRef<std::string> ops,
                                        const schedule::Settings &settings,
                                        const schedule::Settings &tiles,
                                        Tiles which, const Signature &signature,
                                        const Specialization &code) const {
  for (auto [field, usual] : kBuffers) {
    int64_t given = 0;
    for (const std::string &op : ops)
      if (const schedule::Setting *found = settings.find(op, field))
        given = std::max(given, found->value);
    if (given <= usual)
      continue;
    schedule::Settings fitting = tiles;
    int64_t fits = findBuffers(field, given, fitting, signature, code);
    // Smaller tiles have room for the usual buffers at least.
    if (fits < (which == Tiles::Chosen ? usual : 1))
      continue;
    std::string name = schedule::getFullName(field) + "=";
    return "'" + name + std::to_string(given) +
           "' is more than shared memory holds" +
           (which == Tiles::Chosen ? "; '" : ", even of the smallest tiles; ") +
           (which == Tiles::GivenSmaller ? "the schedule '" + fitting.toString()
                                         : (which == Tiles::Chosen ? "" : "'") +
                                               name + std::to_string(fits)) +
           "' fits";
  }
  return "";
}

/// Adds to the error how many tokens may share a selection, if fewer than the
/// program asks for have room: a tile isn't smaller than the rows that select
/// together.
llvm::Error TileCompiler::adviseSharing(llvm::Error error,
                                        const schedule::Settings &settings,
                                        const Signature &signature,
                                        const Specialization &code) const {
  int64_t fits = 0, asked = 1;
  {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    if (auto module = image.read(context, signature.kernel))
      module->walk([&](nsa::TopKOp op) {
        asked = std::max<int64_t>(asked, op.getShareTokens());
      });
  }
  for (int64_t beyond = asked; beyond - fits > 1;) {
    int64_t middle = (fits + beyond) / 2;
    NoRoom noRoom;
    llvm::Error again = findRoom(settings, signature, code, noRoom, middle);
    (again ? beyond : fits) = middle;
    llvm::consumeError(std::move(again));
  }
  if (fits == 0)
    return error;
  return addNote(std::move(error),
                 "'share tokens " + llvm::Twine(asked) + "' is more than " +
                     (code.device ? "shared memory" : "the stack") +
                     " holds; 'share tokens " + llvm::Twine(fits) + "' fits");
}

/// Name and value of a size that code is made for, "HQ=16".
static std::pair<llvm::StringRef, int64_t> split(llvm::StringRef text) {
  auto [name, value] = text.split('=');
  int64_t size = 0;
  value.getAsInteger(10, size);
  return {name, size};
}

/// The size of a dimension, if it is known.
static std::optional<int64_t> findSize(const Specialization &code,
                                       const Dim &dim) {
  if (dim.kind == Dim::Kind::Constant)
    return dim.size;
  for (const std::string &each : code.sizes)
    if (auto [name, size] = split(each); name == dim.name)
      return size;
  return std::nullopt;
}

/// Halves the sizes of these dimensions until they have room, down to `least`.
/// Returns the resulting sizes, "D=512, DV=512"; empty if none have room.
std::string
TileCompiler::findSizes(llvm::function_ref<bool(llvm::StringRef)> isMeant,
                        int64_t least, const schedule::Settings &settings,
                        const Signature &signature, Specialization code) const {
  for (;;) {
    std::vector<std::string> halved;
    for (std::string &each : code.sizes) {
      auto [name, size] = split(each);
      if (!isMeant(name) || size / 2 < least)
        continue;
      each = (name + "=" + llvm::Twine(size / 2)).str();
      halved.push_back(each);
    }
    if (halved.empty())
      return "";
    NoRoom noRoom;
    llvm::Error again = findRoom(settings, signature, code, noRoom);
    if (!again)
      return llvm::join(halved, ", ");
    llvm::consumeError(std::move(again));
  }
}

/// Adds to the error which heads or channels have room, if the call's don't.
llvm::Error TileCompiler::adviseSizes(llvm::Error error,
                                      const schedule::Settings &settings,
                                      const Signature &signature,
                                      const Specialization &code) const {
  llvm::StringSet<> heads;
  for (const Multiple &multiple : signature.multiples) {
    heads.insert(multiple.multiple.name);
    heads.insert(multiple.of.name);
    auto queryHeads = findSize(code, multiple.multiple),
         keyHeads = findSize(code, multiple.of);
    if (multiple.reason != Multiple::Reason::Groups || !queryHeads || !keyHeads)
      continue;
    auto isMeant = [&](llvm::StringRef name) {
      return name == multiple.multiple.name;
    };
    std::string fits = findSizes(isMeant, *keyHeads, settings, signature, code);
    if (!fits.empty())
      return addNote(std::move(error),
                     "a tile of one token has a row for each of the " +
                         llvm::Twine(*queryHeads / *keyHeads) +
                         " query heads of a key head; there is room with " +
                         fits);
  }
  auto isMeant = [&](llvm::StringRef name) { return !heads.contains(name); };
  std::string fits = findSizes(isMeant, /*least=*/1, settings, signature, code);
  return fits.empty() ? std::move(error)
                      : addNote(std::move(error), "there is room with " + fits);
}
