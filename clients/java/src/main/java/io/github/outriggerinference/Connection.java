package io.github.outriggerinference;

import io.grpc.ConnectivityState;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The channel of a client, and the threads that execute its tools. */
final class Connection {
  private static final int CLOSE_SECONDS = 5;

  /**
   * How often the sidecar is tried while it is away. gRPC would wait for up to two minutes; a
   * sidecar is on the same machine, where an attempt costs next to nothing.
   */
  private static final int RECONNECT_MILLIS = 500;

  private final ManagedChannel channel;
  private final String target;
  private final boolean hidesToolErrors;
  private final Executor tools;
  private final ExecutorService ownTools;
  private final ScheduledThreadPoolExecutor timer;

  /**
   * Takes over an open channel.
   *
   * @param target the address of the sidecar, for errors
   * @param tools what executes tools; null for threads of the connection's own
   * @param hidesToolErrors whether exceptions of tools are hidden from models
   */
  Connection(ManagedChannel channel, String target, Executor tools, boolean hidesToolErrors) {
    this.hidesToolErrors = hidesToolErrors;
    this.channel = channel;
    this.target = target;
    ownTools = tools == null ? Executors.newCachedThreadPool(daemon("outrigger-tool")) : null;
    this.tools = tools == null ? ownTools : tools;
    timer = new ScheduledThreadPoolExecutor(1, daemon("outrigger-timer"));
    // Most tools end long before their time limit.
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    watch();
  }

  ManagedChannel channel() {
    return channel;
  }

  boolean hidesToolErrors() {
    return hidesToolErrors;
  }

  /** Runs the tools of one generation. */
  ToolRunner toolRunner(int concurrency) {
    return new ToolRunner(tools, timer, concurrency);
  }

  /** The failure of a call, with the sidecar's address if there was no connection to it. */
  Throwable explain(Throwable thrown) {
    if (!UnsentCalls.isUnsent(thrown) || channel.isShutdown()) {
      return thrown;
    }
    Status status = Status.fromThrowable(thrown);
    String text = status.getDescription() + "; is the sidecar running at " + target + "?";
    return status.withDescription(text).asRuntimeException();
  }

  /**
   * Waits for a connection, but not for long. Completes with whether there is one.
   *
   * @param deadline when the call must end; null for no limit
   */
  CompletableFuture<Boolean> reconnect(Deadline deadline) {
    long left = deadline == null ? RECONNECT_MILLIS : deadline.timeRemaining(TimeUnit.MILLISECONDS);
    CompletableFuture<Boolean> connected = new CompletableFuture<>();
    channel.resetConnectBackoff();
    awaitReady(connected);
    return connected.completeOnTimeout(
        false, Math.max(0, Math.min(left, RECONNECT_MILLIS)), TimeUnit.MILLISECONDS);
  }

  private void awaitReady(CompletableFuture<Boolean> connected) {
    ConnectivityState state = channel.getState(true);
    if (state == ConnectivityState.READY || state == ConnectivityState.SHUTDOWN) {
      connected.complete(state == ConnectivityState.READY);
    } else if (!connected.isDone()) {
      channel.notifyWhenStateChanged(state, () -> awaitReady(connected));
    }
  }

  /** Waits for a failed connection, and then keeps trying. */
  private void watch() {
    ConnectivityState state = channel.getState(false);
    if (state == ConnectivityState.TRANSIENT_FAILURE) {
      timer.schedule(this::tryAgain, RECONNECT_MILLIS, TimeUnit.MILLISECONDS);
    } else if (state != ConnectivityState.SHUTDOWN) {
      channel.notifyWhenStateChanged(state, this::watch);
    }
  }

  private void tryAgain() {
    channel.resetConnectBackoff();
    watch();
  }

  void close() {
    channel.shutdownNow();
    try {
      channel.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    timer.shutdownNow();
    if (ownTools != null) {
      ownTools.shutdownNow();
    }
  }

  private static ThreadFactory daemon(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }
}
