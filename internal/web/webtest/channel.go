package webtest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Channel checks messages against their documentation.
type Channel struct {
	name     string
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

// NewChannel reads the document of a channel.
func NewChannel(t testing.TB, c web.Channel) *Channel {
	t.Helper()
	text, err := web.ChannelDocument("test", "1", c)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &Channel{name: c.Name, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	out.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := out.compiler.AddResource("doc.json", doc); err != nil {
		t.Fatal(err)
	}
	return out
}

// Check returns what is wrong with a message: an undocumented name or member, a
// missing member, or a value of another type.
func (c *Channel) Check(name string, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	schema := c.schemas[name]
	if schema == nil {
		var err error
		if schema, err = c.compiler.Compile("doc.json#/components/messages/" + c.name + "." + name + "/payload"); err != nil {
			return fmt.Errorf("%s is not documented: %w", name, err)
		}
		c.schemas[name] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s %s: %w", name, payload, err)
	}
	return nil
}
