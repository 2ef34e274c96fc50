package io.github.outriggerinference;

import io.github.outriggerinference.v1.Attempt;
import io.github.outriggerinference.v1.FinishReason;
import io.github.outriggerinference.v1.GenerateResult;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolResult;
import io.github.outriggerinference.v1.Usage;
import io.github.outriggerinference.v1.Warning;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The result of a generation.
 *
 * @param toProto the result as the contract has it
 */
public record GenerationResult(GenerateResult toProto) {
  /** The text of the last answer. */
  public String text() {
    return Messages.textOf(lastMessage());
  }

  /** What the model shows of its reasoning for the last answer. */
  public String reasoning() {
    return Messages.reasoningOf(lastMessage());
  }

  /** The tool calls of the last answer. */
  public List<ToolCall> toolCalls() {
    return Messages.toolCallsOf(lastMessage());
  }

  /** The results of the tools that the last answer called, in the order of the calls. */
  public List<ToolResult> toolResults() {
    return lastStep().getToolResultsList();
  }

  /** The calls without a result: those of passive tools, and those that a limit prevented. */
  public List<ToolCall> openCalls() {
    Set<String> answered =
        toolResults().stream().map(ToolResult::getToolCallId).collect(Collectors.toSet());
    return toolCalls().stream().filter(call -> !answered.contains(call.getId())).toList();
  }

  /** Why the model stopped. */
  public FinishReason finishReason() {
    return response().getFinishReason();
  }

  /** Why the generation ended: the model completed its answer, or a limit was reached. */
  public GenerateResult.StopReason stopReason() {
    return toProto.getStopReason();
  }

  /** Tokens that the last call of the model used. */
  public Usage usage() {
    return response().getUsage();
  }

  /** Tokens that all steps used. */
  public Usage totalUsage() {
    return toProto.getTotalUsage();
  }

  /** All steps, in their order. */
  public List<StepResult> steps() {
    return toProto.getStepsList();
  }

  /** The model's last answer. */
  public Response response() {
    return toProto.getResponse();
  }

  /** The generated object as JSON text. Empty if none was requested. */
  public String output() {
    return toProto.getOutputJson();
  }

  /** What was changed or left out in the last call of the model. */
  public List<Warning> warnings() {
    return response().getWarningsList();
  }

  /** All calls of providers, failed ones included. */
  public List<Attempt> attempts() {
    return toProto.getAttemptsList();
  }

  /**
   * The messages that the generation adds to the conversation: append them to the history to
   * continue with the chat. They carry what the provider needs back.
   */
  public List<Message> messages() {
    return steps().stream().flatMap(step -> Messages.ofStep(step).stream()).toList();
  }

  private StepResult lastStep() {
    int count = toProto.getStepsCount();
    return count == 0 ? StepResult.getDefaultInstance() : toProto.getSteps(count - 1);
  }

  /** That of the last step, which has its content in every case. */
  private Message lastMessage() {
    return lastStep().getResponse().getMessage();
  }
}
