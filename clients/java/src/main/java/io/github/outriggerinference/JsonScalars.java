package io.github.outriggerinference;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;

/** Types without members: strings, booleans, numbers, dates, UUIDs and enums. */
final class JsonScalars {
  private static final Map<Class<?>, JsonType> TYPES =
      Map.ofEntries(
          Map.entry(String.class, new Text()),
          Map.entry(boolean.class, new Bool()),
          Map.entry(Boolean.class, new Bool()),
          Map.entry(byte.class, new Whole(BigInteger::byteValueExact)),
          Map.entry(Byte.class, new Whole(BigInteger::byteValueExact)),
          Map.entry(short.class, new Whole(BigInteger::shortValueExact)),
          Map.entry(Short.class, new Whole(BigInteger::shortValueExact)),
          Map.entry(int.class, new Whole(BigInteger::intValueExact)),
          Map.entry(Integer.class, new Whole(BigInteger::intValueExact)),
          Map.entry(long.class, new Whole(BigInteger::longValueExact)),
          Map.entry(Long.class, new Whole(BigInteger::longValueExact)),
          Map.entry(BigInteger.class, new Whole(number -> number)),
          Map.entry(float.class, new Decimal(JsonScalars::toFloat)),
          Map.entry(Float.class, new Decimal(JsonScalars::toFloat)),
          Map.entry(double.class, new Decimal(JsonScalars::toDouble)),
          Map.entry(Double.class, new Decimal(JsonScalars::toDouble)),
          Map.entry(BigDecimal.class, new Decimal(number -> number)),
          Map.entry(LocalDate.class, new Formatted("date", LocalDate::parse)),
          Map.entry(OffsetDateTime.class, new Formatted("date-time", OffsetDateTime::parse)),
          Map.entry(
              Instant.class,
              new Formatted("date-time", text -> OffsetDateTime.parse(text).toInstant())),
          Map.entry(UUID.class, new Formatted("uuid", UUID::fromString)));

  /** What is written as its {@code toString}. */
  private static final Set<Class<?>> WRITTEN_AS_TEXT =
      Set.of(LocalDate.class, OffsetDateTime.class, Instant.class, UUID.class, Character.class);

  private JsonScalars() {}

  /** Whether {@code toString} gives the text that stands for a value. */
  static boolean isWrittenAsText(Object value) {
    return value instanceof CharSequence || WRITTEN_AS_TEXT.contains(value.getClass());
  }

  /** The type of a class; null if the class is none of these. */
  static JsonType of(Class<?> type) {
    return type.isEnum() ? new Choice(type) : TYPES.get(type);
  }

  private static double toDouble(BigDecimal number) {
    double value = number.doubleValue();
    if (Double.isInfinite(value)) {
      throw new ArithmeticException("out of range");
    }
    return value;
  }

  private static float toFloat(BigDecimal number) {
    float value = number.floatValue();
    if (Float.isInfinite(value)) {
      throw new ArithmeticException("out of range");
    }
    return value;
  }

  private record Text() implements JsonType {
    @Override
    public JsonObject schema() {
      return JsonType.schemaOf("string");
    }

    @Override
    public Object read(JsonElement value, String path) {
      if (value instanceof JsonPrimitive primitive && primitive.isString()) {
        return primitive.getAsString();
      }
      throw JsonType.mismatch(path, "a string", value);
    }
  }

  /** A string of a certain format, whose Java form is that of {@code toString}. */
  private record Formatted(String format, Function<String, Object> parse) implements JsonType {
    @Override
    public JsonObject schema() {
      JsonObject schema = JsonType.schemaOf("string");
      schema.addProperty("format", format);
      return schema;
    }

    @Override
    public Object read(JsonElement value, String path) {
      if (!(value instanceof JsonPrimitive primitive && primitive.isString())) {
        throw JsonType.mismatch(path, "a " + format + " as a string", value);
      }
      try {
        return parse.apply(primitive.getAsString());
      } catch (DateTimeParseException | IllegalArgumentException other) {
        throw new JsonMismatchException(path, "expected a " + format + ", found another string");
      }
    }
  }

  private record Bool() implements JsonType {
    @Override
    public JsonObject schema() {
      return JsonType.schemaOf("boolean");
    }

    @Override
    public Object read(JsonElement value, String path) {
      if (value instanceof JsonPrimitive primitive && primitive.isBoolean()) {
        return primitive.getAsBoolean();
      }
      throw JsonType.mismatch(path, "a boolean", value);
    }
  }

  /** A whole number. {@code 3.0} is one, as in JSON Schema. */
  private record Whole(Function<BigInteger, Object> convert) implements JsonType {
    @Override
    public JsonObject schema() {
      return JsonType.schemaOf("integer");
    }

    @Override
    public Object read(JsonElement value, String path) {
      BigDecimal number = numberOf(value, path, "an integer");
      try {
        return convert.apply(number.toBigIntegerExact());
      } catch (ArithmeticException notWhole) {
        throw new JsonMismatchException(path, "expected an integer in range, found another number");
      }
    }
  }

  private record Decimal(Function<BigDecimal, Object> convert) implements JsonType {
    @Override
    public JsonObject schema() {
      return JsonType.schemaOf("number");
    }

    @Override
    public Object read(JsonElement value, String path) {
      try {
        return convert.apply(numberOf(value, path, "a number"));
      } catch (ArithmeticException tooLarge) {
        throw new JsonMismatchException(path, "expected a number in range, found a larger one");
      }
    }
  }

  private static BigDecimal numberOf(JsonElement value, String path, String expected) {
    if (!(value instanceof JsonPrimitive primitive && primitive.isNumber())) {
      throw JsonType.mismatch(path, expected, value);
    }
    try {
      return primitive.getAsBigDecimal();
    } catch (NumberFormatException tooManyDigits) {
      // Gson limits digits and exponents, since an exponent makes a huge number cheap to write.
      throw new JsonMismatchException(path, "expected " + expected + " of fewer digits");
    }
  }

  /** An enum: the names of its constants. */
  private record Choice(Class<?> type) implements JsonType {
    @Override
    public JsonObject schema() {
      JsonArray names = new JsonArray();
      for (Object constant : type.getEnumConstants()) {
        names.add(((Enum<?>) constant).name());
      }
      JsonObject schema = JsonType.schemaOf("string");
      schema.add("enum", names);
      return schema;
    }

    @Override
    public Object read(JsonElement value, String path) {
      if (value instanceof JsonPrimitive primitive && primitive.isString()) {
        for (Object constant : type.getEnumConstants()) {
          if (((Enum<?>) constant).name().equals(primitive.getAsString())) {
            return constant;
          }
        }
      }
      throw new JsonMismatchException(
          path, "expected one of " + schema().get("enum") + ", found another value");
    }
  }
}
