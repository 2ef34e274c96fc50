package io.github.outriggerinference;

import java.lang.reflect.Constructor;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Finds out by reflection what a Java type is as JSON. */
final class JsonTypes {
  private static final String SUPPORTED =
      "expected String, boolean, a number, an enum, a record, LocalDate, OffsetDateTime, Instant,"
          + " UUID, or List, Set, Optional or Map<String, …> of these";

  /** The record types around the one at hand, to find recursion. */
  private final Deque<Class<?>> enclosing = new ArrayDeque<>();

  private JsonTypes() {}

  /**
   * The type of a record.
   *
   * @throws IllegalArgumentException where a component has a type that is not supported, or the
   *     record contains itself
   */
  static JsonType ofRecord(Class<? extends Record> type) {
    return new JsonTypes().recordType(type);
  }

  private JsonType of(Type type, String where) {
    if (type instanceof ParameterizedType generic) {
      return container(generic, where);
    }
    if (!(type instanceof Class<?> plain)) {
      throw unsupported(type, where);
    }
    if (plain.isRecord()) {
      return recordType(plain);
    }
    JsonType scalar = JsonScalars.of(plain);
    if (scalar == null) {
      throw unsupported(type, where);
    }
    return scalar;
  }

  private JsonType container(ParameterizedType type, String where) {
    Type[] arguments = type.getActualTypeArguments();
    if (type.getRawType() == List.class) {
      return new JsonContainers.ListOf(of(arguments[0], where));
    }
    if (type.getRawType() == Set.class) {
      return new JsonContainers.SetOf(new JsonContainers.ListOf(of(arguments[0], where)));
    }
    if (type.getRawType() == Optional.class) {
      return new JsonContainers.OptionalOf(of(arguments[0], where));
    }
    if (type.getRawType() == Map.class && arguments[0] == String.class) {
      return new JsonContainers.MapOf(of(arguments[1], where));
    }
    throw unsupported(type, where);
  }

  private JsonType recordType(Class<?> type) {
    if (enclosing.contains(type)) {
      throw new IllegalArgumentException(
          type.getName() + " contains itself: a recursive type has no finite schema here");
    }
    enclosing.push(type);
    List<JsonRecord.Member> members =
        Arrays.stream(type.getRecordComponents())
            .map(component -> member(component, type))
            .toList();
    enclosing.pop();
    return new JsonRecord(constructorOf(type), members, type.getAnnotation(Description.class));
  }

  private JsonRecord.Member member(RecordComponent component, Class<?> owner) {
    String where = owner.getName() + "." + component.getName();
    return new JsonRecord.Member(component, of(component.getGenericType(), where));
  }

  private static Constructor<?> constructorOf(Class<?> type) {
    Class<?>[] parameters =
        Arrays.stream(type.getRecordComponents())
            .map(RecordComponent::getType)
            .toArray(Class<?>[]::new);
    try {
      Constructor<?> constructor = type.getDeclaredConstructor(parameters);
      constructor.setAccessible(true);
      return constructor;
    } catch (InaccessibleObjectException closed) {
      throw new IllegalArgumentException(
          type.getName() + " is not open to reflection: open its package in module-info.java",
          closed);
    } catch (NoSuchMethodException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static IllegalArgumentException unsupported(Type type, String where) {
    return new IllegalArgumentException(
        where + ": " + type.getTypeName() + " is not supported, " + SUPPORTED);
  }
}
