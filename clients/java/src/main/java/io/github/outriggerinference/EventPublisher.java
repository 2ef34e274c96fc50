package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import java.util.Objects;
import java.util.concurrent.Flow;

/** Makes a streaming call for each subscriber, when it first requests events. */
record EventPublisher<E>(StreamingCall<E> call) implements Flow.Publisher<E> {
  @Override
  public void subscribe(Flow.Subscriber<? super E> subscriber) {
    Objects.requireNonNull(subscriber);
    subscriber.onSubscribe(new Subscription<>(call, subscriber));
  }

  private static final class Subscription<E> implements Flow.Subscription, EventSink<E> {
    private final StreamingCall<E> call;
    private final Flow.Subscriber<? super E> subscriber;
    private EventReceiver<?, ?, E> receiver;
    private boolean invalid;
    private volatile boolean cancelled;

    Subscription(StreamingCall<E> call, Flow.Subscriber<? super E> subscriber) {
      this.call = call;
      this.subscriber = subscriber;
    }

    @Override
    public synchronized void request(long events) {
      if (cancelled || invalid) {
        return;
      }
      if (events <= 0) {
        reject();
      } else if (receiver == null) {
        receiver = call.start(this, toInt(events));
      } else {
        receiver.request(toInt(events));
      }
    }

    @Override
    public synchronized void cancel() {
      cancelled = true;
      if (receiver != null) {
        receiver.cancel("the subscription was cancelled");
      }
    }

    @Override
    public void next(E event) {
      if (!cancelled) {
        subscriber.onNext(event);
      }
    }

    @Override
    public void end(OutriggerException failure) {
      if (cancelled) {
        return;
      }
      if (isInvalid()) {
        subscriber.onError(invalidDemand());
      } else if (failure != null) {
        subscriber.onError(failure);
      } else {
        subscriber.onComplete();
      }
    }

    /** The error goes the way of the events, so that the subscriber gets one signal at a time. */
    private void reject() {
      invalid = true;
      if (receiver == null) {
        subscriber.onError(invalidDemand());
      } else {
        receiver.cancel("the subscriber requested no events");
      }
    }

    private synchronized boolean isInvalid() {
      return invalid;
    }

    private static IllegalArgumentException invalidDemand() {
      return new IllegalArgumentException("request: expected a positive number of events");
    }

    /** More than gRPC can count is no limit in practice. */
    private static int toInt(long events) {
      return (int) Math.min(events, Integer.MAX_VALUE);
    }
  }
}
