// Package clients tests the built program with the published clients of
// oracles: the React SDK in a page, socket.io-client, and the UCAN libraries.
// The scripts beside it are our own; README.md says how to run them.
package clients
