import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.RunStream;
import io.github.outriggerinference.v1.ListRunsRequest;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunEvent;
import java.util.Map;

/** A run in the background: it continues when this program is gone. */
public class RunsExample {
  public static void main(String[] args) {
    try (OutriggerClient client = OutriggerClient.connect()) {
      Run created =
          client
              .runs()
              .create(
                  o ->
                      o.generate(g -> g.model("sim-text").prompt("Say hello."))
                          .background(true)
                          .labels(Map.of("example", "runs")));
      // A second argument resumes after an event. A lost connection is resumed automatically.
      try (RunStream events = client.runs().events(created.getId())) {
        for (RunEvent event : events) {
          System.out.print(event.getModelEvent().getTextDelta().getDelta());
        }
      }
      Run run = client.runs().get(created.getId());
      System.out.println("\n" + run.getStatus() + " in " + run.getStepsCount() + " step");

      Run next =
          client
              .runs()
              .create(
                  o ->
                      o.generate(g -> g.model("sim-text").prompt("And goodbye."))
                          .previousRunId(run.getId()));
      ListRunsRequest ofThread =
          ListRunsRequest.newBuilder().setThreadId(next.getThreadId()).build();
      client.runs().list(ofThread).forEach(each -> System.out.println(each.getStatus()));
      client.runs().delete(next.getId());
    }
  }
}
