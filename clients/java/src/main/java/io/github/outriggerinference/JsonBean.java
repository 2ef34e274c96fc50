package io.github.outriggerinference;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A class with a constructor without parameters: an object with a member for each of its
 * properties.
 *
 * @param members each property as a member, in the order of the fields
 */
record JsonBean(Constructor<?> constructor, Map<Property, JsonMember> members) implements JsonType {

  /**
   * A field that is public, or has a public getter or setter, which are then used in its place.
   *
   * @param getter null for none
   * @param setter null for none
   */
  record Property(Field field, Method getter, Method setter) {
    /** Whether others may read it: a property with a setter alone is written only. */
    boolean isReadable() {
      return getter != null || Modifier.isPublic(field.getModifiers());
    }

    /** Whether it can be set: Java lets reflection change final fields no longer. */
    boolean isWritable() {
      return setter != null || !Modifier.isFinal(field.getModifiers());
    }

    Object get(Object bean) throws ReflectiveOperationException {
      return getter == null ? field.get(bean) : getter.invoke(bean);
    }

    Object set(Object bean, Object value) throws ReflectiveOperationException {
      if (setter == null) {
        field.set(bean, value);
      } else {
        setter.invoke(bean, value);
      }
      return value;
    }
  }

  /** The properties of a class, those that it inherits first. Empty for the classes of Java. */
  static List<Property> propertiesOf(Class<?> type) {
    List<Property> properties = new ArrayList<>();
    if (type == null || isOfJava(type)) {
      return properties;
    }
    properties.addAll(propertiesOf(type.getSuperclass()));
    for (Field field : type.getDeclaredFields()) {
      int ignored = Modifier.STATIC | Modifier.TRANSIENT;
      if ((field.getModifiers() & ignored) == 0 && !field.isSynthetic()) {
        propertyOf(field).ifPresent(properties::add);
      }
    }
    return properties;
  }

  @Override
  public JsonObject schema() {
    return JsonMember.schemaOf(List.copyOf(members.values()), constructor.getDeclaringClass());
  }

  @Override
  public Object read(JsonElement value, String path) {
    JsonObject object = JsonType.objectOf(value, path);
    Object bean = Reflection.call(constructor::newInstance, path);
    members.forEach(
        (property, member) -> {
          // What is left out keeps the value that the constructor gave it.
          if (!member.isLeftOut(object)) {
            Object read = member.read(object, path);
            Reflection.call(() -> property.set(bean, read), path + "/" + member.name());
          }
        });
    return bean;
  }

  private static boolean isOfJava(Class<?> type) {
    String module = type.getModule().getName();
    return module != null && (module.startsWith("java.") || module.startsWith("jdk."));
  }

  private static Optional<Property> propertyOf(Field field) {
    String name = Character.toUpperCase(field.getName().charAt(0)) + field.getName().substring(1);
    Class<?> owner = field.getDeclaringClass();
    Class<?> type = field.getType();
    Method getter =
        publicMethod(owner, "get" + name)
            .or(() -> type == boolean.class ? publicMethod(owner, "is" + name) : Optional.empty())
            .filter(method -> method.getReturnType() == type)
            .orElse(null);
    Method setter = publicMethod(owner, "set" + name, type).orElse(null);
    boolean isProperty =
        getter != null || setter != null || Modifier.isPublic(field.getModifiers());
    return isProperty
        ? Optional.of(new Property(Reflection.open(field, owner), getter, setter))
        : Optional.empty();
  }

  private static Optional<Method> publicMethod(
      Class<?> owner, String name, Class<?>... parameters) {
    return Arrays.stream(owner.getDeclaredMethods())
        .filter(method -> method.getName().equals(name))
        .filter(method -> Arrays.equals(method.getParameterTypes(), parameters))
        .filter(method -> Modifier.isPublic(method.getModifiers()))
        .filter(method -> !Modifier.isStatic(method.getModifiers()))
        .map(method -> Reflection.open(method, owner))
        .findFirst();
  }
}
