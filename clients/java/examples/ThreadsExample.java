import io.github.outriggerinference.MessageThread;
import io.github.outriggerinference.Messages;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.v1.Message;
import java.util.Map;

/**
 * A conversation that the sidecar keeps: runs read it and append to it, so that this program sends
 * only new messages.
 */
public class ThreadsExample {
  public static void main(String[] args) {
    try (OutriggerClient client = OutriggerClient.connect()) {
      // A conversation that began elsewhere; without messages the thread is empty.
      MessageThread thread =
          client
              .threads()
              .create(
                  t ->
                      t.messages(
                              Messages.user("My name is Ada."), Messages.assistant("Hello, Ada."))
                          .labels(Map.of("example", "threads")));
      client
          .runs()
          .create(
              o ->
                  o.generate(g -> g.model("sim-text").prompt("What is my name?"))
                      .threadId(thread.id()));
      client.threads().listMessages(thread.id()).forEach(stored -> print(stored.getMessage()));
      client.threads().delete(thread.id());
    }
  }

  private static void print(Message message) {
    System.out.println(message.getRole() + ": " + Messages.textOf(message));
  }
}
