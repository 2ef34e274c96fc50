package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.GenerateResult;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.NoObject;
import io.github.outriggerinference.v1.ObjectFormat;

/** The class of a generated object. */
final class ObjectType<T> {
  /** Names of objects are at most this long. */
  private static final int MAX_NAME_LENGTH = 64;

  private final Class<T> objectClass;
  private final JsonType type;

  private ObjectType(Class<T> objectClass, JsonType type) {
    this.objectClass = objectClass;
    this.type = type;
  }

  static <T extends Record> ObjectType<T> of(Class<T> objectClass) {
    return new ObjectType<>(objectClass, JsonTypes.ofRecord(objectClass));
  }

  /** What the sidecar is asked for. */
  ObjectFormat format(ObjectFormat.Strategy strategy) {
    String name = objectClass.getSimpleName().replaceAll("[^a-zA-Z0-9_-]", "_");
    return ObjectFormat.newBuilder()
        .setSchemaJson(type.schema().toString())
        .setName(name.length() > MAX_NAME_LENGTH ? name.substring(0, MAX_NAME_LENGTH) : name)
        .setStrategy(strategy)
        .build();
  }

  /**
   * The object of a generation. The sidecar has validated it; the record may demand more.
   */
  ObjectResult<T> resultOf(GenerateResult result) {
    try {
      Object value = type.read(Json.parse(result.getOutputJson()), "");
      return new ObjectResult<>(objectClass.cast(value), new GenerationResult(result));
    } catch (JsonMismatchException mismatch) {
      throw OutriggerException.fromProto(noObject(result, mismatch.getMessage()));
    }
  }

  private InferenceError noObject(GenerateResult result, String violation) {
    InferenceError.Builder error =
        InferenceError.newBuilder()
            .setKind(ErrorKind.ERROR_KIND_NO_OBJECT_GENERATED)
            .setMessage("the answer is no " + objectClass.getSimpleName() + ": " + violation)
            .setOutputStarted(true)
            .setNoObject(
                NoObject.newBuilder().setText(result.getOutputJson()).addViolations(violation));
    if (result.hasTotalUsage()) {
      error.setUsage(result.getTotalUsage());
    }
    return error.build();
  }
}
