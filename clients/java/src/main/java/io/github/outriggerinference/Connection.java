package io.github.outriggerinference;

import io.grpc.ManagedChannel;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The channel of a client, and the threads that execute its tools. */
final class Connection {
  private static final int CLOSE_SECONDS = 5;

  private final ManagedChannel channel;
  private final Executor tools;
  private final ExecutorService ownTools;
  private final ScheduledThreadPoolExecutor timer;

  /**
   * Takes over an open channel.
   *
   * @param tools what executes tools; null for threads of the connection's own
   */
  Connection(ManagedChannel channel, Executor tools) {
    this.channel = channel;
    ownTools = tools == null ? Executors.newCachedThreadPool(daemon("outrigger-tool")) : null;
    this.tools = tools == null ? ownTools : tools;
    timer = new ScheduledThreadPoolExecutor(1, daemon("outrigger-tool-timer"));
    // Most tools end long before their time limit.
    timer.setRemoveOnCancelPolicy(true);
  }

  ManagedChannel channel() {
    return channel;
  }

  /** Runs the tools of one generation. */
  ToolRunner toolRunner(int concurrency) {
    return new ToolRunner(tools, timer, concurrency);
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
