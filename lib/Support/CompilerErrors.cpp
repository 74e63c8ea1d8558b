//===- CompilerErrors.cpp - Failures that are handled apart ---------------===//

#include "nsacc/Support/CompilerErrors.h"
#include "nsacc/Support/CrashHandler.h"
#include "llvm/Support/ErrorHandling.h"
#include <csetjmp>
#include <mutex>
#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/lsan_interface.h>
#endif

using namespace nsacc;

char NoRoomError::ID = 0;
char FatalError::ID = 0;

namespace {

/// The place where a thread continues after a fatal error.
struct Recovery {
  std::jmp_buf place;
  std::string message;
  Recovery *outer = nullptr;
};

} // namespace

static thread_local Recovery *innermost = nullptr;

/// Returns if the thread isn't in catchFatalErrors; then LLVM ends the process.
static void handleFatalError(void *, const char *reason, bool) {
  if (!innermost) {
    reportInternalError(reason);
    return;
  }
  innermost->message = reason;
#if LLVM_ADDRESS_SANITIZER_BUILD
  // The jump skips the destructor of LLVM's string.
  __lsan_ignore_object(reason);
#endif
  std::longjmp(innermost->place, 1);
}

llvm::Error nsacc::catchFatalErrors(llvm::function_ref<llvm::Error()> body) {
  static std::once_flag once;
  std::call_once(once,
                 [] { llvm::install_fatal_error_handler(handleFatalError); });
  Recovery recovery;
  recovery.outer = innermost;
  if (setjmp(recovery.place) != 0) {
    innermost = recovery.outer;
    return llvm::make_error<FatalError>(recovery.message);
  }
  innermost = &recovery;
  llvm::Error error = body();
  innermost = recovery.outer;
  return error;
}
