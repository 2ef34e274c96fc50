/** The exceptions of failed calls, one class for each kind of error of the contract. */
package io.github.outriggerinference.errors;
