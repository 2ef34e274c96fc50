import io.github.outriggerinference.GenerationEvent;
import io.github.outriggerinference.GenerationStream;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.Tool;

/** The events of a generation with a tool. */
public final class StreamToolsExample {
  record WeatherInput(String city) {}

  public static void main(String[] args) {
    Tool getWeather =
        Tool.of(
            "get_weather",
            "Current weather of a city.",
            WeatherInput.class,
            (input, context) -> {
              System.out.println("[executing " + context.toolCallId() + "]");
              return "18 degrees and clear";
            });
    try (OutriggerClient client = OutriggerClient.connect();
        GenerationStream stream =
            client.streamGenerate(
                o ->
                    o.model("sim-tools")
                        .prompt("How is the weather in Oslo?")
                        .tools(getWeather)
                        .maxToolRounds(5))) {
      for (GenerationEvent event : stream) {
        event.textDelta().ifPresent(System.out::print);
        if (event instanceof GenerationEvent.ToolStart tool) {
          System.out.println("[call of " + tool.call().getName() + "]");
        } else if (event instanceof GenerationEvent.StepFinish finish) {
          System.out.println("\n[step " + finish.step() + " is complete]");
        }
      }
      System.out.println(stream.result().totalUsage().getTotalTokens() + " tokens");
    }
  }
}
