//===- Environment.cpp - Environment variables ----------------------------===//

#include "nsacc/Support/Environment.h"
#include "Error.h"

using namespace nsacc;
using namespace nsacc::capi;

static const EnvironmentVariableInfo *find(size_t index) {
  llvm::ArrayRef<EnvironmentVariableInfo> variables = getEnvironmentVariables();
  return index < variables.size() ? &variables[index] : nullptr;
}

size_t nsacc_num_variables(void) { return getEnvironmentVariables().size(); }

const char *nsacc_variable_name(size_t index) {
  const EnvironmentVariableInfo *variable = find(index);
  return variable ? variable->name.data() : nullptr;
}

const char *nsacc_variable_description(size_t index) {
  const EnvironmentVariableInfo *variable = find(index);
  return variable ? variable->description.data() : nullptr;
}

nsacc_status nsacc_threads_from_environment(uint32_t *threads,
                                            nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!threads)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_threads_from_environment: threads is NULL");
    llvm::Expected<unsigned> value = lookupThreads();
    if (!value)
      return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(value.takeError()));
    *threads = *value;
    return nullptr;
  });
}
