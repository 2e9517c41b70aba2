package response

import (
	"bytes"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// typedAs is how the answers of the next revision stand as rows.
func (r *Row) typedAs(next *Row) int64 {
	switch {
	case r.Typed == Rowless, next.VStatus == Superseded:
		return Rowless
	case next.rows != nil:
		return Typed
	}
	return r.Typed
}

// retype replaces the rows of the answers by those of the next revision, where
// these differ.
func (r *Row) retype(ctx context.Context, tx *db.Tx, next *Row) error {
	if r.Typed == next.Typed && bytes.Equal(r.Answers, next.Answers) {
		return nil
	}
	if r.Typed == Typed {
		if err := answer.Drop(ctx, tx, r.Survey, r.NID, r.Answers); err != nil {
			return err
		}
	}
	if next.Typed != Typed {
		return nil
	}
	return answer.Add(ctx, tx, next.rows)
}

// typeRows makes the rows of the answers of a prepared response.
func (pr *preparer) typeRows(p *Prepared) error {
	rows, err := pr.plans.of(p.open.Form).rows.Rows(p.row.Survey, p.row.Answers)
	if err != nil {
		return err
	}
	p.row.rows = answer.Prepare(pr.db.Dialect(), p.row.NID, rows)
	return nil
}

// KindRows is the job that makes the rows of responses from before there were
// rows. It can be repeated: each response is done once.
const KindRows = "response.rows"

const (
	selectUntyped = selectRow + ` FROM responses WHERE typed = 0 AND nid > $1 ORDER BY nid LIMIT $2`
	setTyped      = `UPDATE responses SET typed = $3, unfit = $4 WHERE nid = $1 AND revision = $2 AND typed = 0`
)

// typedTogether is how many responses one transaction makes rows of.
const typedTogether = 50

// Handlers are the jobs of responses, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{KindRows: func(ctx context.Context, r *job.Run) error {
		var done int64
		for after, n := int64(0), 1; n > 0; {
			var err error
			if after, n, err = TypeSome(ctx, s, after, typedTogether); err != nil {
				return err
			}
			done += int64(n)
			r.Progress(done, 0, "")
		}
		return nil
	}}
}

// TypeSome makes the rows of at most limit responses from before there were rows,
// after a given one. It returns the last one and how many there were; none when
// all have their rows.
func TypeSome(ctx context.Context, s *Service, after int64, limit int) (last int64, n int, err error) {
	list, err := rowsOf(s.db.Query(ctx, selectUntyped, after, limit))
	if err != nil || len(list) == 0 {
		return after, 0, err
	}
	opens := map[int64]*survey.Open{}
	for _, r := range list {
		if opens[r.Survey] != nil {
			continue
		}
		o, err := s.openOf(web.WithCaller(ctx, web.Caller{Workspace: r.Workspace}), r)
		if err != nil && fault.KindOf(err) != fault.NotFound { // it is being removed
			return after, 0, err
		}
		opens[r.Survey] = o
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		for _, r := range list {
			if o := opens[r.Survey]; o != nil {
				if err := typeOne(ctx, tx, s.plans.of(o.Form).rows, r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return list[len(list)-1].NID, len(list), db.Wrap("make rows of answers", err)
}

// typeOne makes the rows of one response, unless it has changed meanwhile: that
// is found again.
func typeOne(ctx context.Context, tx *db.Tx, plan *answer.Plan, r *Row) error {
	h, err := r.Head()
	if err != nil {
		return err
	}
	as := Typed
	if h.Erased || r.VStatus == Superseded {
		as = Rowless
	}
	n, err := tx.Exec(ctx, setTyped, r.NID, r.Revision, as, db.Bit(r.unfit()))
	if err != nil || n == 0 || as == Rowless {
		return err
	}
	rows, err := plan.Rows(r.Survey, r.Answers)
	if err != nil {
		return err
	}
	return answer.Add(ctx, tx, answer.Prepare(tx.Dialect(), r.NID, rows))
}
