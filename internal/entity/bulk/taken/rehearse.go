package taken

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/chunk"
)

// Past is what the rows so far have done to a twin.
type Past struct {
	Taken   bool   // there were some
	Changed bool   // they have made or changed it, or may have
	Said    uint64 // hash of what the last of them said; 0 when that is not known
}

// Row is a row of a dry run.
type Row struct {
	Draft *entity.Draft
	Says  []byte // all that it says of a twin that is there
	// Again is what becomes of a row that repeats the twin of earlier ones, which
	// have changed it; same means that the last of them said the same. nil for a
	// row that repeats none.
	Again func(ctx context.Context, tx *db.Tx, same bool) (chunk.Outcome, error)
}

// Rehearse is a step of a dry run, which stores nothing that later rows find: it
// notes what becomes of a twin. Where earlier rows were refused, or have changed
// nothing, the step itself tells what becomes of one that repeats them.
func (n *Names) Rehearse(r Row, st chunk.Step) chunk.Step {
	run := st.Run
	var past *Past // as it was when the step ran first: it may run twice
	st.Run = func(ctx context.Context, tx *db.Tx) (o chunk.Outcome, err error) {
		if past == nil {
			past = &Past{}
			if r.Again != nil {
				*past = n.Past(r.Draft)
			}
		}
		if past.Changed {
			o, err = r.Again(ctx, tx, past.Said == n.Hash(r.Says))
		} else {
			o, err = run(ctx, tx)
		}
		switch {
		case err == nil:
			n.Take(r.Draft)
			n.Tell(r.Draft, past.Changed || o.Action != chunk.Unchanged, r.Says)
		case chunk.Refusal(err) != nil && !past.Taken:
			n.Free(r.Draft)
		}
		return o, err
	}
	return st
}

// Tell notes what a row of a draft has done to its twin, and what it says.
func (n *Names) Tell(d *entity.Draft, changed bool, says []byte) {
	for _, name := range Of(d) {
		n.told[n.hash(name)] = Past{Taken: true, Changed: changed, Said: n.Hash(says)}
	}
}

// Past tells what was done to the twin of a draft under any of its names.
func (n *Names) Past(d *entity.Draft) Past {
	var out Past
	for _, name := range Of(d) {
		if !n.Has(name) {
			continue
		}
		p, known := n.told[n.hash(name)]
		if out.Taken && p.Said != out.Said {
			p.Said = 0 // under another name something else was said last
		}
		out = Past{Taken: true, Changed: out.Changed || p.Changed || !known, Said: p.Said}
	}
	return out
}
