//===- Parallel.cpp - Work on rows by several threads ---------------------===//

#include "Parallel.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <mutex>

using namespace nsacc::interpreter;

namespace {

/// The error of the lowest failed row.
class FirstError {
public:
  void add(int64_t newRow, llvm::Error newError) {
    std::lock_guard<std::mutex> lock(mutex);
    if (newRow >= row) {
      llvm::consumeError(std::move(newError));
      return;
    }
    llvm::consumeError(std::move(error));
    error = std::move(newError);
    row = newRow;
  }

  /// Rows from this one on needn't be computed.
  int64_t getRow() const { return row; }
  llvm::Error take() { return std::move(error); }

private:
  std::mutex mutex;
  std::atomic<int64_t> row = INT64_MAX;
  llvm::Error error = llvm::Error::success();
};

} // namespace

llvm::Error
nsacc::interpreter::forEachRow(int64_t rows, unsigned threads,
                               llvm::function_ref<RowWorker()> makeWorker) {
  // Late rows of a causal mask cost more than early ones: hand out a few at a
  // time.
  constexpr int64_t rowsAtATime = 4;
  std::atomic<int64_t> next = 0;
  FirstError firstError;
  auto work = [&] {
    RowWorker worker = makeWorker();
    while (true) {
      int64_t begin = next.fetch_add(rowsAtATime);
      int64_t end = std::min(begin + rowsAtATime, rows);
      for (int64_t row = begin; row < end && row < firstError.getRow(); ++row)
        if (llvm::Error error = worker(row))
          firstError.add(row, std::move(error));
      if (end == rows || begin >= rows || begin >= firstError.getRow())
        return;
    }
  };

  int64_t chunks = (rows + rowsAtATime - 1) / rowsAtATime;
  threads = std::min<int64_t>(threads, chunks);
  if (threads <= 1) {
    if (rows > 0)
      work();
    return firstError.take();
  }
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
  for (unsigned thread = 0; thread != threads; ++thread)
    pool.async(work);
  pool.wait();
  return firstError.take();
}
