package bulk

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// columnOrder is how the columns of a table are sorted.
var columnOrder = []string{
	"did", "type", "class", "domainType", "status", "protocol", "protocolVersion", "project", "controller", "controllers", "owner", "externalIds",
	"properties", "metadata", "relationships", "missingRelationships", "services",
}

// columnRank is the place of a column among the others.
func columnRank(path string) int {
	for i, name := range columnOrder {
		if len(path) >= len(name) && path[:len(name)] == name && (len(path) == len(name) || path[len(name)] == '.') {
			return i
		}
	}
	return len(columnOrder)
}

// tableRecord is a record without what is not useful in a table: addresses, and
// empty lists and objects. byRole gives relationships a column for each role.
func tableRecord(body []byte, byRole bool) jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if _, err := dec.ReadToken(); err != nil {
		return body
	}
	out := append(make([]byte, 0, len(body)), '{')
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			return body
		}
		before := len(out)
		if before > 1 {
			out = append(out, ',')
		}
		out = append(append(out, name...), ':')
		v, err := dec.ReadValue()
		if err != nil {
			return body
		}
		member := string(bytes.Trim(out[before:], `,":`))
		if string(v) == "[]" || string(v) == "{}" || member == "links" || member == "statusCode" || member == "moreRelationships" || member == "moreCredentials" {
			out = out[:before]
			continue
		}
		if member == "relationships" && byRole {
			v = tableRelations(v)
		}
		out = append(out, v...)
	}
	return append(out, '}')
}
