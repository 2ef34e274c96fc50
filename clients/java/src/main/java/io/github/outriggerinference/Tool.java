package io.github.outriggerinference;

import io.github.outriggerinference.v1.CustomTool;
import io.github.outriggerinference.v1.FunctionTool;
import io.github.outriggerinference.v1.HostedTool;
import io.github.outriggerinference.v1.ToolCall;
import java.util.Optional;

/** A tool that the model may call, and the code that executes it. */
public final class Tool {
  /** Executes a call whose input is not read yet. */
  @FunctionalInterface
  interface Executor {
    Object execute(ToolCall call, ToolContext context) throws Exception;
  }

  private static final JsonType TEXT_INPUT = JsonTypes.ofMembers(TextInput.class);

  private final io.github.outriggerinference.v1.Tool definition;
  private final Executor executor;
  private final Boolean hidesErrors;

  private Tool(io.github.outriggerinference.v1.Tool definition, Executor executor) {
    this(definition, executor, null);
  }

  private Tool(
      io.github.outriggerinference.v1.Tool definition, Executor executor, Boolean hidesErrors) {
    this.definition = definition;
    this.executor = executor;
    this.hidesErrors = hidesErrors;
  }

  /**
   * A tool whose input is a record, or a class with properties and a constructor without
   * parameters. Its JSON Schema is derived from these: {@link Description} describes one, an {@code
   * Optional} or {@code @Nullable} one need not be given.
   *
   * @throws IllegalArgumentException if one of them has a type that is not supported
   */
  public static <I> Tool of(
      String name, String description, Class<I> input, ToolFunction<I> function) {
    return of(name, description, input, (value, context) -> function.call(value));
  }

  /** Like {@link #of(String, String, Class, ToolFunction)}, for code that uses its call. */
  public static <I> Tool of(
      String name, String description, Class<I> input, ContextToolFunction<I> function) {
    JsonType type = JsonTypes.ofMembers(input);
    return new Tool(
        function(name, description, type.schema().toString()),
        (call, context) ->
            function.call(input.cast(type.read(Json.parse(call.getArgumentsJson()), "")), context));
  }

  /**
   * A tool with a schema of one's own.
   *
   * @param parametersJson JSON Schema of the arguments, an object
   * @param function gets the arguments as JSON text
   */
  public static Tool ofJson(
      String name,
      String description,
      String parametersJson,
      ContextToolFunction<String> function) {
    return new Tool(
        function(name, description, parametersJson),
        (call, context) -> function.call(call.getArgumentsJson(), context));
  }

  /** A tool whose input is free text. Not every provider has such tools. */
  public static Tool ofText(String name, String description, ToolFunction<String> function) {
    CustomTool custom = CustomTool.newBuilder().setName(name).setDescription(description).build();
    return new Tool(
        io.github.outriggerinference.v1.Tool.newBuilder().setCustom(custom).build(),
        (call, context) -> function.call(textOf(call)));
  }

  /** A tool without code: a call ends the generation, and the caller continues from its result. */
  public static <I> Tool passive(String name, String description, Class<I> input) {
    String schema = JsonTypes.ofMembers(input).schema().toString();
    return new Tool(function(name, description, schema), null);
  }

  /**
   * A tool that the provider executes, for instance its web search.
   *
   * @param configJson the tool's definition in the provider's own format
   */
  public static Tool hosted(String provider, String configJson) {
    HostedTool hosted =
        HostedTool.newBuilder().setProvider(provider).setConfigJson(configJson).build();
    return new Tool(
        io.github.outriggerinference.v1.Tool.newBuilder().setHosted(hosted).build(), null);
  }

  /** The same tool with a separate setting for {@link OutriggerClientBuilder#hideToolErrors}. */
  public Tool hideErrors(boolean hide) {
    return new Tool(definition, executor, hide);
  }

  /** Whether exceptions are hidden from the model; empty for the client's setting. */
  Optional<Boolean> hidesErrors() {
    return Optional.ofNullable(hidesErrors);
  }

  /** The name by which the model calls the tool. Empty for a hosted one. */
  public String name() {
    return nameOf(definition);
  }

  /** The definition that the model gets. */
  public io.github.outriggerinference.v1.Tool toProto() {
    return definition;
  }

  /** The code; empty if the tool has none here. */
  Optional<Executor> executor() {
    return Optional.ofNullable(executor);
  }

  static String nameOf(io.github.outriggerinference.v1.Tool definition) {
    return definition.hasFunction()
        ? definition.getFunction().getName()
        : definition.getCustom().getName();
  }

  private static io.github.outriggerinference.v1.Tool function(
      String name, String description, String parametersJson) {
    return io.github.outriggerinference.v1.Tool.newBuilder()
        .setFunction(
            FunctionTool.newBuilder()
                .setName(name)
                .setDescription(description)
                .setParametersJson(parametersJson))
        .build();
  }

  /** A provider without text tools calls a function with one argument, `input`. */
  private static String textOf(ToolCall call) {
    if (call.hasText()) {
      return call.getText();
    }
    return ((TextInput) TEXT_INPUT.read(Json.parse(call.getArgumentsJson()), "")).input();
  }

  private record TextInput(String input) {}
}
