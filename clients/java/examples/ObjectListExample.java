import io.github.outriggerinference.Description;
import io.github.outriggerinference.ObjectType;
import io.github.outriggerinference.OutriggerClient;
import io.github.outriggerinference.Tool;
import java.util.List;

/** Classes in place of records: a list of them as an answer, and one as the input of a tool. */
public final class ObjectListExample {
  /** Private fields with getters and setters, as other mappers of JSON use them. */
  public static final class Book {
    private String title;

    @Description("Year of the first edition")
    private int year;

    public String getTitle() {
      return title;
    }

    public void setTitle(String title) {
      this.title = title;
    }

    public int getYear() {
      return year;
    }

    public void setYear(int year) {
      this.year = year;
    }
  }

  public static void main(String[] args) {
    Tool store = Tool.of("store_book", "Stores a book.", Book.class, book -> List.of(book));
    try (OutriggerClient client = OutriggerClient.connect()) {
      List<Book> books =
          client
              .generateObject(
                  ObjectType.listOf(Book.class), o -> o.model("sim-text").prompt("Sea stories."))
              .object();
      for (Book book : books) {
        System.out.println(book.getTitle() + " is of " + book.getYear());
      }
      System.out.println(
          client
              .generate(
                  o -> o.model("sim-tools").prompt("Store a book.").tools(store).maxToolRounds(5))
              .text());
    }
  }
}
