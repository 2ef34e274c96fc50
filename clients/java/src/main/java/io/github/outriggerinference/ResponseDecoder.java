package io.github.outriggerinference;

import io.github.outriggerinference.v1.StreamEvent;

/** The events of one call of a model, as they are. */
final class ResponseDecoder extends EventDecoder<StreamEvent, StreamEvent> {
  @Override
  StreamEvent decode(StreamEvent event) {
    noteOutput(event);
    if (event.hasFinish()) {
      completed();
    } else if (event.hasError()) {
      failed(event.getError());
    }
    return event;
  }
}
