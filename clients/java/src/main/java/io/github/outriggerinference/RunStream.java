package io.github.outriggerinference;

import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.errors.StreamException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunEvent;
import io.github.outriggerinference.v1.RunStatus;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.BiFunction;

/**
 * The events of a run, for one thread: {@code hasNext} waits for the next one. It is false after
 * the run has ended or requires action. The events of a run that is in the background, or was
 * created before, resume by themselves when the connection is lost, for up to a minute. A run that
 * failed ends with its {@code run} event, and then {@code hasNext} throws.
 */
public final class RunStream implements Iterator<RunEvent>, Iterable<RunEvent>, AutoCloseable {
  private static final Duration RESUME_FOR = Duration.ofMinutes(1);
  private static final Duration RESUME_DELAY = Duration.ofMillis(250);

  /** Makes the call for the events of a run after one with a number, which may be null. */
  private final BiFunction<String, Integer, StreamingCall<RunEvent>> resume;

  private EventStream<RunEvent> events;
  private String runId;
  private Integer last;
  private boolean over;

  /** Why the run failed, in its last state; null unless it failed. */
  private OutriggerException failure;

  private long giveUp;
  private volatile boolean closed;

  RunStream(
      StreamingCall<RunEvent> call,
      String runId,
      Integer after,
      BiFunction<String, Integer, StreamingCall<RunEvent>> resume) {
    this.runId = runId;
    this.resume = resume;
    last = after;
    events = new RunEventStream(call);
    extend();
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
    extend();
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
    closed = true;
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

  /** Opens a further stream if the run goes on. Throws what ended the last one for good. */
  private boolean mustResume(OutriggerException lost) {
    if (over && lost == null) {
      if (failure != null) {
        // Only the stream that created the run ends with its failure.
        throw failure;
      }
      return false;
    }
    boolean isLost =
        lost == null || lost instanceof NetworkException || lost instanceof StreamException;
    if (over || closed || runId == null || !isLost || System.nanoTime() - giveUp > 0) {
      throw lost != null
          ? lost
          : OutriggerException.of(
              ErrorKind.ERROR_KIND_STREAM, "the events ended without the last one", null);
    }
    try {
      Thread.sleep(RESUME_DELAY.toMillis());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw OutriggerException.of(
          ErrorKind.ERROR_KIND_ABORT, "interrupted while waiting for an event", interrupted);
    }
    events = new RunEventStream(resume.apply(runId, last));
    if (closed) {
      events.close();
    }
    return true;
  }

  private void extend() {
    giveUp = System.nanoTime() + RESUME_FOR.toNanos();
  }
}
