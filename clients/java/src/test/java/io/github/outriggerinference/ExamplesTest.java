package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs the examples, and the first program of the README, as they are. */
@DisplayName("The example")
@EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
class ExamplesTest {
  private static final int MAX_FIRST_PROGRAM_LINES = 15;

  private static final Path README = Path.of("README.md");

  @TempDir static Path folder;

  private static URLClassLoader classes;

  @BeforeAll
  static void compile() throws IOException {
    List<Path> sources = new ArrayList<>();
    try (Stream<Path> examples = Files.list(Path.of("examples"))) {
      examples.forEach(sources::add);
    }
    sources.add(Files.writeString(folder.resolve("FirstProgram.java"), programOf(README)));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter problems = new StringWriter();
    boolean compiled =
        compiler
            .getTask(
                problems,
                null,
                null,
                List.of(
                    "-Xlint:all,-try",
                    "-Werror",
                    "-proc:none",
                    "-d",
                    folder.toString(),
                    "-cp",
                    System.getProperty("java.class.path")),
                null,
                compiler
                    .getStandardFileManager(null, null, StandardCharsets.UTF_8)
                    .getJavaFileObjectsFromFiles(sources.stream().map(Path::toFile).toList()))
            .call();
    assertTrue(compiled, problems.toString());
    classes = new URLClassLoader(new URL[] {folder.toUri().toURL()});
  }

  @AfterAll
  static void close() throws IOException {
    if (classes != null) classes.close();
  }

  /** The first block of Java in a page. */
  private static String programOf(Path page) throws IOException {
    Matcher block =
        Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(page));
    assertTrue(block.find(), page + " has no program");
    return block.group(1);
  }

  private static String run(String name) throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream out = System.out;
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      classes
          .loadClass(name)
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(out);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  private static void assertPrints(String name, String pattern) throws Exception {
    String printed = run(name);
    assertTrue(
        Pattern.compile(pattern, Pattern.DOTALL).matcher(printed).matches(),
        name + " printed:\n" + printed);
  }

  @Test
  void ofTheReadmeIsShortAndWorksAsItIsWritten() throws Exception {
    assertTrue(programOf(README).lines().count() <= MAX_FIRST_PROGRAM_LINES, "it is too long");
    assertPrints("FirstProgram", "These are the results:\n- `get_weather` said “18 degrees in .*");
  }

  @Test
  void firstCallPrintsTheAnswerAndItsTokens() throws Exception {
    assertPrints("FirstCallExample", "You asked: “Say hello.”\n.*\n[1-9]\\d* tokens\n");
  }

  @Test
  void streamPrintsTheSameTextTwiceAndTheFinishReason() throws Exception {
    assertPrints("StreamExample", "(You asked: “Say hello.”\n.*\n)REASON_STOP\n\\1");
  }

  @Test
  void chatCarriesTheHistory() throws Exception {
    assertPrints(
        "ChatExample",
        "user: Who are you\\?\nmodel: You asked: “Who are you\\?”.*"
            + "user: And who am I\\?\nmodel: You asked: “And who am I\\?”.*\n4 messages\n");
  }

  @Test
  void toolsPrintsTheResultsAndTheAnswerThatQuotesThem() throws Exception {
    String weather = "\\{\"degrees\":15,\"sky\":\"clear\"\\}";
    assertPrints(
        "ToolsExample",
        "(tool: "
            + weather
            + "\n){2}model: These are the results:\n.*"
            + weather
            + ".*\n2 steps\n");
  }

  @Test
  void streamToolsPrintsTheCallBeforeTheAnswer() throws Exception {
    String printed = run("StreamToolsExample");
    List<String> order = new ArrayList<>();
    for (String mark :
        List.of("[step 1 is complete]", "18 degrees", "[step 2 is complete]", " tokens")) {
      order.add(printed.contains(mark) ? String.format("%06d", printed.indexOf(mark)) : mark);
    }
    assertEquals(order.stream().sorted().toList(), order, printed);
    assertTrue(printed.contains("[call of get_weather]\n"), printed);
    assertTrue(printed.indexOf("[executing call_") < printed.indexOf("[step 1"), printed);
  }

  @Test
  void objectPrintsARecord() throws Exception {
    assertPrints("ObjectExample", ".+ is (CALM|TENSE)\n(.+, -?\\d+\n)+\\{.*\"title\".*\\}\n");
  }

  @Test
  void objectListPrintsEachObjectAndWhatTheToolGot() throws Exception {
    assertPrints(
        "ObjectListExample",
        "(.+ is of -?\\d+\n)+These are the results:\n"
            + ".*\\[\\{\"title\":\"[^\"]+\",\"year\":-?\\d+\\}\\].*");
  }

  @Test
  void streamObjectPrintsWhatGrowsAndTheRecord() throws Exception {
    assertPrints("StreamObjectExample", "(partial: \\{[^\n]*\n){2,}[^\n]+ takes -?\\d+ minutes\n");
  }

  @Test
  void runsPrintsTheAnswerAndTheRunsOfTheThread() throws Exception {
    assertPrints(
        "RunsExample",
        "You asked: .*\nRUN_STATUS_COMPLETED in 1 step\n(RUN_STATUS_COMPLETED\n){2}");
  }

  @Test
  void threadsPrintsTheConversation() throws Exception {
    assertPrints(
        "ThreadsExample",
        "ROLE_USER: My name is Ada.\nROLE_ASSISTANT: Hello, Ada.\n"
            + "ROLE_USER: What is my name\\?\nROLE_ASSISTANT: You asked: .*\n");
  }

  @Test
  void errorsPrintsEachFailure() throws Exception {
    assertPrints(
        "ErrorsExample",
        "rate limit of openai, retry after PT2S\n"
            + "invalid: messages\n"
            + "ERROR_KIND_SERVER, may be retried\n"
            + "cut, output had started\n"
            + "deadline expired\n"
            + "cancelled\n");
  }

  @Test
  void isThereForEveryTopic() {
    File[] files = new File("examples").listFiles();
    List<String> names = Stream.of(files).map(File::getName).sorted().toList();
    assertEquals(
        List.of(
            "ChatExample.java",
            "ErrorsExample.java",
            "FirstCallExample.java",
            "ObjectExample.java",
            "ObjectListExample.java",
            "RunsExample.java",
            "StreamExample.java",
            "StreamObjectExample.java",
            "StreamToolsExample.java",
            "ThreadsExample.java",
            "ToolsExample.java"),
        names);
  }
}
