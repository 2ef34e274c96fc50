package io.github.outriggerinference;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Types that hold values of another type. */
final class JsonContainers {
  private JsonContainers() {}

  /** A {@code List}. */
  record ListOf(JsonType element) implements JsonType {
    @Override
    public JsonObject schema() {
      JsonObject schema = JsonType.schemaOf("array");
      schema.add("items", element.schema());
      return schema;
    }

    @Override
    public List<Object> read(JsonElement value, String path) {
      if (!(value instanceof JsonArray array)) {
        throw JsonType.mismatch(path, "a list", value);
      }
      List<Object> elements = new ArrayList<>(array.size());
      for (JsonElement item : array) {
        elements.add(element.read(item, path + "/" + elements.size()));
      }
      return Collections.unmodifiableList(elements);
    }
  }

  /** A {@code Set}: a list without repetitions. */
  record SetOf(ListOf list) implements JsonType {
    @Override
    public JsonObject schema() {
      JsonObject schema = list.schema();
      schema.addProperty("uniqueItems", true);
      return schema;
    }

    @Override
    public Object read(JsonElement value, String path) {
      return Collections.unmodifiableSet(new LinkedHashSet<>(list.read(value, path)));
    }
  }

  /** A {@code Map} with strings as keys. */
  record MapOf(JsonType element) implements JsonType {
    @Override
    public JsonObject schema() {
      JsonObject schema = JsonType.schemaOf("object");
      schema.add("additionalProperties", element.schema());
      return schema;
    }

    @Override
    public Object read(JsonElement value, String path) {
      Map<String, Object> entries = new LinkedHashMap<>();
      for (Map.Entry<String, JsonElement> entry : JsonType.objectOf(value, path).entrySet()) {
        entries.put(entry.getKey(), element.read(entry.getValue(), path + "/" + entry.getKey()));
      }
      return Collections.unmodifiableMap(entries);
    }
  }

  /** An {@code Optional}: a document may lack it, or have null. */
  record OptionalOf(JsonType value) implements JsonType {
    @Override
    public JsonObject schema() {
      return value.schema();
    }

    @Override
    public Object read(JsonElement json, String path) {
      return json instanceof JsonNull ? Optional.empty() : Optional.of(value.read(json, path));
    }

    @Override
    public boolean isOptional() {
      return true;
    }

    @Override
    public Object readMissing(String path) {
      return Optional.empty();
    }
  }

  /** A member that may be null: a document may lack it. */
  record NullableOf(JsonType value) implements JsonType {
    @Override
    public JsonObject schema() {
      return value.schema();
    }

    @Override
    public Object read(JsonElement json, String path) {
      return json instanceof JsonNull ? null : value.read(json, path);
    }

    @Override
    public boolean isOptional() {
      return true;
    }

    @Override
    public Object readMissing(String path) {
      return null;
    }
  }
}
