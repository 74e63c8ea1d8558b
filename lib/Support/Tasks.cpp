//===- Tasks.cpp - Compiling side by side ---------------------------------===//

#include "nsacc/Support/Tasks.h"
#include "nsacc/Support/CompilerErrors.h"
#include "llvm/Support/Threading.h"

using namespace nsacc;

CompilerThreads::CompilerThreads(unsigned most) {
  llvm::ThreadPoolStrategy strategy = llvm::hardware_concurrency(most);
  if (strategy.compute_thread_count() > 1)
    pool = std::make_unique<llvm::DefaultThreadPool>(strategy);
}

Tasks::Tasks(CompilerThreads &threads) {
  if (threads.pool)
    group.emplace(*threads.pool);
}

Tasks::~Tasks() {
  firstFailed = 0;
  group.reset();
  for (std::unique_ptr<Task> &task : tasks)
    llvm::consumeError(std::move(task->error));
}

void Tasks::run(size_t index, Task &task) {
  if (index > firstFailed)
    return;
  // Recovery from fatal errors is each thread's own.
  task.error = catchFatalErrors(task.work);
  if (!task.error)
    return;
  size_t first = firstFailed;
  while (index < first && !firstFailed.compare_exchange_weak(first, index)) {
  }
}

void Tasks::add(std::function<llvm::Error()> work) {
  size_t index = tasks.size();
  tasks.push_back(std::make_unique<Task>());
  Task &task = *tasks.back();
  task.work = std::move(work);
  if (group)
    group->async([this, index, &task] { run(index, task); });
  else
    run(index, task);
}

llvm::Error Tasks::wait() {
  if (group)
    group->wait();
  for (std::unique_ptr<Task> &task : tasks)
    if (task->error)
      return std::move(task->error);
  return llvm::Error::success();
}
