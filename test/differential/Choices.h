//===- Choices.h - Random choices that can be replayed and shrunk -*- C++ -*-=//
//
// A generator takes all its choices from here. The choices are a list of small
// numbers; any other list gives another valid program. So a failing program is
// reduced by making its list shorter and its numbers smaller: 0 is always the
// simplest choice.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TEST_DIFFERENTIAL_CHOICES_H
#define NSACC_TEST_DIFFERENTIAL_CHOICES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace nsacc::differential {

class Choices {
public:
  explicit Choices(uint64_t seed) : random(seed) {}
  /// Replays `list`; after its end, every choice is 0.
  explicit Choices(std::vector<uint32_t> list)
      : replayed(std::move(list)), isReplay(true) {}

  /// A number below `bound`.
  uint32_t below(uint32_t bound);
  /// True in `percent` of 100.
  bool chance(uint32_t percent) { return below(100) >= 100 - percent; }
  template <typename T> T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }

  /// The draws [begin, end) of one clause or statement.
  struct Range {
    size_t begin, end;
  };
  /// Makes one range of all draws while it lives.
  class Together {
  public:
    explicit Together(Choices &choices)
        : choices(choices), begin(choices.drawn.size()) {}
    ~Together() { choices.ranges.push_back({begin, choices.drawn.size()}); }

  private:
    Choices &choices;
    size_t begin;
  };

  const std::vector<uint32_t> &getDrawn() const { return drawn; }
  /// Inner ranges before outer ones.
  const std::vector<Range> &getRanges() const { return ranges; }

private:
  std::mt19937_64 random;
  std::vector<uint32_t> replayed, drawn;
  std::vector<Range> ranges;
  bool isReplay = false;
};

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_CHOICES_H
