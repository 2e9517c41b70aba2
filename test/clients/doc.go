// Package clients has the published clients of oracles try the built program:
// the React SDK in a page, socket.io-client, and the UCAN libraries. The
// scripts beside it are our own; README.md says how to run them.
package clients
