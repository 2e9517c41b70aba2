// Package api holds the nouns of the interface once: what goes over the wire
// and the limits that both sides state. The server answers with these types
// and package client reads them, so a member cannot be there on one side only.
//
// It holds data and no rules: what is valid, who may see it and how it is
// stored belongs to the server. The tags say how a member is written
// (json) and what the reference under /docs tells about it (doc, example,
// enum, format). It imports nothing but the standard library.
package api
