package io.github.outriggerinference;

/**
 * The code of a tool.
 *
 * @param <I> what it is called with
 */
@FunctionalInterface
public interface ToolFunction<I> {
  /**
   * Executes the tool. It runs on a separate thread, concurrently with the other calls of the same
   * step, and is interrupted when its time limit has passed or the generation is cancelled.
   *
   * @return the result for the model: a string is sent as it is, a {@code ToolResult}, {@code
   *     ContentPart} or list of parts of the contract as these are, anything else as JSON
   * @throws ToolRefusalException if the tool declines the call
   * @throws Exception whose message the model gets as an error result
   */
  Object call(I input) throws Exception;
}
