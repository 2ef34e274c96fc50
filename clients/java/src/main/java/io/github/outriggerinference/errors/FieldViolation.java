package io.github.outriggerinference.errors;

import java.io.Serializable;

/**
 * An invalid field of a request.
 *
 * @param field its path with the contract's names, for instance {@code messages[2].content[0].text}
 * @param description what was found and what was expected
 */
public record FieldViolation(String field, String description) implements Serializable {}
