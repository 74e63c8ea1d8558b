//===- Graphs.cpp - Captures and graphs of the fake driver ----------------===//

#include "State.h"
#include <utility>

using namespace fakecuda;
using namespace nsacc::rt::driver;

void fakecuda::run(State &state, Launch launch) {
  state.launches.push_back(std::move(launch));
  state.milliseconds += 1;
  if (state.kernelBody)
    state.kernelBody(state.launches.back());
}

FAKE_EXPORT Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  FAKE_ENTER(cuStreamBeginCapture_v2);
  if (!stream)
    return state.misused("a capture of the default stream",
                         results::captureUnsupported);
  if (stream->captureStatus != kCaptureNone)
    return state.misused("a capture of a stream that is captured");
  capture(state, stream, mode);
  return results::success;
}

// Ends the capture even if it fails.
FAKE_EXPORT Result cuStreamEndCapture(Stream stream, Graph *graph) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  *graph = nullptr;
  int status = std::exchange(stream->captureStatus, kCaptureNone);
  if (Result injected = enter(state, "cuStreamEndCapture"))
    return injected;
  if (status == kCaptureNone)
    return state.misused("the end of no capture");
  if (status != kCaptureActive)
    return results::captureInvalidated;
  *graph = new GraphImpl{std::move(stream->recorded)};
  state.graphs.insert(*graph);
  return results::success;
}

FAKE_EXPORT Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph,
                                               unsigned long long flags) {
  FAKE_ENTER(cuGraphInstantiateWithFlags);
  if (!state.graphs.contains(graph) || flags != 0)
    return state.misused("cuGraphInstantiateWithFlags of no graph, or with "
                         "flags");
  *exec = new GraphExecImpl{graph->launches};
  state.graphExecs.insert(*exec);
  return results::success;
}

FAKE_EXPORT Result cuGraphDestroy(Graph graph) {
  FAKE_ENTER(cuGraphDestroy);
  if (!state.graphs.erase(graph))
    return state.misused("cuGraphDestroy of no graph");
  delete graph;
  return results::success;
}

FAKE_EXPORT Result cuGraphLaunch(GraphExec exec, Stream stream) {
  FAKE_ENTER(cuGraphLaunch);
  if (!state.graphExecs.contains(exec) || !resolve(state, stream))
    return state.misused("cuGraphLaunch of no graph, or without a context");
  for (Launch launch : exec->launches) {
    launch.stream = stream;
    launch.isCaptured = false;
    run(state, std::move(launch));
  }
  return results::success;
}

FAKE_EXPORT Result cuGraphExecDestroy(GraphExec exec) {
  FAKE_ENTER(cuGraphExecDestroy);
  if (!state.graphExecs.erase(exec))
    return state.misused("cuGraphExecDestroy of no graph");
  delete exec;
  return results::success;
}
