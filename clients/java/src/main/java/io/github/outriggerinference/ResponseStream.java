package io.github.outriggerinference;

import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.StreamEvent;

/** The events of one call of a model. The last one is {@code finish}. */
public final class ResponseStream extends EventStream<StreamEvent> {
  private Response response;

  ResponseStream(StreamingCall<StreamEvent> call) {
    super(call);
  }

  /** Reads the rest of the events, and returns the whole answer. */
  public Response response() {
    drain();
    return response;
  }

  /** The text of the answer as it arrives, without the other events. */
  public Iterable<String> textDeltas() {
    return () ->
        new TextDeltas<>(
            this, event -> event.hasTextDelta() ? event.getTextDelta().getDelta() : null);
  }

  @Override
  void seen(StreamEvent event) {
    if (event.hasFinish()) {
      response = event.getFinish().getResponse();
    }
  }
}
