package response

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Find reads a response the caller may see, with its survey, by its id or its
// reference in exports. Responses of surveys of other projects do not exist for
// a key that is limited to some. The fault is RESPONSE_NOT_FOUND.
func (fd *finder) Find(ctx context.Context, q db.Querier, id string) (*Row, *survey.Open, error) {
	ws := web.CallerFrom(ctx).Workspace
	var r *Row
	var err error
	if nid, ok := privacy.RecordNID(id); !ok {
		r, err = find(ctx, q, ws, id)
	} else if r, err = findByNID(ctx, q, nid); err == nil && r.Workspace != ws {
		err = notFound()
	}
	if err != nil {
		return nil, nil, err
	}
	o, err := fd.openOf(ctx, r)
	return r, o, err
}

// FindForUpdate is Find for a response that is about to change.
func (fd *finder) FindForUpdate(ctx context.Context, tx *db.Tx, o *survey.Open, id string) (*Row, error) {
	r, err := findForUpdate(ctx, tx, fd.db.Dialect(), o.Workspace, id)
	if err == nil && r.Survey != o.NID {
		return nil, notFound()
	}
	return r, err
}

// openOf gives the survey of a response.
func (fd *finder) openOf(ctx context.Context, r *Row) (*survey.Open, error) {
	var head struct {
		SurveyID string `json:"surveyId"`
	}
	if err := json.Unmarshal(r.Body, &head); err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	o, err := fd.surveys.Open(ctx, head.SurveyID)
	if fault.CodeOf(err) == "SURVEY_NOT_FOUND" {
		return nil, notFound()
	}
	return o, err
}

// sees reports whether the caller sees a response.
func (fd *finder) sees(ctx context.Context, nid int64) (bool, error) {
	r, err := findByNID(ctx, fd.db, nid)
	if err == nil && r.Workspace != web.CallerFrom(ctx).Workspace {
		return false, nil
	}
	if err == nil {
		_, err = fd.openOf(ctx, r)
	}
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Get reads a response.
func (s *Service) Get(ctx context.Context, id string) (web.Reply[*Record], error) {
	r, o, err := s.Find(ctx, s.db, id)
	if err != nil {
		return web.Reply[*Record]{}, err
	}
	return s.answer(ctx, s.db, o, r)
}

// After lists responses of a survey in the order they arrived, from the one
// after nid: for exports and checks over all of them.
func After(ctx context.Context, q db.Querier, o *survey.Open, nid int64, limit int) ([]*Row, error) {
	return rowsOf(q.Query(ctx, selectAfter, o.NID, nid, limit))
}

// Filter selects responses of a survey.
type Filter struct {
	Status string // of the verification; by an index
	Expr   *rql.Expr
}

// maxLooked is how many responses one page of a filtered list looks at.
const maxLooked = 2000

// List reads a page of the responses of a survey, newest first. A page may be
// short; next is 0 at the end.
func (s *Service) List(ctx context.Context, o *survey.Open, f Filter, before int64, limit int) (items []Item, next int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	examine := limit + 1
	if f.Expr != nil {
		examine = maxLooked
	}
	p, x := &pages{s: s, open: o, filter: f}, s.Sight(ctx, o)
	if err := p.begin(ctx, before); err != nil {
		return nil, 0, err
	}
	for looked := 0; looked < examine; {
		step := min(examine-looked, max(limit+1, 200))
		if p.indexed { // most of them fit
			step = min(step, limit+1)
		}
		rows, last, err := p.next(ctx, before, step)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range rows {
			if len(items) == limit {
				return items, before, nil
			}
			before = r.NID
			// A filter that knew more than is shown would reveal it.
			seen, err := r.veil(ctx, x, o.Form)
			if err != nil {
				return nil, 0, err
			}
			if fits, err := f.Match(seen); err != nil {
				return nil, 0, err
			} else if !fits {
				continue
			}
			body, err := s.show(ctx, s.db, o.Project, r, seen)
			if err != nil {
				return nil, 0, err
			}
			items = append(items, Item{body})
		}
		if last == 0 {
			return items, 0, nil
		}
		before = last
		looked += step
	}
	return items, before, nil
}

// Match reports whether a response matches the filter. Personal answers cannot be
// filtered by: they are hidden.
func (f Filter) Match(r *Row) (bool, error) {
	if f.Expr == nil {
		return true, nil
	}
	doc := map[string]any{}
	if err := json.Unmarshal(r.Body, &doc); err != nil {
		return false, fmt.Errorf("read response: %w", err)
	}
	var answers any
	if err := json.Unmarshal(r.Answers, &answers); err != nil {
		return false, fmt.Errorf("read answers: %w", err)
	}
	doc["responses"], doc["flagged"], doc["revision"] = answers, r.Flags > 0, float64(r.Revision)
	doc["updated"] = time.UnixMilli(r.UpdatedAt).UTC().Format(time.RFC3339Nano)
	doc["verification"] = map[string]any{"status": r.VStatus, "verifier": r.Verifier}
	return f.Expr.Match(doc), nil
}
