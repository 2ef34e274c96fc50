package io.github.outriggerinference;

import static org.junit.platform.engine.discovery.ClassNameFilter.includeClassNamePatterns;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the tests without Maven, and prints one line for each class: {@code ok JsonTest}, or {@code
 * FAIL JsonTest: } and the first failure. Arguments choose classes; the default is all.
 */
final class RunTests {
  private static final int MAX_REASON_LENGTH = 300;

  private RunTests() {}

  public static void main(String[] classes) {
    String pattern = classes.length == 0 ? ".*Test" : ".*\\.(" + String.join("|", classes) + ")";
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(selectPackage(RunTests.class.getPackageName()))
            .filters(includeClassNamePatterns(pattern))
            // Only classes that ask for it run beside the others.
            .configurationParameter("junit.jupiter.execution.parallel.enabled", "true")
            .build();
    Results results = new Results();
    LauncherFactory.create().execute(request, results);
    System.exit(results.print());
  }

  /** The failures of each class. A class none of whose tests ran is left out. */
  private static final class Results implements TestExecutionListener {
    private final Map<String, List<String>> failures = new LinkedHashMap<>();

    @Override
    public synchronized void executionFinished(TestIdentifier test, TestExecutionResult result) {
      String className = test.getSource().map(Results::classOf).orElse(null);
      if (className == null) {
        return;
      }
      List<String> ofClass = failures.computeIfAbsent(className, name -> new ArrayList<>());
      result.getThrowable().ifPresent(thrown -> ofClass.add(describe(test, thrown)));
    }

    /** Prints the results. Returns the exit code. */
    synchronized int print() {
      failures.forEach(
          (name, ofClass) ->
              System.out.println(
                  ofClass.isEmpty() ? "ok " + name : "FAIL " + name + ": " + ofClass.get(0)));
      return failures.values().stream().allMatch(List::isEmpty) ? 0 : 1;
    }

    private static String describe(TestIdentifier test, Throwable thrown) {
      thrown.printStackTrace();
      String reason = (test.getDisplayName() + ": " + thrown).replaceAll("\\s+", " ");
      return reason.substring(0, Math.min(reason.length(), MAX_REASON_LENGTH));
    }

    private static String classOf(Object source) {
      String name =
          source instanceof MethodSource method
              ? method.getClassName()
              : source instanceof ClassSource type ? type.getClassName() : null;
      return name == null ? null : name.substring(name.lastIndexOf('.') + 1);
    }
  }
}
