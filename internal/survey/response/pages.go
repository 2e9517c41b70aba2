package response

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
)

const (
	selectMany    = selectRow + ` FROM responses WHERE nid IN ` + db.In64 + ` AND survey = $65`
	selectRowless = `SELECT nid FROM responses WHERE survey = $1 AND typed <> 1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
)

// pages reads the responses that a filtered list looks at, newest first: all of
// the survey, or those whose answers say that they may fit.
type pages struct {
	s       *Service
	open    *survey.Open
	filter  Filter
	indexed bool // found are all that may fit
	found   answer.Found
}

// begin looks for answers that the filter asks for.
func (p *pages) begin(ctx context.Context, before int64) (err error) {
	if p.filter.Expr != nil {
		p.found, p.indexed, err = p.mayFit(ctx, before)
	}
	return err
}

// next reads some responses before one. last is where to continue, 0 at the
// end.
func (p *pages) next(ctx context.Context, before int64, step int) (rows []*Row, last int64, err error) {
	if p.indexed && len(p.found.NIDs) == 0 {
		if !p.found.More {
			return nil, 0, nil
		}
		if err := p.begin(ctx, before); err != nil {
			return nil, 0, err
		}
	}
	if !p.indexed {
		rows, err := p.all(ctx, before, step)
		if len(rows) == step {
			last = rows[step-1].NID
		}
		return rows, last, err
	}
	some := p.found.NIDs[:min(step, len(p.found.NIDs))]
	p.found.NIDs = p.found.NIDs[len(some):]
	if len(p.found.NIDs) > 0 || p.found.More {
		last = some[len(some)-1]
	}
	rows, err = p.many(ctx, some)
	if p.filter.Status != "" {
		rows = slices.DeleteFunc(rows, func(r *Row) bool { return r.VStatus != p.filter.Status })
	}
	return rows, last, err
}

// all reads the responses before one, whatever they say.
func (p *pages) all(ctx context.Context, before int64, limit int) ([]*Row, error) {
	if p.filter.Status != "" {
		return rowsOf(db.Reader(ctx, p.s.db).Query(ctx, selectStatusBefore, p.open.NID, p.filter.Status, before, limit))
	}
	return rowsOf(db.Reader(ctx, p.s.db).Query(ctx, selectBefore, p.open.NID, before, limit))
}

// many reads responses by their numbers, in this order.
func (p *pages) many(ctx context.Context, nids []int64) ([]*Row, error) {
	var out []*Row
	for some := range slices.Chunk(nids, db.Chunk) {
		rows, err := rowsOf(db.Reader(ctx, p.s.db).Query(ctx, selectMany, db.Keys(some, 0, p.open.NID)...))
		if err != nil {
			return nil, err
		}
		slices.SortFunc(rows, func(a, b *Row) int { return slices.Index(some, a.NID) - slices.Index(some, b.NID) })
		out = append(out, rows...)
	}
	return out, nil
}

// mayFit lists the responses that may match a filter, using the rows of the
// answers in its most selective part, and also those that have no rows. It
// returns false when rows do not help.
func (p *pages) mayFit(ctx context.Context, before int64) (best answer.Found, ok bool, err error) {
	plan := p.s.plans.of(p.open.Form).rows
	for _, term := range p.filter.Expr.Conjuncts() {
		spans, known := plan.Spans(p.open.NID, term)
		if !known {
			continue
		}
		found, all, err := answer.Find(ctx, p.s.db, spans, before, maxLooked)
		if err != nil {
			return best, false, err
		}
		if all && (!ok || len(found.NIDs) < len(best.NIDs)) {
			best, ok = found, true
		}
	}
	if !ok {
		return best, false, nil
	}
	rows, err := db.Reader(ctx, p.s.db).Query(ctx, selectRowless, p.open.NID, before, maxLooked+1)
	nids, err := db.Collect(rows, err, "list responses", db.Column[int64])
	rowless := answer.Found{NIDs: nids, More: len(nids) > maxLooked}
	return best.Join(rowless, maxLooked), true, err
}
