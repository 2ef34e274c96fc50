package com.example;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls a sidecar's {@code /v1} with OpenAI's SDK for Java, the way a program does that was written for OpenAI: only
 * the base URL and the names of the models differ. Each check runs for every provider.
 */
public final class Main {
  public static void main(String[] arguments) {
    String wanted = String.join("", arguments);
    // The SDK checks that every field has the type that OpenAI documents.
    OpenAIClient client =
        OpenAIOkHttpClient.builder()
            .baseUrl(Target.baseUrl())
            .apiKey("any")
            .responseValidation(true)
            .build();
    boolean passed = true;
    List<String> providers = List.of("openai", "anthropic", "gemini", "compatible");
    for (String provider : providers) {
      Target target = new Target(client, provider, providers.indexOf(provider));
      for (Map.Entry<String, Expect.Call> check : checks(target).entrySet()) {
        String name = provider + "/" + check.getKey();
        passed &= !name.contains(wanted) || run(name, check.getValue());
      }
    }
    client.close();
    System.exit(passed ? 0 : 1);
  }

  private static Map<String, Expect.Call> checks(Target target) {
    Map<String, Expect.Call> checks = new LinkedHashMap<>();
    new Answers(target).addTo(checks);
    new Tools(target).addTo(checks);
    new Stored(target).addTo(checks);
    new Conversations(target).addTo(checks);
    new Failures(target).addTo(checks);
    return checks;
  }

  private static boolean run(String name, Expect.Call check) {
    try {
      check.run();
      System.out.println("ok " + name);
      return true;
    } catch (Exception e) {
      e.printStackTrace();
      System.out.println("FAIL " + name + ": " + String.valueOf(e.getMessage()).replaceAll("\\s+", " "));
      return false;
    }
  }

  private Main() {}
}
