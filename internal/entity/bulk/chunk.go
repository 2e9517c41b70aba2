package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Words for what became of a change.
const (
	created   = "created"
	updated   = "updated"
	unchanged = "unchanged"
	migrated  = "migrated"
	skipped   = "skipped"
	refused   = "refused"
)

// outcome is what became of one change.
type outcome struct {
	DID      string
	Revision int64
	Relation string // id of a relationship
	Action   string
	Bytes    int           // of the record that was written
	Body     []byte        // the record, for callers who use All for it
	Warnings []fault.Field // deviations from the request of a step that was done
	Err      *fault.Error  // set when it was refused
}

// step is one change to store. A fault of Run that the caller may mend is the
// outcome of the step; any other error ends the chunk.
type step struct {
	Run   func(ctx context.Context, tx *db.Tx) (outcome, error)
	Done  *outcome // known before, as when it was refused while it was prepared
	Bytes int      // of the record it will write, if that is known; for All
}

// refuse is a step that was refused before it ran.
func refuse(did string, f *fault.Error) step {
	return step{Done: &outcome{DID: did, Action: refused, Err: f}}
}

// chunk is steps that are stored together if they can be. Other writers wait
// for it, and every transaction costs a write to the disk: so it is some fifty
// changes. There are no savepoints, so when one change is refused the others
// are stored again without it.
type chunk struct {
	Steps []step
	// Seal stores additional data of the steps, in their transaction. out are
	// the outcomes so far; those before first were sealed before. It may run
	// twice.
	Seal func(ctx context.Context, tx *db.Tx, out []outcome, first int) error
	Dry  bool // try the steps, store what Seal does only
	// All does some of the steps at once, which are in ascending order, and
	// returns their outcomes. When any is refused it fails with that fault or
	// with errSome; then they run one by one, as they do without All.
	All  func(ctx context.Context, tx *db.Tx, steps []int) ([]outcome, error)
	Pace *pace // shared by the chunks of one work; a new one by default
}

// errSome is what All returns when it does not know which step is refused.
var errSome = errors.New("some of the steps are refused")

// maxRetries is how often a chunk is tried again without the step that was
// refused, before each step gets a transaction of its own.
const maxRetries = 3

// ChunkRows limits the steps of a chunk.
const ChunkRows = 50

// maxChunk is how many bytes of records fill a transaction.
const maxChunk = 512 << 10

var (
	errRefused = errors.New("a step was refused")
	errDry     = errors.New("dry run")
)

// storeChunk runs the steps of a chunk and returns what became of each. Steps that
// write much, or take long, get several transactions: other writers wait.
func storeChunk(ctx context.Context, d *db.DB, c chunk) ([]outcome, error) {
	if c.Pace == nil {
		c.Pace = newPace(d)
	}
	p := &progress{chunk: c, db: d, out: make([]outcome, len(c.Steps)), known: make([]bool, len(c.Steps))}
	for i, st := range c.Steps {
		if st.Done != nil {
			p.out[i], p.known[i] = *st.Done, true
		}
	}
	for retries := 0; retries < maxRetries; {
		failed, err := p.attempt(ctx)
		switch {
		case errors.Is(err, errRefused):
			p.known[failed] = true
			retries++
		case err != nil:
			return nil, err
		case p.first == len(p.out):
			return p.out, nil
		}
	}
	return p.out, p.oneByOne(ctx)
}

// progress is how far a chunk has come.
type progress struct {
	chunk
	db    *db.DB
	out   []outcome
	known []bool // whose outcome stands
	first int    // of those that are not sealed
}

// attempt runs the steps whose outcome is not known in one transaction, until
// it is full. When one is refused its outcome and number are set, and nothing
// is stored.
func (p *progress) attempt(ctx context.Context) (failed int, err error) {
	var fresh []outcome
	var end int
	var took time.Duration
	err = p.db.InTx(ctx, func(tx *db.Tx) (err error) {
		begun := time.Now()
		defer func() { took = time.Since(begun) }()
		fresh = slices.Clone(p.out)
		if p.All != nil {
			end, err = p.together(ctx, tx, fresh)
		} else {
			end, failed, err = p.steps(ctx, tx, fresh)
		}
		if err != nil {
			return err
		}
		if p.Dry {
			return errDry
		}
		return p.Seal(ctx, tx, fresh[:end], p.first)
	})
	if err == nil {
		p.Pace.note(end-p.first, took)
	}
	p.Pace.give(ctx, took)
	switch {
	case errors.Is(err, errRefused):
		p.out[failed] = fresh[failed]
		return failed, err
	case p.All != nil && (errors.Is(err, errSome) || exchange.Refusal(err) != nil):
		p.All = nil
		return p.attempt(ctx)
	case errors.Is(err, errDry):
		err = p.db.InTx(ctx, func(tx *db.Tx) error { return p.Seal(ctx, tx, fresh[:end], p.first) })
	}
	if err != nil {
		return -1, err
	}
	copy(p.out, fresh[:end])
	p.first = end
	return -1, nil
}

// together does the next steps at once into out, as many as a transaction may
// have, and returns their end.
func (p *progress) together(ctx context.Context, tx *db.Tx, out []outcome) (end int, err error) {
	most, _ := p.Pace.bounds(len(out))
	var steps []int
	size := 0
	for end = p.first; end < len(out) && len(steps) < most && size < maxChunk; end++ {
		if !p.known[end] {
			steps = append(steps, end)
			size += p.Steps[end].Bytes
		}
	}
	if len(steps) == 0 {
		return end, nil
	}
	done, err := p.All(ctx, tx, steps)
	if err != nil {
		return 0, err
	}
	for i, n := range steps {
		out[n] = done[i]
	}
	return end, nil
}

// steps runs steps into out until a transaction is full, and returns the end of
// those that are done, or which was refused.
func (p *progress) steps(ctx context.Context, tx *db.Tx, out []outcome) (end, failed int, err error) {
	_, limit := p.Pace.bounds(0)
	begun, size := time.Now(), 0
	for i := p.first; i < len(out); i++ {
		if p.known[i] {
			continue
		}
		if out[i], err = runStep(ctx, tx, p.Steps[i]); err != nil {
			return 0, -1, err
		}
		if out[i].Err != nil {
			return 0, i, errRefused
		}
		if size += out[i].Bytes; size >= maxChunk || time.Since(begun) >= limit {
			return i + 1, -1, nil
		}
	}
	return len(out), -1, nil
}

// oneByOne gives each step a transaction. Outcomes without one are stored with
// the next that has, or at the end.
func (p *progress) oneByOne(ctx context.Context) error {
	for i := p.first; i < len(p.out); i++ {
		if p.known[i] {
			continue
		}
		var one outcome
		err := p.db.InTx(ctx, func(tx *db.Tx) (err error) {
			if one, err = runStep(ctx, tx, p.Steps[i]); err != nil {
				return err
			}
			switch {
			case one.Err != nil:
				return errRefused
			case p.Dry:
				return errDry
			}
			p.out[i] = one
			return p.Seal(ctx, tx, p.out[:i+1], p.first)
		})
		switch {
		case errors.Is(err, errRefused), errors.Is(err, errDry):
			p.out[i] = one
		case err != nil:
			return err
		default:
			p.first = i + 1
		}
	}
	if p.first == len(p.out) {
		return nil
	}
	return p.db.InTx(ctx, func(tx *db.Tx) error { return p.Seal(ctx, tx, p.out, p.first) })
}

// runStep runs one step and takes a refusal for its outcome.
func runStep(ctx context.Context, tx *db.Tx, st step) (outcome, error) {
	o, err := st.Run(ctx, tx)
	if err == nil {
		return o, nil
	}
	f := exchange.Refusal(err)
	if f == nil {
		return outcome{}, fmt.Errorf("store row: %w", err)
	}
	return outcome{DID: o.DID, Action: refused, Err: f}, nil
}

// allOf stores new twins some at a time; nil when not every step makes one. If
// a twin did not exist when its row was prepared and exists now, by an earlier
// row or a concurrent request, the name of the row is taken: then all run one
// by one.
func allOf(ents *entity.Service, steps []step, made []*entity.Prepared) func(context.Context, *db.Tx, []int) ([]outcome, error) {
	for i, p := range made {
		if p == nil && steps[i].Done == nil {
			return nil
		}
	}
	return func(ctx context.Context, tx *db.Tx, steps []int) ([]outcome, error) {
		list := make([]*entity.Prepared, len(steps))
		for i, n := range steps {
			list[i] = made[n]
		}
		return storeAll(ctx, tx, ents, list)
	}
}

// storeAll stores new twins. The error is errSome or a fault when some
// are refused.
func storeAll(ctx context.Context, tx *db.Tx, ents *entity.Service, list []*entity.Prepared) ([]outcome, error) {
	rows, err := ents.StoreAllTx(ctx, tx, list)
	if errors.Is(err, entity.ErrTaken) {
		return nil, errSome
	} else if err != nil {
		return nil, err
	}
	out := make([]outcome, len(rows))
	for i, r := range rows {
		out[i] = outcome{DID: r.DID, Revision: r.Revision, Action: created, Bytes: len(r.Body), Body: r.Body}
	}
	return out, nil
}
