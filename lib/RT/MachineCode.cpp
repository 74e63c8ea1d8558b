//===- MachineCode.cpp - Inspection of a kernel's code --------------------===//

#include "MachineCode.h"
#include <charconv>
#include <cstring>
#include <elf.h>

using namespace nsacc::rt;

//===----------------------------------------------------------------------===//
// ELF
//===----------------------------------------------------------------------===//

static bool isWithin(uint64_t offset, uint64_t bytes, size_t size) {
  return offset <= size && bytes <= size - offset;
}

/// Entry `index` of a table; null if it isn't within the image.
template <typename Entry>
static std::optional<Entry> readEntry(std::string_view image, uint64_t table,
                                      uint64_t index) {
  uint64_t within = index * sizeof(Entry);
  if (table > image.size() ||
      !isWithin(table + within, sizeof(Entry), image.size()))
    return std::nullopt;
  Entry entry;
  std::memcpy(&entry, image.data() + table + within, sizeof(Entry));
  return entry;
}

static bool hasSections(std::string_view image, const Elf64_Ehdr &head) {
  if (head.e_shnum && head.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    auto section = readEntry<Elf64_Shdr>(image, head.e_shoff, i);
    if (!section)
      return false;
    if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
        !isWithin(section->sh_offset, section->sh_size, image.size()))
      return false;
  }
  return true;
}

static bool hasSegments(std::string_view image, const Elf64_Ehdr &head) {
  if (head.e_phnum && head.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    auto segment = readEntry<Elf64_Phdr>(image, head.e_phoff, i);
    if (!segment ||
        !isWithin(segment->p_offset, segment->p_filesz, image.size()))
      return false;
  }
  return true;
}

bool nsacc::rt::isWholeELF(std::string_view image) {
  auto head = readEntry<Elf64_Ehdr>(image, 0, 0);
  return head && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
         head->e_ident[EI_CLASS] == ELFCLASS64 &&
         head->e_ident[EI_DATA] == ELFDATA2LSB && hasSections(image, *head) &&
         hasSegments(image, *head);
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

static bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// The next word, or the next character that isn't part of one.
static std::string_view takeToken(std::string_view &text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  constexpr std::string_view signs = "()[],{};";
  size_t size = 0;
  while (size < text.size() && !isBlank(text[size]) &&
         signs.find(text[size]) == std::string_view::npos)
    ++size;
  std::string_view token = text.substr(0, text.empty() ? 0 : size ? size : 1);
  text.remove_prefix(token.size());
  return token;
}

static std::optional<uint32_t> readNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  bool isAll = error == std::errc() && end == text.data() + text.size();
  return isAll ? std::optional(number) : std::nullopt;
}

/// Bytes of a type such as ".u64".
static std::optional<uint32_t> readType(std::string_view token) {
  if (token.size() < 3 || token[0] != '.' ||
      std::string_view("busf").find(token[1]) == std::string_view::npos)
    return std::nullopt;
  std::optional<uint32_t> bits = readNumber(token.substr(2));
  return bits ? std::optional(*bits / 8) : std::nullopt;
}

/// ".param .align 64 .b8 name[128]", up to the character after it.
static std::optional<uint32_t> readParameter(std::string_view &text,
                                             std::string_view &sign) {
  std::optional<uint32_t> bytes;
  for (sign = takeToken(text); sign != "," && sign != ")";
       sign = takeToken(text)) {
    if (sign.empty())
      return std::nullopt;
    if (sign == "[") {
      std::optional<uint32_t> count = readNumber(takeToken(text));
      if (!bytes || !count || *count > UINT16_MAX || takeToken(text) != "]")
        return std::nullopt;
      *bytes *= *count;
    } else if (!bytes) {
      bytes = readType(sign);
    }
  }
  return bytes;
}

std::optional<std::vector<uint32_t>>
nsacc::rt::findParameters(std::string_view ptx, std::string_view kernel) {
  constexpr std::string_view entry = ".entry";
  for (size_t at = ptx.find(entry); at != std::string_view::npos;
       at = ptx.find(entry, at + 1)) {
    std::string_view text = ptx.substr(at + entry.size());
    if (takeToken(text) != kernel || takeToken(text) != "(")
      continue;
    std::vector<uint32_t> parameters;
    std::string_view rest = text, sign = ",";
    if (takeToken(rest) == ")")
      return parameters;
    while (sign == ",") {
      std::optional<uint32_t> bytes = readParameter(text, sign);
      if (!bytes)
        return std::nullopt;
      parameters.push_back(*bytes);
    }
    return parameters;
  }
  return std::nullopt;
}
