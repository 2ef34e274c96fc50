package io.github.outriggerinference;

/**
 * An object as it arrives. The last event is {@link ObjectEvent.Finish}.
 *
 * @param <T> the class of the object
 */
public final class ObjectStream<T> extends EventStream<ObjectEvent<T>> {
  private ObjectResult<T> result;

  ObjectStream(StreamingCall<ObjectEvent<T>> call) {
    super(call);
  }

  /** Reads the rest of the events, and returns the complete object. */
  public ObjectResult<T> result() {
    drain();
    return result;
  }

  @Override
  void seen(ObjectEvent<T> event) {
    if (event instanceof ObjectEvent.Finish<T> finish) {
      result = finish.result();
    }
  }
}
