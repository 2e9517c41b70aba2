package extend

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// links are the names at another service that users have tied to themselves, of one
// plugin.
type links struct {
	state  *State
	plugin string
	// stands returns nil while a credential still counts, and a fault of kind
	// Unauthenticated or Forbidden when it does not.
	stands func(ctx context.Context, c tool.Context) error
}

var _ plugin.Links = (*links)(nil)

// came is the stored credential of a user.
type came struct {
	Signer string     `json:"signer,omitzero"`
	Key    web.Caller `json:"key,omitzero"`
	Ends   time.Time  `json:"ends,omitzero"`
}

const (
	putLinkText = `INSERT INTO plugin_links(plugin, name, user_did, workspace, did, caller, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (plugin, name) DO UPDATE SET user_did = excluded.user_did, workspace = excluded.workspace, did = excluded.did, caller = excluded.caller,
		expires_at = excluded.expires_at, created_at = excluded.created_at`
	findLinkText  = `SELECT user_did, caller FROM plugin_links WHERE plugin = $1 AND name = $2 AND expires_at > $3`
	dropLinkText  = `DELETE FROM plugin_links WHERE plugin = $1 AND name = $2 AND user_did = $3`
	oldLinksText  = `DELETE FROM plugin_links WHERE plugin = $1 AND user_did = $2 AND expires_at <= $3`
	listLinksText = `SELECT name FROM plugin_links WHERE plugin = $1 AND user_did = $2 AND expires_at > $3 ORDER BY name LIMIT $4`
	eraseLinks    = `DELETE FROM plugin_links WHERE workspace = $1 AND did = $2`
)

// of is the user of ctx. A delegation that does not give everything ties nothing: it
// is handed around to let others do one thing.
func (l *links) of(ctx context.Context) (tool.Context, error) {
	c := tool.From(ctx)
	switch {
	case l.state == nil:
		return c, errNoState
	case c.Talker == "" || c.Again != nil:
		return c, errNobody
	case c.Caller.Key == "" && !c.Whole:
		return c, &plugin.Error{Status: http.StatusForbidden, Message: "Linking an account needs a delegation of all capabilities."}
	}
	return c, nil
}

// Link ties a name to the user of ctx.
func (l *links) Link(ctx context.Context, name string, lasts time.Duration) error {
	c, err := l.of(ctx)
	if err != nil {
		return err
	}
	if name == "" || len(name) > plugin.MaxName {
		return plugin.Invalid("A name must have 1 to %d bytes.", plugin.MaxName)
	}
	with, err := json.Marshal(came{c.Signer, c.Caller, c.Ends})
	if err != nil {
		return fmt.Errorf("link a name: %w", err)
	}
	now, until := l.state.now().UnixMilli(), int64(math.MaxInt64)
	if lasts > 0 {
		until = now + lasts.Milliseconds()
	}
	if !c.Ends.IsZero() { // with the delegation that was all they came with
		until = min(until, c.Ends.UnixMilli())
	}
	talker := chat.TalkerOf(c.Talker)
	return l.state.db.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, oldLinksText, l.plugin, c.Talker, now); err != nil {
			return db.Wrap("remove old links", err)
		}
		names, err := l.list(ctx, tx, c.Talker)
		if err != nil {
			return err
		}
		if len(names) >= plugin.MaxLinks {
			return plugin.Invalid("There are %d links already.", plugin.MaxLinks)
		}
		_, err = tx.Exec(ctx, putLinkText, l.plugin, name, c.Talker, talker.In(), talker.DID, string(with), until, now)
		return db.Wrap("link a name", err)
	})
}

// Unlink unties a name from the user of ctx.
func (l *links) Unlink(ctx context.Context, name string) error {
	c, err := l.of(ctx)
	if err != nil {
		return err
	}
	return l.state.db.InTx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, dropLinkText, l.plugin, name, c.Talker)
		if err == nil && n == 0 {
			return plugin.ErrNotLinked
		}
		return db.Wrap("unlink a name", err)
	})
}

// Names are those of the user of ctx.
func (l *links) Names(ctx context.Context) ([]string, error) {
	c, err := l.of(ctx)
	if err != nil {
		return nil, err
	}
	return l.list(ctx, l.state.db, c.Talker)
}

func (l *links) list(ctx context.Context, q db.Querier, user string) ([]string, error) {
	rows, err := q.Query(ctx, listLinksText, l.plugin, user, l.state.now().UnixMilli(), plugin.MaxLinks)
	return db.Collect(rows, err, "list links", db.Column[string])
}

// As gives a context that acts for the user of a name.
func (l *links) As(ctx context.Context, name string) (context.Context, error) {
	if l.state == nil || l.stands == nil {
		return nil, errNoState
	}
	var user, with string
	err := l.state.db.QueryRow(ctx, findLinkText, l.plugin, name, l.state.now().UnixMilli()).Scan(&user, &with)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, plugin.ErrNotLinked
	}
	if err != nil {
		return nil, db.Wrap("find link", err)
	}
	var by came
	if err := json.Unmarshal([]byte(with), &by); err != nil {
		return nil, fmt.Errorf("read link: %w", err)
	}
	talker := chat.TalkerOf(user)
	by.Key.Rights = talker.Rights
	c := tool.Context{User: talker.DID, Talker: user, Signer: by.Signer, Caller: by.Key, Whole: by.Key.Key == "", Ends: by.Ends, RequestID: web.RequestID(ctx)}
	if err := l.stands(ctx, c); err != nil {
		if kind := fault.KindOf(err); kind == fault.Unauthenticated || kind == fault.Forbidden {
			return nil, plugin.ErrNotLinked
		}
		return nil, err
	}
	return tool.With(ctx, c), nil
}

// ask has the oracle answer a message of the user of ctx.
func (s *Set) ask(ctx context.Context, m plugin.Message) (plugin.Answer, error) {
	c := tool.From(ctx)
	switch {
	case s.cfg.Ask == nil:
		return plugin.Answer{}, errNotYet
	case c.Talker == "" || m.Thread == "" || m.Text == "":
		return plugin.Answer{}, errNobody
	}
	a, err := s.cfg.Ask(ctx, c, m)
	if f := fault.As(err); f != nil && f.Kind != fault.Internal {
		return a, &plugin.Error{Status: http.StatusServiceUnavailable, Message: f.Message}
	}
	return a, err
}
