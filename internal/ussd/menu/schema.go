package menu

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of a pack file, for editors. It knows
// the form of a pack; whether ids, actions and variables exist only Parse
// tells.
func Schema() []byte { return slices.Clone(schema) }
