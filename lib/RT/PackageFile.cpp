//===- PackageFile.cpp - Head and body of a package -----------------------===//

#include "PackageFile.h"
#include "Checksum.h"
#include "PackageNames.h"
#include <stdexcept>

using namespace nsacc::rt;

static constexpr size_t kMagicBytes = 16, kWordBytes = 8;
static constexpr size_t kChecksumAt = kMagicBytes + 2 * kWordBytes;
static constexpr size_t kHeadBytes = kChecksumAt + kWordBytes;

/// Checksum of everything except itself: `front` comes before it.
static uint64_t checksumFile(std::string_view front, std::string_view body) {
  return computeChecksum(body, /*seed=*/computeChecksum(front));
}

static void appendWord(std::string &bytes, uint64_t word) {
  for (size_t i = 0; i < kWordBytes; ++i)
    bytes += static_cast<char>(word >> (8 * i));
}

static uint64_t readWord(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < kWordBytes; ++i)
    word |= uint64_t(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return word;
}

static std::string makeMagic() {
  std::string magic = kFormat;
  magic.resize(kMagicBytes);
  return magic;
}

std::string nsacc::rt::sealBody(std::string_view body) {
  std::string file = makeMagic();
  appendWord(file, kFormatVersion);
  appendWord(file, body.size());
  appendWord(file, checksumFile(file, body));
  return file.append(body);
}

uint64_t nsacc::rt::countFileBytes(std::string_view front) {
  if (front.substr(0, kMagicBytes) != makeMagic() || front.size() < kHeadBytes)
    return 0;
  uint64_t bytes = readWord(front, kMagicBytes + kWordBytes);
  return bytes > UINT64_MAX - kHeadBytes ? UINT64_MAX : bytes + kHeadBytes;
}

std::string_view nsacc::rt::openBody(std::string_view file) {
  if (file.substr(0, kMagicBytes) != makeMagic())
    throw std::runtime_error(
        "not a package of nsacc, or one of a version before 3: compile it "
        "again with this nsacc");
  if (file.size() < kHeadBytes)
    throw std::runtime_error("damaged package: it is cut short");
  uint64_t version = readWord(file, kMagicBytes);
  if (version != kFormatVersion)
    throw std::runtime_error(
        "a package of version " + std::to_string(version) +
        "; this runtime reads version " + std::to_string(kFormatVersion) +
        (version > kFormatVersion
             ? ": use the runtime of the nsacc that compiled it, or compile it "
               "again with the nsacc of this runtime"
             : ": compile it again with the nsacc of this runtime"));
  std::string_view body = file.substr(kHeadBytes);
  uint64_t bytes = readWord(file, kMagicBytes + kWordBytes);
  if (bytes != body.size())
    throw std::runtime_error(
        "damaged package: expected " + std::to_string(bytes) +
        " bytes behind its head, found " + std::to_string(body.size()) +
        (body.size() < bytes ? ": it is cut short" : ""));
  if (checksumFile(file.substr(0, kChecksumAt), body) !=
      readWord(file, kChecksumAt))
    throw std::runtime_error(
        "damaged package: its bytes don't have the checksum that its head "
        "names: copy or compile it again");
  return body;
}
