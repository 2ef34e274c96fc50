import io.github.outriggerinference.Messages;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.ResponseStream;
import io.github.outriggerinference.errors.AbortException;
import io.github.outriggerinference.errors.InvalidRequestException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.errors.RateLimitException;
import io.github.outriggerinference.errors.RequestTimeoutException;
import io.github.outriggerinference.v1.Request;
import java.time.Duration;

/** How calls fail, and how a program ends one. */
public final class ErrorsExample {
  public static void main(String[] args) {
    try (OutriggerClient client = OutriggerClient.connect()) {
      try {
        client.complete(request("sim-text:status=429,retry_after=2"));
      } catch (RateLimitException limit) {
        System.out.println(
            "rate limit of " + limit.provider() + ", retry after " + limit.retryAfter().get());
      }

      try {
        client.complete(Request.newBuilder().setModel("sim-text").build());
      } catch (InvalidRequestException invalid) {
        System.out.println("invalid: " + invalid.fieldViolations().get(0).field());
      }

      try {
        client.complete(request("sim-text:status=500"));
      } catch (OutriggerException failed) {
        // One exception for all that can go wrong.
        System.out.println(failed.kind() + (failed.retryable() ? ", may be retried" : ""));
      }

      // A stream that was cut throws; it never looks finished.
      try (ResponseStream stream = client.stream(request("sim-text:cut_events=8"))) {
        stream.textDeltas().forEach(text -> {});
        System.out.println("never reached");
      } catch (OutriggerException cut) {
        System.out.println("cut" + (cut.outputStarted() ? ", output had started" : ""));
      }

      try {
        client.complete(request("sim-long:tokens=1000,rate=20"), Duration.ofMillis(300));
      } catch (RequestTimeoutException timeout) {
        System.out.println("deadline expired");
      }

      ResponseStream stream = client.stream(request("sim-long:tokens=1000,rate=20"));
      stream.next();
      // Another thread could do this, too; the sidecar stops its call of the provider.
      stream.close();
      try {
        stream.response();
      } catch (AbortException cancelled) {
        System.out.println("cancelled");
      }
    }
  }

  private static Request request(String model) {
    return Request.newBuilder().setModel(model).addMessages(Messages.user("Hello")).build();
  }
}
