package io.github.outriggerinference;

import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

/** A Java type as JSON: its schema, and how its values are read. */
interface JsonType {
  /** The JSON Schema of the values. A new object for each call, since callers add to it. */
  JsonObject schema();

  /**
   * Reads a value.
   *
   * @param path where the value is in the document, as a JSON pointer, for error messages
   * @throws JsonMismatchException if the value is not of this type
   */
  Object read(JsonElement value, String path);

  /** Whether a record may lack a component of this type. */
  default boolean isOptional() {
    return false;
  }

  /** The value for a component that a document lacks. */
  default Object readMissing(String path) {
    throw new JsonMismatchException(path, "expected a value, found none");
  }

  /** A schema that names a type only. */
  static JsonObject schemaOf(String type) {
    JsonObject schema = new JsonObject();
    schema.addProperty("type", type);
    return schema;
  }

  /** A value that is not of the expected type. The message has the kind of value, not the value. */
  static JsonMismatchException mismatch(String path, String expected, JsonElement found) {
    return new JsonMismatchException(path, "expected " + expected + ", found " + kindOf(found));
  }

  /** The object that a value is. */
  static JsonObject objectOf(JsonElement value, String path) {
    if (value instanceof JsonObject object) {
      return object;
    }
    throw mismatch(path, "an object", value);
  }

  private static String kindOf(JsonElement value) {
    if (value instanceof JsonNull) {
      return "null";
    }
    if (value instanceof JsonPrimitive primitive) {
      return primitive.isString() ? "a string" : primitive.isNumber() ? "a number" : "a boolean";
    }
    return value.isJsonArray() ? "a list" : "an object";
  }
}
