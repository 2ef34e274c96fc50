package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunEvent;
import io.github.outriggerinference.v1.RunStatus;
import io.grpc.Context;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;

/**
 * The events of a run, for one thread: {@code hasNext} waits for the next one. It is false after
 * the run has ended or requires action. The events of a run that is in the background, or was
 * created before, resume automatically when the connection is lost, after an outage of any length,
 * until the stream is closed or the thread interrupted. If there is no sidecar at the beginning,
 * {@code hasNext} throws at once. A run that failed ends with its {@code run} event, and then
 * {@code hasNext} throws.
 */
public final class RunStream implements Iterator<RunEvent>, Iterable<RunEvent>, AutoCloseable {
  /** The pause between two attempts to resume, unless the sidecar names a longer one. */
  private static final Duration RESUME_DELAY = Duration.ofMillis(250);

  /** Makes the call for the events of a run after one with a number, which may be null. */
  private final BiFunction<String, Integer, StreamingCall<RunEvent>> resume;

  private EventStream<RunEvent> events;
  private String runId;
  private Integer last;
  private boolean over;

  /** Whether there was a sidecar to send a call to. */
  private boolean reached;

  /** Why the run failed, in its last state; null unless it failed. */
  private OutriggerException failure;

  private final CountDownLatch closed = new CountDownLatch(1);

  RunStream(
      StreamingCall<RunEvent> call,
      String runId,
      Integer after,
      BiFunction<String, Integer, StreamingCall<RunEvent>> resume) {
    this.runId = runId;
    this.resume = resume;
    last = after;
    events = new RunEventStream(call);
  }

  @Override
  public boolean hasNext() {
    while (true) {
      OutriggerException lost = null;
      try {
        if (events.hasNext()) {
          return true;
        }
      } catch (OutriggerException failure) {
        lost = failure;
      }
      if (!mustResume(lost)) {
        return false;
      }
    }
  }

  @Override
  public RunEvent next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the events have ended");
    }
    RunEvent event = events.next();
    last = event.getSequence();
    if (event.hasRun()) {
      Run run = event.getRun();
      over = !isUnderWay(run);
      failure =
          run.getStatus() == RunStatus.RUN_STATUS_FAILED && run.hasError()
              ? OutriggerException.fromProto(run.getError())
              : null;
      if (event.getRun().getBackground()) {
        runId = event.getRun().getId();
      }
    }
    return event;
  }

  /** This stream itself, for a loop: the events can be read once. */
  @Override
  public Iterator<RunEvent> iterator() {
    return this;
  }

  /** Ends the reading, and a run that this stream created, unless it is in the background. */
  @Override
  public void close() {
    closed.countDown();
    events.close();
  }

  /** Whether the run has ended or requires action. */
  boolean isOver() {
    return over;
  }

  static boolean isUnderWay(Run run) {
    return run.getStatus() == RunStatus.RUN_STATUS_QUEUED
        || run.getStatus() == RunStatus.RUN_STATUS_IN_PROGRESS;
  }

  /** Opens a further stream if the run continues. Throws what ended the last one for good. */
  private boolean mustResume(OutriggerException lost) {
    if (over && lost == null) {
      if (failure != null) {
        // Only the stream that created the run ends with its failure.
        throw failure;
      }
      return false;
    }
    reached |= lost == null || !UnsentCalls.isUnsent(lost);
    if (over || isClosed() || runId == null || !reached || !mayGoOn(lost)) {
      throw lost != null
          ? lost
          : OutriggerException.of(
              ErrorKind.ERROR_KIND_STREAM, "the events ended without the last one", null);
    }
    pause(lost);
    events = new RunEventStream(resume.apply(runId, last));
    if (isClosed()) {
      events.close();
    }
    return true;
  }

  /**
   * Whether a run can continue after this failure of a stream. A sidecar that drains, or whose
   * store is away, says that a retry may succeed; a server that stops may reset the stream, which
   * looks like a cancellation.
   */
  private static boolean mayGoOn(OutriggerException lost) {
    if (lost == null) {
      return true;
    }
    return switch (lost.kind()) {
      case ERROR_KIND_ABORT ->
          !Context.current().isCancelled() && !Thread.currentThread().isInterrupted();
      case ERROR_KIND_REQUEST_TIMEOUT -> false;
      default -> lost.retryable();
    };
  }

  private boolean isClosed() {
    return closed.getCount() == 0;
  }

  /** Waits before the next attempt, or until the stream is closed. */
  private void pause(OutriggerException lost) {
    Duration named = lost == null ? Duration.ZERO : lost.retryAfter().orElse(Duration.ZERO);
    Duration delay = named.compareTo(RESUME_DELAY) > 0 ? named : RESUME_DELAY;
    try {
      closed.await(Durations.toNanos(delay), TimeUnit.NANOSECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw OutriggerException.of(
          ErrorKind.ERROR_KIND_ABORT, "interrupted while waiting for an event", interrupted);
    }
  }
}
