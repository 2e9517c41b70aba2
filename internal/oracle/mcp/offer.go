package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// offer is a tool as a server describes it.
type offer struct {
	name     string // shown to models
	original string
	about    string
	schema   jsontext.Value
	hash     string // of all a grant is for
	problem  string // why it is not offered; "" when it can be
}

// offersOf reads what a server says about its tools.
func offersOf(s *Server, list []*sdk.Tool) []offer {
	var out []offer
	names := map[string]bool{}
	for _, t := range list {
		if len(out) == maxTools {
			break
		}
		if t == nil || len(s.Only) > 0 && !slices.Contains(s.Only, t.Name) {
			continue
		}
		o := offerOf(s, t)
		if !names[o.name] { // a server that has a name twice means the first
			names[o.name] = true
			out = append(out, o)
		}
	}
	return out
}

func offerOf(s *Server, t *sdk.Tool) offer {
	o := offer{original: t.Name, about: t.Description}
	if len(t.Name) > maxToolName || t.Name == "" || !utf8.ValidString(t.Name) || strings.ContainsFunc(t.Name, unicode.IsControl) {
		o.original = strings.ToValidUTF8(t.Name[:min(len(t.Name), maxToolName)], "\uFFFD")
		o.problem = fmt.Sprintf("The name of the tool is not 1 to %d printable bytes.", maxToolName)
	}
	o.name = ShownName(s.Name, t.Name)
	schema, err := json.Marshal(t.InputSchema, json.Deterministic(true))
	if err != nil || t.InputSchema == nil {
		schema = []byte(`{"type":"object"}`)
	}
	o.schema = schema
	if err := tool.CheckSchema(o.schema); err != nil && o.problem == "" {
		o.problem = "The schema of the arguments is not accepted: " + err.Error() + "."
	}
	if len(o.about) > maxDescription || !utf8.ValidString(o.about) {
		o.about = strings.ToValidUTF8(o.about[:min(len(o.about), maxDescription)], "\uFFFD")
		o.problem = fmt.Sprintf("The description is not UTF-8 text of at most %d bytes.", maxDescription)
	}
	if len(o.schema) > maxSchemaShown {
		o.schema = []byte(`{"type":"object"}`)
	}
	o.hash = hashOf(s, t, schema)
	return o
}

// maxSchemaShown is the largest schema that is kept; a tool with a larger one is
// not offered.
const maxSchemaShown = 64 << 10

// hashOf is the same as long as the server, the tool, its description and its schema
// are the same.
func hashOf(s *Server, t *sdk.Tool, schema []byte) string {
	sum := sha256.New()
	for _, part := range []string{s.identity(), t.Name, t.Description, string(schema)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}
