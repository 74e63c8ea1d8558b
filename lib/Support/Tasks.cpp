//===- Tasks.cpp - Compiling in parallel ----------------------------------===//

#include "nsacc/Support/Tasks.h"
#include "nsacc/Support/CompilerErrors.h"
#include "llvm/ADT/ScopeExit.h"
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

void Tasks::run(Task &task) {
  llvm::scope_exit count([&] { ++numDone; });
  if (task.place > firstFailed)
    return;
  // Each thread recovers from fatal errors by itself.
  task.error = catchFatalErrors(task.work);
  if (!task.error)
    return;
  size_t first = firstFailed;
  while (task.place < first &&
         !firstFailed.compare_exchange_weak(first, task.place)) {
  }
}

void Tasks::add(size_t place, std::function<llvm::Error()> work) {
  tasks.push_back(std::make_unique<Task>());
  Task &task = *tasks.back();
  task.place = place;
  task.work = std::move(work);
  if (group)
    group->async([this, &task] { run(task); });
  else
    run(task);
}

llvm::Error Tasks::wait() {
  if (group)
    group->wait();
  for (std::unique_ptr<Task> &task : tasks)
    if (task->place == firstFailed)
      return std::move(task->error);
  return llvm::Error::success();
}
