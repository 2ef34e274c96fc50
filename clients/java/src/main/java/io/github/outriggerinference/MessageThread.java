package io.github.outriggerinference;

import com.google.protobuf.Timestamp;
import io.github.outriggerinference.v1.Thread;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.NullMarked;

/**
 * A stored conversation, without its messages. {@link RunOptions.Builder#threadId} takes its {@link
 * #id}.
 *
 * @param toProto the thread as the contract has it; its class has the name of {@link
 *     java.lang.Thread}, which is why this package does not return it
 */
@NullMarked
public record MessageThread(Thread toProto) {
  /** Id of the thread. */
  public String id() {
    return toProto.getId();
  }

  /** When the thread was created. */
  public Instant createdAt() {
    Timestamp created = toProto.getCreatedAt();
    return Instant.ofEpochSecond(created.getSeconds(), created.getNanos());
  }

  /** The labels that are stored with the thread. */
  public Map<String, String> labels() {
    return toProto.getMetadataMap();
  }

  /** Whether a caller created the thread. Otherwise a run created it. */
  public boolean isConversation() {
    return toProto.getConversation();
  }
}
