/**
 * Calls an Outrigger sidecar: every model of every provider through one interface, with tools that
 * are Java functions. Start with {@link io.github.outriggerinference.OutriggerClient}. The messages
 * are those of the contract, in {@code io.github.outriggerinference.v1}. Import those by name:
 * {@code Thread} and {@code Error} are in {@code java.lang} as well, and {@code Tool} is in this
 * package.
 */
package io.github.outriggerinference;
