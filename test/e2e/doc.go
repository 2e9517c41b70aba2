// Package e2e drives the built program the way its users do: over HTTP with
// the public client, over raw sockets where a client would be too polite, and
// through its command line. Nothing here looks inside a running server.
package e2e
