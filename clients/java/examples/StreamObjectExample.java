import io.github.outriggerinference.ObjectEvent;
import io.github.outriggerinference.ObjectStream;
import io.github.outriggerinference.OutriggerClient;
import java.util.List;

/** An object while it grows. */
public final class StreamObjectExample {
  record Recipe(String name, List<String> ingredients, int minutes) {}

  public static void main(String[] args) {
    try (OutriggerClient client = OutriggerClient.connect();
        ObjectStream<Recipe> stream =
            client.streamObject(
                Recipe.class, o -> o.model("sim-text:rate=20").prompt("A recipe."))) {
      for (ObjectEvent<Recipe> event : stream) {
        if (event instanceof ObjectEvent.Partial<Recipe> partial) {
          System.out.println("partial: " + partial.json());
        }
      }
      Recipe recipe = stream.result().object();
      System.out.println(recipe.name() + " takes " + recipe.minutes() + " minutes");
    }
  }
}
