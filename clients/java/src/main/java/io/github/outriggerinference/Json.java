package io.github.outriggerinference;

import com.google.gson.JsonElement;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads and writes JSON text. */
final class Json {
  /**
   * Values that are nested deeper are rejected: a list or map that contains itself would not end.
   */
  private static final int MAX_DEPTH = 200;

  private Json() {}

  /**
   * Reads JSON text strictly.
   *
   * @throws JsonMismatchException where it is not valid
   */
  static JsonElement parse(String text) {
    JsonReader reader = new JsonReader(new StringReader(text));
    reader.setStrictness(Strictness.STRICT);
    try {
      // Fails if there is no text, which the parser takes for null.
      reader.peek();
      JsonElement value = JsonParser.parseReader(reader);
      // Fails where more text follows.
      reader.peek();
      return value;
    } catch (IOException | JsonParseException | NumberFormatException invalid) {
      throw new JsonMismatchException("", "expected valid JSON, found something else");
    }
  }

  /**
   * Writes a value: a record, object with properties, map, collection, optional, enum, string,
   * number, boolean, date, UUID or null.
   *
   * @throws IllegalArgumentException if it contains anything else, or a number that JSON lacks
   */
  static String write(Object value) {
    StringWriter text = new StringWriter();
    JsonWriter writer = new JsonWriter(text);
    writer.setHtmlSafe(false);
    try {
      write(value, writer, 0);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return text.toString();
  }

  private static void write(Object value, JsonWriter to, int depth) throws IOException {
    if (depth > MAX_DEPTH) {
      throw new IllegalArgumentException(
          "the value is nested more than " + MAX_DEPTH + " levels deep");
    }
    if (value == null) {
      to.nullValue();
    } else if (value instanceof Optional<?> optional) {
      write(optional.orElse(null), to, depth + 1);
    } else if (value instanceof Boolean bool) {
      to.value(bool);
    } else if (value instanceof Number number) {
      to.value(number);
    } else if (value instanceof Enum<?> constant) {
      to.value(constant.name());
    } else if (JsonScalars.isWrittenAsText(value)) {
      to.value(value.toString());
    } else if (value instanceof Record members) {
      writeRecord(members, to, depth);
    } else if (value instanceof Map<?, ?> map) {
      writeMap(map, to, depth);
    } else if (value instanceof Iterable<?> elements) {
      writeList(elements, to, depth);
    } else {
      writeBean(value, to, depth);
    }
  }

  private static void writeRecord(Record value, JsonWriter to, int depth) throws IOException {
    to.beginObject();
    for (RecordComponent component : value.getClass().getRecordComponents()) {
      Method accessor = Reflection.open(component.getAccessor(), value.getClass());
      writeMember(component.getName(), () -> accessor.invoke(value), to, depth);
    }
    to.endObject();
  }

  private static void writeBean(Object value, JsonWriter to, int depth) throws IOException {
    List<JsonBean.Property> properties = JsonBean.propertiesOf(value.getClass());
    if (properties.stream().noneMatch(JsonBean.Property::isReadable)) {
      throw new IllegalArgumentException(
          value.getClass().getName()
              + " cannot be written as JSON: expected a record, object with properties, map,"
              + " collection, string, number, boolean, enum, date, UUID or null");
    }
    to.beginObject();
    for (JsonBean.Property property : properties) {
      if (property.isReadable()) {
        writeMember(property.field().getName(), () -> property.get(value), to, depth);
      }
    }
    to.endObject();
  }

  private static void writeMember(String name, Reflection.Call get, JsonWriter to, int depth)
      throws IOException {
    Object member = valueOf(name, get);
    // A missing optional is left out, as the schema says.
    if (!(member instanceof Optional<?> optional && optional.isEmpty())) {
      to.name(name);
      write(member, to, depth + 1);
    }
  }

  private static Object valueOf(String name, Reflection.Call get) {
    try {
      return get.make();
    } catch (InvocationTargetException failed) {
      throw new IllegalArgumentException(name + " cannot be read", failed.getCause());
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static void writeMap(Map<?, ?> map, JsonWriter to, int depth) throws IOException {
    to.beginObject();
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      to.name(String.valueOf(entry.getKey()));
      write(entry.getValue(), to, depth + 1);
    }
    to.endObject();
  }

  private static void writeList(Iterable<?> elements, JsonWriter to, int depth) throws IOException {
    to.beginArray();
    for (Object element : elements) {
      write(element, to, depth + 1);
    }
    to.endArray();
  }
}
