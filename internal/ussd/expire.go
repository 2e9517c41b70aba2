package ussd

import (
	"context"
	"errors"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// sweepChunk is how many rows one transaction of a sweep removes: what every
// other writer waits for.
const sweepChunk = 100

// Run sweeps until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	t := time.NewTicker(sweepInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.Flush(context.WithoutCancel(ctx))
		case <-t.C:
		}
		if err := s.tally.flush(ctx, s.db, s.now()); err != nil {
			s.log.WarnContext(ctx, "store counts of USSD nodes", "err", err.Error())
		}
		if err := s.Expire(ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.log.WarnContext(ctx, "sweep USSD sessions", "err", err.Error())
		}
	}
}

// Expire removes ended sessions, whose walks it keeps, old drafts, and expired calls.
// It also counts the live sessions. Several instances may do it at once.
func (s *Service) Expire(ctx context.Context) error {
	if err := s.expireSessions(ctx); err != nil {
		return err
	}
	now := s.now()
	for _, sweep := range []func() (int64, error){
		func() (int64, error) { return expireDrafts(ctx, s.db, now.UnixMilli(), sweepChunk) },
		func() (int64, error) { return expireCalls(ctx, s.db, now.Add(-callAge).UnixMilli(), sweepChunk) },
		func() (int64, error) { return expireWalks(ctx, s.db, kept(now), sweepChunk) },
	} {
		for {
			n, err := sweep()
			if err != nil {
				return err
			}
			if n < sweepChunk {
				break
			}
		}
	}
	return dropVisits(ctx, s.db, now.Add(-visitsKept))
}

// kept is since when (ms) a call must have ended to be shown.
func kept(now time.Time) int64 { return now.Add(-callAge).UnixMilli() }

// Flush stores the counts at the nodes of menus. Run does so from time to time,
// and when it ends.
func (s *Service) Flush(ctx context.Context) error { return s.tally.flush(ctx, s.db, s.now()) }

// expireSessions walks all sessions by key, a page at a time. One that had an
// effect stays for a while, so that a late copy does not repeat it.
func (s *Service) expireSessions(ctx context.Context) error {
	from := ""
	var live int64
	for {
		rows, err := after(ctx, s.db, from, sweepChunk)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			s.live.Store(live)
			return nil
		}
		from = rows[len(rows)-1].id
		now := s.now()
		var over []*row
		for _, r := range rows {
			age := now.Sub(time.UnixMilli(r.expires))
			switch {
			case age < 0 && !r.done():
				live++
			case age >= 0 && (!r.effective() || age > effectAge):
				over = append(over, r)
			}
		}
		if err := s.drop(ctx, over); err != nil {
			return err
		}
	}
}

// drop removes sessions, unless they were resumed meanwhile.
func (s *Service) drop(ctx context.Context, over []*row) error {
	if len(over) == 0 {
		return nil
	}
	removed, silent := make([]bool, len(over)), make([]*record, len(over))
	walks := make([]*walked, len(over))
	for i, r := range over {
		if r.done() {
			continue // its end was stored with its last screen
		}
		k := readKey(r.id)
		if rec, err := readRecord(r.state, &k, s.box); err == nil && !rec.begins() {
			silent[i], walks[i] = rec, walkOf(s.marks, &k, rec, endingExpired, rec.updated/1000)
		}
	}
	err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		for i, r := range over {
			if removed[i], err = remove(ctx, tx, r); err != nil {
				return err
			}
			if !removed[i] || walks[i] == nil {
				continue
			}
			if err := walks[i].putOnce(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, rec := range silent {
		if !removed[i] || rec == nil {
			continue
		}
		s.tally.count(spot{rec.state.Pack, rec.state.Node, s.cfg.Sample(readKey(over[i].id).phone)}, counts{dropped: 1})
		if s.cfg.Dropped != nil {
			s.cfg.Dropped(rec.state.Node)
		}
	}
	return nil
}
