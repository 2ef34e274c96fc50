package io.github.outriggerinference;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.lang.reflect.AnnotatedElement;
import java.util.List;

/**
 * A member of an object: a component of a record, or a property of a class.
 *
 * @param description null for none
 */
record JsonMember(String name, JsonType type, Description description) {

  /** The schema of an object with these members. */
  static JsonObject schemaOf(List<JsonMember> members, AnnotatedElement owner) {
    JsonObject properties = new JsonObject();
    JsonArray required = new JsonArray();
    for (JsonMember member : members) {
      properties.add(member.name(), describe(member.type().schema(), member.description()));
      if (!member.type().isOptional()) {
        required.add(member.name());
      }
    }
    JsonObject schema = JsonType.schemaOf("object");
    describe(schema, owner.getAnnotation(Description.class));
    schema.add("properties", properties);
    schema.add("required", required);
    schema.addProperty("additionalProperties", false);
    return schema;
  }

  /** Reads the member's value from its object. */
  Object read(JsonObject object, String path) {
    String memberPath = path + "/" + name;
    JsonElement value = object.get(name);
    return value == null ? type.readMissing(memberPath) : type.read(value, memberPath);
  }

  /** Whether an object may leave the member out, and does. */
  boolean isLeftOut(JsonObject object) {
    return type.isOptional() && !object.has(name);
  }

  private static JsonObject describe(JsonObject schema, Description description) {
    if (description != null) {
      schema.addProperty("description", description.value());
    }
    return schema;
  }
}
