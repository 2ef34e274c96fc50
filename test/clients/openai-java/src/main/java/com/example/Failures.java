package com.example;

import com.openai.core.JsonValue;
import com.openai.errors.BadRequestException;
import com.openai.errors.InternalServerException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIException;
import com.openai.errors.RateLimitException;
import com.openai.core.http.StreamResponse;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.services.blocking.ResponseService;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Failures: each is the SDK's exception for its kind. */
record Failures(Target target) {
  private static final String MISSING = "resp_" + "0".repeat(32);

  void addTo(Map<String, Expect.Call> checks) {
    checks.put("bad_request", this::badRequest);
    checks.put("not_found", this::notFound);
    checks.put("rate_limit", this::rateLimit);
    checks.put("retry", this::retry);
    checks.put("server_error", this::serverError);
    checks.put("cut_stream", this::cutStream);
  }

  private ResponseService withoutRetries() {
    return target.client().withOptions(options -> options.maxRetries(0)).responses();
  }

  private ResponseCreateParams hello(String script) {
    return target.with(script).input("Hello").build();
  }

  /** Checks that a contradiction is refused with the name of the parameter. */
  private void badRequest() {
    Map<String, Object> mistakes =
        Map.of("background", true, "previous_response_id", MISSING, "max_output_tokens", "many");
    mistakes.forEach(
        (name, value) -> {
          ResponseCreateParams params =
              target
                  .with("text")
                  .input("Hello")
                  .store(false)
                  .putAdditionalBodyProperty(name, JsonValue.from(value))
                  .build();
          BadRequestException failure =
              Expect.failure(BadRequestException.class, () -> target.responses().create(params));
          Expect.that(failure.statusCode() == 400, "status %d", failure.statusCode());
          Expect.that(failure.type().orElse("").equals("invalid_request_error"), "type %s", failure.type());
          Expect.that(failure.param().orElse("").equals(name), "param %s, want %s", failure.param(), name);
        });
  }

  private void notFound() {
    NotFoundException failure =
        Expect.failure(NotFoundException.class, () -> target.responses().retrieve(MISSING));
    Expect.that(failure.getMessage().contains(MISSING), "%s", failure.getMessage());
    Expect.failure(NotFoundException.class, () -> target.responses().inputItems().list(MISSING));
    Expect.failure(NotFoundException.class, () -> target.client().models().retrieve("no-such-model"));
    Expect.failure(NotFoundException.class, () -> target.responses().create(hello("nothing")));
  }

  private void rateLimit() {
    ResponseCreateParams params = hello("text:status=429,retry_after=2");
    RateLimitException failure = Expect.failure(RateLimitException.class, () -> withoutRetries().create(params));
    Expect.that(failure.statusCode() == 429, "status %d", failure.statusCode());
    List<String> delay = failure.headers().values("retry-after");
    Expect.that(delay.equals(List.of("2")), "retry-after %s", delay);
    Expect.failure(RateLimitException.class, () -> withoutRetries().createStreaming(params));
  }

  /**
   * The SDK repeats what may succeed, after as long as it was told. The delays are of this client alone, see `times`.
   */
  private void retry() {
    int delay = 31 + target.number();
    Response response = target.responses().create(hello("text:status=429,retry_after_ms=" + delay + ",times=2"));
    Target.expectStatus(response, ResponseStatus.COMPLETED);
  }

  private void serverError() {
    InternalServerException failure =
        Expect.failure(InternalServerException.class, () -> withoutRetries().create(hello("text:status=500")));
    Expect.that(failure.statusCode() >= 500, "status %d", failure.statusCode());
  }

  /** A stream that broke never looks finished. */
  private void cutStream() {
    List<ResponseStreamEvent> events = new ArrayList<>();
    boolean thrown = false;
    try (StreamResponse<ResponseStreamEvent> stream =
        target.responses().createStreaming(hello("text:cut_events=6"))) {
      stream.stream().forEach(events::add);
    } catch (OpenAIException e) {
      thrown = true;
    }
    Expect.that(events.stream().noneMatch(ResponseStreamEvent::isCompleted), "%s", events);
    Expect.that(thrown || events.get(events.size() - 1).isFailed(), "%s", events);
    Response kept = target.responses().retrieve(events.get(0).asCreated().response().id());
    Target.expectStatus(kept, ResponseStatus.FAILED);
    Expect.that(!kept.error().orElseThrow().message().isEmpty(), "%s", kept);
  }
}
