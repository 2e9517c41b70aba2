package wire

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of one gateway, which is one document of
// a gateway file, for editors. It knows the form of a gateway; whether what an
// answer shows was read from the request only Parse tells.
func Schema() []byte { return slices.Clone(schema) }
