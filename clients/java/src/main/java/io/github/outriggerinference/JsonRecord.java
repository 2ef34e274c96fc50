package io.github.outriggerinference;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.List;

/** A record: an object with a member for each component. */
record JsonRecord(Constructor<?> constructor, List<Member> members, Description description)
    implements JsonType {

  /** A component of the record. */
  record Member(RecordComponent component, JsonType type) {
    String name() {
      return component.getName();
    }

    JsonObject schema() {
      JsonObject schema = type.schema();
      describe(schema, component.getAnnotation(Description.class));
      return schema;
    }
  }

  @Override
  public JsonObject schema() {
    JsonObject properties = new JsonObject();
    JsonArray required = new JsonArray();
    for (Member member : members) {
      properties.add(member.name(), member.schema());
      if (!member.type().isOptional()) {
        required.add(member.name());
      }
    }
    JsonObject schema = JsonType.schemaOf("object");
    describe(schema, description);
    schema.add("properties", properties);
    schema.add("required", required);
    schema.addProperty("additionalProperties", false);
    return schema;
  }

  @Override
  public Object read(JsonElement value, String path) {
    if (!(value instanceof JsonObject object)) {
      throw JsonType.mismatch(path, "an object", value);
    }
    Object[] arguments = new Object[members.size()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = readMember(members.get(i), object, path);
    }
    return construct(arguments, path);
  }

  private static Object readMember(Member member, JsonObject object, String path) {
    String memberPath = path + "/" + member.name();
    JsonElement value = object.get(member.name());
    return value == null
        ? member.type().readMissing(memberPath)
        : member.type().read(value, memberPath);
  }

  private Object construct(Object[] arguments, String path) {
    try {
      return constructor.newInstance(arguments);
    } catch (InvocationTargetException rejected) {
      // The record's own constructor checks more than types can say.
      Throwable cause = rejected.getCause();
      String problem = cause.getMessage() == null ? cause.toString() : cause.getMessage();
      throw new JsonMismatchException(path, problem);
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static void describe(JsonObject schema, Description description) {
    if (description != null) {
      schema.addProperty("description", description.value());
    }
  }
}
