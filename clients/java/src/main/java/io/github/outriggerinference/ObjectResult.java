package io.github.outriggerinference;

/**
 * A generated object, and the result of its generation.
 *
 * @param <T> the class of the object
 * @param object the object
 * @param generation steps, usage, and the object as JSON text
 */
public record ObjectResult<T>(T object, GenerationResult generation) {}
