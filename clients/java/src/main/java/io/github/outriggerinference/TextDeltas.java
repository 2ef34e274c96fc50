package io.github.outriggerinference;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;

/** The text deltas among the events of a stream. */
final class TextDeltas<E> implements Iterator<String> {
  private final EventStream<E> stream;
  private final Function<E, String> deltaOf;
  private String next;

  /**
   * Reads a stream.
   *
   * @param deltaOf the text of an event; null if it has none
   */
  TextDeltas(EventStream<E> stream, Function<E, String> deltaOf) {
    this.stream = stream;
    this.deltaOf = deltaOf;
  }

  @Override
  public boolean hasNext() {
    while (next == null && stream.hasNext()) {
      next = deltaOf.apply(stream.next());
    }
    return next != null;
  }

  @Override
  public String next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the stream has ended");
    }
    String text = next;
    next = null;
    return text;
  }
}
