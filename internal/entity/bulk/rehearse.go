package bulk

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
)

// twinPast is what the rows so far have done to a twin.
type twinPast struct {
	Taken   bool   // there were some
	Changed bool   // they have made or changed it, or may have
	Said    uint64 // hash of what the last of them said; 0 when unknown
}

// rehearsal is a row of a dry run.
type rehearsal struct {
	Draft *entity.Draft
	Says  []byte // everything that it says about an existing twin
	// Again is the outcome of a row that repeats the twin of earlier ones, which
	// have changed it; same means that the last of them said the same. nil for a
	// row that repeats none.
	Again func(ctx context.Context, tx *db.Tx, same bool) (outcome, error)
}

// rehearse is a step of a dry run, which stores nothing that later rows could
// find: it records what happens to a twin. Where earlier rows were refused, or
// have changed nothing, the step itself gives the outcome of one that repeats
// them.
func (n *takenNames) rehearse(r rehearsal, st step) step {
	run := st.Run
	var past *twinPast // as it was when the step ran first: it may run twice
	st.Run = func(ctx context.Context, tx *db.Tx) (o outcome, err error) {
		if past == nil {
			past = &twinPast{}
			if r.Again != nil {
				*past = n.past(r.Draft)
			}
		}
		if past.Changed {
			o, err = r.Again(ctx, tx, past.Said == n.hashOf(r.Says))
		} else {
			o, err = run(ctx, tx)
		}
		switch {
		case err == nil:
			n.take(r.Draft)
			n.tell(r.Draft, past.Changed || o.Action != unchanged, r.Says)
		case exchange.Refusal(err) != nil && !past.Taken:
			n.free(r.Draft)
		}
		return o, err
	}
	return st
}

// tell records what a row of a draft has done to its twin, and what it says.
func (n *takenNames) tell(d *entity.Draft, changed bool, says []byte) {
	for _, name := range namesOf(d) {
		n.told[n.hash(name)] = twinPast{Taken: true, Changed: changed, Said: n.hashOf(says)}
	}
}

// past returns what was done to the twin of a draft under any of its names.
func (n *takenNames) past(d *entity.Draft) twinPast {
	var out twinPast
	for _, name := range namesOf(d) {
		if !n.has(name) {
			continue
		}
		p, known := n.told[n.hash(name)]
		if out.Taken && p.Said != out.Said {
			p.Said = 0 // under another name something else was said last
		}
		out = twinPast{Taken: true, Changed: out.Changed || p.Changed || !known, Said: p.Said}
	}
	return out
}
