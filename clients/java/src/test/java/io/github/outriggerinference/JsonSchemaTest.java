package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("The JSON Schema of a record")
class JsonSchemaTest {
  enum Unit {
    CELSIUS,
    FAHRENHEIT
  }

  @Description("A place on earth")
  record Place(String city, Optional<String> country) {}

  record WeatherInput(
      @Description("Where") Place place,
      @Description("How warm is measured") Unit unit,
      int days,
      double precision,
      boolean detailed,
      List<String> fields,
      Set<Integer> hours,
      Map<String, BigDecimal> limits,
      Optional<List<Place>> others) {}

  record Node(String name, List<Node> children) {}

  record Left(Right right) {}

  record Right(Optional<Left> left) {}

  record WithObject(Object anything) {}

  record WithIntegerKeys(Map<Integer, String> names) {}

  record WithArray(int[] numbers) {}

  record WithRawList(@SuppressWarnings("rawtypes") List list) {}

  record Generic<T>(T value) {}

  record UsesGeneric(Generic<String> value) {}

  record Nothing() {}

  private static String schemaOf(Class<? extends Record> type) {
    return JsonTypes.of(type).schema().toString();
  }

  @Test
  void hasEveryComponentInItsOrderWithItsTypeAndDescription() {
    String place =
        "\"properties\":{\"city\":{\"type\":\"string\"},\"country\":{\"type\":\"string\"}},"
            + "\"required\":[\"city\"],\"additionalProperties\":false}";
    assertEquals(
        "{\"type\":\"object\",\"properties\":{"
            + "\"place\":{\"type\":\"object\",\"description\":\"Where\","
            + place
            + ",\"unit\":{\"type\":\"string\",\"enum\":[\"CELSIUS\",\"FAHRENHEIT\"],\"description\":\"How"
            + " warm is measured\"},\"days\":{\"type\":\"integer\"},"
            + "\"precision\":{\"type\":\"number\"},\"detailed\":{\"type\":\"boolean\"},"
            + "\"fields\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
            + "\"hours\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"uniqueItems\":true},"
            + "\"limits\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}},"
            + "\"others\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"description\":\"A"
            + " place on earth\","
            + place
            + "}},"
            + "\"required\":[\"place\",\"unit\",\"days\",\"precision\",\"detailed\",\"fields\","
            + "\"hours\",\"limits\"],\"additionalProperties\":false}",
        schemaOf(WeatherInput.class));
  }

  @Test
  void isAnEmptyObjectForARecordWithoutComponents() {
    assertEquals(
        "{\"type\":\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":false}",
        schemaOf(Nothing.class));
  }

  @Test
  void isRefusedForARecordThatContainsItself() {
    assertRefused(Node.class, Node.class.getName() + " contains itself");
    assertRefused(Left.class, Left.class.getName() + " contains itself");
  }

  @Test
  void isRefusedForATypeThatIsNotSupportedAndNamesTheComponent() {
    assertRefused(
        WithObject.class,
        "WithObject.anything: java.lang.Object is not supported, expected String");
    assertRefused(WithIntegerKeys.class, "WithIntegerKeys.names: java.util.Map<");
    assertRefused(WithArray.class, "WithArray.numbers: int[] is not supported");
    assertRefused(WithRawList.class, "WithRawList.list: java.util.List is not supported");
    assertRefused(UsesGeneric.class, "UsesGeneric.value");
  }

  private static void assertRefused(Class<? extends Record> type, String expected) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> JsonTypes.of(type)).getMessage();
    assertTrue(message.contains(expected), message);
  }
}
