package io.github.outriggerinference;

/**
 * Thrown by a tool that declines a call, for instance because a user did not approve it. The model
 * gets the reason as an error result.
 */
public class ToolRefusalException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param reason why, for the model
   */
  public ToolRefusalException(String reason) {
    super(reason);
  }
}
