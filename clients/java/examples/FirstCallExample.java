import io.github.outriggerinference.Messages;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;

/** One call of a model. */
public final class FirstCallExample {
  public static void main(String[] args) {
    Request request =
        Request.newBuilder().setModel("sim-text").addMessages(Messages.user("Say hello.")).build();
    try (OutriggerClient client = OutriggerClient.connect()) {
      Response response = client.complete(request);
      System.out.println(Messages.textOf(response.getMessage()));
      System.out.println(response.getUsage().getTotalTokens() + " tokens");
    }
  }
}
