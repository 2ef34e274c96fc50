package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.GenerateResult;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.NoObject;
import io.github.outriggerinference.v1.ObjectFormat;
import java.util.List;
import org.jspecify.annotations.NullMarked;

/**
 * The type of a generated object. Its JSON Schema is derived by reflection, as that of a tool's
 * input is.
 *
 * @param <T> class of the object
 */
@NullMarked
public final class ObjectType<T> {
  /** Names of objects are at most this long. */
  private static final int MAX_NAME_LENGTH = 64;

  private final String name;
  private final JsonType type;

  private ObjectType(String name, JsonType type) {
    this.name = name;
    this.type = type;
  }

  /**
   * A record, a class with properties and a constructor without parameters, or an enum.
   *
   * @throws IllegalArgumentException if it has a member of a type that is not supported
   */
  public static <T> ObjectType<T> of(Class<T> objectClass) {
    return new ObjectType<>(objectClass.getSimpleName(), JsonTypes.of(objectClass));
  }

  /**
   * A list of objects.
   *
   * @throws IllegalArgumentException as {@link #of}
   */
  public static <E> ObjectType<List<E>> listOf(Class<E> elementClass) {
    return new ObjectType<>(
        elementClass.getSimpleName() + "_list",
        new JsonContainers.ListOf(JsonTypes.of(elementClass)));
  }

  /** The request to the sidecar. */
  ObjectFormat format(ObjectFormat.Strategy strategy) {
    String allowed = name.replaceAll("[^a-zA-Z0-9_-]", "_");
    return ObjectFormat.newBuilder()
        .setSchemaJson(type.schema().toString())
        .setName(allowed.substring(0, Math.min(allowed.length(), MAX_NAME_LENGTH)))
        .setStrategy(strategy)
        .build();
  }

  /** The object of a generation. The sidecar has validated it; its class may demand more. */
  @SuppressWarnings("unchecked")
  ObjectResult<T> resultOf(GenerateResult result) {
    try {
      T value = (T) type.read(Json.parse(result.getOutputJson()), "");
      return new ObjectResult<>(value, new GenerationResult(result));
    } catch (JsonMismatchException mismatch) {
      throw OutriggerException.fromProto(noObject(result, mismatch.getMessage()));
    }
  }

  private InferenceError noObject(GenerateResult result, String violation) {
    InferenceError.Builder error =
        InferenceError.newBuilder()
            .setKind(ErrorKind.ERROR_KIND_NO_OBJECT_GENERATED)
            .setMessage("the answer is not a valid " + name + ": " + violation)
            .setOutputStarted(true)
            .setNoObject(
                NoObject.newBuilder().setText(result.getOutputJson()).addViolations(violation));
    if (result.hasTotalUsage()) {
      error.setUsage(result.getTotalUsage());
    }
    return error.build();
  }
}
