package io.github.outriggerinference;

/**
 * An object grows, or is complete.
 *
 * @param <T> the class of the complete object
 */
public sealed interface ObjectEvent<T> {
  /**
   * The part of the object that has arrived. Strings may still grow, lists and objects may still
   * get members; nothing is taken away. It need not match the schema yet.
   *
   * @param <T> the class of the complete object
   * @param json valid JSON text
   */
  record Partial<T>(String json) implements ObjectEvent<T> {}

  /**
   * The object is complete. Always the last event.
   *
   * @param <T> the class of the object
   * @param result the object, and the result of its generation
   */
  record Finish<T>(ObjectResult<T> result) implements ObjectEvent<T> {}
}
