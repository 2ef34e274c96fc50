package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The events of a call while it runs, for one thread: {@code hasNext} waits for the next one. It
 * throws an {@link OutriggerException} if the call fails, and is false only after the last event
 * of a complete stream. Closing the stream before that cancels the call, and so does an interrupt
 * of the thread that waits. A reader that stops reading stops the provider.
 *
 * @param <E> event
 */
public abstract sealed class EventStream<E> implements Iterator<E>, Iterable<E>, AutoCloseable
    permits ResponseStream, GenerationStream, ObjectStream, RunEventStream {
  /** How many events may wait for the reader. */
  private static final int PREFETCH = 16;

  private final BlockingQueue<Item<E>> queue = new LinkedBlockingQueue<>();
  private final EventReceiver<?, ?, E> receiver;
  private Item<E> head;

  /** An event, or the end with its failure. */
  private record Item<E>(E event, OutriggerException failure) {
    boolean isEnd() {
      return event == null;
    }
  }

  EventStream(StreamingCall<E> call) {
    receiver =
        call.start(
            new EventSink<>() {
              @Override
              public void next(E event) {
                queue.add(new Item<>(event, null));
              }

              @Override
              public void end(OutriggerException failure) {
                queue.add(new Item<>(null, failure));
              }
            },
            PREFETCH);
  }

  @Override
  public final boolean hasNext() {
    if (head == null) {
      head = take();
    }
    if (head.failure() != null) {
      throw head.failure();
    }
    return !head.isEnd();
  }

  @Override
  public final E next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the stream has ended");
    }
    E event = head.event();
    head = null;
    receiver.request(1);
    seen(event);
    return event;
  }

  /** This stream itself, for a loop: the events can be read once. */
  @Override
  public final Iterator<E> iterator() {
    return this;
  }

  /** Cancels the call unless it has ended. */
  @Override
  public final void close() {
    receiver.cancel("the stream was closed before its end");
  }

  /** Reads the rest of the events. */
  final void drain() {
    while (hasNext()) {
      next();
    }
  }

  /** Called with each event as it is read. */
  abstract void seen(E event);

  private Item<E> take() {
    try {
      Item<E> item = queue.take();
      if (item.failure() != null) {
        // It was made on a thread of gRPC; who reads wants to see the reader. The cause has the
        // rest.
        item.failure().fillInStackTrace();
      }
      return item;
    } catch (InterruptedException interrupted) {
      receiver.cancel("the thread that reads the stream was interrupted");
      Thread.currentThread().interrupt();
      return new Item<>(
          null,
          OutriggerException.of(
              ErrorKind.ERROR_KIND_ABORT, "interrupted while waiting for an event", interrupted));
    }
  }
}
