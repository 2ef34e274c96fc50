package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.CancelRunRequest;
import io.github.outriggerinference.v1.DeleteRunRequest;
import io.github.outriggerinference.v1.GetRunRequest;
import io.github.outriggerinference.v1.ListRunsRequest;
import io.github.outriggerinference.v1.ListRunsResponse;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunEvent;
import io.github.outriggerinference.v1.RunServiceGrpc;
import io.github.outriggerinference.v1.StreamRunRequest;
import io.github.outriggerinference.v1.SubmitToolResultsRequest;
import io.github.outriggerinference.v1.ToolApproval;
import io.github.outriggerinference.v1.ToolResult;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/**
 * The run engine: generations that are stored, that can continue in the background, and whose
 * events can be read at any time.
 */
@NullMarked
public final class Runs {
  private final Calls calls;

  Runs(Calls calls) {
    this.calls = calls;
  }

  /**
   * Creates a run. Returns a background run at once, any other when it has ended or requires
   * action. A run that failed throws nothing: its status and error say so.
   */
  public Run create(Consumer<RunOptions.Builder> options) {
    return create(optionsOf(options));
  }

  /** Like {@link #create(Consumer)}, with options that were made before. */
  public Run create(RunOptions options) {
    return calls.unary(RunServiceGrpc.getCreateRunMethod(), options.toProto(), options.deadline());
  }

  /** Like {@link #create(Consumer)}, without waiting. */
  public CompletableFuture<Run> createAsync(RunOptions options) {
    return calls.unaryAsync(
        RunServiceGrpc.getCreateRunMethod(), options.toProto(), options.deadline());
  }

  /**
   * Creates a run and returns its events. Closing the stream cancels the run, unless it is in the
   * background.
   */
  public RunStream createStream(Consumer<RunOptions.Builder> options) {
    RunOptions made = optionsOf(options);
    StreamingCall<RunEvent> call =
        calls.streaming(
            RunServiceGrpc.getCreateRunStreamMethod(),
            made.toProto(),
            made.deadline(),
            RunEventDecoder::new);
    return new RunStream(call, null, null, this::eventsCall);
  }

  /** The events of a run, past ones first. Closing the stream does not affect the run. */
  public RunStream events(String runId) {
    return new RunStream(eventsCall(runId, null), runId, null, this::eventsCall);
  }

  /** The events of a run after the one with this number. */
  public RunStream events(String runId, int after) {
    return new RunStream(eventsCall(runId, after), runId, after, this::eventsCall);
  }

  /**
   * A run with its steps.
   *
   * @throws io.github.outriggerinference.errors.NotFoundException if there is none
   */
  public Run get(String runId) {
    return calls.unary(
        RunServiceGrpc.getGetRunMethod(),
        GetRunRequest.newBuilder().setRunId(runId).build(),
        Optional.empty());
  }

  /** Waits until a run has ended or requires action, and returns it with its steps. */
  public Run await(String runId) {
    Run run = get(runId);
    while (RunStream.isUnderWay(run)) {
      try (RunStream events = events(runId, run.getLastSequence())) {
        readAll(events);
      }
      run = get(runId);
    }
    return run;
  }

  /**
   * Continues a run that requires action, with a result for each of its required results. Returns
   * as {@link #create(Consumer)} does.
   */
  public Run submitToolResults(String runId, List<ToolResult> results) {
    return submitToolResults(runId, results, List.of());
  }

  /** Like {@link #submitToolResults(String, List)}, with decisions on calls that need approval. */
  public Run submitToolResults(
      String runId, List<ToolResult> results, List<ToolApproval> approvals) {
    SubmitToolResultsRequest request =
        SubmitToolResultsRequest.newBuilder()
            .setRunId(runId)
            .addAllResults(results)
            .addAllApprovals(approvals)
            .build();
    return calls.unary(RunServiceGrpc.getSubmitToolResultsMethod(), request, Optional.empty());
  }

  /** Cancels a run. Has no effect on one that has ended. */
  public Run cancel(String runId) {
    return calls.unary(
        RunServiceGrpc.getCancelRunMethod(),
        CancelRunRequest.newBuilder().setRunId(runId).build(),
        Optional.empty());
  }

  /** Deletes a run with its steps and events. One in progress is cancelled first. */
  public void delete(String runId) {
    calls.unary(
        RunServiceGrpc.getDeleteRunMethod(),
        DeleteRunRequest.newBuilder().setRunId(runId).build(),
        Optional.empty());
  }

  /** The caller's runs, newest first, without their steps. Fetches page after page. */
  public Stream<Run> list() {
    return list(ListRunsRequest.getDefaultInstance());
  }

  /** The runs that fit a request, from its page on. */
  public Stream<Run> list(ListRunsRequest request) {
    return Pages.stream(
        request.getPageToken(),
        token ->
            calls.unary(
                RunServiceGrpc.getListRunsMethod(),
                request.toBuilder().setPageToken(token).build(),
                Optional.empty()),
        ListRunsResponse::getRunsList,
        ListRunsResponse::getNextPageToken);
  }

  /** Reads events to their end. A failure of the run is in what the next look finds. */
  private static void readAll(RunStream events) {
    try {
      events.forEachRemaining(event -> {});
    } catch (OutriggerException failure) {
      if (!events.isOver() || Thread.currentThread().isInterrupted()) {
        throw failure;
      }
    }
  }

  private StreamingCall<RunEvent> eventsCall(String runId, @Nullable Integer after) {
    StreamRunRequest.Builder request = StreamRunRequest.newBuilder().setRunId(runId);
    if (after != null) {
      request.setAfterSequence(after);
    }
    return calls.streaming(
        RunServiceGrpc.getStreamRunMethod(),
        request.build(),
        Optional.empty(),
        RunEventDecoder::new);
  }

  private static RunOptions optionsOf(Consumer<RunOptions.Builder> options) {
    RunOptions.Builder builder = RunOptions.builder();
    options.accept(builder);
    return builder.build();
  }
}
