import io.github.outriggerinference.Description;
import io.github.outriggerinference.GenerationResult;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.Tool;
import io.github.outriggerinference.v1.ToolResult;

/** A tool that is a function of this program. The sidecar runs the loop and requests each call. */
public final class ToolsExample {
  record WeatherInput(@Description("Name of the city, in English") String city) {}

  record Weather(int degrees, String sky) {}

  public static void main(String[] args) {
    Tool getWeather =
        Tool.of(
            "get_weather",
            "Current weather of a city.",
            WeatherInput.class,
            input -> new Weather(input.city().length() + 10, "clear"));
    try (OutriggerClient client = OutriggerClient.connect()) {
      GenerationResult result =
          client.generate(
              o ->
                  o.model("sim-tools:calls=2")
                      .prompt("How is the weather in Paris?")
                      .tools(getWeather)
                      .maxToolRounds(5));
      for (ToolResult toolResult : result.steps().get(0).getToolResultsList()) {
        System.out.println("tool: " + toolResult.getContent(0).getText());
      }
      System.out.println("model: " + result.text());
      System.out.println(result.steps().size() + " steps");
    }
  }
}
