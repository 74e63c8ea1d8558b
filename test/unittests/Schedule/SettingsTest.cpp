//===- SettingsTest.cpp - Schedule fields that a user sets ----------------===//

#include "nsacc/Schedule/Settings.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>

using namespace nsacc::schedule;
using testing::EndsWith;
using testing::HasSubstr;

static Settings parse(llvm::StringRef text) {
  return llvm::cantFail(Settings::parse(text));
}

static std::string explain(llvm::StringRef text) {
  auto settings = Settings::parse(text);
  return settings ? "" : llvm::toString(settings.takeError());
}

TEST(Settings, NamedFieldsComeBeforeThoseOfAllOps) {
  Settings settings = parse("keys=32, warps=auto; slc: keys=16, order=union");
  EXPECT_EQ(settings.find("slc", Field::Keys)->value, 16);
  EXPECT_EQ(settings.find("cmp", Field::Keys)->value, 32);
  EXPECT_EQ(settings.find("slc", Field::Order)->value, 1);
  EXPECT_EQ(settings.find("cmp", Field::Order), nullptr);
  EXPECT_EQ(settings.find("cmp", Field::Warps)->value, 0);
  EXPECT_EQ(settings.findForAll(Field::Order), nullptr);
}

TEST(Settings, AreWrittenAsTheyAreRead) {
  const char *text = "order=union , tokens=8 ;cmp:keys=128";
  Settings settings = parse(text);
  EXPECT_EQ(settings.toString(), text);
  settings.set("cmp", Field::Keys, 32);
  settings.set("slc", Field::Softmax, 0);
  EXPECT_EQ(settings.toString(),
            "order=union, tokens=8; cmp: keys=32; slc: softmax=auto");
  EXPECT_EQ(parse(settings.toString()).toString(), settings.toString());
  std::string option;
  llvm::raw_string_ostream(option) << SettingsOption(settings);
  EXPECT_EQ(option, "order=union,tokens=8;cmp:keys=32;slc:softmax=auto");
}

TEST(Settings, ProgramsHaveFieldsOfTheirOwn) {
  Settings settings = llvm::cantFail(Settings::parse(
      "tokens=8; *.merge: tokens=1; attend.1.exact: keys=16; *: keys=32"));
  EXPECT_EQ(settings.findForAll(Field::MergeTokens)->value, 1);
  EXPECT_EQ(settings.findForAll(Field::Keys)->value, 32);
  EXPECT_EQ(settings.find("attend.1", Field::ExactKeys)->value, 16);
  EXPECT_EQ(settings.find("attend.2", Field::ExactKeys), nullptr);
  EXPECT_EQ(settings.getKey(),
            "tokens=8, keys=32; *.merge: tokens=1; attend.1.exact: keys=16");
}

TEST(Settings, FieldsAreSpelledAsTheyAreRead) {
  for (const FieldInfo &info : getFields())
    for (const char *op : {"", "slc"}) {
      std::string text =
          spellField(op, info.field, toString(info.field, info.least));
      EXPECT_EQ(parse(text).getList().front().field, info.field) << text;
    }
  EXPECT_EQ(spellField("slc", Field::MergeHeads, "3"), "slc.merge: heads=3");
  EXPECT_EQ(spellField("", Field::ExactKeys, "16"), "*.exact: keys=16");
  EXPECT_EQ(spellField("slc", Field::Keys, "16"), "keys=16");
}

TEST(Settings, LimitsLowerAllValuesOfAField) {
  Settings settings = parse("stages=7; slc: stages=2, keys=32");
  settings.limit(Field::Stages, 4);
  EXPECT_EQ(settings.toString(), "stages=4; slc: keys=32, stages=2");
}

TEST(Settings, ErrorsHaveTheirColumns) {
  EXPECT_EQ(explain("tokens=4, tokns=8"),
            "can't use the schedule 'tokens=4, tokns=8': column 11: there is "
            "no field 'tokns': did you mean 'tokens'?\n" +
                explainSettings());
  EXPECT_EQ(explain("warmth=3"),
            "can't use the schedule 'warmth=3': column "
            "1: there is no field 'warmth': fields are order, tokens, heads, "
            "keys, blocks, "
            "windows, rows, columns, splits, chunk, part, "
            "channels, program, method, halo, warps, blocks_per_sm, "
            "stages, query_stages, ping_pong, columns_in_registers, softmax, "
            "rescale, "
            "grid, peel\n" +
                explainSettings());
  EXPECT_EQ(explain("slc: warmth=3"), "can't use the schedule 'slc: warmth=3': "
                                      "column 6: there is no field 'warmth'\n" +
                                          explainSettings());
  EXPECT_THAT(explain("*.exact: splits=2"),
              HasSubstr("column 10: there is no field 'splits': fields are "
                        "tokens, keys"));
  // Names as the table of fields and JSON have them.
  EXPECT_THAT(explain("tokens=4, merge.heads=8"),
              HasSubstr("column 11: there is no field 'merge.heads': expected "
                        "'*.merge: heads=8'"));
  EXPECT_THAT(explain("a: exact.keys=16"),
              HasSubstr("there is no field 'exact.keys': expected 'a.exact: "
                        "keys=16'"));
  EXPECT_THAT(explain("a: merge=1"),
              HasSubstr("there is no field 'merge': 'a.merge' is a program "
                        "with the fields tokens, heads, as in 'a.merge: "
                        "tokens=…'"));
  EXPECT_THAT(explain("a.merge.merge: heads=1"),
              HasSubstr("column 1: 'a.merge' is a program, which has no other: "
                        "expected FIELD=VALUE behind 'a.merge:'"));
  EXPECT_THAT(explain(".merge: tokens=2"),
              HasSubstr("column 1: expected the name of an op, or * for all, "
                        "in front of '.merge'"));
  EXPECT_THAT(explain("slc: tokens=abc"),
              HasSubstr("column 6: expected an integer for 'tokens', "
                        "found 'abc'"));
  EXPECT_THAT(explain("slc: tokens=0"),
              HasSubstr("column 6: expected 1 to 65536 for 'tokens', found "
                        "'0'"));
  EXPECT_THAT(explain("columns_in_registers=17"),
              EndsWith("expected 0 to 1024 in multiples of 16 or auto for "
                       "'columns_in_registers', found '17'"));
  EXPECT_THAT(explain("warps=33"),
              HasSubstr("expected 1 to 32 or auto for 'warps', found '33'"));
  EXPECT_THAT(explain("order=sideways"),
              HasSubstr("expected query_major, union, key_major or "
                        "block_major for 'order', found 'sideways'"));
  EXPECT_THAT(explain("slc: keys=8, keys=16"),
              HasSubstr("column 14: 'keys' is given twice for 'slc', first at "
                        "column 6"));
  EXPECT_THAT(explain("keys=8; slc: tokens=1; keys=8"),
              HasSubstr("column 24: 'keys' is given twice, first at column "
                        "1"));
  EXPECT_THAT(explain(" : keys=8"),
              HasSubstr("expected the name of an op in front of ':'"));
  EXPECT_THAT(explain("slc:"), HasSubstr("expected FIELD=VALUE behind 'slc:'"));
  EXPECT_THAT(explain("slc: keys=8, cmp: keys=4"),
              HasSubstr("column 17: expected ';' in front of another op's "
                        "name"));
  EXPECT_THAT(explain("tokens"), HasSubstr("expected a value behind "
                                           "'tokens='"));
}

TEST(Settings, DocumentationHasTheTableOfFields) {
  auto file = llvm::MemoryBuffer::getFile(NSACC_DOCS "/Schedules.md");
  ASSERT_TRUE(file);
  EXPECT_THAT((*file)->getBuffer().str(), HasSubstr(writeFieldTable()))
      << "docs/Schedules.md's table should be\n"
      << writeFieldTable();
}
