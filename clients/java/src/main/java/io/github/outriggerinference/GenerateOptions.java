package io.github.outriggerinference;

import io.github.outriggerinference.v1.GenerationLimits;
import io.github.outriggerinference.v1.GenerationOptions;
import io.github.outriggerinference.v1.GenerationTimeouts;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.ObjectFormat;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.RetryPolicy;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolChoice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The options of a generation: the model, the conversation, the tools and the limits. */
public final class GenerateOptions {
  private final GenerationOptions proto;
  private final List<Tool> tools;
  private final ToolCallRepair repair;
  private final BiConsumer<ToolCall, Throwable> toolErrorListener;
  private final int toolConcurrency;
  private final Duration deadline;
  private final ObjectFormat.Strategy objectStrategy;

  private GenerateOptions(Builder builder) {
    tools = List.copyOf(builder.tools);
    proto = withTools(builder.options.clone(), tools);
    repair = builder.repair;
    toolErrorListener = builder.toolErrorListener;
    toolConcurrency = builder.toolConcurrency;
    deadline = builder.deadline;
    objectStrategy = builder.objectStrategy;
  }

  /** Starts with everything unset. */
  public static Builder builder() {
    return new Builder();
  }

  /** The options as the contract has them, with the definitions of the tools. */
  public GenerationOptions toProto() {
    return proto;
  }

  private static GenerationOptions withTools(GenerationOptions.Builder options, List<Tool> tools) {
    tools.forEach(tool -> options.getRequestBuilder().addTools(tool.toProto()));
    return options.build();
  }

  List<Tool> tools() {
    return tools;
  }

  /** Whether there is a tool with code, so that the tool loop runs. */
  boolean hasExecutableTools() {
    return tools.stream().anyMatch(tool -> tool.executor().isPresent());
  }

  Optional<ToolCallRepair> repair() {
    return Optional.ofNullable(repair);
  }

  BiConsumer<ToolCall, Throwable> toolErrorListener() {
    return toolErrorListener;
  }

  int toolConcurrency() {
    return toolConcurrency;
  }

  Optional<Duration> deadline() {
    return Optional.ofNullable(deadline);
  }

  ObjectFormat.Strategy objectStrategy() {
    return objectStrategy;
  }

  /** Collects the options. What is not set keeps the default that the contract names. */
  public static final class Builder {
    private static final int DEFAULT_TOOL_CONCURRENCY = 16;

    private final GenerationOptions.Builder options = GenerationOptions.newBuilder();
    private final List<Tool> tools = new ArrayList<>();
    private ToolCallRepair repair;
    private BiConsumer<ToolCall, Throwable> toolErrorListener = (call, thrown) -> {};
    private int toolConcurrency = DEFAULT_TOOL_CONCURRENCY;
    private Duration deadline;
    private ObjectFormat.Strategy objectStrategy = ObjectFormat.Strategy.STRATEGY_AUTO;

    private Builder() {}

    /** The provider's id of the model, for instance {@code gpt-5.2}. Required. */
    public Builder model(String model) {
      return request(request -> request.setModel(model));
    }

    /** Name of the provider. Default: the sidecar's default provider. */
    public Builder provider(String provider) {
      return request(request -> request.setProvider(provider));
    }

    /** Text of one message of the user, in place of {@link #messages}. */
    public Builder prompt(String prompt) {
      options.setPrompt(prompt);
      return this;
    }

    /** The conversation so far. Replaces what was set before. */
    public Builder messages(List<Message> messages) {
      return request(request -> request.clearMessages().addAllMessages(messages));
    }

    /** Instructions, put before the conversation. */
    public Builder system(String system) {
      options.setSystem(system);
      return this;
    }

    /** Adds tools that the model may call. */
    public Builder tools(Tool... more) {
      return tools(List.of(more));
    }

    /** Adds tools that the model may call. */
    public Builder tools(List<Tool> more) {
      tools.addAll(more);
      return this;
    }

    /** Whether and how the model must use tools. */
    public Builder toolChoice(ToolChoice choice) {
      return request(request -> request.setToolChoice(choice));
    }

    /** How many times tools are executed and their results sent to the model. Default 1. */
    public Builder maxToolRounds(int rounds) {
      options.setMaxToolRounds(rounds);
      return this;
    }

    /** Ends the generation early: a CEL expression over {@code steps}. */
    public Builder stopWhen(String expression) {
      options.setStopWhen(expression);
      return this;
    }

    /** Repairs calls whose arguments do not match. Default: the model gets an error result. */
    public Builder repairToolCalls(ToolCallRepair repair) {
      this.repair = repair;
      return this;
    }

    /**
     * Is called with what a tool or a repair threw, for a log: the model gets the message, and this
     * program would not see it otherwise. Called on the tool's thread.
     */
    public Builder onToolError(BiConsumer<ToolCall, Throwable> listener) {
      toolErrorListener = listener;
      return this;
    }

    /** Maximum number of tools that are executed at once. Others wait. Default 16. */
    public Builder toolConcurrency(int calls) {
      if (calls < 1) {
        throw new IllegalArgumentException("toolConcurrency: expected at least 1, found " + calls);
      }
      toolConcurrency = calls;
      return this;
    }

    /** Limits for steps, tokens, cost and calls of all steps together. */
    public Builder limits(GenerationLimits limits) {
      options.setLimits(limits);
      return this;
    }

    /** When a failed model call is retried. Default: twice, after about 1 s and 2 s. */
    public Builder retry(RetryPolicy retry) {
      options.setRetry(retry);
      return this;
    }

    /** Maximum number of retries of a failed model call; 0 disables retries. Default 2. */
    public Builder maxRetries(int retries) {
      options.getRetryBuilder().setMaxRetries(retries);
      return this;
    }

    /** Maximum duration of the generation, as the sidecar measures it. */
    public Builder totalTimeout(Duration timeout) {
      return timeouts(timeouts -> timeouts.setTotal(Durations.toProto(timeout)));
    }

    /** Maximum duration of one call of the model. */
    public Builder stepTimeout(Duration timeout) {
      return timeouts(timeouts -> timeouts.setPerStep(Durations.toProto(timeout)));
    }

    /**
     * Maximum duration of one tool; the model then gets an error result, and the tool is
     * interrupted. Default 300 s.
     */
    public Builder toolTimeout(Duration timeout) {
      return timeouts(timeouts -> timeouts.setPerTool(Durations.toProto(timeout)));
    }

    /**
     * Maximum duration of the call of the sidecar, the network included. It ends with a {@code
     * RequestTimeoutException}. Default: the deadline of the current {@code io.grpc.Context}.
     */
    public Builder deadline(Duration deadline) {
      this.deadline = deadline;
      return this;
    }

    /** Sampling temperature. */
    public Builder temperature(double temperature) {
      return request(request -> request.setTemperature(temperature));
    }

    /** Nucleus sampling mass. */
    public Builder topP(double topP) {
      return request(request -> request.setTopP(topP));
    }

    /** Maximum number of tokens of one answer, reasoning included. */
    public Builder maxTokens(int tokens) {
      return request(request -> request.setMaxTokens(tokens));
    }

    /** Texts at which the model stops. Replaces what was set before. */
    public Builder stopSequences(String... sequences) {
      return request(
          request -> request.clearStopSequences().addAllStopSequences(List.of(sequences)));
    }

    /** How much a reasoning model reasons, for instance {@code low}. */
    public Builder reasoningEffort(String effort) {
      return request(request -> request.setReasoningEffort(effort));
    }

    /**
     * What the contract does not model, for one provider.
     *
     * @param json text of a JSON object, merged into the request of that provider
     */
    public Builder providerOptions(String provider, String json) {
      return request(request -> request.putProviderOptionsJson(provider, json));
    }

    /** How an object is requested from the model. Default: chosen by what the model supports. */
    public Builder objectStrategy(ObjectFormat.Strategy strategy) {
      objectStrategy = strategy;
      return this;
    }

    /** Sets any field of the request. */
    public Builder request(Consumer<Request.Builder> change) {
      change.accept(options.getRequestBuilder());
      return this;
    }

    /** Makes the options. The builder can be used further. */
    public GenerateOptions build() {
      return new GenerateOptions(this);
    }

    private Builder timeouts(Consumer<GenerationTimeouts.Builder> change) {
      change.accept(options.getTimeoutsBuilder());
      return this;
    }
  }
}
