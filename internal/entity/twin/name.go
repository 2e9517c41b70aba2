package twin

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Name is the name of a twin: the property name, else the name in its metadata,
// else "".
func (e *Entity) Name() string {
	for _, o := range []Object{e.Properties, e.Metadata} {
		if name := o.text("name"); name != "" {
			return name
		}
	}
	return ""
}

// text reads a member that is a text, "" for any other.
func (o Object) text(name string) string {
	if o.IsZero() || !bytes.Contains(o.Value, []byte(`"`+name+`"`)) {
		return "" // most have none; do not take them apart
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(o.Value, &members) != nil || members[name].Kind() != '"' {
		return ""
	}
	var text string
	if json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}
