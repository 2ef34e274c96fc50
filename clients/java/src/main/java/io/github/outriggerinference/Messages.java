package io.github.outriggerinference;

import com.google.protobuf.ByteString;
import io.github.outriggerinference.v1.Audio;
import io.github.outriggerinference.v1.ContentPart;
import io.github.outriggerinference.v1.Document;
import io.github.outriggerinference.v1.Image;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.Role;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolResult;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Makes and reads the contract's messages. */
public final class Messages {
  private Messages() {}

  /** A message of the user. */
  public static Message user(String text) {
    return of(Role.ROLE_USER, text);
  }

  /** A message of the user with images, documents or several texts. */
  public static Message user(ContentPart... parts) {
    return Message.newBuilder().setRole(Role.ROLE_USER).addAllContent(List.of(parts)).build();
  }

  /** Instructions for the whole conversation. */
  public static Message system(String text) {
    return of(Role.ROLE_SYSTEM, text);
  }

  /** A message of the model that the caller makes up. One that a model wrote is sent as it came. */
  public static Message assistant(String text) {
    return of(Role.ROLE_ASSISTANT, text);
  }

  /** The results of tool calls. */
  public static Message tool(List<ToolResult> results) {
    Message.Builder message = Message.newBuilder().setRole(Role.ROLE_TOOL);
    for (ToolResult result : results) {
      message.addContent(ContentPart.newBuilder().setToolResult(result));
    }
    return message.build();
  }

  /** The result of one tool call, as text. */
  public static ToolResult toolResult(String toolCallId, String text) {
    return ToolResult.newBuilder().setToolCallId(toolCallId).addContent(text(text)).build();
  }

  /** A part with text. */
  public static ContentPart text(String text) {
    return ContentPart.newBuilder().setText(text).build();
  }

  /**
   * A part with an image.
   *
   * @param mediaType for instance {@code image/png}
   */
  public static ContentPart image(String mediaType, byte[] data) {
    Image.Builder image =
        Image.newBuilder().setMediaType(mediaType).setData(ByteString.copyFrom(data));
    return ContentPart.newBuilder().setImage(image).build();
  }

  /** A part with an image that the provider fetches, or with a {@code data:} URL. */
  public static ContentPart imageUrl(String url) {
    return ContentPart.newBuilder().setImage(Image.newBuilder().setUrl(url)).build();
  }

  /**
   * A part with an audio clip.
   *
   * @param mediaType for instance {@code audio/wav}
   */
  public static ContentPart audio(String mediaType, byte[] data) {
    Audio.Builder audio =
        Audio.newBuilder().setMediaType(mediaType).setData(ByteString.copyFrom(data));
    return ContentPart.newBuilder().setAudio(audio).build();
  }

  /**
   * A part with a document.
   *
   * @param mediaType for instance {@code application/pdf}
   */
  public static ContentPart document(String mediaType, String fileName, byte[] data) {
    Document.Builder document =
        Document.newBuilder()
            .setMediaType(mediaType)
            .setFileName(fileName)
            .setData(ByteString.copyFrom(data));
    return ContentPart.newBuilder().setDocument(document).build();
  }

  /** The text parts of a message, joined. */
  public static String textOf(Message message) {
    return message.getContentList().stream()
        .filter(ContentPart::hasText)
        .map(ContentPart::getText)
        .collect(Collectors.joining());
  }

  /** What the model shows of its reasoning, joined. */
  public static String reasoningOf(Message message) {
    return message.getContentList().stream()
        .filter(ContentPart::hasReasoning)
        .map(part -> part.getReasoning().getText())
        .collect(Collectors.joining());
  }

  /** The tool calls of a message. */
  public static List<ToolCall> toolCallsOf(Message message) {
    return message.getContentList().stream()
        .filter(ContentPart::hasToolCall)
        .map(ContentPart::getToolCall)
        .toList();
  }

  /**
   * The messages that a step adds to the conversation: the answer, and the results of its tools.
   */
  public static List<Message> ofStep(StepResult step) {
    List<Message> messages = new ArrayList<>();
    messages.add(step.getResponse().getMessage());
    if (step.getToolResultsCount() > 0) {
      messages.add(tool(step.getToolResultsList()));
    }
    return messages;
  }

  private static Message of(Role role, String text) {
    return Message.newBuilder().setRole(role).addContent(text(text)).build();
  }
}
