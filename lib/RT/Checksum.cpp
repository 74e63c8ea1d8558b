//===- Checksum.cpp - XXH64 -----------------------------------------------===//
//
// Four lanes take 8 bytes each at a time, so that files of megabytes take as
// long as reading them from memory does.
//
//===----------------------------------------------------------------------===//

#include "Checksum.h"
#include <cstddef>

using namespace nsacc::rt;

static constexpr uint64_t kPrimes[] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f,
                                       0x165667b19e3779f9, 0x85ebca77c2b2ae63,
                                       0x27d4eb2f165667c5};
static constexpr size_t kLanes = 4, kLaneBytes = 8;
static constexpr size_t kStripeBytes = kLanes * kLaneBytes;

static uint64_t rotateLeft(uint64_t word, int bits) {
  return word << bits | word >> (64 - bits);
}

/// Little-endian; compilers make one load of it.
template <typename Word> static Word takeWord(const char *&at) {
  Word word = 0;
  for (size_t i = 0; i < sizeof(Word); ++i)
    word |= Word(static_cast<uint8_t>(at[i])) << (8 * i);
  at += sizeof(Word);
  return word;
}

static uint64_t mixWord(uint64_t lane, uint64_t word) {
  return rotateLeft(lane + word * kPrimes[1], 31) * kPrimes[0];
}

/// What whole stripes give; `at` is behind them then.
static uint64_t mixStripes(const char *&at, size_t stripes, uint64_t seed) {
  uint64_t lanes[kLanes] = {seed + kPrimes[0] + kPrimes[1], seed + kPrimes[1],
                            seed, seed - kPrimes[0]};
  for (; stripes > 0; --stripes)
    for (uint64_t &lane : lanes)
      lane = mixWord(lane, takeWord<uint64_t>(at));
  uint64_t sum = rotateLeft(lanes[0], 1) + rotateLeft(lanes[1], 7) +
                 rotateLeft(lanes[2], 12) + rotateLeft(lanes[3], 18);
  for (uint64_t lane : lanes)
    sum = (sum ^ mixWord(0, lane)) * kPrimes[0] + kPrimes[3];
  return sum;
}

uint64_t nsacc::rt::computeChecksum(std::string_view bytes, uint64_t seed) {
  const char *at = bytes.data(), *end = at + bytes.size();
  uint64_t sum = bytes.size() < kStripeBytes
                     ? seed + kPrimes[4]
                     : mixStripes(at, bytes.size() / kStripeBytes, seed);
  sum += bytes.size();
  while (end - at >= 8)
    sum =
        rotateLeft(sum ^ mixWord(0, takeWord<uint64_t>(at)), 27) * kPrimes[0] +
        kPrimes[3];
  if (end - at >= 4)
    sum =
        rotateLeft(sum ^ takeWord<uint32_t>(at) * kPrimes[0], 23) * kPrimes[1] +
        kPrimes[2];
  while (at < end)
    sum = rotateLeft(sum ^ takeWord<uint8_t>(at) * kPrimes[4], 11) * kPrimes[0];
  sum = (sum ^ sum >> 33) * kPrimes[1];
  sum = (sum ^ sum >> 29) * kPrimes[2];
  return sum ^ sum >> 32;
}
