package survey

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Open is a campaign as responses, verification and exports need it. It is
// shared and never changes: read it, and keep it for one request at most.
type Open struct {
	NID              int64
	Workspace        string
	SurveyID         string
	Name             string // "" for none; several surveys may use one template
	Project          string
	Stage            string
	TemplateID       string
	TemplateVersion  int
	Sections         []string
	Status           Status
	Revision         int64
	Round            int
	OnePerHousehold  bool
	Modes            []string
	Channels         []string        // modes in which systems of the operator ask, and say so
	Collectors       map[string]bool // DIDs
	StrictCollectors bool            // only collectors may send responses
	Window           Window          // of the open round
	Created          time.Time
	Policy           Policy // with its defaults
	Probability      bool   // a confidence interval may be reported
	Sampling         *Sampling
	OpenEnrolment    bool // there may be others than those that are listed
	Listed           bool // there is a list of households
	Assigned         bool // some of them are assigned to a collector
	Form             *form.Form
	Eligibility      *cel.Program // nil: every response counts
	EntityLists      []EntityList

	duties *Duties
	weight int // in the cache
}

// Active reports whether responses are accepted.
func (o *Open) Active() bool { return o.Status == StatusActive }

// EntityList finds a list by name, nil for none.
func (o *Open) EntityList(name string) *EntityList {
	for i := range o.EntityLists {
		if o.EntityLists[i].Name == name {
			return &o.EntityLists[i]
		}
	}
	return nil
}

// Within reports whether a moment is in the window.
func (o *Open) Within(t time.Time) bool {
	return (o.Window.Start.IsZero() || !t.Before(o.Window.Start)) && (o.Window.End.IsZero() || !t.After(o.Window.End))
}

// Collector returns who is to visit a household, "" when anybody may.
func (o *Open) Collector(h *Household) string {
	if h.Collector != "" || h.Erased {
		return h.Collector
	}
	return o.duties.Of(h.HouseholdID, h.Stratum, h.Area)
}

// Open gives a campaign of the caller's workspace and projects, of any status.
// A campaign that was asked for before costs no statement. The fault is
// SURVEY_NOT_FOUND.
func (op *opened) Open(ctx context.Context, surveyID string) (*Open, error) {
	c := web.CallerFrom(ctx)
	o, err := op.load(ctx, c.Workspace, surveyID)
	if err != nil {
		return nil, err
	}
	if !c.Sees(o.Project) {
		return nil, notFound()
	}
	return o, nil
}

// Readable reports whether the caller has one of some scopes and sees a campaign.
func (op *opened) Readable(ctx context.Context, surveyID string, scopes ...string) bool {
	if !slices.ContainsFunc(scopes, web.CallerFrom(ctx).May) {
		return false
	}
	_, err := op.Open(ctx, surveyID)
	return err == nil
}

// maxLoads is how often a campaign is read again that changes meanwhile.
const maxLoads = 10

// load finds, compiles and keeps a campaign.
func (op *opened) load(ctx context.Context, ws, id string) (*Open, error) {
	if o := op.cache.Get(ws, id); o != nil {
		return o, nil
	}
	for try := 1; ; try++ {
		gen := op.cache.Begin(ws)
		var o *Open
		err := op.db.View(ctx, func(q db.Querier) error {
			r, err := find(ctx, q, ws, id)
			if err != nil {
				return err
			}
			o, err = op.build(ctx, q, r)
			return err
		})
		if err != nil || op.cache.Put(ws, id, o, gen) || try == maxLoads {
			return o, err
		}
	}
}

// build makes an Open of a stored campaign.
func (op *opened) build(ctx context.Context, q db.Querier, r *Row) (*Open, error) {
	v, err := r.Survey()
	if err != nil {
		return nil, err
	}
	f, err := op.pinned(ctx, q, r.Workspace, v)
	if err != nil {
		return nil, fmt.Errorf("form of survey %s: %w", r.SurveyID, err)
	}
	o := &Open{
		NID: r.NID, Workspace: r.Workspace, SurveyID: r.SurveyID, Name: v.Name, Project: v.ProjectID, Stage: v.Stage, TemplateID: v.TemplateID,
		TemplateVersion: v.TemplateVersion, Sections: v.Sections, Status: v.Status, Revision: v.Revision, Round: v.Round,
		OnePerHousehold: v.OnePerHousehold == nil || *v.OnePerHousehold, Modes: v.Modes, Channels: op.channels, Collectors: map[string]bool{},
		StrictCollectors: v.StrictCollectors, Probability: v.Sampling.Probability(), Sampling: v.Sampling,
		OpenEnrolment: v.Sampling.Enrolment == "open", Form: f, duties: NewDuties(v.Assignments),
		Policy: PolicyWithDefaults(v.VerificationPolicy), Window: v.openWindow(), Created: v.Created, EntityLists: v.EntityLists, weight: perByte*len(r.Body) + cachedBase,
	}
	for _, c := range v.Collectors {
		o.Collectors[c.DID] = true
	}
	if v.Eligibility != nil {
		if o.Eligibility, err = f.Condition(v.Eligibility.Expression); err != nil {
			return nil, fmt.Errorf("eligibility of survey %s: %w", r.SurveyID, err)
		}
	}
	if o.Listed, err = anyHousehold(ctx, q, r.NID); err != nil {
		return nil, err
	}
	if o.Assigned = len(v.Assignments) > 0; !o.Assigned {
		if o.Assigned, err = anyNamed(ctx, q, r.NID); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// openWindow is the window of the open round, else that of the campaign.
func (s *Survey) openWindow() Window {
	if n := len(s.Rounds); n > 0 && s.Rounds[n-1].Window != nil {
		return *s.Rounds[n-1].Window
	}
	if s.Window != nil {
		return *s.Window
	}
	return Window{}
}

// ByTemplate gives the active campaigns of a template that the caller sees, at
// most 21, oldest first: a response that names the template is for the one
// there is. When the household is listed in some of them, those are all.
func (op *opened) ByTemplate(ctx context.Context, templateID, household string) ([]*Open, error) {
	c := web.CallerFrom(ctx)
	ids, err := listActive(ctx, op.db, c.Workspace, templateID)
	if err != nil {
		return nil, err
	}
	var all, listed []*Open
	for _, id := range ids {
		if len(all) > maxCandidates {
			break
		}
		o, err := op.Open(ctx, id)
		if fault.KindOf(err) == fault.NotFound {
			continue // of another project, or deleted meanwhile
		} else if err != nil {
			return nil, err
		}
		if o.Active() {
			all = append(all, o)
		}
	}
	if household == "" || len(all) < 2 {
		return all, nil
	}
	for _, o := range all {
		h, err := op.Household(ctx, op.db, o, household)
		if err != nil {
			return nil, err
		}
		if h != nil {
			listed = append(listed, o)
		}
	}
	if len(listed) > 0 {
		return listed, nil
	}
	return slices.Clip(all), nil
}
