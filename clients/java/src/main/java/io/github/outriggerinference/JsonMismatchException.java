package io.github.outriggerinference;

/** A JSON value is not of the type that was expected. */
final class JsonMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  JsonMismatchException(String path, String problem) {
    super((path.isEmpty() ? "the value" : path) + ": " + problem);
  }
}
