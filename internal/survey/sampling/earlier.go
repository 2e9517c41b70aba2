package sampling

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func drawPath(id string) string { return "/v1/sampling/draws/" + id }

// which is a draw with the version of its design that it was committed with.
// Faults: DESIGN_NOT_FOUND, SAMPLE_DRAW_NOT_FOUND.
func (s *core) which(ctx context.Context, w Which) (*Design, *drawRow, error) {
	d, err := findDraw(ctx, s.db, w)
	if err != nil {
		return nil, nil, err
	}
	v, err := versionBy(ctx, s.db, d)
	return v, d, err
}

// hideSeed is a draw as the caller may know it.
func hideSeed(ctx context.Context, d *api.SampleDraw) *api.SampleDraw {
	out := *d
	if d.State != drawn || mayProve(ctx, byPseudonym) != nil {
		out.FirstPart, out.SecondPart = "", ""
		if !(d.SoleSeed && mayProve(ctx, byPseudonym) == nil) {
			out.Seed = ""
		}
	}
	return &out
}

// replyDraw is a draw as the caller may know it, with those before it.
func (s *core) replyDraw(ctx context.Context, q db.Querier, d *drawRow, status int) (web.Reply[*api.SampleDraw], error) {
	out := hideSeed(ctx, &d.SampleDraw)
	earlier, err := s.earlier(ctx, q, d)
	out.Earlier = earlier
	return web.Reply[*api.SampleDraw]{Value: out, Status: status}, err
}

// maxEarlier is how many draws of a frame, and of a project, stand with a later
// one.
const maxEarlier = 100

// earlier returns the last draws before one, of its frame and of its project.
// Those of the frame are queried separately, so that other draws, however many,
// cannot hide them.
func (s *core) earlier(ctx context.Context, q db.Querier, d *drawRow) ([]api.SampleDrawRef, error) {
	ws := web.CallerFrom(ctx).Workspace
	same, err := scanDraws(q.Query(ctx, listOfFrame, ws, d.project, d.FrameHash, d.nid, maxEarlier))
	if err != nil {
		return nil, err
	}
	all, err := scanDraws(q.Query(ctx, listDraws, ws, d.project, d.nid, maxEarlier))
	if err != nil {
		return nil, err
	}
	all = append(all, same...)
	slices.SortFunc(all, func(a, b *drawRow) int { return cmp.Compare(b.nid, a.nid) })
	all = slices.CompactFunc(all, func(a, b *drawRow) bool { return a.nid == b.nid })
	out := []api.SampleDrawRef{}
	for _, o := range all {
		at := o.CommittedAt
		if at.IsZero() {
			at = o.DrawnAt
		}
		out = append(out, api.SampleDrawRef{
			DrawID: o.DrawID, DesignID: o.DesignID, FrameHash: o.FrameHash, SameFrame: o.FrameHash == d.FrameHash,
			SameDesign: o.design == d.design || o.SurveyID != "" && o.SurveyID == d.SurveyID, State: o.State, SoleSeed: o.SoleSeed, At: at, Reason: o.Reason,
		})
	}
	return out, nil
}

func scanDraws(rows db.Rows, err error) ([]*drawRow, error) {
	return db.Collect(rows, err, "list draws", func(r **drawRow, row db.Row) error {
		*r = new(drawRow)
		return (*r).scan(row)
	})
}

// GetDraw reads a draw. Faults: DESIGN_NOT_FOUND, SAMPLE_DRAW_NOT_FOUND.
func (s *drawer) GetDraw(ctx context.Context, w Which) (web.Reply[*api.SampleDraw], error) {
	d, err := findDraw(ctx, s.db, w)
	if err != nil {
		return web.Reply[*api.SampleDraw]{}, err
	}
	return s.replyDraw(ctx, s.db, d, 0)
}

// Draws reads a page of all draws of a project, or of one frame in it, before a
// number, newest first, also of deleted designs and those that were never made;
// next is 0 at the end.
func (s *drawer) Draws(ctx context.Context, project, frameHash string, before int64, limit int) (items []*api.SampleDraw, next int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	if project == "" {
		return nil, 0, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").With(fault.Field{Pointer: "query/projectId", Code: "required", Detail: "Name the project whose draws you want."})
	}
	c := web.CallerFrom(ctx)
	if !c.Sees(project) {
		return nil, 0, nil
	}
	var list []*drawRow
	if frameHash != "" {
		list, err = scanDraws(s.db.Query(ctx, listOfFrame, c.Workspace, project, frameHash, before, limit+1))
	} else {
		list, err = scanDraws(s.db.Query(ctx, listDraws, c.Workspace, project, before, limit+1))
	}
	if err != nil {
		return nil, 0, err
	}
	for i, d := range list {
		if i == limit {
			return items, list[i-1].nid, nil
		}
		items = append(items, hideSeed(ctx, &d.SampleDraw))
	}
	return items, 0, nil
}
