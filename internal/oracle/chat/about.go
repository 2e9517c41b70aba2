package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// Erased replaces what was said about a person who was erased.
const Erased = "[erased]"

// slack is how far the clocks of two instances may be apart, in ms.
const slack = 2000

// maxDIDs is how many DIDs of one text are noted.
const maxDIDs = 1000

var didInText = regexp.MustCompile(`did:[a-z0-9]+:[A-Za-z0-9._:%/-]*[A-Za-z0-9]`)

// DIDs finds the DIDs in texts, each once. In JSON, a whole value that begins
// like a DID counts as one, whatever follows.
func DIDs(texts ...string) []string {
	seen := map[string]bool{}
	for _, text := range texts {
		if !strings.Contains(text, "did:") {
			continue
		}
		for _, id := range didInText.FindAllString(text, maxDIDs) {
			seen[id] = true
		}
		if d := jsontext.NewDecoder(strings.NewReader(text)); jsontext.Value(text).IsValid() {
			for len(seen) < maxDIDs {
				t, err := d.ReadToken()
				if err != nil {
					break
				}
				if t.Kind() == '"' && strings.HasPrefix(t.String(), "did:") {
					seen[t.String()] = true
				}
			}
		}
	}
	out := make([]string, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

const (
	guardAboutPostgres = `SELECT pg_advisory_xact_lock_shared(k) FROM unnest($1::bigint[]) AS k`
	beginErasePostgres = `SELECT pg_advisory_xact_lock($1)`
	insertAboutText    = `INSERT INTO oracle_about(did, session, turn) VALUES ($1, $2, $3)
		ON CONFLICT (did, session) DO UPDATE SET turn = excluded.turn WHERE oracle_about.turn > excluded.turn`
	putErasedText    = `INSERT INTO oracle_about(did, session, turn) VALUES ($1, 0, $2) ON CONFLICT (did, session) DO UPDATE SET turn = excluded.turn`
	findErasedText   = `SELECT turn FROM oracle_about WHERE did = $1 AND session = 0`
	listAboutText    = `SELECT session, turn FROM oracle_about WHERE did = $1 AND session > 0 ORDER BY session`
	removeAboutText  = `DELETE FROM oracle_about WHERE did = $1 AND session > 0`
	forgetAboutText  = `DELETE FROM oracle_about WHERE session = $1`
	blankTitleText   = `UPDATE chat_sessions SET title = '` + Erased + `' WHERE nid = $1 AND title <> '` + Erased + `'`
	listToBlankText  = `SELECT turn, n, body FROM chat_messages WHERE session = $1 AND (turn, n) > ($2, $3) ORDER BY turn, n LIMIT 100`
	blankMessageText = `UPDATE chat_messages SET body = $4, hidden = NULL WHERE session = $1 AND turn = $2 AND n = $3`
	listOwnText      = `SELECT nid, id FROM chat_sessions WHERE user_did = $1 LIMIT 100`
	removeUserText   = `DELETE FROM chat_users WHERE user_did = $1`
)

// door is the lock of a DID on PostgreSQL, so that a transaction that notes it
// and one that erases it do not miss each other.
func door(id string) int64 {
	h := fnv.New64a()
	h.Write([]byte("oracle about\n" + id))
	return int64(h.Sum64() >> 1)
}

// Note records that a turn, which began at since (ms), refers to DIDs. It
// returns true when one of them was erased since: the turn may contain earlier
// data.
func Note(ctx context.Context, tx *db.Tx, b Begun, since int64, dids []string) (erased bool, err error) {
	if len(dids) == 0 {
		return false, nil
	}
	if tx.Dialect() == db.Postgres {
		keys := make([]int64, len(dids))
		for i, id := range dids {
			keys[i] = door(id)
		}
		slices.Sort(keys)
		if err := tx.Send(ctx, guardAboutPostgres, slices.Compact(keys)); err != nil {
			return false, fmt.Errorf("keep an erasure waiting: %w", err)
		}
	}
	for _, id := range dids {
		if _, err := tx.Exec(ctx, insertAboutText, id, b.Session, b.Turn); err != nil {
			return false, fmt.Errorf("note DIDs: %w", err)
		}
		var at int64
		err := tx.QueryRow(ctx, findErasedText, id).Scan(&at)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, db.Wrap("look for an erasure", err)
		}
		erased = erased || err == nil && at+slack >= since
	}
	return erased, nil
}

// Erase forgets a person of a workspace: their own conversations are removed, and what
// others said, and were told, is blanked from the first turn on that refers to the
// person. It returns how many conversations these were. Sweep removes the rest of the
// person's own.
func (s *Store) Erase(ctx context.Context, tx *db.Tx, workspace, id string) (int64, error) {
	did := noted(workspace, id)
	if tx.Dialect() == db.Postgres {
		if _, err := tx.Exec(ctx, beginErasePostgres, door(did)); err != nil {
			return 0, fmt.Errorf("begin an erasure: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, putErasedText, did, s.now()); err != nil {
		return 0, fmt.Errorf("note an erasure: %w", err)
	}
	sum, err := s.eraseAll(ctx, tx, workspace, id)
	if err != nil {
		return 0, err
	}
	all, err := listAbout(ctx, tx, did)
	if err != nil {
		return 0, err
	}
	for _, b := range all {
		n, err := s.Blank(ctx, tx, b)
		if err != nil {
			return 0, err
		}
		if n > 0 {
			sum++
		}
	}
	_, err = tx.Exec(ctx, removeAboutText, did)
	return sum, db.Wrap("forget DID", err)
}

// Remove removes the conversations of a user, and their delegation, as if they had
// never existed. It is for demo users only: Erase forgets a real person. Sweep
// removes the rest.
func (s *Store) Remove(ctx context.Context, tx *db.Tx, user string) error {
	_, err := s.eraseOwn(ctx, tx, user)
	return err
}

// eraseAll removes the conversations of a principal, whatever she came with.
func (s *Store) eraseAll(ctx context.Context, tx *db.Tx, workspace, id string) (int64, error) {
	users, err := listUsers(ctx, tx, workspace, id)
	if err != nil {
		return 0, err
	}
	if workspace == auth.OperatorWorkspace && !slices.Contains(users, id) {
		users = append(users, id) // a delegation can stand alone
	}
	var sum int64
	for _, user := range users {
		n, err := s.eraseOwn(ctx, tx, user)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// eraseOwn removes the conversations of a user, and what she let the oracle do.
func (s *Store) eraseOwn(ctx context.Context, tx *db.Tx, user string) (int64, error) {
	var sum int64
	for {
		own, err := listOwn(ctx, tx, user)
		if err != nil {
			return 0, err
		}
		if len(own) == 0 {
			break
		}
		for _, g := range own {
			if _, err := removeSession(ctx, tx, user, g.Session); err != nil {
				return 0, err
			}
			if err := insertTrash(ctx, tx, g.Number, s.now()); err != nil {
				return 0, err
			}
			tx.AfterCommit(func() { s.gone(context.WithoutCancel(ctx), g) })
			sum++
		}
	}
	for _, p := range s.attached() {
		if p.Left != nil {
			if err := p.Left(ctx, tx, user); err != nil {
				return 0, err
			}
		}
	}
	n, err := tx.Exec(ctx, removeDelegationText, user)
	if err != nil {
		return 0, fmt.Errorf("remove delegation: %w", err)
	}
	_, err = tx.Exec(ctx, removeUserText, user)
	return sum + n, db.Wrap("remove user", err)
}

// Blank blanks what was said in a session from a turn on, and its title, and
// makes all parts do the same. It returns how many messages were not empty.
func (s *Store) Blank(ctx context.Context, tx *db.Tx, from Begun) (int64, error) {
	var sum int64
	for turn, n := from.Turn, int64(-1); ; {
		rows, err := listToBlank(ctx, tx, from.Session, turn, n)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			turn, n = r.turn, r.n
			body, err := blankBody(r.body)
			if err != nil {
				return 0, err
			}
			if body == r.body {
				continue
			}
			if _, err := tx.Exec(ctx, blankMessageText, from.Session, r.turn, r.n, body); err != nil {
				return 0, fmt.Errorf("blank message: %w", err)
			}
			sum++
		}
		if len(rows) == 0 {
			break
		}
	}
	if _, err := tx.Exec(ctx, blankTitleText, from.Session); err != nil {
		return 0, fmt.Errorf("blank title: %w", err)
	}
	if _, err := tx.Exec(ctx, removeDeclaredText, from.Session); err != nil {
		return 0, fmt.Errorf("remove declared tools: %w", err)
	}
	for _, p := range s.attached() {
		if p.Blank != nil {
			if err := p.Blank(ctx, tx, from); err != nil {
				return 0, err
			}
		}
	}
	tx.AfterCommit(func() { s.Forget(from.Session) })
	tx.Changed(Topic, "")
	return sum, nil
}

// Topic is the topic under which other processes learn that conversations were
// blanked, so that they drop cached ones.
const Topic = "conversations"

// BlankAll blanks entries that are not stored yet.
func BlankAll(said []Entry) ([]Entry, error) {
	out := slices.Clone(said)
	for i := range out {
		body, err := blankBody(out[i].body)
		if err != nil {
			return nil, err
		}
		out[i].body, out[i].hidden = body, nil
	}
	return out, nil
}

// blankBody takes everything out of a message but whose it was, and when.
func blankBody(body string) (string, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return "", fmt.Errorf("decode message: %w", err)
	}
	m = Message{ID: m.ID, Type: m.Type, Content: Erased, IsComplete: true, CreatedAt: m.CreatedAt, Aborted: m.Aborted, Interrupted: m.Interrupted}
	e, err := entry(m, hidden{})
	return e.body, err
}

func listAbout(ctx context.Context, q db.Querier, did string) ([]Begun, error) {
	rows, err := q.Query(ctx, listAboutText, did)
	return db.Collect(rows, err, "find conversations", func(b *Begun, row db.Row) error {
		return row.Scan(&b.Session, &b.Turn)
	})
}

func listOwn(ctx context.Context, q db.Querier, user string) ([]Gone, error) {
	rows, err := q.Query(ctx, listOwnText, user)
	return db.Collect(rows, err, "list sessions", func(g *Gone, row db.Row) error {
		g.User = user
		return row.Scan(&g.Number, &g.Session)
	})
}

// toBlank is a message that may have to be blanked.
type toBlank struct {
	turn, n int64
	body    string
}

func listToBlank(ctx context.Context, q db.Querier, session, turn, n int64) ([]toBlank, error) {
	rows, err := q.Query(ctx, listToBlankText, session, turn, n)
	return db.Collect(rows, err, "read messages", func(r *toBlank, row db.Row) error {
		return row.Scan(&r.turn, &r.n, &r.body)
	})
}
