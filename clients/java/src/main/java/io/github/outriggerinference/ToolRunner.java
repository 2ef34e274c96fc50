package io.github.outriggerinference;

import io.github.outriggerinference.v1.ToolOutput;
import io.grpc.Context;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Runs the tools of one generation: some at once, each for a limited time. */
final class ToolRunner {
  private final Executor executor;
  private final ScheduledExecutorService timer;
  private final Context context = Context.current();
  private final Queue<Task> waiting = new ArrayDeque<>();
  private final Set<Task> tasks = new HashSet<>();
  private int free;
  private boolean cancelled;

  ToolRunner(Executor executor, ScheduledExecutorService timer, int concurrency) {
    this.executor = executor;
    this.timer = timer;
    this.free = concurrency;
  }

  /**
   * Runs a tool, at once or when another has ended.
   *
   * @param tool makes the output
   * @param send gets the output, unless the tool was interrupted
   * @param timeout after which it is interrupted, also while it waits; zero for none
   */
  synchronized void run(Callable<ToolOutput> tool, Consumer<ToolOutput> send, Duration timeout) {
    if (cancelled) {
      return;
    }
    Task task = new Task(tool, send);
    tasks.add(task);
    if (!timeout.isZero()) {
      task.timeout = timer.schedule(task::cancel, Durations.toNanos(timeout), TimeUnit.NANOSECONDS);
    }
    if (free == 0) {
      waiting.add(task);
    } else {
      free--;
      executor.execute(task);
    }
  }

  /** Interrupts all tools. Nothing runs afterwards. */
  synchronized void cancelAll() {
    cancelled = true;
    waiting.clear();
    tasks.forEach(Task::cancel);
    tasks.clear();
  }

  private synchronized void ended(Task task) {
    tasks.remove(task);
    Task next = waiting.poll();
    if (next == null) {
      free++;
    } else {
      executor.execute(next);
    }
  }

  private final class Task implements Runnable {
    private final Context.CancellableContext own = context.withCancellation();
    private final FutureTask<ToolOutput> future;
    private final Consumer<ToolOutput> send;
    private Future<?> timeout;

    Task(Callable<ToolOutput> tool, Consumer<ToolOutput> send) {
      future = new FutureTask<>(own.wrap(tool));
      this.send = send;
    }

    @Override
    public void run() {
      future.run();
      cancel();
      ended(this);
      try {
        send.accept(future.get());
      } catch (CancellationException tooLate) {
        // The sidecar has told the model that the tool took too long, or the generation has ended.
      } catch (ExecutionException | InterruptedException impossible) {
        throw new IllegalStateException(impossible);
      }
    }

    /** Interrupts the tool if it runs, and releases what the task holds. */
    void cancel() {
      future.cancel(true);
      own.cancel(null);
      if (timeout != null) {
        timeout.cancel(false);
      }
    }
  }
}
