/**
 * Calls an Outrigger sidecar: every model of every provider through one interface, with tools that
 * are Java functions. Start with {@link io.github.outriggerinference.OutriggerClient}. The
 * messages are those of the contract, in {@code io.github.outriggerinference.v1}.
 */
package io.github.outriggerinference;
