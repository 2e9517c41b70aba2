package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	listUnnotedText = `SELECT nid FROM chat_sessions WHERE noted = 0 ORDER BY nid LIMIT $1`
	setNotedText    = `UPDATE chat_sessions SET noted = $2 WHERE nid = $1`
)

// errDeleted ends the transaction of a session that no longer exists.
var errDeleted = errors.New("the session was deleted")

// Backfill notes the DIDs of at most limit conversations that began before DIDs
// were noted, and blanks those that refer to a person who was erased since. It
// returns how many there were; 0 means that all are noted.
func (s *Store) Backfill(ctx context.Context, limit int) (int, error) {
	all, err := listUnnoted(ctx, s.cfg.DB, limit)
	if err != nil {
		return 0, err
	}
	for _, session := range all {
		if err := s.noteSession(ctx, session); err != nil && !errors.Is(err, errDeleted) {
			return 0, err
		}
	}
	return len(all), nil
}

// noteSession notes the DIDs of one conversation, turn by turn.
func (s *Store) noteSession(ctx context.Context, session int64) error {
	seen := map[string]bool{}
	at := known{Begun: Begun{Session: session}}
	for turn, n := int64(0), int64(-1); ; {
		rows, err := listToBlank(ctx, s.cfg.DB, session, turn, n)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if turn, n = r.turn, r.n; turn != at.Turn {
				if err := s.noteTurn(ctx, at); err != nil {
					return err
				}
				at = known{Begun: Begun{Session: session, Turn: turn}}
			}
			if err := at.read(r.body, seen); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			break
		}
	}
	if err := s.noteTurn(ctx, at); err != nil {
		return err
	}
	return s.cfg.DB.InTx(ctx, func(tx *db.Tx) error { return setNoted(ctx, tx, session, 1) })
}

// known is what a stored turn has come to know first.
type known struct {
	Begun
	since int64 // when it began, ms
	dids  []string
}

// read adds what a message of the turn names and none has before.
func (k *known) read(body string, seen map[string]bool) error {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	if at, err := time.Parse(time.RFC3339, m.CreatedAt); k.since == 0 && err == nil {
		k.since = at.UnixMilli()
	}
	texts := []string{m.Content}
	for _, c := range m.ToolCalls {
		texts = append(texts, string(c.Args), fromJSON(c.Output))
	}
	for _, id := range DIDs(texts...) {
		if !seen[id] {
			seen[id] = true
			k.dids = append(k.dids, id)
		}
	}
	return nil
}

// noteTurn notes what a turn has come to know, and blanks the conversation from
// there on when one of them was erased after it.
func (s *Store) noteTurn(ctx context.Context, k known) error {
	if len(k.dids) == 0 {
		return nil
	}
	return s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		erased, err := Note(ctx, tx, k.Begun, k.since, k.dids)
		if err != nil {
			return err
		}
		// After the locks of Note, as an erasure takes them.
		if err := setNoted(ctx, tx, k.Session, 0); err != nil || !erased {
			return err
		}
		_, err = s.Blank(ctx, tx, k.Begun)
		return err
	})
}

// setNoted says whether all of a session is noted; errDeleted when it is gone.
func setNoted(ctx context.Context, tx *db.Tx, session int64, noted int) error {
	n, err := tx.Exec(ctx, setNotedText, session, noted)
	if err == nil && n == 0 {
		return errDeleted
	}
	return db.Wrap("mark session", err)
}

func listUnnoted(ctx context.Context, q db.Querier, limit int) ([]int64, error) {
	rows, err := q.Query(ctx, listUnnotedText, limit)
	return db.Collect(rows, err, "find sessions", db.Column[int64])
}
