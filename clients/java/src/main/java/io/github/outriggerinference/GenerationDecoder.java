package io.github.outriggerinference;

import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.StreamGenerateResponse;

/** The messages of StreamGenerate. */
final class GenerationDecoder extends EventDecoder<StreamGenerateResponse, GenerationEvent> {
  @Override
  GenerationEvent decode(StreamGenerateResponse message) {
    switch (message.getMessageCase()) {
      case EVENT:
        noteOutput(message.getEvent());
        return new GenerationEvent.Model(message.getStep(), message.getEvent());
      case STEP_FINISH:
        StepResult step = message.getStepFinish().getResult();
        noteStep(step);
        return new GenerationEvent.StepFinish(message.getStep(), step);
      case RESULT:
        completed();
        return new GenerationEvent.Finish(new GenerationResult(message.getResult()));
      case ERROR:
        failed(message.getError());
        return null;
      default:
        return null;
    }
  }
}
