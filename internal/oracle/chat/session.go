package chat

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// CreateSession makes an empty session of a user.
func (s *Store) CreateSession(ctx context.Context, user string) (Session, error) {
	now := s.now()
	r := &sessionRow{nid: s.cfg.DB.NewNID(), user: user, id: newSessionID(), title: Untitled, created: now, updated: now}
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := countSession(ctx, tx, user, 1); err != nil {
			return err
		}
		_, err := insertSession(ctx, tx, r)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	return s.show(r), nil
}

// FindThread returns the session that holds a conversation of another protocol, or one
// without an id when it is new. The client chooses the name of such a conversation: it
// may be the id of a session of the user, and otherwise means one whose id follows
// from the user and the name. So the name of another user's conversation means a new
// one.
func FindThread(ctx context.Context, s *Store, user, name string) (Session, error) {
	known := []string{threadID(user, name)}
	if strings.HasPrefix(name, idMark) {
		known = append(known, name)
	}
	for _, one := range known {
		if got, err := s.Session(ctx, user, one); !isMissing(err) {
			return got, err
		}
	}
	return Session{}, nil
}

// OpenThread returns the session that FindThread finds, and makes it if it is new.
func (s *Store) OpenThread(ctx context.Context, user, name string) (Session, error) {
	if got, err := FindThread(ctx, s, user, name); err != nil || got.ID != "" {
		return got, err
	}
	id, now := threadID(user, name), s.now()
	r := &sessionRow{nid: s.cfg.DB.NewNID(), user: user, id: id, title: Untitled, created: now, updated: now}
	var fresh bool
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		if err := countSession(ctx, tx, user, 1); err != nil {
			return err
		}
		if fresh, err = insertSession(ctx, tx, r); err != nil || fresh {
			return err
		}
		return countSession(ctx, tx, user, -1) // of two requests at once the other was faster
	})
	switch {
	case err != nil:
		return Session{}, err
	case fresh:
		return s.show(r), nil
	}
	return s.Session(ctx, user, id)
}

// DropThread removes the conversation that OpenThread has made under a name when nothing
// was ever said in it, because the first message was refused.
func DropThread(ctx context.Context, s *Store, user, name string) error {
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := countSession(ctx, tx, user, -1); err != nil {
			return err
		}
		var nid int64
		return tx.QueryRow(ctx, removeEmptyText, user, threadID(user, name)).Scan(&nid)
	})
	if errors.Is(err, sql.ErrNoRows) { // it is in use, or is not of that kind
		return nil
	}
	return db.Wrap("remove empty conversation", err)
}

// threadID is the id of the session of a conversation of another protocol, in the
// form of all ids.
func threadID(user, name string) string {
	sum := sha256.Sum256([]byte("thread\n" + user + "\n" + name))
	return idMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// ListSessions returns sessions of a user, the last used first, at most
// MaxSessions, and how many there are in all.
func (s *Store) ListSessions(ctx context.Context, user string, limit, offset int) (sessions []Session, total int64, err error) {
	sessions = []Session{}
	err = s.cfg.DB.View(ctx, func(q db.Querier) error {
		if total, err = countOf(ctx, q, user); err != nil || total <= int64(offset) {
			return err
		}
		rows, err := listSessions(ctx, q, user, min(max(limit, 1), MaxSessions), max(offset, 0))
		for _, r := range rows {
			sessions = append(sessions, s.show(r))
		}
		return err
	})
	return sessions, total, err
}

// Session reads a session of a user. The fault for one that does not exist or
// belongs to somebody else is SESSION_NOT_FOUND.
func (s *Store) Session(ctx context.Context, user, id string) (Session, error) {
	r, err := findSession(ctx, s.cfg.DB, user, id)
	if err != nil {
		return Session{}, err
	}
	return s.show(r), nil
}

// Number is the number that rows of other packages use for a session of a user.
// The fault is SESSION_NOT_FOUND.
func (s *Store) Number(ctx context.Context, user, id string) (int64, error) {
	r, err := findSession(ctx, s.cfg.DB, user, id)
	if err != nil {
		return 0, err
	}
	return r.nid, nil
}

// Owns reports whether a user has a session.
func (s *Store) Owns(ctx context.Context, user, id string) (bool, error) {
	_, err := findSession(ctx, s.cfg.DB, user, id)
	if isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// Hold returns the number of a session of a user and keeps the session from being
// deleted before the end of the transaction. The fault for one that does not
// exist or belongs to somebody else is SESSION_NOT_FOUND.
func Hold(ctx context.Context, tx *db.Tx, user, id string) (int64, error) {
	return holdSession(ctx, tx, user, id)
}

// SetTitle gives a session its title. It returns false, and changes nothing,
// when the session has one already or is gone, or when the title is empty.
func (s *Store) SetTitle(ctx context.Context, user, id, title string) (bool, error) {
	if title = cleanTitle(title); title == "" || title == Untitled {
		return false, nil
	}
	var set bool
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		set, err = updateTitle(ctx, tx, user, id, title)
		return err
	})
	return set && err == nil, err
}

// cleanTitle makes a title one line of a bearable length.
func cleanTitle(title string) string {
	title = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, title)
	title = strings.Join(strings.Fields(title), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle-1]) + "…"
	}
	return title
}

// Declared returns the tools and actions that the user's page last declared in
// a session, as JSON; nil when it never did.
func (s *Store) Declared(ctx context.Context, user, id string) ([]byte, error) {
	return findDeclared(ctx, s.cfg.DB, user, id)
}

// DeleteSession removes a session of a user with everything in it. The session
// is gone with the first transaction; its rows follow a chunk at a time, and
// Sweep removes what a crash leaves behind. The fault for one that does not
// exist or belongs to somebody else is SESSION_NOT_FOUND.
func (s *Store) DeleteSession(ctx context.Context, user, id string) error {
	var nid int64
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		// The counter first: all who change both take them in this order.
		if err := countSession(ctx, tx, user, -1); err != nil {
			return err
		}
		if nid, err = removeSession(ctx, tx, user, id); err != nil {
			return err
		}
		return insertTrash(ctx, tx, nid, s.now())
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is gone for all, whether its client waits for that or not
	s.gone(ctx, Gone{User: user, Session: id, Number: nid})
	// The caller has what it asked for; Sweep removes the rest.
	if err := s.empty(ctx, nid, chunk); err != nil {
		s.cfg.Log.WarnContext(ctx, "rows of a deleted session are left for the sweep", "err", err)
	}
	return nil
}

// gone tells all parts and instances that a session was deleted.
func (s *Store) gone(ctx context.Context, g Gone) {
	s.Forget(g.Number)
	for _, p := range s.attached() {
		if p.Deleted != nil {
			p.Deleted(ctx, g)
		}
	}
}

// Forget drops a deleted session from the caches of this store and of all
// parts. It would not be shown any more, but deleted data must not remain
// anywhere.
func (s *Store) Forget(session int64) {
	s.recall.drop(session)
	s.forgotten(session)
}

// ForgetAll drops all sessions from the caches, because any of them may have
// been deleted.
func (s *Store) ForgetAll() {
	s.recall.clear()
	s.forgotten(0)
}

func (s *Store) forgotten(session int64) {
	for _, p := range s.attached() {
		if p.Forget != nil {
			p.Forget(session)
		}
	}
}

// chunk is how many rows one transaction removes: what every other writer
// waits for.
const chunk = 100

// empty removes all rows of a deleted session.
func (s *Store) empty(ctx context.Context, nid int64, limit int) error {
	for {
		n, err := s.shrink(ctx, nid, limit)
		if err != nil || n == 0 {
			return err
		}
	}
}

// shrink removes at most limit rows of a deleted session, and its last trace
// once no other is left.
func (s *Store) shrink(ctx context.Context, nid int64, limit int) (int, error) {
	var removed int64
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		removed, err = s.shrinkIn(ctx, tx, nid, int64(limit))
		return err
	})
	return int(removed), err
}

func (s *Store) shrinkIn(ctx context.Context, tx *db.Tx, nid, limit int64) (int64, error) {
	var removed int64
	for _, p := range s.attached() {
		if p.Shrink == nil || removed >= limit {
			continue
		}
		n, err := p.Shrink(ctx, tx, nid, int(limit-removed))
		if err != nil {
			return 0, err
		}
		removed += n
	}
	if removed < limit {
		n, err := shrinkMessages(ctx, tx, nid, limit-removed)
		if err != nil {
			return 0, err
		}
		removed += n
	}
	if removed >= limit {
		return removed, nil // there may be more
	}
	n, err := removeTraces(ctx, tx, nid)
	return removed + n, err
}

// Sweep continues removing deleted sessions, at most limit rows in one
// transaction, and expired delegations. It returns how many rows it removed;
// call it until it removes none.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	nid, err := oldestTrash(ctx, s.cfg.DB)
	if err != nil {
		return 0, err
	}
	if nid != 0 {
		return s.shrink(ctx, nid, limit)
	}
	return expireDelegations(ctx, s.cfg.DB, s.cfg.Now().Unix(), limit)
}

func (s *Store) show(r *sessionRow) Session {
	return Session{
		ID: r.id, Title: r.title, LastUpdatedAt: stamp(r.updated), CreatedAt: stamp(r.created),
		OracleName: s.cfg.OracleName, OracleDID: s.cfg.OracleDID, OracleEntityDID: s.cfg.OracleEntityDID,
		Turns: r.turns, Run: r.run,
	}
}
