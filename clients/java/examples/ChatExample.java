import io.github.outriggerinference.GenerationResult;
import io.github.outriggerinference.Messages;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.v1.Message;
import java.util.ArrayList;
import java.util.List;

/** A conversation of several turns. The history carries what the provider needs back. */
public final class ChatExample {
  public static void main(String[] args) {
    List<Message> history = new ArrayList<>();
    try (OutriggerClient client = OutriggerClient.connect()) {
      for (String question : List.of("Who are you?", "And who am I?")) {
        history.add(Messages.user(question));
        GenerationResult result =
            client.generate(
                o -> o.model("sim-reasoning").system("Answer briefly.").messages(history));
        // All messages of the answer, unchanged: reasoning and its signatures among them.
        history.addAll(result.messages());
        System.out.println("user: " + question);
        System.out.println("model: " + result.text());
      }
      System.out.println(history.size() + " messages");
    }
  }
}
