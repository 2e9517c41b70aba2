// Package event is the record of what happened. Every change appends a small
// event in its own transaction; inside a workspace events are numbered from 1
// without a gap. Polling, streams, webhooks and the audit view all read this
// one log, so all of them see the same events, each once.
//
// It promises that an event exists exactly when its change does, that a reader
// who has seen number n has seen every number up to n, and that nobody is woken
// for a change that was not stored. It does not hold the documents that
// changed: those are the history rows of their area.
package event

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
)

const (
	maxData    = 4 << 10 // bytes of an event's data as JSON
	maxType    = 64      // characters of a type
	maxSubject = 1024    // bytes of a subject
)

// system is the actor of the server's own actions.
const system = "system"

// Event is one thing that happened. Append fills Workspace, Actor, RequestID
// and At from the context and the clock when they are empty.
type Event struct {
	Workspace string
	Type      string // dotted, lower case, past tense: "entity.created"
	Subject   string // its subject: a DID or an id
	Revision  int64  // of the subject after the change; 0 when it has none
	Actor     string // DID of whoever did it; "system" for the server itself
	RequestID string
	At        time.Time
	Data      any // optional; encodes to a JSON object of at most 4 KiB
}

// Item is a numbered event as readers get it.
type Item struct {
	Seq       int64     `json:"seq" doc:"Number in the workspace, from 1, without a gap." example:"42"`
	Type      string    `json:"type" doc:"What happened." example:"entity.created"`
	Subject   string    `json:"subject" doc:"What it happened to."`
	Revision  int64     `json:"revision,omitzero" doc:"Revision of the subject after the change."`
	Actor     string    `json:"actor" doc:"Who did it: a DID, system for the server itself, or withheld when you may not see it."`
	RequestID string    `json:"requestId,omitzero" doc:"X-Request-Id of the request that did it. Absent when the actor is withheld."`
	Time      time.Time `json:"time"`
	Data      Object    `json:"data,omitzero" doc:"A few facts about the change, if any."`
}

// Object is a JSON object kept as text.
type Object struct{ jsontext.Value }

// IsZero reports whether there is no object.
func (o Object) IsZero() bool { return len(o.Value) == 0 }

// Schema describes an object in the API reference.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "object", AdditionalProperties: true}
}

// checkType refuses types that are not dotted lower-case words.
func checkType(t string) error {
	if len(t) > maxType {
		return fmt.Errorf("event type %q is longer than %d characters", t, maxType)
	}
	if words := countWords(t); words < 2 {
		return fmt.Errorf("event type %q is not dotted lower-case words", t)
	}
	return nil
}

// countWords counts the words of "word.word", 0 when s does not have that form.
// A word begins with a letter and continues with letters, digits and
// underscores.
func countWords(s string) int {
	words, start := 0, true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			if start {
				words++
			}
			start = false
		case !start && (c >= '0' && c <= '9' || c == '_'):
		case !start && c == '.':
			start = true
		default:
			return 0
		}
	}
	if start {
		return 0
	}
	return words
}

// encodeData renders the data of an event, "" for none.
func encodeData(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encode event data: %w", err)
	}
	if len(b) > maxData {
		return "", fmt.Errorf("event data has %d bytes, at most %d: keep documents in the history", len(b), maxData)
	}
	if len(b) == 0 || b[0] != '{' {
		return "", errors.New("event data is not a JSON object")
	}
	return string(b), nil
}

// key hashes a name inside a workspace to 63 bits, for narrow indexes. It is
// cut from SHA-256, so nobody can construct collisions; readers compare the
// name itself as well.
func key(ws, name string) int64 {
	sum := sha256.Sum256([]byte(ws + "\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

// subjectKey is key, except that for a DID that carries its time the upper 40
// bits are that time, so that the entries of new subjects are adjacent.
func subjectKey(ws, name string) int64 {
	k := key(ws, name)
	if at, ok := did.DID(name).Minted(); ok {
		k = at>>8<<23&math.MaxInt64 | k&(1<<23-1)
	}
	return k
}
