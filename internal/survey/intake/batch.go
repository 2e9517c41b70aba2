package intake

import (
	"cmp"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Take stores the responses of a batch, one by one and in order, and says what
// became of each. Sending it again stores nothing more. The fault is
// BATCH_INVALID; an error of the store ends it between items, and what was
// stored by then stays.
func (s *Batches) Take(ctx context.Context, b Batch) (*Results, error) {
	if n := len(b.Items); n == 0 || n > MaxItems {
		return nil, fault.New(fault.Invalid, "BATCH_INVALID", "A batch has 1 to 500 items.").
			With(fault.Field{Pointer: "/items", Code: "out_of_range", Detail: "A batch has 1 to 500 items."})
	}
	out := &Results{Results: make([]Result, len(b.Items))}
	var chunk []turn
	flush := func() error {
		if len(chunk) == 0 {
			return nil
		}
		err := s.store(ctx, chunk, out.Results)
		chunk = chunk[:0]
		return err
	}
	for i := range b.Items {
		r := &out.Results[i]
		r.Index = i
		p, err := s.prepare(ctx, b.Items[i], r)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		// A response that replaces another is stored in its own transaction, so
		// that it can be undone when it is refused.
		alone := p.Draft().Supersedes != "" && !p.held
		if alone || len(chunk) == together {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		chunk = append(chunk, turn{*p, i})
		if alone {
			if err := s.storeAlone(ctx, chunk[0], r); err != nil {
				return nil, err
			}
			chunk = chunk[:0]
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	sum(out)
	return out, nil
}

// turn is an item that is ready to be stored.
type turn struct {
	ready
	i int
}

// ready is a checked response.
type ready struct {
	*response.Prepared
	held bool // the survey takes none now
}

// prepare reads and checks an item. nil: its result is known.
func (s *Batches) prepare(ctx context.Context, it BatchItem, r *Result) (*ready, error) {
	refuse := func(err error) error {
		f := refusal(err)
		if f != nil {
			refuse(r, Invalid, f)
			return nil
		}
		return err
	}
	d := &response.Draft{}
	if err := web.DecodeStrict(it.Value.Value, d, false); err != nil {
		return nil, refuse(err)
	}
	r.ResponseID = d.ResponseID
	var c fault.Checks
	c.Require(d.ResponseID != "", "/responseId")
	c.Require(d.SurveyID != "", "/surveyId")
	if err := c.Err("RESPONSE_INVALID", "The response is not valid."); err != nil {
		return nil, refuse(err)
	}
	o, err := s.pick(ctx, d)
	if err != nil {
		return nil, refuse(err)
	}
	p, err := s.cfg.Responses.Prepare(ctx, o, d, true)
	if err == nil {
		return &ready{Prepared: p}, nil
	}
	if row := s.cfg.Responses.Known(ctx, o, d); row != nil { // the survey has ended since
		r.Status, r.Revision = Replayed, row.Revision
		r.Warnings, err = s.cfg.Responses.Warn(ctx, s.db, row, d)
		return nil, err
	}
	if holds(o) && fault.CodeOf(err) == "SURVEY_NOT_ACTIVE" {
		if p, err = s.cfg.Responses.PrepareToHold(ctx, o, d); err == nil {
			return &ready{p, true}, nil
		}
	}
	return nil, refuse(err)
}

// store stores items in one transaction. For a refused one it stores only what
// is set aside.
func (s *Batches) store(ctx context.Context, chunk []turn, results []Result) error {
	inOneOrder(chunk)
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		var counts []tally
		for _, w := range chunk {
			r := &results[w.i]
			*r = Result{Index: w.i, ResponseID: r.ResponseID}
			if w.held {
				if err := s.hold(ctx, tx, w.Prepared, r); err != nil {
					return err
				}
				continue
			}
			done, err := s.cfg.Responses.StoreTx(ctx, tx, w.Prepared)
			if err != nil {
				if err = s.setAside(ctx, tx, obstacle{w.Prepared, done.Row, err}, r); err != nil {
					return err
				}
				continue
			}
			counts = append(counts, tally{w.Open(), done.Deltas})
			if err := s.tell(ctx, tx, w.Prepared, done, r); err != nil {
				return err
			}
		}
		return s.count(ctx, tx, counts)
	})
}

// inOneOrder sorts items by their ids, unless one may stand in the way of
// another: two batches with the same responses then wait for each other on
// PostgreSQL, and never both at once.
func inOneOrder(chunk []turn) {
	ids, households := map[string]bool{}, map[string]bool{}
	for _, w := range chunk {
		d := w.Draft()
		if ids[d.ResponseID] || households[d.HouseholdID] {
			return
		}
		ids[d.ResponseID], households[d.HouseholdID] = true, true
	}
	order.Sort(chunk, func(a, b turn) int { return cmp.Compare(a.Draft().ResponseID, b.Draft().ResponseID) })
}

// storeAlone stores one item in a transaction of its own.
func (s *Batches) storeAlone(ctx context.Context, w turn, r *Result) error {
	var done response.Stored
	err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		*r = Result{Index: w.i, ResponseID: r.ResponseID}
		if done, err = s.cfg.Responses.StoreTx(ctx, tx, w.Prepared); err != nil {
			return err
		}
		if err := s.tell(ctx, tx, w.Prepared, done, r); err != nil {
			return err
		}
		return s.count(ctx, tx, []tally{{w.Open(), done.Deltas}})
	})
	if err == nil || refusal(err) == nil {
		return err
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error { return s.setAside(ctx, tx, obstacle{w.Prepared, done.Row, err}, r) })
}

// tell records what was stored.
func (s *Batches) tell(ctx context.Context, tx *db.Tx, p *response.Prepared, done response.Stored, r *Result) (err error) {
	r.Revision = done.Row.Revision
	switch {
	case !done.Fresh:
		r.Status = Replayed
		if r.Warnings, err = s.cfg.Responses.Warn(ctx, tx, done.Row, p.Draft()); err != nil {
			return err
		}
	case done.Row.Status != response.Partial:
		r.Status = Created
	default:
		r.Status, r.Missing = Partial, p.Sent().Head.Missing
	}
	if p.HasFiles() {
		if r.MissingAttachments, err = media.Missing(ctx, tx, done.Row.NID, true); err != nil {
			return err
		}
	}
	return s.settle(ctx, tx, p, nowStored)
}

// tally is what a response counts in its survey.
type tally struct {
	open   *survey.Open
	deltas []survey.Delta
}

// count adds up, survey by survey and always in the same order.
func (s *Batches) count(ctx context.Context, tx *db.Tx, all []tally) error {
	order.Stable(all, func(a, b tally) int { return cmp.Compare(a.open.NID, b.open.NID) })
	for i := 0; i < len(all); {
		o, deltas := all[i].open, []survey.Delta(nil)
		for ; i < len(all) && all[i].open.NID == o.NID; i++ {
			deltas = append(deltas, all[i].deltas...)
		}
		if len(deltas) == 0 {
			continue
		}
		if err := s.cfg.Surveys.Count(ctx, tx, o, deltas...); err != nil {
			return err
		}
	}
	return nil
}
