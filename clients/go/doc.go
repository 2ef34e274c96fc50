// Package outrigger calls an Outrigger sidecar: every model of every provider behind one interface,
// with tools that are ordinary Go functions.
//
// The messages are those of the contract, in the package
// github.com/outrigger-inference/outrigger/clients/go/outrigger/v1. This package adds the
// connection, errors that work with errors.Is and errors.As, streams as iterators, and the tool loop.
package outrigger
