package io.github.outriggerinference;

import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.ToolCall;
import java.time.Duration;
import java.util.List;

/**
 * The call that a tool executes. While it runs, {@code io.grpc.Context.current()} is cancelled with
 * it, so that calls of gRPC that the tool makes end as well.
 *
 * @param call the call as the model wrote it
 * @param messages the conversation before the step that made the call
 * @param timeout how long the tool may take, from the sidecar's request; zero for no limit
 */
public record ToolContext(ToolCall call, List<Message> messages, Duration timeout) {
  /** The id of the call, unique in a conversation. */
  public String toolCallId() {
    return call.getId();
  }
}
