//===- Arc4Random.c - A function that older C libraries lack --------------===//
//
// The archives of LLVM and libstdc++ that this library is linked from were
// built with a C library that has arc4random (glibc since 2.36): they use it
// for names of temporary files and for std::random_device. This definition
// comes before the C library's, so that an older C library will do. The version
// script hides it from other libraries.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

uint32_t arc4random(void);

// Ends the process if there are no random numbers, as glibc's does: it can't
// report an error.
uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0)
    abort();
  return value;
}
