package io.github.outriggerinference;

import io.github.outriggerinference.v1.ExecuteTool;
import io.github.outriggerinference.v1.GenerationOptions;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.RunToolsRequest;
import io.github.outriggerinference.v1.RunToolsResponse;
import io.github.outriggerinference.v1.RunToolsStart;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.ToolOutput;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The caller's side of RunTools: executes the requests of the sidecar and answers them. */
final class ToolLoop extends EventDecoder<RunToolsResponse, GenerationEvent> {
  private final GenerateOptions options;
  private final Map<String, Tool> executable;
  private final ToolRunner runner;
  private final boolean hideErrors;

  /** The messages before the step in progress. Replaced, never changed: tools may hold it. */
  private List<Message> conversation;

  private StreamObserver<RunToolsRequest> requests;
  private boolean closed;

  ToolLoop(GenerateOptions options, ToolRunner runner, boolean hideErrors) {
    this.hideErrors = hideErrors;
    this.options = options;
    this.runner = runner;
    executable =
        options.tools().stream()
            .filter(tool -> tool.executor().isPresent())
            // The sidecar refuses two tools of one name.
            .collect(Collectors.toMap(Tool::name, Function.identity(), (first, second) -> first));
    conversation = conversationOf(options.toProto());
  }

  /** Sends the first message. */
  synchronized void open(StreamObserver<RunToolsRequest> requestsOfCall, boolean omitEvents) {
    requests = requestsOfCall;
    RunToolsStart start =
        RunToolsStart.newBuilder()
            .setOptions(options.toProto())
            .addAllPassiveTools(passiveTools())
            .setOmitEvents(omitEvents)
            .setRepairCalls(options.repair().isPresent())
            .build();
    send(RunToolsRequest.newBuilder().setStart(start).build());
  }

  @Override
  GenerationEvent decode(RunToolsResponse message) {
    switch (message.getMessageCase()) {
      case EVENT:
        noteOutput(message.getEvent());
        return new GenerationEvent.Model(message.getStep(), message.getEvent());
      case EXECUTE:
        noteOutput();
        return execute(message.getStep(), message.getExecute());
      case STEP_FINISH:
        return finishStep(message.getStep(), message.getStepFinish().getResult());
      case RESULT:
        completed();
        return new GenerationEvent.Finish(new GenerationResult(message.getResult()));
      case ERROR:
        failed(message.getError());
        return null;
      default:
        // A rejected output came too late: the model has an error result for that call.
        return null;
    }
  }

  @Override
  void close() {
    synchronized (this) {
      closed = true;
    }
    runner.cancelAll();
  }

  private GenerationEvent execute(int step, ExecuteTool execute) {
    ToolAnswer answer = new ToolAnswer(executable, options, conversation, hideErrors);
    runner.run(() -> answer.to(execute), this::sendOutput, Durations.toJava(execute.getTimeout()));
    return execute.getProblem().isEmpty()
        ? new GenerationEvent.ToolStart(step, execute.getToolCall())
        : null;
  }

  private GenerationEvent finishStep(int step, StepResult result) {
    noteStep(result);
    List<Message> longer = new ArrayList<>(conversation);
    longer.addAll(Messages.ofStep(result));
    conversation = Collections.unmodifiableList(longer);
    return new GenerationEvent.StepFinish(step, result);
  }

  private void sendOutput(ToolOutput output) {
    send(RunToolsRequest.newBuilder().setOutput(output).build());
  }

  private synchronized void send(RunToolsRequest message) {
    if (closed) {
      return;
    }
    try {
      requests.onNext(message);
    } catch (IllegalStateException ended) {
      // The call was cancelled a moment ago; the reader learns it from its status.
      closed = true;
    }
  }

  /** All tools that would be executed but have no code here. */
  private List<String> passiveTools() {
    return options.toProto().getRequest().getToolsList().stream()
        .filter(tool -> !tool.hasHosted())
        .map(Tool::nameOf)
        .filter(name -> !executable.containsKey(name))
        .toList();
  }

  private static List<Message> conversationOf(GenerationOptions options) {
    List<Message> messages = new ArrayList<>();
    if (!options.getSystem().isEmpty()) {
      messages.add(Messages.system(options.getSystem()));
    }
    messages.addAll(options.getRequest().getMessagesList());
    if (!options.getPrompt().isEmpty()) {
      messages.add(Messages.user(options.getPrompt()));
    }
    return Collections.unmodifiableList(messages);
  }
}
