package io.github.outriggerinference;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Finds out by reflection what a Java type is as JSON. */
final class JsonTypes {
  private static final String SUPPORTED =
      "expected String, boolean, a number, an enum, a record, a class with properties and a"
          + " constructor without parameters, LocalDate, OffsetDateTime, Instant, UUID, or List,"
          + " Set, Optional or Map<String, …> of these";

  /** The records and classes around the one at hand, to find recursion. */
  private final Deque<Class<?>> enclosing = new ArrayDeque<>();

  private JsonTypes() {}

  /**
   * The type of a class.
   *
   * @throws IllegalArgumentException if it, or a member of it, is not supported, or contains
   *     itself
   */
  static JsonType of(Class<?> type) {
    return new JsonTypes().of(type, type.getName());
  }

  /**
   * The type of a record or class with properties, whose values are objects.
   *
   * @throws IllegalArgumentException as {@link #of(Class)}, and for any other type
   */
  static JsonType ofMembers(Class<?> type) {
    JsonType found = of(type);
    if (found instanceof JsonRecord || found instanceof JsonBean) {
      return found;
    }
    throw new IllegalArgumentException(
        type.getName() + ": expected a record, or a class with properties, as input of a tool");
  }

  private JsonType of(Type type, String where) {
    if (type instanceof ParameterizedType generic) {
      return container(generic, where);
    }
    if (!(type instanceof Class<?> plain)) {
      throw unsupported(type, where);
    }
    JsonType scalar = JsonScalars.of(plain);
    if (scalar != null) {
      return scalar;
    }
    if (plain.isRecord()) {
      return within(plain, () -> recordType(plain));
    }
    return within(plain, () -> beanType(plain, where));
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

  private JsonType within(Class<?> type, Supplier<JsonType> find) {
    if (enclosing.contains(type)) {
      throw new IllegalArgumentException(
          type.getName() + " contains itself: a recursive type has no finite schema here");
    }
    enclosing.push(type);
    JsonType found = find.get();
    enclosing.pop();
    return found;
  }

  private JsonType recordType(Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] parameters =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
    List<JsonMember> members =
        Arrays.stream(components)
            .map(part -> member(part.getName(), part, part.getAnnotatedType(), type))
            .toList();
    return new JsonRecord(constructorOf(type, parameters).orElseThrow(), members);
  }

  private JsonType beanType(Class<?> type, String where) {
    List<JsonBean.Property> properties =
        JsonBean.propertiesOf(type).stream().filter(JsonBean.Property::isWritable).toList();
    Constructor<?> constructor = constructorOf(type).orElse(null);
    if (properties.isEmpty() || constructor == null || Modifier.isAbstract(type.getModifiers())) {
      throw unsupported(type, where);
    }
    Map<JsonBean.Property, JsonMember> members = new LinkedHashMap<>();
    for (JsonBean.Property property : properties) {
      var field = property.field();
      members.put(property, member(field.getName(), field, field.getAnnotatedType(), type));
    }
    return new JsonBean(constructor, members);
  }

  private JsonMember member(
      String name, AnnotatedElement declaration, AnnotatedType annotated, Class<?> owner) {
    JsonType type = of(annotated.getType(), owner.getName() + "." + name);
    boolean nullable = isNullable(declaration) || isNullable(annotated);
    return new JsonMember(
        name,
        nullable ? new JsonContainers.NullableOf(type) : type,
        declaration.getAnnotation(Description.class));
  }

  /** Whatever package it is from: there are a dozen, of jspecify, jakarta, Spring and others. */
  private static boolean isNullable(AnnotatedElement element) {
    return Stream.of(element.getAnnotations())
        .anyMatch(annotation -> annotation.annotationType().getSimpleName().equals("Nullable"));
  }

  private static Optional<Constructor<?>> constructorOf(Class<?> type, Class<?>... parameters) {
    return Stream.of(type.getDeclaredConstructors())
        .filter(constructor -> Arrays.equals(constructor.getParameterTypes(), parameters))
        .<Constructor<?>>map(constructor -> Reflection.open(constructor, type))
        .findFirst();
  }

  private static IllegalArgumentException unsupported(Type type, String where) {
    return new IllegalArgumentException(
        where + ": " + type.getTypeName() + " is not supported, " + SUPPORTED);
  }
}
