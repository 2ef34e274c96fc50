package io.github.outriggerinference;

import io.github.outriggerinference.v1.CreateRunRequest;
import io.github.outriggerinference.v1.McpServer;
import io.github.outriggerinference.v1.ToolApproval;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.NullMarked;

/** What a run generates, and how it is kept. Immutable. */
@NullMarked
public final class RunOptions {
  private final CreateRunRequest request;
  private final Optional<Duration> deadline;

  private RunOptions(CreateRunRequest request, Optional<Duration> deadline) {
    this.request = request;
    this.deadline = deadline;
  }

  /** Starts without any option. */
  public static Builder builder() {
    return new Builder();
  }

  CreateRunRequest toProto() {
    return request;
  }

  Optional<Duration> deadline() {
    return deadline;
  }

  /** Sets the options of a run. */
  public static final class Builder {
    private final GenerateOptions.Builder generation = GenerateOptions.builder();
    private final CreateRunRequest.Builder request = CreateRunRequest.newBuilder();

    private Builder() {}

    /**
     * What to generate. A run executes no code of this program: calls of tools end it with {@code
     * RUN_STATUS_REQUIRES_ACTION}, and {@link Runs#submitToolResults} continues it.
     */
    public Builder generate(Consumer<GenerateOptions.Builder> options) {
      options.accept(generation);
      return this;
    }

    /** The run to continue. Not together with {@link #threadId}. */
    public Builder previousRunId(String runId) {
      request.setPreviousRunId(runId);
      return this;
    }

    /** The thread to continue. Default: a new one, or that of the previous run. */
    public Builder threadId(String threadId) {
      request.setThreadId(threadId);
      return this;
    }

    /** Whether the run continues when the caller is gone. Default false. */
    public Builder background(boolean background) {
      request.setBackground(background);
      return this;
    }

    /** Whether the run is stored. Default true. */
    public Builder store(boolean store) {
      request.setStore(store);
      return this;
    }

    /** Labels that are stored with the run: at most 16. Metadata is for the provider. */
    public Builder labels(Map<String, String> labels) {
      request.putAllMetadata(labels);
      return this;
    }

    /** MCP servers whose tools the model may call. The sidecar executes them. */
    public Builder mcpServers(List<McpServer> servers) {
      request.addAllMcpServers(servers);
      return this;
    }

    /** Decisions on calls that need approval. */
    public Builder approvals(List<ToolApproval> approvals) {
      request.addAllApprovals(approvals);
      return this;
    }

    /** Whether the tools and MCP servers of the previous run are used if there are none here. */
    public Builder inheritTools(boolean inherit) {
      request.setInheritTools(inherit);
      return this;
    }

    /** Makes the options. */
    public RunOptions build() {
      GenerateOptions options = generation.build();
      return new RunOptions(
          request.clone().setOptions(options.toProto()).build(), options.deadline());
    }
  }
}
