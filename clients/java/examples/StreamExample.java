import io.github.outriggerinference.Messages;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.ResponseStream;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.StreamEvent;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/** The events of a call while the model answers: in a loop, and for a subscriber. */
public final class StreamExample {
  private static final Request REQUEST =
      Request.newBuilder().setModel("sim-text").addMessages(Messages.user("Say hello.")).build();

  public static void main(String[] args) {
    try (OutriggerClient client = OutriggerClient.connect()) {
      // Leaving the block early cancels the call.
      try (ResponseStream stream = client.stream(REQUEST)) {
        for (StreamEvent event : stream) {
          System.out.print(event.getTextDelta().getDelta());
        }
        System.out.println();
        System.out.println(stream.response().getFinishReason().getReason());
      }

      TextPrinter printer = new TextPrinter();
      client.streamPublisher(REQUEST, null).subscribe(printer);
      printer.done.join();
    }
  }

  /** Asks for one event after the other, so that the provider is not faster than the reader. */
  private static final class TextPrinter implements Flow.Subscriber<StreamEvent> {
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      subscription.request(1);
    }

    @Override
    public void onNext(StreamEvent event) {
      System.out.print(event.getTextDelta().getDelta());
      subscription.request(1);
    }

    @Override
    public void onError(Throwable thrown) {
      done.completeExceptionally(thrown);
    }

    @Override
    public void onComplete() {
      System.out.println();
      done.complete(null);
    }
  }
}
