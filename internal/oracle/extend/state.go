package extend

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// State stores what plugins remember about users. It is safe for concurrent
// use.
type State struct {
	db    *db.DB
	chats *chat.Store
	now   func() time.Time
	kept  *cache.Cache[string, *kept] // by user and plugin; nil keeps nothing in memory
}

// NewState makes a State that shares the conversations of chats. On SQLite it is
// the only writer.
func NewState(d *db.DB, chats *chat.Store) *State { return &State{d, chats, d.Now, newKept(d)} }

// Part removes the state of a conversation together with it.
func Part() chat.Part { return chat.Part{Shrink: shrinkState} }

// Erase removes what plugins keep about a person of a workspace outside
// conversations, whose state is removed with them. A server without plugins has no
// State, and erases with nil.
func (s *State) Erase(ctx context.Context, tx *db.Tx, workspace, did string) error {
	if s != nil && s.kept != nil {
		tx.AfterCommit(s.kept.Flush)
	}
	return eraseState(ctx, tx, workspace, did)
}

// Expire removes at most limit expired values, and returns how many.
func (s *State) Expire(ctx context.Context, limit int) (n int, err error) {
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		gone, err := expireState(ctx, tx, s.now().UnixMilli(), limit)
		n = int(gone)
		return err
	})
	return n, err
}

// filesBytes is how much of a conversation is read to find its files.
const filesBytes = 2 << 20

// attachments are the files of the conversation of ctx.
func (s *State) attachments(ctx context.Context) ([]plugin.Attachment, error) {
	c := tool.From(ctx)
	if c.Talker == "" || c.SessionID == "" {
		return nil, errNoTalk
	}
	list, err := s.chats.Files(ctx, c.Talker, c.SessionID, filesBytes)
	out := make([]plugin.Attachment, len(list))
	for i, a := range list {
		out[i] = plugin.Attachment{Name: a.Filename, Type: a.MIMEType, Size: a.Size, Text: a.Text, Note: a.Note}
	}
	return out, err
}

// drawer is the store of one plugin.
type drawer struct {
	state  *State
	plugin string
}

var _ plugin.Store = (*drawer)(nil)

// The error for a plugin that wants to store something without a user.
var (
	errNobody  = &plugin.Error{Status: http.StatusForbidden, Message: "Nothing can be stored here: the request has no user."}
	errNoTalk  = &plugin.Error{Status: http.StatusForbidden, Message: "Nothing can be stored here: this is not a conversation."}
	errNoState = errors.New("the server keeps nothing")
)

// User is the shelf of the user of ctx.
func (d *drawer) User(ctx context.Context) (plugin.Shelf, error) {
	c := tool.From(ctx)
	switch {
	case d.state == nil:
		return nil, errNoState
	case c.Talker == "":
		return nil, errNobody
	}
	return &shelf{state: d.state, plugin: d.plugin, user: c.Talker, talk: c.SessionID}, nil
}

// Session is the shelf of the conversation of ctx.
func (d *drawer) Session(ctx context.Context) (plugin.Shelf, error) {
	c := tool.From(ctx)
	switch {
	case d.state == nil:
		return nil, errNoState
	case c.Talker == "" || c.SessionID == "":
		return nil, errNoTalk
	}
	s := &shelf{state: d.state, plugin: d.plugin, user: c.Talker, talk: c.SessionID}
	var err error
	s.session, err = d.state.chats.Number(ctx, s.user, s.talk)
	return s, err
}

// shelf holds values of a user, or of a conversation.
type shelf struct {
	state        *State
	plugin, user string
	talk         string // the conversation the call belongs to; "" on a route
	session      int64  // 0: the values are of the user
}

var _ plugin.Shelf = (*shelf)(nil)

// Get reads a value.
func (s *shelf) Get(ctx context.Context, name string) ([]byte, error) {
	k, err := s.kept(ctx)
	if err != nil {
		return nil, err
	}
	if k != nil {
		return k.named(name, s.state.now().UnixMilli()), nil
	}
	return findState(ctx, s.state.db, s, name)
}

// Put stores a value. What belongs to a conversation that is gone stores nothing
// more: a call that outlives an erasure does not bring anything back.
func (s *shelf) Put(ctx context.Context, name string, value []byte) error {
	return s.put(ctx, name, value, 0)
}

// PutUntil stores a value that ends.
func (s *shelf) PutUntil(ctx context.Context, name string, value []byte, until time.Time) error {
	return s.put(ctx, name, value, max(until.UnixMilli(), 1))
}

func (s *shelf) put(ctx context.Context, name string, value []byte, until int64) error {
	switch {
	case name == "" || len(name) > plugin.MaxName || !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return plugin.Invalid("The name of a value must have 1 to %d bytes of text.", plugin.MaxName)
	case len(value) > plugin.MaxValue || !utf8.Valid(value) || strings.ContainsRune(string(value), 0):
		return plugin.Invalid("A value must have at most %d bytes of text.", plugin.MaxValue)
	}
	return s.state.db.InTx(ctx, func(tx *db.Tx) error {
		if s.talk != "" {
			if _, err := chat.Hold(ctx, tx, s.user, s.talk); err != nil {
				return err
			}
		}
		full, err := isFull(ctx, tx, s, name)
		if err != nil {
			return err
		}
		if full {
			return plugin.Invalid("There are %d values already.", plugin.MaxEntries)
		}
		s.changed(tx)
		return putState(ctx, tx, s, stateValue{name, value, until})
	})
}

// Delete removes a value.
func (s *shelf) Delete(ctx context.Context, name string) error {
	return s.state.db.InTx(ctx, func(tx *db.Tx) error {
		s.changed(tx)
		return removeState(ctx, tx, s, name)
	})
}

// Entries reads values.
func (s *shelf) Entries(ctx context.Context, after string, limit int) ([]plugin.Entry, error) {
	limit = min(max(limit, 1), plugin.MaxEntries)
	k, err := s.kept(ctx)
	if err != nil {
		return nil, err
	}
	if k != nil {
		return k.behind(after, limit, s.state.now().UnixMilli()), nil
	}
	return readState(ctx, s.state.db, s, after, limit)
}
