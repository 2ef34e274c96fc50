import io.github.outriggerinference.Description;
import io.github.outriggerinference.ObjectResult;
import io.github.outriggerinference.OutriggerClient;
import java.util.List;
import java.util.Optional;

/** An answer that is a record. */
public final class ObjectExample {
  enum Mood {
    CALM,
    TENSE
  }

  @Description("A scene of a play")
  record Scene(
      String title,
      Mood mood,
      @Description("Who is on stage") List<Person> persons,
      Optional<String> music) {}

  record Person(String name, int age) {}

  public static void main(String[] args) {
    try (OutriggerClient client = OutriggerClient.connect()) {
      ObjectResult<Scene> result =
          client.generateObject(Scene.class, o -> o.model("sim-text").prompt("Invent a scene."));
      Scene scene = result.object();
      System.out.println(scene.title() + " is " + scene.mood());
      for (Person person : scene.persons()) {
        System.out.println(person.name() + ", " + person.age());
      }
      System.out.println(result.generation().output());
    }
  }
}
