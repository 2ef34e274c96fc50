package io.github.outriggerinference;

import io.github.outriggerinference.v1.StreamObjectResponse;

/** The messages of StreamObject. */
final class ObjectDecoder<T> extends EventDecoder<StreamObjectResponse, ObjectEvent<T>> {
  private final ObjectType<T> type;

  ObjectDecoder(ObjectType<T> type) {
    this.type = type;
  }

  @Override
  ObjectEvent<T> decode(StreamObjectResponse message) {
    switch (message.getMessageCase()) {
      case PARTIAL_OBJECT:
        noteOutput();
        return new ObjectEvent.Partial<>(message.getPartialObject().getObjectJson());
      case RESULT:
        ObjectResult<T> result = type.resultOf(message.getResult());
        completed();
        return new ObjectEvent.Finish<>(result);
      case ERROR:
        failed(message.getError());
        return null;
      default:
        return null;
    }
  }
}
