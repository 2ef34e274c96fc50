package io.github.outriggerinference;

import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;

/** Reads lists that come in pages. */
final class Pages {
  private Pages() {}

  /**
   * The items of all pages. Each page is fetched when it is reached.
   *
   * @param first token of the first page
   * @param fetch fetches the page of a token
   */
  static <P, T> Stream<T> stream(
      String first,
      Function<String, P> fetch,
      Function<P, List<T>> items,
      Function<P, String> nextToken) {
    return Stream.iterate(
            fetch.apply(first),
            Objects::nonNull,
            page -> {
              String token = nextToken.apply(page);
              return token.isEmpty() ? null : fetch.apply(token);
            })
        .flatMap(page -> items.apply(page).stream());
  }
}
