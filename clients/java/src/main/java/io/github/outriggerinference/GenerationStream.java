package io.github.outriggerinference;

/** The events of a generation. The last one is {@link GenerationEvent.Finish}. */
public final class GenerationStream extends EventStream<GenerationEvent> {
  private GenerationResult result;

  GenerationStream(StreamingCall<GenerationEvent> call) {
    super(call);
  }

  /** Reads the rest of the events, and returns the result. */
  public GenerationResult result() {
    drain();
    return result;
  }

  /** The text of the answer as it arrives, without the other events. */
  public Iterable<String> textDeltas() {
    return () -> new TextDeltas<>(this, event -> event.textDelta().orElse(null));
  }

  @Override
  void seen(GenerationEvent event) {
    if (event instanceof GenerationEvent.Finish finish) {
      result = finish.result();
    }
  }
}
