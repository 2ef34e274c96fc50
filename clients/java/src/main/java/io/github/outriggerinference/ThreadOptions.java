package io.github.outriggerinference;

import io.github.outriggerinference.v1.CreateThreadRequest;
import io.github.outriggerinference.v1.Message;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.NullMarked;

/** What a new thread begins with. Immutable. */
@NullMarked
public final class ThreadOptions {
  private final CreateThreadRequest request;

  private ThreadOptions(CreateThreadRequest request) {
    this.request = request;
  }

  /** Starts without any option. */
  public static Builder builder() {
    return new Builder();
  }

  CreateThreadRequest toProto() {
    return request;
  }

  /** Sets the options of a thread. */
  public static final class Builder {
    private final CreateThreadRequest.Builder request = CreateThreadRequest.newBuilder();

    private Builder() {}

    /** The first messages, oldest first, of a conversation that began elsewhere. At most 100. */
    public Builder messages(List<Message> messages) {
      request.addAllMessages(messages);
      return this;
    }

    /** The same for messages that are listed one by one. */
    public Builder messages(Message... messages) {
      return messages(List.of(messages));
    }

    /** Labels that are stored with the thread: at most 16. */
    public Builder labels(Map<String, String> labels) {
      request.putAllMetadata(labels);
      return this;
    }

    /** Makes the options. */
    public ThreadOptions build() {
      return new ThreadOptions(request.build());
    }
  }
}
