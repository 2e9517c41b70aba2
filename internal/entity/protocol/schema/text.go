package schema

import (
	"net/url"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// textTypes are texts, and names that are texts.
func textTypes() []Type {
	return []Type{
		{Name: "string", Doc: map[string]any{"type": "string"}, Compares: rql.Text, Cell: "text"},
		{
			Name: "uri", Doc: map[string]any{"type": "string", "format": "uri"}, Compares: rql.Text, Cell: "text",
			Valid: text(isURI), Hint: "an absolute URI",
		},
		{
			Name: "did", Doc: map[string]any{"type": "string", "format": "did"}, Compares: rql.Text, Cell: "text",
			Valid: text(did.Valid), Hint: "a DID such as did:ixo:entity:123",
		},
	}
}

// maxURI is how many bytes a URI may have.
const maxURI = 2048

func isURI(s string) bool {
	if len(s) > maxURI || strings.ContainsAny(s, " <>\"{}|\\^`") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "" || u.Path != "")
}
