//===- Choices.cpp - Random choices that can be replayed and shrunk -------===//

#include "Choices.h"

using namespace nsacc::differential;

uint32_t Choices::below(uint32_t bound) {
  uint32_t value = 0;
  if (!isReplay)
    value = random() % bound;
  else if (drawn.size() < replayed.size())
    value = replayed[drawn.size()] % bound;
  drawn.push_back(value);
  return value;
}
