package survey

import (
	"context"
	"math"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// read finds a campaign that the caller sees, and its record. The fault is
// SURVEY_NOT_FOUND.
func read(ctx context.Context, q db.Querier, id string) (*Row, *Survey, error) {
	c := web.CallerFrom(ctx)
	r, err := find(ctx, q, c.Workspace, id)
	if err != nil {
		return nil, nil, err
	}
	if !c.Sees(r.Project) {
		return nil, nil, notFound()
	}
	v, err := r.Survey()
	return r, v, err
}

// Get reads a campaign with its progress. The fault is SURVEY_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (web.Reply[*Survey], error) {
	var reply web.Reply[*Survey]
	err := s.db.View(ctx, func(q db.Querier) error {
		r, v, err := read(ctx, q, id)
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

// Filter narrows a list. Empty members are ignored.
type Filter struct {
	Project, Stage, Template string
	Status                   Status
	Progress                 bool // how far each has come, too
}

func (f Filter) check() error {
	var c fault.Checks
	check.OneOf(&c, "query/status", string(f.Status), "draft", "ready", "active", "paused", "closed", "archived")
	check.OneOf(&c, "query/stage", f.Stage, StageBaseline, StageFollowUp, StageMonitoring)
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
		rows, err = list(db.Reader(ctx, s.db).Query(ctx, selectOf, c.Workspace, project, before, examine))
	} else {
		rows, err = list(db.Reader(ctx, s.db).Query(ctx, selectPage, c.Workspace, before, examine))
	}
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		if len(items) == limit {
			return items, before, nil
		}
		before = r.NID
		if !c.Sees(r.Project) || f.Status != "" && f.Status != r.Status {
			continue
		}
		v, err := r.Survey()
		if err != nil {
			return nil, 0, err
		}
		if f.fits(v) {
			v, _ = s.veiled(ctx, v)
			if v.Sampling != nil {
				v.Sampling.Clusters = nil // thousands, in a page of many surveys
			}
			if f.Progress {
				if v.Progress, _, err = progressOf(ctx, s.db, r.NID, v, v.Round); err != nil {
					return nil, 0, err
				}
			}
			items = append(items, v)
		}
	}
	if len(rows) < examine {
		return items, 0, nil
	}
	return items, before, nil
}
