//===- Arc4Random.c - A function that older C libraries lack --------------===//
//
// The archives of LLVM and libstdc++ that this library is linked from were
// built where the C library has arc4random, which glibc has since 2.36: it
// names temporary files and stands behind std::random_device. This definition
// comes before the C library's, so that an older one will do. The version
// script hides it from everything else.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

uint32_t arc4random(void);

// Without random numbers glibc's ends the process, too: callers can't be told.
uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0)
    abort();
  return value;
}
