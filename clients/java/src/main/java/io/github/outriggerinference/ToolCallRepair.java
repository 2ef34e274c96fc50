package io.github.outriggerinference;

import io.github.outriggerinference.v1.ToolCall;
import java.util.Optional;

/** Repairs the arguments of calls that are not valid JSON or do not match the tool's schema. */
@FunctionalInterface
public interface ToolCallRepair {
  /**
   * Repairs a call.
   *
   * @param call the call as the model wrote it
   * @param problem what is wrong with its arguments
   * @return the JSON text of better arguments; empty if there are none, so that the model gets
   *     the problem as an error result
   */
  Optional<String> repair(ToolCall call, String problem) throws Exception;
}
