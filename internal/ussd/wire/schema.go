package wire

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of one gateway, which is one document of
// a gateway file, for editors. It describes the form of a gateway; only Parse
// checks that an answer shows only what was read from the request.
func Schema() []byte { return slices.Clone(schema) }
