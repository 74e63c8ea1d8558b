//===- MachineCodeTest.cpp - Inspection of a kernel's code ----------------===//

#include "MachineCode.h"
#include "FakeCUDA.h"
#include <cstring>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc::rt;
using ::testing::ElementsAre;
using ::testing::Optional;

TEST(MachineCodeTest, FindsParametersInPTX) {
  const char *ptx = R"(
.version 8.0
.visible .entry other()
{ ret; }
	// .globl	f
.visible .entry f(
	.param .u64 .ptr .global .align 16 f_param_0,
	.param .u8 f_param_1,
	.param .f32 f_param_2,
	.param .align 64 .b8 f_param_3[128]
)
.maxntid 128
{ ret; }
.entry f_more(.param .b16 a,.param .s32 b){ ret; })";
  EXPECT_THAT(findParameters(ptx, "f"), Optional(ElementsAre(8, 1, 4, 128)));
  EXPECT_THAT(findParameters(ptx, "f_more"), Optional(ElementsAre(2, 4)));
  EXPECT_THAT(findParameters(ptx, "other"), Optional(ElementsAre()));
  EXPECT_EQ(findParameters(ptx, "g"), std::nullopt);
}

TEST(MachineCodeTest, SaysWhereParametersCantBeRead) {
  for (const char *ptx :
       {".entry f(", ".entry f(.param", ".entry f(.param .u64 a",
        ".entry f(.param a)", ".entry f(.param .b8 a[)",
        ".entry f(.param .b8 a[99999999999])", ".entry f(.param .b8 a[4)",
        ".entry f(.param .b8 a[-4])", ".entry f", ".entry"})
    EXPECT_EQ(findParameters(ptx, "f"), std::nullopt) << ptx;
}

/// An ELF file with a section and a segment of its last 16 bytes.
static std::string makeELF(void (*change)(Elf64_Ehdr &, Elf64_Shdr &,
                                          Elf64_Phdr &)) {
  Elf64_Ehdr head;
  std::memcpy(&head, fakecuda::makeMachineCode("").data(), sizeof(head));
  Elf64_Shdr section = {};
  Elf64_Phdr segment = {};
  head.e_shoff = sizeof(head);
  head.e_shnum = head.e_phnum = 1;
  head.e_shentsize = sizeof(section);
  head.e_phoff = head.e_shoff + sizeof(section);
  head.e_phentsize = sizeof(segment);
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = segment.p_offset = head.e_phoff + sizeof(segment);
  section.sh_size = segment.p_filesz = 16;
  change(head, section, segment);
  std::string image;
  auto append = [&](const auto &part) {
    image.append(reinterpret_cast<const char *>(&part), sizeof(part));
  };
  append(head);
  append(section);
  append(segment);
  return image + std::string(16, 'x');
}

TEST(MachineCodeTest, WholeELFHasAllThatItNames) {
  using Head = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  using Segment = Elf64_Phdr;
  std::string whole = makeELF([](Head &, Section &, Segment &) {});
  EXPECT_TRUE(isWholeELF(whole));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(isWholeELF(whole.substr(0, size))) << size;
  EXPECT_FALSE(isWholeELF(makeELF([](Head &head, Section &, Segment &) {
    head.e_shoff = UINT64_MAX - 8;
  })));
  EXPECT_FALSE(isWholeELF(makeELF(
      [](Head &head, Section &, Segment &) { head.e_phnum = 0xffff; })));
  EXPECT_FALSE(isWholeELF(
      makeELF([](Head &head, Section &, Segment &) { head.e_phentsize = 1; })));
  EXPECT_FALSE(isWholeELF(makeELF([](Head &, Section &section, Segment &) {
    section.sh_size = UINT64_MAX;
  })));
  EXPECT_FALSE(isWholeELF(makeELF([](Head &, Section &, Segment &segment) {
    segment.p_offset = UINT64_MAX;
  })));
  EXPECT_TRUE(isWholeELF(makeELF([](Head &, Section &section, Segment &) {
    section.sh_type = SHT_NOBITS;
    section.sh_size = UINT64_MAX;
  })));
}
