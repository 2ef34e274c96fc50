package io.github.outriggerinference;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;

/** Uses classes of the program. */
final class Reflection {
  private Reflection() {}

  /** A call of a constructor or method, or the setting of a field. */
  @FunctionalInterface
  interface Call {
    Object make() throws ReflectiveOperationException;
  }

  /**
   * Makes a member of a class accessible, whatever its modifiers.
   *
   * @throws IllegalArgumentException if the module of the class forbids it
   */
  static <M extends AccessibleObject> M open(M member, Class<?> owner) {
    try {
      member.setAccessible(true);
      return member;
    } catch (InaccessibleObjectException closed) {
      throw new IllegalArgumentException(
          owner.getName() + " is not open to reflection: open its package in module-info.java",
          closed);
    }
  }

  /**
   * Makes a call. What the program's code throws is a mismatch: it checks more than types can say.
   *
   * @param path where the value is in the document, for the message
   */
  static Object call(Call call, String path) {
    try {
      return call.make();
    } catch (InvocationTargetException rejected) {
      Throwable cause = rejected.getCause();
      String problem = cause.getMessage() == null ? cause.toString() : cause.getMessage();
      throw new JsonMismatchException(path, problem);
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
