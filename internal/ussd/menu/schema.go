package menu

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of a pack file, for editors. It describes
// the form of a pack; only Parse checks that ids, actions and variables exist.
func Schema() []byte { return slices.Clone(schema) }
