// Package docs embeds the pages of this folder that a running server shows, so
// that they match the binary and need no network.
package docs

import _ "embed"

//go:generate go run ../build/pages .
//go:generate go run ../cmd/hearth plugin sync ../examples/oracle

// Errors is the page of all error codes, in Markdown.
//
//go:embed errors.md
var Errors []byte

// Configuration is the page of all settings, in Markdown.
//
//go:embed configuration.md
var Configuration []byte
