package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.JsonSchemaTest.Place;
import io.github.outriggerinference.JsonSchemaTest.Unit;
import io.github.outriggerinference.JsonSchemaTest.WeatherInput;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("JSON of records")
class JsonTest {
  record Numbers(
      byte b, short s, int i, long l, float f, double d, BigInteger whole, BigDecimal exact) {}

  record Boxed(Byte b, Short s, Integer i, Long l, Float f, Double d, Boolean flag) {}

  record Age(int years) {
    Age {
      if (years < 0) {
        throw new IllegalArgumentException("years must not be negative");
      }
    }
  }

  record Person(String name, Age age) {}

  private static <T extends Record> T read(Class<T> type, String json) {
    return type.cast(JsonTypes.of(type).read(Json.parse(json), ""));
  }

  @Test
  void isReadBackAsItWasWrittenForRandomValues() {
    Random random = new Random(7);
    for (int i = 0; i < 500; i++) {
      WeatherInput value = randomInput(random);
      assertEquals(value, read(WeatherInput.class, Json.write(value)));
    }
  }

  private static WeatherInput randomInput(Random random) {
    List<String> fields = new ArrayList<>();
    Set<Integer> hours = new LinkedHashSet<>();
    Map<String, BigDecimal> limits = new LinkedHashMap<>();
    List<Place> others = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      fields.add(randomText(random));
      hours.add(random.nextInt());
      limits.put(
          randomText(random), new BigDecimal(new BigInteger(90, random), random.nextInt(30)));
      others.add(randomPlace(random));
    }
    return new WeatherInput(
        randomPlace(random),
        Unit.values()[random.nextInt(2)],
        random.nextInt(),
        random.nextGaussian() * Math.pow(10, random.nextInt(600) - 300),
        random.nextBoolean(),
        fields,
        hours,
        limits,
        random.nextBoolean() ? Optional.empty() : Optional.of(others));
  }

  private static Place randomPlace(Random random) {
    Optional<String> country =
        random.nextBoolean() ? Optional.empty() : Optional.of(randomText(random));
    return new Place(randomText(random), country);
  }

  /** Quotes, control characters, letters beyond ASCII and surrogate pairs among them. */
  private static String randomText(Random random) {
    int[] alphabet = {'a', '"', '\\', '\n', 0, 0x1f, '/', '<', 0x2028, 'é', '語', 0x1f600};
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(8); i > 0; i--) {
      text.appendCodePoint(alphabet[random.nextInt(alphabet.length)]);
    }
    return text.toString();
  }

  @Test
  void readsEveryKindOfNumberUpToItsBounds() {
    Numbers numbers =
        read(
            Numbers.class,
            "{\"b\":-128,\"s\":32767,\"i\":-2147483648,\"l\":9223372036854775807,\"f\":1.5,"
                + "\"d\":1e308,\"whole\":123456789012345678901234567890,\"exact\":0.10}");
    assertEquals(
        new Numbers(
            (byte) -128,
            (short) 32767,
            Integer.MIN_VALUE,
            Long.MAX_VALUE,
            1.5f,
            1e308,
            new BigInteger("123456789012345678901234567890"),
            new BigDecimal("0.10")),
        numbers);
    Boxed boxed =
        read(Boxed.class, "{\"b\":1,\"s\":2,\"i\":3.0,\"l\":4e2,\"f\":5,\"d\":6,\"flag\":true}");
    assertEquals(new Boxed((byte) 1, (short) 2, 3, 400L, 5f, 6d, true), boxed);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"name\":\"Ann\"}|/age: expected a value, found none",
        "{\"name\":1,\"age\":{\"years\":1}}|/name: expected a string, found a number",
        "{\"name\":null,\"age\":{\"years\":1}}|/name: expected a string, found null",
        "{\"name\":\"Ann\",\"age\":[]}|/age: expected an object, found a list",
        "{\"name\":\"Ann\",\"age\":{\"years\":\"1\"}}|/age/years: expected an integer, found a"
            + " string",
        "{\"name\":\"Ann\",\"age\":{\"years\":1.5}}|/age/years: expected an integer in range",
        "{\"name\":\"Ann\",\"age\":{\"years\":2147483648}}|/age/years: expected an integer in"
            + " range",
        "{\"name\":\"Ann\",\"age\":{\"years\":1e999999999}}|/age/years: expected an integer of"
            + " fewer",
        "{\"name\":\"Ann\",\"age\":{\"years\":-1}}|/age: years must not be negative",
        "[]|the value: expected an object, found a list",
        "{\"name\":\"Ann\"|expected valid JSON",
        "{'name':'Ann'}|expected valid JSON",
        "{\"name\":\"Ann\"} {}|expected valid JSON",
        "``|expected valid JSON",
      })
  void isRefusedWithThePathOfTheProblem(String json, String expected) {
    String message =
        assertThrows(JsonMismatchException.class, () -> read(Person.class, json)).getMessage();
    assertTrue(message.contains(expected), message);
  }

  @ParameterizedTest
  @ValueSource(ints = {300, 100_000})
  void isRefusedWhereItIsNestedTooDeep(int depth) {
    String json = "[".repeat(depth) + "]".repeat(depth);
    assertThrows(JsonMismatchException.class, () -> Json.parse(json));
  }

  @Test
  void ignoresMembersThatTheRecordLacks() {
    Age age = read(Age.class, "{\"years\":3,\"months\":4}");
    assertEquals(3, age.years());
  }

  @Test
  void takesNullAndAbsenceForAnEmptyOptional() {
    assertEquals(new Place("Oslo", Optional.empty()), read(Place.class, "{\"city\":\"Oslo\"}"));
    assertEquals(
        new Place("Oslo", Optional.empty()),
        read(Place.class, "{\"city\":\"Oslo\",\"country\":null}"));
  }

  @Test
  void namesTheConstantsWhereAnEnumHasNoSuchOne() {
    record Choice(Unit unit) {}
    String message =
        assertThrows(JsonMismatchException.class, () -> read(Choice.class, "{\"unit\":\"KELVIN\"}"))
            .getMessage();
    assertEquals(
        "/unit: expected one of [\"CELSIUS\",\"FAHRENHEIT\"], found another value", message);
  }

  record Moments(LocalDate day, OffsetDateTime local, Instant instant, UUID id) {}

  @Test
  void hasDatesTimesAndUuidsAsStrings() {
    Moments moments =
        new Moments(
            LocalDate.of(2026, 2, 28),
            OffsetDateTime.parse("2026-02-28T10:00:00+02:00"),
            Instant.parse("2026-02-28T08:00:00Z"),
            UUID.fromString("6ba7b810-9dad-11d1-80b4-00c04fd430c8"));
    String json =
        "{\"day\":\"2026-02-28\",\"local\":\"2026-02-28T10:00+02:00\","
            + "\"instant\":\"2026-02-28T08:00:00Z\","
            + "\"id\":\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"}";
    assertEquals(json, Json.write(moments));
    assertEquals(moments, read(Moments.class, json));
    assertEquals(
        "/day: expected a date, found another string",
        assertThrows(
                JsonMismatchException.class, () -> read(Moments.class, "{\"day\":\"2026-02-30\"}"))
            .getMessage());
    assertEquals(
        "{\"type\":\"string\",\"format\":\"date\"}",
        JsonScalars.of(LocalDate.class).schema().toString());
  }

  @Test
  void writesMapsListsAndNull() {
    Map<String, Object> value = new LinkedHashMap<>();
    value.put("a", List.of(1, 2.5, "x"));
    value.put("b", null);
    value.put("c", Optional.of(Unit.CELSIUS));
    value.put("<", 'y');
    assertEquals(
        "{\"a\":[1,2.5,\"x\"],\"b\":null,\"c\":\"CELSIUS\",\"<\":\"y\"}", Json.write(value));
  }

  @Test
  void refusesToWriteWhatJsonCannotHold() {
    assertThrows(IllegalArgumentException.class, () -> Json.write(Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> Json.write(new Thread()));
    List<Object> endless = new ArrayList<>();
    endless.add(endless);
    assertThrows(IllegalArgumentException.class, () -> Json.write(endless));
  }
}
