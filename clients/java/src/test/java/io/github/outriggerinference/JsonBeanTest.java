package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Date;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("JSON of classes")
class JsonBeanTest {
  public static class Animal {
    private String name;
    private int legs = 4;

    public String getName() {
      return name;
    }

    public void setName(String name) {
      if (name.isBlank()) {
        throw new IllegalArgumentException("a name must not be blank");
      }
      this.name = name;
    }

    public int getLegs() {
      return legs;
    }
  }

  @Description("A dog")
  public static final class Dog extends Animal {
    @Description("Names of its owners")
    public List<String> owners;

    public @Nullable String breed = "mongrel";
    private Optional<Integer> age = Optional.empty();
    private boolean trained;
    private String secret = "kept";
    private transient String cache;
    public final int teeth = 42;
    static String kennel;

    public Optional<Integer> getAge() {
      return age;
    }

    public boolean isTrained() {
      return trained;
    }

    public void setSecret(String secret) {
      this.secret = secret;
    }

    public String getCache() {
      return cache;
    }

    /** Not a property: there is no field. */
    public String getSound() {
      return "woof";
    }
  }

  /** Can be written, but not read. */
  public static final class Immutable {
    private final int size = 3;

    public int getSize() {
      return size;
    }
  }

  record Walk(Dog dog, @Nullable String route) {}

  public static final class Closed {
    private int hidden;
  }

  public static final class WithoutDefault {
    public int value;

    WithoutDefault(int value) {
      this.value = value;
    }
  }

  public static final class Node {
    public List<Node> children;
  }

  private static final String DOG =
      "{\"name\":\"Rex\",\"legs\":3,\"owners\":[\"Ada\"],\"age\":7,\"trained\":true,"
          + "\"secret\":\"told\"}";

  private static <T> T read(Class<T> type, String json) {
    return type.cast(JsonTypes.of(type).read(Json.parse(json), ""));
  }

  @Test
  void hasTheSchemaOfItsPropertiesInheritedOnesFirst() {
    assertEquals(
        "{\"type\":\"object\",\"description\":\"A dog\",\"properties\":{"
            + "\"name\":{\"type\":\"string\"},\"legs\":{\"type\":\"integer\"},"
            + "\"owners\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
            + "\"description\":\"Names of its owners\"},"
            + "\"breed\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\"},"
            + "\"trained\":{\"type\":\"boolean\"},\"secret\":{\"type\":\"string\"}},"
            + "\"required\":[\"name\",\"legs\",\"owners\",\"trained\",\"secret\"],"
            + "\"additionalProperties\":false}",
        JsonTypes.of(Dog.class).schema().toString());
  }

  @Test
  void isReadIntoSettersAndFields() {
    Dog dog = read(Dog.class, DOG);
    assertEquals("Rex", dog.getName());
    assertEquals(3, dog.getLegs());
    assertEquals(List.of("Ada"), dog.owners);
    assertEquals(Optional.of(7), dog.getAge());
    assertTrue(dog.isTrained());
    assertEquals("told", dog.secret);
  }

  @Test
  void keepsTheDefaultOfWhatIsLeftOutAndTakesNull() {
    assertEquals("mongrel", read(Dog.class, DOG).breed);
    String withoutBreed = DOG.replace("\"legs\"", "\"breed\":null,\"legs\"");
    assertNull(read(Dog.class, withoutBreed).breed);
    Walk walk = read(Walk.class, "{\"dog\":" + DOG + "}");
    assertNull(walk.route());
    assertNull(read(Walk.class, "{\"dog\":" + DOG + ",\"route\":null}").route());
  }

  @Test
  void namesTheMemberThatItRejects() {
    String blank = DOG.replace("Rex", " ");
    assertEquals("/name: a name must not be blank", rejectionOf(blank));
    assertEquals(
        "/legs: expected an integer, found a string", rejectionOf(DOG.replace("3", "\"3\"")));
    assertEquals("/owners: expected a value, found none", rejectionOf(DOG.replace("owners", "x")));
    assertEquals("the value: expected an object, found a list", rejectionOf("[]"));
  }

  @Test
  void isWrittenByGettersAndPublicFields() {
    assertEquals(
        "{\"name\":\"Rex\",\"legs\":3,\"owners\":[\"Ada\"],\"breed\":\"mongrel\",\"age\":7,"
            + "\"trained\":true,\"teeth\":42}",
        Json.write(read(Dog.class, DOG)));
    assertEquals("{\"size\":3}", Json.write(new Immutable()));
  }

  @Test
  void isRefusedForAClassThatHasNoSchemaOrCannotBeMade() {
    assertRefused(Closed.class, "Closed is not supported");
    assertRefused(Immutable.class, "Immutable is not supported");
    assertRefused(WithoutDefault.class, "WithoutDefault is not supported");
    assertRefused(Node.class, "Node contains itself");
    assertRefused(Date.class, "java.util.Date is not supported");
    assertRefused(Runnable.class, "java.lang.Runnable is not supported");
    for (Object unwritable : List.of(new Closed(), new Date(), new java.io.File("/"))) {
      assertThrows(IllegalArgumentException.class, () -> Json.write(unwritable));
    }
  }

  @Test
  void isTheInputOfAToolButAScalarIsNot() {
    Tool.of("walk", "Walks a dog.", Dog.class, Animal::getName);
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> Tool.of("call", "Calls.", String.class, name -> name))
            .getMessage();
    assertTrue(message.contains("expected a record, or a class with properties"), message);
  }

  private static String rejectionOf(String json) {
    return assertThrows(JsonMismatchException.class, () -> read(Dog.class, json)).getMessage();
  }

  private static void assertRefused(Class<?> type, String expected) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> JsonTypes.of(type)).getMessage();
    assertTrue(message.contains(expected), message);
  }
}
