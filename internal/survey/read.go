package survey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/plan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func isNotFound(err error) bool { return fault.KindOf(err) == fault.NotFound }

// read finds a campaign that the caller sees, and its record. The fault is
// SURVEY_NOT_FOUND.
func (s *Service) read(ctx context.Context, q db.Querier, id string) (*Row, *Survey, error) {
	c := web.CallerFrom(ctx)
	r, err := find(ctx, q, c.Workspace, id)
	if err != nil {
		return nil, nil, err
	}
	if !sees(c, r.Project) {
		return nil, nil, notFound()
	}
	v, err := r.Survey()
	return r, v, err
}

// Get reads a campaign with its progress. The fault is SURVEY_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (web.Reply[*Survey], error) {
	var reply web.Reply[*Survey]
	err := s.db.View(ctx, func(q db.Querier) error {
		r, v, err := s.read(ctx, q, id)
		if err != nil {
			return err
		}
		body := r.Body
		if seen, changed := s.veiled(ctx, v); changed {
			if body, err = render(seen); err != nil {
				return err
			}
		}
		body, err = show(ctx, q, r.NID, v, body)
		reply = web.Reply[*Survey]{Raw: body, ETag: web.ETag(r.Revision)}
		return err
	})
	return reply, err
}

// Filter narrows a list. Empty members do not.
type Filter struct {
	Project, Stage, Template string
	Status                   Status
}

func (f Filter) check() error {
	var c fault.Checks
	statuses := []string{"draft", "ready", "active", "paused", "closed", "archived"}
	if f.Status != "" && !slices.Contains(statuses, string(f.Status)) {
		c.Add("query/status", "not_allowed", "The value must be one of "+strings.Join(statuses, ", ")+".")
	}
	plan.OneOf(&c, "query/stage", f.Stage, []string{plan.StageBaseline, plan.StageFollowUp, plan.StageMonitoring}, false)
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

func (f Filter) fits(v *Survey) bool {
	return (f.Status == "" || f.Status == v.Status) && (f.Stage == "" || f.Stage == v.Stage) && (f.Template == "" || f.Template == v.TemplateID)
}

// List reads a page of campaigns before a number, newest first; 0 begins. A
// page may be short; next is 0 at the end.
func (s *Service) List(ctx context.Context, f Filter, before int64, limit int) (items []*Survey, next int64, err error) {
	if err := f.check(); err != nil {
		return nil, 0, err
	}
	c := web.CallerFrom(ctx)
	project := f.Project
	if project == "" && len(c.Projects) == 1 {
		project = c.Projects[0]
	}
	if before == 0 {
		before = math.MaxInt64
	}
	examine := limit + 1
	if f.Status != "" || f.Stage != "" || f.Template != "" || len(c.Projects) > 1 {
		examine = maxExamined
	}
	var rows []*Row
	if project != "" {
		rows, err = list(s.db.Query(ctx, selectOf, c.Workspace, project, before, examine))
	} else {
		rows, err = list(s.db.Query(ctx, selectPage, c.Workspace, before, examine))
	}
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		if len(items) == limit {
			return items, before, nil
		}
		before = r.NID
		if !sees(c, r.Project) || f.Status != "" && f.Status != r.Status {
			continue
		}
		v, err := r.Survey()
		if err != nil {
			return nil, 0, err
		}
		if f.fits(v) {
			v, _ = s.veiled(ctx, v)
			items = append(items, v)
		}
	}
	if len(rows) < examine {
		return items, 0, nil
	}
	return items, before, nil
}

// Revision is a line of the history.
type Revision struct {
	Revision  int64     `json:"revision"`
	At        time.Time `json:"at"`
	Action    string    `json:"action" example:"activated"`
	Actor     string    `json:"actor" doc:"DID of who did it."`
	RequestID string    `json:"requestId,omitzero"`
	Reason    string    `json:"reason,omitzero"`
	Link      string    `json:"link" doc:"The record as it was."`
}

// History lists the revisions of a campaign before one, newest first; 0
// begins. next is 0 at the end. The fault is SURVEY_NOT_FOUND.
func (s *Service) History(ctx context.Context, id string, before int64, limit int) (items []Revision, next int64, err error) {
	err = s.db.View(ctx, func(q db.Querier) error {
		items = nil
		r, _, err := s.read(ctx, q, id)
		if err != nil {
			return err
		}
		if before == 0 {
			one, err := newest(ctx, q, r.NID)
			if err != nil {
				return err
			}
			items, before = append(items, one), r.Revision
		}
		more, err := past(ctx, q, r.NID, before, limit+1-len(items))
		items = append(items, more...)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range items {
		items[i].Link = fmt.Sprintf("/v1/surveys/%s/history/%d", id, items[i].Revision)
	}
	if len(items) > limit {
		items = items[:limit]
		next = items[limit-1].Revision
	}
	return items, next, nil
}

func newest(ctx context.Context, q db.Querier, nid int64) (Revision, error) {
	var one Revision
	err := one.scan(q.QueryRow(ctx, selectNewest, nid))
	if err != nil {
		return one, fmt.Errorf("read newest revision: %w", err)
	}
	return one, nil
}

func (v *Revision) scan(row db.Row) error {
	var at int64
	if err := row.Scan(&v.Revision, &at, &v.Action, &v.Actor, &v.RequestID, &v.Reason); err != nil {
		return err
	}
	v.At = time.UnixMilli(at).UTC()
	return nil
}

func past(ctx context.Context, q db.Querier, nid, before int64, limit int) ([]Revision, error) {
	rows, err := q.Query(ctx, selectLog, nid, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	defer rows.Close()
	var out []Revision
	for rows.Next() {
		var one Revision
		if err := one.scan(rows); err != nil {
			return nil, fmt.Errorf("list revisions: %w", err)
		}
		out = append(out, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	return out, nil
}

// At reads a campaign as it was at a revision. Faults: SURVEY_NOT_FOUND,
// REVISION_NOT_FOUND.
func (s *Service) At(ctx context.Context, id string, revision int64) (web.Reply[*Survey], error) {
	var body string
	err := s.db.View(ctx, func(q db.Querier) error {
		r, _, err := s.read(ctx, q, id)
		if err != nil {
			return err
		}
		if body = string(r.Body); revision == r.Revision {
			return nil
		}
		err = q.QueryRow(ctx, selectPast, r.NID, revision).Scan(&body)
		if errors.Is(err, sql.ErrNoRows) {
			return fault.New(fault.NotFound, "REVISION_NOT_FOUND", "The survey has no such revision.")
		} else if err != nil {
			return fmt.Errorf("read revision: %w", err)
		}
		return nil
	})
	if err != nil {
		return web.Reply[*Survey]{}, err
	}
	v, err := (&Row{Body: []byte(body)}).Survey()
	if err != nil {
		return web.Reply[*Survey]{}, err
	}
	if v, changed := s.veiled(ctx, v); changed {
		return web.Reply[*Survey]{Value: v}, nil
	}
	return web.Reply[*Survey]{Raw: []byte(body)}, nil
}
