package io.github.outriggerinference;

/**
 * The code of a tool that uses more of its call than the input.
 *
 * @param <I> what it is called with
 */
@FunctionalInterface
public interface ContextToolFunction<I> {
  /**
   * Executes the tool, as {@link ToolFunction#call} does.
   *
   * @param context the call: its id, the conversation before it, its time limit
   */
  Object call(I input, ToolContext context) throws Exception;
}
