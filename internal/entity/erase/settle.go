package erase

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// States of Bytes.
const (
	Pending  = "pending"
	Gone     = "gone"
	Released = "released"
)

// Bytes says whether the bytes of what was erased are still stored.
type Bytes struct {
	State string    `json:"state" enum:"pending,gone,released" doc:"pending: nobody reads them any more, and they are being removed from copies (files of exports and imports, stored answers) and overwritten in the files of the store. gone: they are in no file of the data folder. released: PostgreSQL overwrites the space of old rows when it needs it."`
	At    time.Time `json:"at,omitzero" doc:"When they were gone, or released."`
}

func (s *Service) bytes(doneAt int64) Bytes {
	b := Bytes{State: Pending}
	if doneAt > 0 {
		b.State, b.At = Gone, time.UnixMilli(doneAt).UTC()
		if s.db.Dialect() == db.Postgres {
			b.State = Released
		}
	}
	return b
}

// show adds the state of the bytes to a stored certificate.
func (s *Service) show(body []byte, doneAt int64) []byte {
	if len(body) == 0 {
		return body
	}
	more, err := web.Encode(struct {
		Bytes Bytes `json:"bytes"`
	}{s.bytes(doneAt)})
	if err != nil {
		return body // cannot be: it holds a word and a time
	}
	out := append(make([]byte, 0, len(body)+len(more)), body[:len(body)-1]...)
	return append(append(out, ','), more[1:]...)
}

// How long Run pauses: between two looks when nobody calls, after a failure,
// and after work, as a multiple of its duration, because others need the disk
// too.
const (
	restIdle   = time.Minute
	restFailed = time.Second
	restShare  = 4
)

// nudge makes Run settle what was erased.
func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run settles what this process or an earlier one erased, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	for {
		began := time.Now()
		left, err := s.Settle(ctx)
		wait, wake := restIdle, s.wake
		switch took := time.Since(began); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.cfg.Log.WarnContext(ctx, "bytes of what was erased are not gone yet", "err", err.Error())
			wait, wake = restFailed, nil
		case left:
			wait, wake = max(restFailed, restShare*took), nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// settlePage is how many certificates are settled together.
const settlePage = 100

// Settle removes the copies and the old bytes of everything that was erased, and
// completes the certificates. It reads the whole file of an SQLite store, once for
// all of them. left reports that some wait: for a download, or for copies made
// meanwhile, such as those of transactions that wrote during an erasure. The fault
// is STORE_UNAVAILABLE when a reader holds on to old bytes.
func (s *Service) Settle(ctx context.Context) (left bool, err error) {
	select {
	case s.settling <- struct{}{}:
		defer func() { <-s.settling }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	all, err := listPending(ctx, s.db, 0, settlePage)
	if err != nil || len(all) == 0 {
		return false, err
	}
	if err := s.awaitWriters(ctx); err != nil {
		return false, err
	}
	var done []row
	for _, r := range all {
		late, err := s.eraseLate(ctx, r)
		if err != nil {
			return false, err
		}
		left = left || late
		busy, err := s.dropCopies(ctx, r)
		if err != nil {
			return false, err
		}
		if !busy {
			done = append(done, r)
		}
	}
	if len(done) > 0 {
		if err := s.db.Scrub(ctx); err != nil {
			return false, err
		}
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		for _, r := range done {
			if err := markDone(ctx, tx, r, s.cfg.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	return left || len(done) < len(all) || len(all) == settlePage, err
}

// writersWait is how long earlier transactions may take: longer than any request.
const writersWait = 30 * time.Second

// awaitWriters waits for transactions that were writing during an erasure. One that does
// not end is an error, so that it is logged and tried again.
func (s *Service) awaitWriters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writersWait)
	defer cancel()
	return db.Wrap("wait for those who were writing during an erasure", db.AwaitWriters(ctx, s.db))
}

// eraseLate erases what others were writing during an erasure: on PostgreSQL an erasure
// does not see it, and waits for it only where it locks the same row or where both hold
// the lock of a household (vault.HoldErasures). It reports whether there was anything,
// which then has a certificate of its own. Data that a rule protects by now, such as
// that of the last owner, is logged and stays.
func (s *Service) eraseLate(ctx context.Context, r row) (late bool, err error) {
	if s.db.Dialect() != db.Postgres {
		return false, nil // one writes at a time, and an erasure has seen it all
	}
	var before Certificate
	if err := json.Unmarshal(r.body, &before); err != nil {
		return false, fmt.Errorf("read certificate: %w", err)
	}
	// Whoever had it erased had every right this takes, and none of the keys it ended.
	owner := web.WithCaller(ctx, web.Caller{Workspace: r.ws, DID: before.By, Scopes: auth.Effective(r.ws, []string{"*"})})
	_, late, err = s.erase(owner, Draft{Subject: r.subject, Reason: before.Reason})
	if k := fault.KindOf(err); fault.As(err) != nil && k != fault.Unavailable {
		s.cfg.Log.WarnContext(ctx, "not erased once more", "certificate", idOf(r.nid), "code", fault.CodeOf(err))
		return false, nil
	}
	return late, err
}

// dropCopies removes the copies of what was erased with one certificate. It
// reports whether one of them is still in use.
func (s *Service) dropCopies(ctx context.Context, r row) (busy bool, err error) {
	names, err := s.cfg.Names(ctx, r.ws, r.subject)
	if err != nil {
		return false, err
	}
	names = append([]string{r.subject}, names...)
	for _, drop := range s.cfg.Copies {
		left, err := drop(ctx, r.ws, names)
		if err != nil {
			return false, err
		}
		busy = busy || left
	}
	return busy, nil
}
