package io.github.outriggerinference;

import io.github.outriggerinference.v1.AppendMessagesRequest;
import io.github.outriggerinference.v1.AppendMessagesResponse;
import io.github.outriggerinference.v1.DeleteMessageRequest;
import io.github.outriggerinference.v1.DeleteThreadRequest;
import io.github.outriggerinference.v1.GetMessageRequest;
import io.github.outriggerinference.v1.GetThreadRequest;
import io.github.outriggerinference.v1.ListMessagesRequest;
import io.github.outriggerinference.v1.ListMessagesResponse;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.ThreadMessage;
import io.github.outriggerinference.v1.ThreadServiceGrpc;
import io.github.outriggerinference.v1.UpdateThreadRequest;
import io.grpc.MethodDescriptor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;

/**
 * The stored conversations. A run with the id of a thread reads its messages and appends its own.
 */
@NullMarked
public final class Threads {
  private final Calls calls;

  Threads(Calls calls) {
    this.calls = calls;
  }

  /** Creates a thread without messages and labels. */
  public MessageThread create() {
    return create(ThreadOptions.builder().build());
  }

  /** Creates a thread. */
  public MessageThread create(Consumer<ThreadOptions.Builder> options) {
    ThreadOptions.Builder builder = ThreadOptions.builder();
    options.accept(builder);
    return create(builder.build());
  }

  /** Like {@link #create(Consumer)}, with options that were made before. */
  public MessageThread create(ThreadOptions options) {
    return new MessageThread(call(ThreadServiceGrpc.getCreateThreadMethod(), options.toProto()));
  }

  /**
   * A thread without its messages.
   *
   * @throws io.github.outriggerinference.errors.NotFoundException if there is none
   */
  public MessageThread get(String threadId) {
    GetThreadRequest request = GetThreadRequest.newBuilder().setThreadId(threadId).build();
    return new MessageThread(call(ThreadServiceGrpc.getGetThreadMethod(), request));
  }

  /** Replaces all labels of a thread. */
  public MessageThread update(String threadId, Map<String, String> labels) {
    UpdateThreadRequest request =
        UpdateThreadRequest.newBuilder().setThreadId(threadId).putAllMetadata(labels).build();
    return new MessageThread(call(ThreadServiceGrpc.getUpdateThreadMethod(), request));
  }

  /** Deletes a thread with its messages. Its runs can still be read, and cannot be continued. */
  public void delete(String threadId) {
    call(
        ThreadServiceGrpc.getDeleteThreadMethod(),
        DeleteThreadRequest.newBuilder().setThreadId(threadId).build());
  }

  /**
   * Appends from 1 to 100 messages without calling a model, and returns them with their ids. Waits
   * while a run of the thread is in progress.
   */
  public List<ThreadMessage> appendMessages(String threadId, List<Message> messages) {
    AppendMessagesRequest request =
        AppendMessagesRequest.newBuilder().setThreadId(threadId).addAllMessages(messages).build();
    AppendMessagesResponse answer = call(ThreadServiceGrpc.getAppendMessagesMethod(), request);
    return answer.getMessagesList();
  }

  /** The same for messages that are listed one by one. */
  public List<ThreadMessage> appendMessages(String threadId, Message... messages) {
    return appendMessages(threadId, List.of(messages));
  }

  /** The messages of a thread, oldest first. Fetches page after page. */
  public Stream<ThreadMessage> listMessages(String threadId) {
    return listMessages(ListMessagesRequest.newBuilder().setThreadId(threadId).build());
  }

  /** The messages of a request's thread, in its order and from its page on. */
  public Stream<ThreadMessage> listMessages(ListMessagesRequest request) {
    return Pages.stream(
        request.getPageToken(),
        token ->
            call(
                ThreadServiceGrpc.getListMessagesMethod(),
                request.toBuilder().setPageToken(token).build()),
        ListMessagesResponse::getMessagesList,
        ListMessagesResponse::getNextPageToken);
  }

  /**
   * A message.
   *
   * @throws io.github.outriggerinference.errors.NotFoundException if there is none
   */
  public ThreadMessage getMessage(String messageId) {
    return call(
        ThreadServiceGrpc.getGetMessageMethod(),
        GetMessageRequest.newBuilder().setMessageId(messageId).build());
  }

  /** Deletes a message from a thread. Forks of the thread keep it. */
  public void deleteMessage(String threadId, String messageId) {
    call(
        ThreadServiceGrpc.getDeleteMessageMethod(),
        DeleteMessageRequest.newBuilder().setThreadId(threadId).setMessageId(messageId).build());
  }

  private <Q, A> A call(MethodDescriptor<Q, A> method, Q request) {
    return calls.unary(method, request, Optional.empty());
  }
}
