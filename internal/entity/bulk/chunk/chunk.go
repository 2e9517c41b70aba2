// Package chunk stores many small changes together, as far as they can be.
// Other writers wait for a chunk, and every transaction costs a write to the
// disk: so a chunk is some fifty changes. There are no savepoints, so when one
// change is refused the others are stored again without it.
package chunk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Words for what became of a change.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Migrated  = "migrated"
	Skipped   = "skipped"
	Refused   = "refused"
)

// Outcome is what became of one change.
type Outcome struct {
	DID      string
	Revision int64
	Relation string // id of an edge
	Action   string
	Err      *fault.Error // set when it was refused
}

// Step is one change to store. A fault of Run that the caller may mend is the
// outcome of the step; any other error ends the chunk.
type Step struct {
	Run  func(ctx context.Context, tx *db.Tx) (Outcome, error)
	Done *Outcome // known before, as when it was refused while it was prepared
}

// Refuse is a step that was refused before it ran.
func Refuse(did string, f *fault.Error) Step {
	return Step{Done: &Outcome{DID: did, Action: Refused, Err: f}}
}

// Refusal is the fault in err that a caller may mend. Trouble of ours or of the
// store is none: nil.
func Refusal(err error) *fault.Error {
	f := fault.As(err)
	if f == nil || f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		return nil
	}
	return f
}

// Chunk is steps that are stored together if they can be.
type Chunk struct {
	Steps []Step
	// Seal stores what is to be stored with the steps, in their transaction. out
	// are the outcomes so far; those before first were sealed before. It may run
	// twice.
	Seal func(ctx context.Context, tx *db.Tx, out []Outcome, first int) error
	Dry  bool // try the steps, store what Seal does only
}

// maxRetries is how often a chunk is tried again without the step that was
// refused, before each step gets a transaction of its own.
const maxRetries = 3

var (
	errRefused = errors.New("a step was refused")
	errDry     = errors.New("dry run")
)

// Store runs the steps of a chunk and returns what became of each.
func Store(ctx context.Context, d *db.DB, c Chunk) ([]Outcome, error) {
	out := make([]Outcome, len(c.Steps))
	known := make([]bool, len(c.Steps))
	for i, st := range c.Steps {
		if st.Done != nil {
			out[i], known[i] = *st.Done, true
		}
	}
	for range maxRetries {
		failed, err := attempt(ctx, d, c, out, known)
		if err == nil {
			return out, nil
		}
		if !errors.Is(err, errRefused) {
			return nil, err
		}
		known[failed] = true
	}
	return out, oneByOne(ctx, d, c, out, known)
}

// attempt runs all steps whose outcome is not known in one transaction. When
// one is refused its outcome and number are set, and nothing is stored.
func attempt(ctx context.Context, d *db.DB, c Chunk, out []Outcome, known []bool) (failed int, err error) {
	var fresh []Outcome
	err = d.InTx(ctx, func(tx *db.Tx) error {
		fresh, failed = slices.Clone(out), -1
		for i, st := range c.Steps {
			if known[i] {
				continue
			}
			if fresh[i], err = runStep(ctx, tx, st); err != nil {
				return err
			}
			if fresh[i].Err != nil {
				failed = i
				return errRefused
			}
		}
		if c.Dry {
			return errDry
		}
		return c.Seal(ctx, tx, fresh, 0)
	})
	switch {
	case errors.Is(err, errRefused):
		out[failed] = fresh[failed]
		return failed, err
	case errors.Is(err, errDry):
		copy(out, fresh)
		return -1, d.InTx(ctx, func(tx *db.Tx) error { return c.Seal(ctx, tx, out, 0) })
	case err != nil:
		return -1, err
	}
	copy(out, fresh)
	return -1, nil
}

// oneByOne gives each step a transaction. Outcomes without one are stored with
// the next that has, or at the end.
func oneByOne(ctx context.Context, d *db.DB, c Chunk, out []Outcome, known []bool) error {
	first := 0 // of those that are not stored
	for i, st := range c.Steps {
		if known[i] {
			continue
		}
		var one Outcome
		err := d.InTx(ctx, func(tx *db.Tx) (err error) {
			if one, err = runStep(ctx, tx, st); err != nil {
				return err
			}
			switch {
			case one.Err != nil:
				return errRefused
			case c.Dry:
				return errDry
			}
			out[i] = one
			return c.Seal(ctx, tx, out[:i+1], first)
		})
		switch {
		case errors.Is(err, errRefused), errors.Is(err, errDry):
			out[i] = one
		case err != nil:
			return err
		default:
			first = i + 1
		}
	}
	if first == len(out) {
		return nil
	}
	return d.InTx(ctx, func(tx *db.Tx) error { return c.Seal(ctx, tx, out, first) })
}

// runStep runs one step and takes a refusal for its outcome.
func runStep(ctx context.Context, tx *db.Tx, st Step) (Outcome, error) {
	o, err := st.Run(ctx, tx)
	if err == nil {
		return o, nil
	}
	f := Refusal(err)
	if f == nil {
		return Outcome{}, fmt.Errorf("store row: %w", err)
	}
	return Outcome{DID: o.DID, Action: Refused, Err: f}, nil
}
