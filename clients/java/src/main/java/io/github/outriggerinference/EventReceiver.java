package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.grpc.Deadline;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;

/**
 * One streaming call of gRPC: its messages become events, its end an end or a failure.
 *
 * @param <Q> message to the sidecar
 * @param <M> message of the sidecar
 * @param <E> event for the user
 */
final class EventReceiver<Q, M, E> implements ClientResponseObserver<Q, M> {
  private final EventDecoder<M, E> decoder;
  private final EventSink<E> sink;
  private int demand;
  private ClientCallStreamObserver<Q> call;
  private Connection connection;

  private Deadline deadline;

  /** Makes the call once more. Null if that was done. */
  private Runnable retry;

  private boolean reconnecting;
  private String cancelled;
  private volatile boolean ended;

  EventReceiver(EventDecoder<M, E> decoder, EventSink<E> sink, int demand) {
    this.decoder = decoder;
    this.sink = sink;
    this.demand = demand;
  }

  /**
   * Makes the call.
   *
   * @param limit its deadline; null if it has none
   * @param begin makes it, with this as its observer; called once more if nothing could be sent
   */
  void start(Connection connectionOfCall, Deadline limit, Runnable begin) {
    connection = connectionOfCall;
    deadline = limit;
    retry = begin;
    begin.run();
  }

  /** Lets this many more events come. */
  synchronized void request(int events) {
    if (reconnecting) {
      demand = (int) Math.min((long) demand + events, Integer.MAX_VALUE);
    } else if (!ended) {
      call.request(events);
    }
  }

  /** Ends the call; the sink gets an {@code AbortException} unless it has its end already. */
  void cancel(String reason) {
    synchronized (this) {
      cancelled = reason;
      if (reconnecting) {
        return;
      }
    }
    call.cancel(reason, null);
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<Q> started) {
    call = started;
    call.disableAutoRequestWithInitial(demand);
  }

  @Override
  public void onNext(M message) {
    if (ended) {
      return;
    }
    E event;
    try {
      event = decoder.decode(message);
    } catch (OutriggerException failure) {
      abandon(failure);
      return;
    } catch (RuntimeException bug) {
      abandon(
          OutriggerException.of(
              ErrorKind.ERROR_KIND_INTERNAL, "a message of the sidecar cannot be handled", bug));
      return;
    }
    if (event == null) {
      call.request(1);
    } else {
      sink.next(event);
    }
  }

  @Override
  public void onError(Throwable status) {
    Runnable again = retry;
    retry = null;
    if (again == null || !UnsentCalls.isUnsent(status)) {
      end(decoder.failureOf(connection.explain(status)));
      return;
    }
    synchronized (this) {
      reconnecting = true;
    }
    connection
        .reconnect(deadline)
        .thenAccept(connected -> resume(connected ? again : null, status));
  }

  /** Makes the call once more, or ends it. */
  private void resume(Runnable again, Throwable status) {
    String reason;
    synchronized (this) {
      reconnecting = false;
      reason = cancelled;
      if (reason == null && again != null) {
        again.run();
        return;
      }
    }
    end(
        reason == null
            ? decoder.failureOf(connection.explain(status))
            : OutriggerException.of(ErrorKind.ERROR_KIND_ABORT, reason, null));
  }

  @Override
  public void onCompleted() {
    end(decoder.incompleteness());
  }

  private void abandon(OutriggerException failure) {
    end(failure);
    call.cancel(failure.getMessage(), failure);
  }

  /** gRPC calls its observer from one thread at a time. */
  private void end(OutriggerException failure) {
    if (!ended) {
      ended = true;
      decoder.close();
      sink.end(failure == null ? null : decoder.withSteps(failure));
    }
  }
}
