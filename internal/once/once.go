// Package once runs a use case at most once per Idempotency-Key. The key, what
// the use case stored and the answer are one transaction, so a client that
// sends again after a lost answer, a crash or a restart gets the first answer
// and never a second effect.
//
// A key belongs to a workspace and a principal: nobody else finds the answer
// with the same key. A refused request leaves no key behind, so a corrected one
// may use it. Resources whose id the client chooses need none of this; their
// primary key does the same.
package once

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Store.
type Config struct {
	DB  *db.DB
	Key secret.Key       // seals the answers
	Now func() time.Time // the clock of the store by default
}

// Store keeps the answers.
type Store struct {
	db    *db.DB
	plain bool
	box   secret.Box
	seen  *seen
	now   func() time.Time
}

// New makes a Store.
func New(cfg Config) *Store {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Store{db: cfg.DB, box: cfg.Key.Box("idem"), seen: newSeen(cfg.DB), now: cfg.Now}
}

// Plain makes a Store that keeps no answers: Do is then just a transaction,
// with or without a key. It is for programs that serve no requests, and for
// tests.
func Plain(d *db.DB) *Store { return &Store{db: d, plain: true} }

// Do runs fn in a transaction, at most once for the Idempotency-Key of the
// request in ctx, and returns its answer or the stored one. Both have Raw set
// to the same bytes; the stored one has Replayed set and no Value. Without a
// key, and for an unknown caller, fn just runs.
//
// fn obeys the rules of db.InTx: it may run twice and touches only tx and
// locals. Its faults are returned unchanged and roll the key back. Faults of Do
// itself: IDEMPOTENCY_KEY_REUSED when the key was used for another request,
// IDEMPOTENCY_IN_PROGRESS when the first one is still running, and
// IDEMPOTENCY_ANSWER_LOST when the request was done but its answer cannot be
// shown again.
func Do[T any](ctx context.Context, s *Store, fn func(tx *db.Tx) (web.Reply[T], error)) (web.Reply[T], error) {
	return run(ctx, s, nil, fn)
}

// Refuse answers with err, unless the same request was done before under its
// key: then its own effect may be the reason for err.
func Refuse[T any](ctx context.Context, s *Store, err error) (web.Reply[T], error) {
	var none web.Reply[T]
	if web.IdempotencyFrom(ctx).Key == "" {
		return none, err
	}
	return Do(ctx, s, func(*db.Tx) (web.Reply[T], error) { return none, err })
}

// DoAs is Do for an answer that is known before the transaction and whose Raw
// is set: it is sealed outside, and stored in one statement with its key.
func DoAs[T any](ctx context.Context, s *Store, known web.Reply[T], fn func(tx *db.Tx) error) (web.Reply[T], error) {
	return run(ctx, s, &known, func(tx *db.Tx) (web.Reply[T], error) { return known, fn(tx) })
}

func run[T any](ctx context.Context, s *Store, known *web.Reply[T], fn func(tx *db.Tx) (web.Reply[T], error)) (fresh web.Reply[T], err error) {
	var before *answer
	if known != nil {
		before = answerOf(known)
	}
	stored, err := s.run(ctx, before, func(tx *db.Tx, kept bool) (*answer, error) {
		var err error
		if fresh, err = fn(tx); err != nil || !kept {
			return nil, err
		}
		if fresh.Raw == nil { // the bytes sent now are the ones sent later
			if fresh.Raw, err = web.Encode(fresh.Value); err != nil {
				return nil, err
			}
		}
		return answerOf(&fresh), nil
	})
	switch {
	case err != nil:
		return web.Reply[T]{}, err
	case stored != nil:
		return web.Reply[T]{Raw: stored.body, Status: stored.Status, ETag: stored.ETag, Location: stored.Location, Link: stored.Link, Replayed: true}, nil
	}
	return fresh, nil
}

func answerOf[T any](r *web.Reply[T]) *answer {
	return &answer{Status: r.Status, ETag: r.ETag, Location: r.Location, Link: r.Link, body: r.Raw}
}

// run is the part of Do that is common to answers of all types. It returns the
// stored answer, or nil once fn has run; kept tells fn whether what it returns is
// stored.
func (s *Store) run(ctx context.Context, known *answer, fn func(tx *db.Tx, kept bool) (*answer, error)) (stored *answer, err error) {
	n, ok := nameOf(ctx)
	if !ok || s.plain {
		return nil, s.db.InTx(ctx, func(tx *db.Tx) error {
			_, err := fn(tx, false)
			return err
		})
	}
	if s.seen.maybe(n) {
		if stored, err = s.look(ctx, s.db, n); err != nil || stored != nil {
			return stored, err
		}
	}
	defer s.seen.note(n) // in any case, because it may come again
	var sealed []byte
	if known != nil {
		if sealed, err = s.seal(n, *known); err != nil {
			return nil, err
		}
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		stored = nil
		taken, err := s.take(ctx, tx, n, sealed)
		if err != nil || !taken {
			stored, err = s.settled(ctx, tx, n, err)
			return err
		}
		fresh, err := fn(tx, known == nil)
		if err != nil || known != nil {
			return err
		}
		sealed, err := s.seal(n, *fresh)
		if err != nil {
			return err
		}
		return update(ctx, tx, n, sealed)
	})
	return stored, err
}

// name is whose key it is, which, and for what request.
type name struct {
	ws      string
	key     [sha256.Size]byte
	request [sha256.Size]byte
}

// nameOf reads the name off a request.
func nameOf(ctx context.Context) (name, bool) {
	key, ok := Digest(ctx)
	return name{ws: web.CallerFrom(ctx).Workspace, key: key, request: web.IdempotencyFrom(ctx).Hash}, ok
}

// Digest identifies the Idempotency-Key of a request in its workspace; false
// when it has none. The key belongs to the credential of the request, not to
// its principal: another key of the same principal, or the same DID with
// another did:key, may have fewer rights, and an answer can hold a secret.
func Digest(ctx context.Context) (sum [sha256.Size]byte, ok bool) {
	c, k := web.CallerFrom(ctx), web.IdempotencyFrom(ctx)
	if k.Key == "" || !c.Known() {
		return sum, false
	}
	var msg []byte
	for _, part := range []string{c.DID, c.Key, c.Signer, k.Key} {
		msg = binary.AppendUvarint(msg, uint64(len(part)))
		msg = append(msg, part...)
	}
	return sha256.Sum256(msg), true
}

// look finds the answer stored for n; nil when there is none yet.
func (s *Store) look(ctx context.Context, q db.Querier, n name) (*answer, error) {
	request, sealed, err := find(ctx, q, n)
	switch {
	case err != nil:
		return nil, err
	case request == nil:
		return nil, nil
	case string(request) != string(n.request[:]):
		return nil, fault.New(fault.Unprocessable, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another request.").
			With(fault.Field{Pointer: "header/Idempotency-Key", Code: "reused", Detail: "Use a new key for a new request."})
	}
	return s.open(n, sealed)
}

// take stores n, with its answer if that is known already; false when another
// request was first.
func (s *Store) take(ctx context.Context, tx *db.Tx, n name, sealed []byte) (bool, error) {
	return insert(ctx, tx, n, s.now().UnixMilli(), sealed)
}

// settled is the answer of the first request, when n could not be taken. On
// PostgreSQL the second waits for the first; err is set when it waited too
// long.
func (s *Store) settled(ctx context.Context, tx *db.Tx, n name, err error) (*answer, error) {
	switch {
	case db.IsLocked(err):
		return nil, errBusy().Wrap(err)
	case err != nil:
		return nil, err
	}
	a, err := s.look(ctx, tx, n)
	if err == nil && a == nil { // it expired between two statements
		return nil, errBusy().Wrap(errors.New("the row of the key is gone"))
	}
	return a, err
}

func errBusy() *fault.Error {
	return fault.New(fault.Conflict, "IDEMPOTENCY_IN_PROGRESS", "A request with this Idempotency-Key is still being worked on.").
		After(time.Second)
}

// forgetChunk is how many answers one transaction blanks.
const forgetChunk = 100

// Forget blanks the answers of a workspace that contain one of names, such as
// the DID of an erased person. Their keys stay: a request that is sent again is
// told that its answer is gone, and not done twice. It reads all answers, so it
// is for background work.
func (s *Store) Forget(ctx context.Context, ws string, names []string) error {
	for after := []byte{}; ; {
		some, err := nextAnswers(ctx, s.db, ws, after, forgetChunk)
		if err != nil || len(some) == 0 {
			return err
		}
		var gone []name
		for _, k := range some {
			after = k.name.key[:]
			if a, err := s.open(k.name, k.sealed); err == nil && a.names(names) {
				gone = append(gone, k.name)
			}
		}
		if len(gone) == 0 {
			continue
		}
		err = s.db.InTx(ctx, func(tx *db.Tx) error {
			for _, n := range gone {
				if err := update(ctx, tx, n, []byte(blank)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// Expire removes at most limit answers stored before a time, the oldest first,
// in one transaction, and returns how many. Call it until it removes none.
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	return remove(ctx, s.db, before.UnixMilli(), limit)
}
