package io.github.outriggerinference;

import io.github.outriggerinference.v1.RunEvent;

/** The events of one call. */
final class RunEventStream extends EventStream<RunEvent> {
  RunEventStream(StreamingCall<RunEvent> call) {
    super(call);
  }

  @Override
  void seen(RunEvent event) {}
}
