//===- ChooseTest.cpp - Schedules that ops get ----------------------------===//

#include "nsacc/Schedule/Choose.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"
#include <gmock/gmock.h>

using namespace nsacc;
using namespace nsacc::schedule;
using testing::HasSubstr;

namespace {

/// Three attentions of one program, a selection, and a fourth attention whose
/// queries are the first one's output.
constexpr const char *kBody = R"({
  kc, vc = pool(k, 32, 16), pool(v, 32, 16);
  cmp = attend(q, kc, vc) where end(j) <= i;
  sel = topk(blocks(prob(cmp), 64), 8) keep last 1;
  slc = attend(q, k, v) in sel where j <= i;
  swa = attend(q, k, v) where 0 <= i - j < 64;
  return g * cmp + slc + swa;
})";
constexpr const char *kAnyHeads = R"(
kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, D], g: f32[B, T, HQ])
    -> [B, T, HQ, D] )";
constexpr const char *kSharedHead = R"(
kernel f(q: [B, T, 16, 128], k: [B, S, 1, 128], v: [B, S, 1, 128],
         g: f32[B, T, 16]) -> [B, T, 16, 128] )";

class Choose : public testing::Test {
protected:
  Choose() : context(mlir::MLIRContext::Threading::DISABLED) {
    read(kAnyHeads);
  }

  void read(llvm::StringRef signature) {
    std::string text = (signature + kBody).str();
    module = frontend::compile(llvm::MemoryBufferRef(text, "f.nsa"),
                               frontend::Options(), context);
    EXPECT_TRUE(mlir::succeeded(runPhases(*module, Phase::NSA)));
  }

  nsa::KernelOp getKernel() { return *module->getOps<nsa::KernelOp>().begin(); }
  static Goal getGoal(llvm::StringRef device) {
    return {device.empty() ? std::nullopt
                           : std::optional(*gpu::findDevice(device))};
  }
  std::string explain(llvm::StringRef text, llvm::StringRef device = "sm_90a") {
    return llvm::toString(
        check(*module, getGoal(device), llvm::cantFail(Settings::parse(text))));
  }
  KernelChoice getChoice(llvm::StringRef text,
                         llvm::StringRef device = "sm_90a") {
    return llvm::cantFail(choose(getKernel(), getGoal(device),
                                 llvm::cantFail(Settings::parse(text))));
  }
  /// Number of times that tiles can be made smaller, counted up to `most` + 1.
  int countSmaller(llvm::StringRef device, llvm::StringRef schedule,
                   llvm::ArrayRef<std::string> names, int most) {
    auto settings = std::optional(llvm::cantFail(Settings::parse(schedule)));
    int steps = 0;
    while (steps <= most &&
           (settings =
                makeSmaller(getKernel(), getGoal(device), *settings, names)))
      ++steps;
    return steps;
  }
  static const OpChoice &find(const KernelChoice &choice,
                              llvm::StringRef name) {
    for (const OpChoice &op : choice.ops)
      if (op.name == name)
        return op;
    llvm_unreachable("no op of this name");
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

TEST_F(Choose, FieldsOfProgramsAreOfAllItsOps) {
  KernelChoice choice = getChoice("slc: tokens=8, keys=16; sel: tokens=4");
  EXPECT_EQ(find(choice, "slc").get(Field::Tokens), 8);
  EXPECT_EQ(find(choice, "cmp").get(Field::Tokens), 8);
  EXPECT_EQ(find(choice, "swa").get(Field::Tokens), 8);
  EXPECT_EQ(find(choice, "sel").get(Field::Tokens), 4);
  EXPECT_EQ(find(choice, "slc").get(Field::Keys), 16);
  EXPECT_EQ(find(choice, "cmp").get(Field::Keys), 64);
  EXPECT_THAT(explain("slc: tokens=8; cmp: tokens=16"),
              HasSubstr("column 21: 'cmp' shares a program with 'slc', for "
                        "which 'tokens' is 8 at column 6"));
  EXPECT_EQ(explain("slc: tokens=8; cmp: tokens=16, program=own"), "");
}

TEST_F(Choose, OpsOfOneProgram) {
  auto list = [](const KernelChoice &choice) {
    std::string text;
    for (const Program &program : choice.cut.getPrograms()) {
      text += program.what.str() + ":";
      for (const OpChoice &op : choice.ops)
        if (op.getInterface().getScheduleName() != "map" &&
            program.ops.contains(op.op))
          text += " " + op.name;
      text += "\n";
    }
    return text;
  };
  EXPECT_EQ(list(getChoice("")), "pool: kc\npool: vc\n"
                                 "select: cmp importance.1 sel\n"
                                 "attend: cmp slc swa\n");
  EXPECT_EQ(list(getChoice("cmp: program=own")),
            "pool: kc\npool: vc\nattend: cmp\n"
            "select: importance.1 sel\nattend: slc swa\n");
}

TEST_F(Choose, NamesAndFieldsAreTheProgramsOwn) {
  EXPECT_THAT(explain("sclc: tokens=8"),
              HasSubstr("column 1: the program has no op 'sclc': did you mean "
                        "'slc'? ops are kc (pool), vc (pool), cmp (attend), "
                        "importance.1 (importance), sel (topk), slc "
                        "(attend), swa (attend)"));
  EXPECT_THAT(explain("keys=8; sel: order=union"),
              HasSubstr("column 14: 'sel' is a topk without a field 'order': "
                        "it has tokens, blocks, splits, part, program, method, "
                        "halo, warps, blocks_per_sm, stages"));
  EXPECT_THAT(explain("warps=8", ""),
              HasSubstr("column 1: 'warps' is of GPUs, and target 'cpu' is "
                        "none"));
  EXPECT_THAT(explain("cmp: order=union"),
              HasSubstr("column 6: 'cmp' has no selection, whose blocks "
                        "order=union walks: expected query_major or "
                        "key_major"));
  EXPECT_EQ(explain("swa: splits=2"), "");
  EXPECT_EQ(explain("splits=2"), "");
  EXPECT_EQ(explain("slc: splits=2"), "");
  EXPECT_THAT(explain("slc: splits=2, order=query_major"),
              HasSubstr("column 6: 'slc' walks the blocks of a selection with "
                        "order=query_major, which aren't split"));
  EXPECT_THAT(
      explain("slc: part=4, warps=8"),
      HasSubstr("column 6: 'part' cuts tiles whose rows aren't distributed "
                "over warps, and 'cmp' has warps=8: expected "
                "warps=auto"));
  EXPECT_EQ(explain("slc: part=4"), "");
  EXPECT_THAT(explain("sel: program=fused"),
              HasSubstr("column 6: 'sel' can't be computed in the programs of "
                        "its readers: many query tiles read what it computes "
                        "once"));
}

TEST_F(Choose, FieldsThatNoOpHas) {
  module = frontend::compile(
      llvm::MemoryBufferRef("kernel g(q: [B, T, H, D]) -> [B, T, H, D] { "
                            "return attend(q, q, q); }",
                            "g.nsa"),
      frontend::Options(), context);
  EXPECT_THAT(explain("windows=4"),
              HasSubstr("column 1: no op of the program has a field "
                        "'windows': ops are attend.1 (attend)"));
}

TEST_F(Choose, TilesOfSharedSelectionsAreAttributes) {
  context.loadDialect<nsatile::NSATileDialect>();
  constexpr int64_t most = 65536;
  for (int64_t share : {3, 40000, 65535, 65536, 65537, 100000, 2147483647}) {
    std::string program =
        "kernel g(q: [B, T, 4, 16], k: [B, S, 2, 16]) -> [B, T, 4, 16] {"
        " sel = topk(prob(attend(q, pool(k, 16))), 4) share tokens " +
        std::to_string(share) + "; return attend(q, k, k) in sel; }";
    module = frontend::compile(llvm::MemoryBufferRef(program, "g.nsa"),
                               frontend::Options(), context);
    for (llvm::StringRef device : {"", "sm_80", "sm_90a"})
      for (llvm::StringRef text : {"", "tokens=65536", "sel: tokens=50000"})
        for (const OpChoice &op : getChoice(text, device).ops) {
          EXPECT_TRUE(op.getAttr());
          if (op.name != "sel")
            continue;
          EXPECT_LE(op.get(Field::Tokens), most);
          EXPECT_EQ(op.get(Field::Tokens) % std::min(share, most), 0);
        }
  }
}

TEST_F(Choose, ManyAttentionsHaveProgramsOfTheirOwnOnTheCPU) {
  auto compile = [&](int64_t count) {
    std::string attends;
    for (int64_t n = 0; n < count; ++n)
      attends += (n ? ", " : "") + std::string("attend(q, k, k) where j == ") +
                 std::to_string(n);
    std::string program =
        "kernel g(q: [B, T, 4, 16], k: [B, S, 2, 16]) -> [B, T, 4, 16] {"
        " return merge(" +
        attends + "); }";
    module = frontend::compile(llvm::MemoryBufferRef(program, "g.nsa"),
                               frontend::Options(), context);
  };
  auto countPrograms = [&](llvm::StringRef text, llvm::StringRef device) {
    return getChoice(text, device).cut.getPrograms().size();
  };
  compile(16);
  EXPECT_EQ(countPrograms("", ""), 1u);
  compile(17);
  EXPECT_EQ(countPrograms("", ""), 18u);
  EXPECT_EQ(countPrograms("program=fused", ""), 1u);
  EXPECT_EQ(countPrograms("attend.3: program=fused", ""), 17u);
  EXPECT_EQ(countPrograms("", "sm_90a"), 1u);
  EXPECT_THAT(find(getChoice("", ""), "attend.3")
                  .fields[static_cast<size_t>(Field::Program)]
                  ->reason,
              HasSubstr("more than 16 attentions"));
}

/// Each row: the readers of `cmp`, and whether a call can be cut.
TEST_F(Choose, ResultsOfWhichReadersHaveTheirTokensStandInChunks) {
  constexpr const char *start = R"(
kernel g(q: [B, T, H, D], k: [B, T, H, D], p: i32[B, T, H, 4]) -> )",
                       *body = R"( {
  kc = pool(k, 8, 4);
  cmp = attend(q, kc, kc) where end(j) <= i;
  importance = prob(cmp);
  sel = topk(blocks(importance, 16), 4);
  slc = attend(q, k, k) in sel;
  return )";
  struct {
    const char *result, *value, *schedule;
    bool isCut;
  } cases[] = {
      {"[B, T, H, D]", "cmp + slc", "", true},
      {"[B, T, H, D]", "cmp + slc + attend(q, k, k)", "slc: program=own", true},
      {"[B, T, H, D]", "cmp + 2 * slc", "slc: program=own", false},
      {"[B, T, H, D]", "merge(cmp, slc)", "slc: order=union, splits=2", true},
      {"[B, T, H, D]", "cmp + slc", "map.1: program=own", false},
      {"(a: [B, T, H, D], b: i32[B, T, H, 4])", "slc, indices(sel)", "", true},
      {"[B, T, H, D]", "cmp", "", false},
      {"(a: [B, T, H, D], b: f32[B, T, H])", "slc, lse(cmp)", "", false},
      {"[B, T, H, D]", "cmp + slc", "slc: order=key_major", false},
      {"[B, T, H, D]", "cmp + slc", "cmp: order=key_major", false},
      {"[B, T, H, D]", "slc", "importance: program=own", false},
      {"[B, T, H, D]", "attend(cmp, k, k) + slc", "", false},
      {"[B, T, H, D]", "attend(q, pool(k, 4), pool(cmp, 4)) + slc", "", false},
      {"[B, T, H, D]", "attend(q, k, k) in union(sel, selection(p, 16))", "",
       false}};
  for (const auto &each : cases) {
    SCOPED_TRACE(std::string(each.value) + " under " + each.schedule);
    std::string program =
        std::string(start) + each.result + body + each.value + "; }";
    module = frontend::compile(llvm::MemoryBufferRef(program, "g.nsa"),
                               frontend::Options(), context);
    ASSERT_TRUE(module && mlir::succeeded(runPhases(*module, Phase::NSA)));
    KernelChoice choice = getChoice(
        std::string("cmp: program=own, chunk=7; ") + each.schedule, "");
    const auto &chunk =
        find(choice, "cmp").fields[static_cast<size_t>(Field::Chunk)];
    EXPECT_EQ(chunk.has_value(), each.isCut);
    if (chunk)
      EXPECT_EQ(chunk->value, 7);
  }
}

/// Some tile is the smallest, on any device and from any schedule. Ops of one
/// program may keep each other from a smaller tile.
TEST_F(Choose, SmallerTilesEnd) {
  constexpr int most = 100;
  for (const char *signature : {kAnyHeads, kSharedHead}) {
    read(signature);
    std::vector<std::string> all;
    for (const OpChoice &op : getChoice("").ops)
      all.push_back(op.name);
    std::vector<std::vector<std::string>> names = {all};
    for (const std::string &name : all)
      names.push_back({name});
    for (llvm::StringRef device : {"", "sm_80", "sm_90a", "sm_120"})
      for (llvm::StringRef schedule :
           {"", "cmp: program=own; swa: program=own", "heads=8",
            "tokens=1,keys=16", "slc: order=key_major", "cmp: order=key_major"})
        for (const std::vector<std::string> &tooLarge : names)
          EXPECT_LE(countSmaller(device, schedule, tooLarge, most), most)
              << device.str() << " '" << schedule.str() << "' "
              << testing::PrintToString(tooLarge);
  }
}

TEST_F(Choose, SmallerTilesAreOfOpsWithoutRoom) {
  std::optional<Settings> settings = Settings();
  std::vector<std::string> steps;
  while ((settings = makeSmaller(getKernel(), {}, *settings, {"sel"})))
    steps.push_back(settings->toString());
  EXPECT_THAT(steps, testing::ElementsAre(
                         "sel: blocks=32", "sel: tokens=16, blocks=32",
                         "sel: tokens=4, blocks=32", "sel: tokens=1, blocks=32",
                         "sel: tokens=1, blocks=16"));
  // On this GPU a top-k has 32 blocks from the start.
  settings = makeSmaller(getKernel(), getGoal("sm_90a"), Settings(), {"sel"});
  EXPECT_EQ(settings->toString(), "sel: tokens=16");
  settings = makeSmaller(getKernel(), {}, Settings(), {"kc", "slc"});
  EXPECT_EQ(settings->toString(), "kc: windows=4; slc: keys=32");
  EXPECT_FALSE(makeSmaller(getKernel(), {}, Settings(), {}).has_value());
}
