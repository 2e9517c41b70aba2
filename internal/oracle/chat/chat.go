// Package chat keeps conversations with the oracle: sessions, their messages as
// clients read them, titles, and what users let the oracle do for them.
//
// It promises that a session and everything in it exists for its own user only,
// that a page of history costs the same in a long conversation as in a short
// one, and that a deleted session is gone at once, whatever happens while its
// rows are removed. It knows neither HTTP nor the model; package run stores the
// results of a turn.
//
// Permits decides whether a tool that changes something may run. A confirmation is
// a row, so that it survives a restart and can be given at any instance; it is bound
// to one tool, one conversation and the exact arguments, counts once and ends after
// five minutes; only the user of the run can give it; and silence is a refusal.
// Tools that change nothing and tools that run in the user's page need none.
package chat

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// Untitled is the title of a session until it gets one.
const Untitled = "Untitled"

// Types of messages.
const (
	Human = "human"
	AI    = "ai"
)

// The limits of what is read at once.
const (
	MaxSessions  = 100     // of a list
	MaxTurns     = 100     // of a page of history
	maxAllTurns  = 1000    // of Messages
	maxPageBytes = 4 << 20 // of a page; one turn is always whole
	maxAllBytes  = 16 << 20
	maxRows      = 20_000 // messages looked at for one answer
	maxTitle     = 200    // characters
)

// Session is a conversation as clients see it.
type Session struct {
	ID              string `json:"sessionId"`
	Title           string `json:"title"`
	LastUpdatedAt   string `json:"lastUpdatedAt"`
	CreatedAt       string `json:"createdAt"`
	OracleName      string `json:"oracleName"`
	OracleDID       string `json:"oracleDid"`
	OracleEntityDID string `json:"oracleEntityDid"`

	Turns int64  `json:"-"` // messages of the user so far
	Run   string `json:"-"` // id of the newest run, or empty
}

// Message is a message as clients see it.
type Message struct {
	ID          string       `json:"id"`
	Type        string       `json:"type"` // Human or AI
	Content     string       `json:"content"`
	ToolCalls   []ToolCall   `json:"toolCalls,omitempty"`
	Reasoning   string       `json:"reasoning,omitzero"`
	IsComplete  bool         `json:"isComplete"`
	IsReasoning bool         `json:"isReasoning"`
	Attachment  *Attachment  `json:"attachment,omitzero"` // the only one
	Attachments []Attachment `json:"attachments,omitempty"`
	CreatedAt   string       `json:"createdAt"`
	Aborted     bool         `json:"aborted,omitzero"`     // the caller stopped the answer
	Interrupted bool         `json:"interrupted,omitzero"` // the server stopped in the middle of it
}

// ToolCall is a call of a tool with its output.
type ToolCall struct {
	Name   string         `json:"name"`
	ID     string         `json:"id"`
	Args   jsontext.Value `json:"args"`
	Status string         `json:"status,omitzero"` // done
	Output string         `json:"output,omitzero"` // JSON
	Failed bool           `json:"failed,omitzero" doc:"The tool failed; output says why."`
}

// Attachment is a file of a user's message.
type Attachment struct {
	Filename string `json:"filename"`
	MIMEType string `json:"mimetype"`
	Size     int64  `json:"size,omitzero"`
	MXCURI   string `json:"mxcUri,omitzero"`
	EventID  string `json:"eventId,omitzero"`
	Category string `json:"category"`
}

// Page is a part of a conversation, oldest message first. Messages are the
// stored bytes of Message.
type Page struct {
	Messages   []jsontext.Value `json:"messages"`
	PrevCursor *string          `json:"prevCursor"` // before=: the turns before the page
	NextCursor *string          `json:"nextCursor"` // after=: its last turn again, and those that follow
	HasOlder   bool             `json:"hasOlder"`
	HasNewer   bool             `json:"hasNewer"`
}

// Config configures a Store.
type Config struct {
	DB  *db.DB
	Key secret.Key       // seals delegations
	Now func() time.Time // the clock of the store by default
	Log *slog.Logger     // nil: silent

	OracleName, OracleDID, OracleEntityDID string // in every session
}

// Gone is a session that was deleted.
type Gone struct {
	User, Session string
	Number        int64 // what rows of other packages know the session by
}

// Part is data of sessions that must be removed with them. Each member may be
// nil.
type Part struct {
	// Deleted is called once a session is gone, before its rows are removed.
	Deleted func(ctx context.Context, g Gone)
	// Forget drops the cached data of a session that was deleted, here or on
	// another instance. 0 means all sessions, because any of them may have been
	// deleted.
	Forget func(session int64)
	// Shrink removes at most limit of the part's rows of a deleted session and
	// returns how many.
	Shrink func(ctx context.Context, tx *db.Tx, session int64, limit int) (int64, error)
	// Blank blanks the part's data of a session from a turn on, in the
	// transaction that erases a person.
	Blank func(ctx context.Context, tx *db.Tx, from Begun) error
	// Left removes the part's data of a user outside sessions, in the
	// transaction that erases the user.
	Left func(ctx context.Context, tx *db.Tx, user string) error
}

// Store keeps conversations. It is safe for use by many goroutines.
type Store struct {
	cfg    Config
	box    secret.Box
	recall *recall

	mu    sync.Mutex
	parts []Part
}

// New makes a store.
func New(c Config) *Store {
	if c.Now == nil {
		c.Now = c.DB.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{cfg: c, box: c.Key.Box("oracle delegation"), recall: newRecall(recallBytes), parts: []Part{permits()}}
}

// Attach makes a part's data be removed with every session that is deleted from
// now on.
func (s *Store) Attach(p Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts[:len(s.parts):len(s.parts)], p)
}

func (s *Store) attached() []Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts
}

// Stamp formats a time as clients of the oracle expect it: UTC, milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func stamp(ms int64) string { return Stamp(time.UnixMilli(ms)) }

func (s *Store) now() int64 { return s.cfg.Now().UnixMilli() }

// idMark is what every id of a session begins with.
const idMark = "$"

// newSessionID makes an id of the form that older clients know: $ and 43
// unguessable characters, all safe in a path.
func newSessionID() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return idMark + base64.RawURLEncoding.EncodeToString(b[:])
}

// NotFound is the fault for a session that does not exist or belongs to
// somebody else.
func NotFound() *fault.Error {
	return fault.New(fault.NotFound, "SESSION_NOT_FOUND", "Session not found")
}
