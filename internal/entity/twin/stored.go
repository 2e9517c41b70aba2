package twin

import (
	"bytes"
	"strings"
)

// Stored is the part of a record that a table holds: everything but its links,
// which follow from the DID and are a fourth of a small record.
func Stored(body []byte) string {
	var room [512]byte
	rest, ok := bytes.CutSuffix(body, appendLinks(room[:0], didOf(body)))
	if !ok {
		return string(body)
	}
	var b strings.Builder
	b.Grow(len(rest) + 1)
	b.Write(rest)
	b.WriteByte('}')
	return b.String()
}

// Body is the record for the text in a table. Its links are in the text if an
// earlier version stored it.
func Body(text string) []byte {
	if text == "" || strings.HasSuffix(text, linksEnd) {
		return []byte(text)
	}
	id := didOf(text)
	b := make([]byte, 0, len(text)+5*len(id)+192)
	b = append(b, text[:len(text)-1]...)
	return appendLinks(b, id)
}

// didOf is the DID of a record, with which it begins. A DID has nothing in it
// that JSON escapes.
func didOf[T string | []byte](body T) string {
	const begin = len(`{"did":"`)
	for i := begin; i < len(body); i++ {
		if body[i] == '"' {
			return string(body[begin:i])
		}
	}
	return ""
}

// appendLinks writes the end of a record.
func appendLinks(b []byte, id string) []byte {
	l := LinksOf(id)
	for _, part := range [...]string{
		`,"links":{"self":"`, l.Self, `","history":"`, l.History, `","relationships":"`, l.Relationships,
		`","graph":"`, l.Graph, `","didDocument":"`, l.DIDDocument, linksEnd,
	} {
		b = append(b, part...)
	}
	return b
}

// linksEnd is the end of a record that has its links.
const linksEnd = `"}}`
