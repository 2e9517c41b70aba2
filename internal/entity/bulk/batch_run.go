package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// batches does batches of operations.
type batches struct {
	db       *db.DB
	entities *entity.Service
	idem     *once.Store
	clock    func() time.Time
}

// Batch does the operations of b in their order, with the rights of the caller
// of ctx: all or none of them, or each for itself.
func (s *batches) Batch(ctx context.Context, b Batch) (web.Reply[api.BatchResults], error) {
	if err := b.validate(); err != nil {
		return web.Reply[api.BatchResults]{}, err
	}
	if b.Atomic {
		return s.atomic(ctx, &b)
	}
	return s.each(ctx, &b)
}

// work is an operation with all that needs no transaction done.
type work struct {
	op   *Operation
	made *entity.Prepared // of create
	err  error            // why it cannot be done
}

// prepare checks and renders the twins a batch creates, and puts DIDs in the
// place of references. It stops at the first error of an atomic batch.
func (s *batches) prepare(ctx context.Context, b *Batch) ([]work, error) {
	all := make([]work, len(b.Operations))
	for i := range b.Operations {
		w := &all[i]
		w.op = &b.Operations[i]
		w.op.refs(func(_ string, did *string) {
			if n, ok := ref(*did); ok && all[n].made != nil {
				*did = all[n].made.DID()
			} else if ok {
				w.err = failedReference(n)
			}
		})
		if w.err == nil && w.op.Op == "create" {
			w.made, w.err = s.make(ctx, w.op)
		}
		if w.err != nil && (b.Atomic || exchange.Refusal(w.err) == nil) {
			return nil, w.fault(i)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// make prepares the twin an operation creates.
func (s *batches) make(ctx context.Context, o *Operation) (*entity.Prepared, error) {
	made, err := s.entities.Prepare(ctx, *o.Entity)
	if err != nil {
		return nil, err
	}
	return made, s.entities.Ready(ctx, made)
}

func failedReference(n int) error {
	return fault.New(fault.Conflict, "BATCH_REFERENCE_FAILED", fmt.Sprintf("Operation %d, which this one refers to, was refused.", n))
}

// fault is the error of an operation with its place in the batch.
func (w *work) fault(i int) error {
	if f := exchange.Refusal(w.err); f != nil {
		return w.op.place(i, f)
	}
	return w.err
}

// run does an operation.
func (s *batches) run(ctx context.Context, tx *db.Tx, w *work) (outcome, error) {
	o := w.op
	done := outcome{DID: o.DID, Action: updated}
	var r *entity.Row
	var err error
	switch o.Op {
	case "create":
		done.DID, done.Action = w.made.DID(), created
		r, err = s.entities.StoreTx(ctx, tx, w.made)
	case "replace":
		draft := *o.Entity
		r, err = s.entities.PatchTx(ctx, tx, o.DID, o.IfMatch, entity.Change{Replace: &draft, Reason: o.Reason, Action: "replace"})
	case "patch":
		r, err = s.entities.PatchTx(ctx, tx, o.DID, o.IfMatch, entity.Change{Merge: o.Patch.Value, Reason: o.Reason})
	case "transition":
		r, err = s.entities.TransitionTx(ctx, tx, o.DID, o.IfMatch, entity.Transition{To: o.To, Reason: o.Reason})
	case "deactivate":
		r, err = s.deactivate(ctx, tx, o)
	case "relate":
		var added *entity.Relationship
		if added, err = s.entities.RelateTx(ctx, tx, o.DID, *o.Relationship); err == nil {
			done.Action, done.Relation = created, added.ID
		}
	case "unrelate":
		err = s.entities.UnrelateTx(ctx, tx, o.DID, o.ID, o.Reason)
	}
	if r != nil {
		done.Revision, done.Bytes = r.Revision, len(r.Body)
	}
	return done, err
}

// deactivate requires the revision, like the single route.
func (s *batches) deactivate(ctx context.Context, tx *db.Tx, o *Operation) (*entity.Row, error) {
	r, err := s.entities.FindForUpdate(ctx, tx, o.DID)
	if err != nil {
		return nil, err
	}
	if err := web.CheckMatch(o.IfMatch, r.Revision); err != nil {
		return nil, err
	}
	return s.entities.TransitionTx(ctx, tx, o.DID, "", entity.Transition{To: entity.StatusDeactivated, Reason: o.Reason})
}

// result is what a client learns of an outcome.
func (o *Operation) result(i int, done outcome) api.BatchResult {
	r := api.BatchResult{Index: i, Status: http.StatusOK, DID: done.DID, Relationship: done.Relation}
	if done.Err != nil {
		f := o.place(i, done.Err)
		return api.BatchResult{Index: i, Status: web.Status(f.Kind), DID: o.DID, Error: exchange.Problem(f)}
	}
	if done.Action == created {
		r.Status = http.StatusCreated
	}
	if done.Revision > 0 {
		r.ETag = web.ETag(done.Revision)
	}
	return r
}

func summary(results []api.BatchResult) api.BatchResults {
	out := api.BatchResults{Results: results}
	for _, r := range results {
		if r.Error == nil {
			out.Succeeded++
		} else {
			out.Failed++
		}
	}
	return out
}

// atomic does all operations in one transaction. The fault is that of the first
// refused one.
func (s *batches) atomic(ctx context.Context, b *Batch) (web.Reply[api.BatchResults], error) {
	all, err := s.prepare(ctx, b)
	if err != nil {
		return web.Reply[api.BatchResults]{}, err
	}
	if err := s.weigh(ctx, all); err != nil {
		return web.Reply[api.BatchResults]{}, err
	}
	answer, err := once.Do(ctx, s.idem, func(tx *db.Tx) (web.Reply[api.BatchResults], error) { return s.runAll(ctx, tx, all, true) })
	if errors.Is(err, errSome) { // which one is refused shows when each runs for itself
		answer, err = once.Do(ctx, s.idem, func(tx *db.Tx) (web.Reply[api.BatchResults], error) { return s.runAll(ctx, tx, all, false) })
	}
	if fault.CodeOf(err) == "TRANSACTION_TIMEOUT" {
		return answer, tooHeavy().Wrap(err) // it would be too slow again
	}
	return answer, err
}

// runAll does operations in their order. With together it stores twins that are
// made one after the other at once, and fails with errSome when any of
// them is refused.
func (s *batches) runAll(ctx context.Context, tx *db.Tx, all []work, together bool) (web.Reply[api.BatchResults], error) {
	var none web.Reply[api.BatchResults]
	results := make([]api.BatchResult, 0, len(all))
	for i := 0; i < len(all); i = len(results) {
		var list []*entity.Prepared
		for _, w := range all[i:] {
			if !together || w.made == nil {
				break
			}
			list = append(list, w.made)
		}
		made, err := storeAll(ctx, tx, s.entities, list)
		if exchange.Refusal(err) != nil {
			err = errSome
		}
		if err != nil {
			return none, err
		}
		for _, done := range made {
			results = append(results, all[len(results)].op.result(len(results), done))
		}
		if len(made) > 0 {
			continue
		}
		w := all[i] // fn may run twice
		var done outcome
		if done, w.err = s.run(ctx, tx, &w); w.err != nil {
			return none, w.fault(i)
		}
		results = append(results, w.op.result(i, done))
	}
	return web.Reply[api.BatchResults]{Value: summary(results)}, nil
}

// each does every operation separately, in chunks. With an Idempotency-Key the
// result of each is stored with its effect, so that a repeated request does
// only what the first one did not reach.
func (s *batches) each(ctx context.Context, b *Batch) (web.Reply[api.BatchResults], error) {
	name, done, err := findKept(ctx, s.db, s.clock().UnixMilli())
	if err != nil {
		return web.Reply[api.BatchResults]{}, err
	}
	replayed := len(done) > 0
	results := make([]api.BatchResult, len(b.Operations))
	// References to twins that were made before the request was sent again.
	for i := range b.Operations {
		if text, ok := done[i]; ok {
			if err := json.Unmarshal([]byte(text), &results[i]); err != nil {
				return web.Reply[api.BatchResults]{}, fmt.Errorf("read kept result: %w", err)
			}
		}
	}
	if err := s.eachLeft(ctx, b, name, results, done); err != nil {
		return web.Reply[api.BatchResults]{}, err
	}
	return web.Reply[api.BatchResults]{Value: summary(results), Replayed: replayed}, nil
}

// eachLeft does the operations that have no result yet.
func (s *batches) eachLeft(ctx context.Context, b *Batch, name string, results []api.BatchResult, before map[int]string) error {
	if len(before) > len(b.Operations) { // and the batch itself
		return nil
	}
	all, pace := make([]work, len(b.Operations)), newPace(s.db)
	for first := 0; first < len(all); first += ChunkRows {
		end := min(first+ChunkRows, len(all))
		var steps []step
		var made []*entity.Prepared
		var at []int // numbers of their operations
		for i := first; i < end; i++ {
			all[i].op = &b.Operations[i]
			if _, done := before[i]; done {
				continue
			}
			st, err := s.batchStep(ctx, all, results, i)
			if err != nil {
				return err
			}
			steps, made, at = append(steps, st), append(made, all[i].made), append(at, i)
		}
		if len(steps) == 0 {
			continue
		}
		out, err := storeChunk(ctx, s.db, chunk{Steps: steps, All: allOf(s.entities, steps, made), Pace: pace, Seal: func(ctx context.Context, tx *db.Tx, out []outcome, from int) error {
			for k := from; k < len(out); k++ {
				if err := s.keepResult(ctx, tx, name, b.Operations[at[k]].result(at[k], out[k])); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
		for k, o := range out {
			results[at[k]] = all[at[k]].op.result(at[k], o)
		}
	}
	return nil
}

// batchStep prepares an operation. One it refers to may be of this chunk: what
// became of it is known when the step runs.
func (s *batches) batchStep(ctx context.Context, all []work, results []api.BatchResult, i int) (step, error) {
	w := &all[i]
	var open []int // of this chunk
	for _, n := range w.op.refsOf() {
		if all[n].made != nil && results[n].Status == 0 {
			open = append(open, n)
		} else if results[n].Status == 0 || results[n].Error != nil {
			return refuse("", fault.As(failedReference(n))), nil
		}
	}
	w.op.refs(func(_ string, did *string) {
		n, ok := ref(*did)
		switch {
		case ok && all[n].made != nil:
			*did = all[n].made.DID()
		case ok:
			*did = results[n].DID
		}
	})
	if w.op.Op == "create" {
		made, err := s.make(ctx, w.op)
		if f := exchange.Refusal(err); f != nil {
			return refuse("", f), nil
		} else if err != nil {
			return step{}, err
		}
		w.made = made
	}
	return step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
		for _, n := range open {
			// Foreign and missing are the same, so this asks for ours.
			if _, err := s.entities.Find(ctx, tx, all[n].made.DID()); fault.KindOf(err) == fault.NotFound {
				return outcome{}, failedReference(n)
			} else if err != nil {
				return outcome{}, err
			}
		}
		return s.run(ctx, tx, w)
	}}, nil
}

// keepResult stores the result of an operation together with its effect.
func (s *batches) keepResult(ctx context.Context, tx *db.Tx, name string, r api.BatchResult) error {
	if name == "" {
		return nil
	}
	text, err := web.Encode(r)
	if err != nil {
		return err
	}
	return keep(ctx, tx, keptResult{Batch: name, N: r.Index, At: s.clock().UnixMilli(), Data: string(text)})
}

// ExpireBatches removes at most limit results of batches that were kept for
// their Idempotency-Key since before a time.
func (s *batches) ExpireBatches(ctx context.Context, before time.Time, limit int) (int, error) {
	return expireKept(ctx, s.db, before.UnixMilli(), limit)
}
