// Package api defines the types that go over the wire, and the limits that both
// sides state, in one place. The server answers with these types and package
// client reads them, so a field cannot exist on one side only.
//
// It holds data and no rules: the server decides what is valid, who may see it
// and how it is stored. Struct tags say how a field is written (json) and what
// the reference under /docs says about it (doc, example, enum, format). The
// package imports only the standard library.
package api
