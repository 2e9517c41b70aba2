package history

import (
	"bytes"
	"context"
	"crypto/sha256"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// maxChecked limits the bytes of records that one page of an audit reads.
const maxChecked = 16 << 20

// Audit is the type of package api.
type Audit = api.HistoryAudit

// link is where an audit continues: a revision that is right, and its hash.
type link struct {
	Number int64
	Hash   []byte
}

// follower follows the hashes from revision to revision.
type follower struct {
	last   link
	n      int
	erased int
	bytes  int
	where  int64 // where it is broken; 0 while it is not
	why    string
}

// step checks the next revision and reports whether to go on.
func (c *follower) step(v revision) bool {
	if v.number != c.last.Number+1 {
		c.where, c.why = c.last.Number+1, "missing"
		return false
	}
	c.n++
	h := sha256.New()
	h.Write(c.last.Hash)
	h.Write(v.body)
	if v.erased {
		c.erased++
	} else if !bytes.Equal(h.Sum(nil), v.hash) {
		c.where, c.why = v.number, "changed"
		return false
	}
	c.last = link{Number: v.number, Hash: v.hash}
	c.bytes += len(v.body)
	return c.bytes < maxChecked
}

// audit checks at most limit revisions of a twin after a link, the zero link
// for the first page. next is where to continue, nil at the end. Fault:
// ENTITY_NOT_FOUND.
func (s *Service) audit(ctx context.Context, id string, after link, limit int) (*Audit, *link, error) {
	var a *Audit
	var next *link
	err := db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		r, err := s.cfg.Entities.Find(ctx, q, id)
		if err != nil {
			return err
		}
		w, err := s.see(ctx, q, r)
		if err != nil {
			return err
		}
		c := &follower{last: after}
		if err := chain(ctx, q, stretch{nid: r.NID, first: after.Number + 1, last: r.Revision - 1, limit: limit}, c.step); err != nil {
			return err
		}
		room := c.where == 0 && c.n < limit && c.bytes < maxChecked
		if room && c.last.Number < r.Revision {
			c.step(newest(r))
		}
		next = nil
		if c.where == 0 && c.last.Number < r.Revision {
			next = &c.last
		}
		a = &Audit{
			DID: r.DID, OK: c.where == 0, Checked: c.n, Erased: c.erased, From: after.Number + 1, To: c.last.Number, Revision: r.Revision,
			Hash: w.hash(r.Hash), BrokenAt: c.where, Problem: c.why,
		}
		return nil
	})
	return a, next, err
}
