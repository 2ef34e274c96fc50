package io.github.outriggerinference;

import io.github.outriggerinference.v1.ContentPart;
import io.github.outriggerinference.v1.ExecuteTool;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolFailure;
import io.github.outriggerinference.v1.ToolOutput;
import io.github.outriggerinference.v1.ToolRefusal;
import io.github.outriggerinference.v1.ToolResult;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Calls the code for an {@code execute} of the sidecar, and makes the answer of whatever becomes of
 * it.
 */
record ToolAnswer(
    Map<String, Tool> executable,
    GenerateOptions options,
    List<Message> messages,
    boolean hideErrors) {

  /** The model gets no more of an exception's message. */
  private static final int MAX_MESSAGE_LENGTH = 4_096;

  ToolOutput to(ExecuteTool execute) {
    ToolOutput.Builder output =
        ToolOutput.newBuilder().setToolCallId(execute.getToolCall().getId());
    try {
      if (execute.getProblem().isEmpty()) {
        output.setResult(resultOf(call(execute)));
      } else {
        repair(execute, output);
      }
    } catch (ToolRefusalException refusal) {
      output.setRefusal(ToolRefusal.newBuilder().setReason(messageOf(refusal)));
    } catch (Throwable failed) {
      // Whatever a tool throws, errors included, is an answer: the loop must not wait for one.
      report(execute.getToolCall(), failed);
      boolean hidden = hidesErrors(execute) && !(failed instanceof JsonMismatchException);
      output.setFailure(failure(hidden ? "the tool failed" : messageOf(failed)));
    }
    return output.build();
  }

  private boolean hidesErrors(ExecuteTool execute) {
    return Optional.ofNullable(executable.get(execute.getToolCall().getName()))
        .flatMap(Tool::hidesErrors)
        .orElse(hideErrors);
  }

  private void report(ToolCall call, Throwable failed) {
    try {
      options.toolErrorListener().accept(call, failed);
    } catch (RuntimeException ofListener) {
      // The tool's failure is what the model must learn.
      failed.addSuppressed(ofListener);
    }
  }

  private Object call(ExecuteTool execute) throws Exception {
    ToolCall call = execute.getToolCall();
    Tool tool = executable.get(call.getName());
    if (tool == null) {
      throw new IllegalArgumentException("there is no tool named " + call.getName());
    }
    ToolContext context = new ToolContext(call, messages, Durations.toJava(execute.getTimeout()));
    return tool.executor().orElseThrow().execute(call, context);
  }

  private void repair(ExecuteTool execute, ToolOutput.Builder output) throws Exception {
    ToolCall call = execute.getToolCall();
    Optional<String> arguments =
        options.repair().isEmpty()
            ? Optional.empty()
            : options.repair().get().repair(call, execute.getProblem());
    if (arguments.isPresent()) {
      output.setRepairedCall(
          call.toBuilder().setArgumentsInvalid(false).setArgumentsJson(arguments.get()));
    } else {
      output.setFailure(failure("invalid arguments: " + execute.getProblem()));
    }
  }

  private static ToolResult resultOf(Object value) {
    if (value instanceof ToolResult result) {
      return result;
    }
    ToolResult.Builder result = ToolResult.newBuilder();
    if (value instanceof ContentPart part) {
      result.addContent(part);
    } else if (value instanceof List<?> list && !list.isEmpty() && areParts(list)) {
      list.forEach(part -> result.addContent((ContentPart) part));
    } else {
      String text = value instanceof String string ? string : Json.write(value);
      result.addContent(Messages.text(text));
    }
    return result.build();
  }

  private static boolean areParts(List<?> list) {
    return list.stream().allMatch(ContentPart.class::isInstance);
  }

  private static ToolFailure failure(String message) {
    return ToolFailure.newBuilder().setMessage(message).build();
  }

  private static String messageOf(Throwable thrown) {
    String message =
        thrown instanceof JsonMismatchException
            ? "invalid arguments: " + thrown.getMessage()
            : thrown.getMessage();
    if (message == null || message.isEmpty()) {
      return thrown.getClass().getSimpleName();
    }
    if (message.length() <= MAX_MESSAGE_LENGTH) {
      return message;
    }
    boolean cutsPair = Character.isHighSurrogate(message.charAt(MAX_MESSAGE_LENGTH - 1));
    return message.substring(0, cutsPair ? MAX_MESSAGE_LENGTH - 1 : MAX_MESSAGE_LENGTH);
  }
}
