package survey

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Create makes a campaign, a draft. Faults: SURVEY_CONFIGURATION_INVALID with
// every problem, SURVEY_EXISTS.
func (s *Service) Create(ctx context.Context, d Draft) (web.Reply[*Survey], error) {
	return s.create(ctx, d, change{action: "created"})
}

func (s *Service) create(ctx context.Context, d Draft, ch change) (web.Reply[*Survey], error) {
	var none web.Reply[*Survey]
	caller := web.CallerFrom(ctx)
	r := &Row{NID: s.db.NewNID(), Workspace: caller.Workspace, SurveyID: d.SurveyID}
	if r.SurveyID == "" {
		r.SurveyID = newID(r.NID)
	}
	d.SurveyID = r.SurveyID
	v, err := s.prepare(ctx, r.Workspace, d, nil)
	if err != nil {
		return once.Refuse[*Survey](ctx, s.cfg.Idem, err)
	}
	v.Status, v.Revision, v.Round = StatusDraft, 1, 1
	v.Created, v.CreatedBy = s.now(), caller.DID
	v.Updated, v.UpdatedBy = v.Created, v.CreatedBy
	v.Rounds = []Round{{Round: 1, Opened: v.Created, OpenedBy: v.CreatedBy}}
	if r.Body, err = render(v); err != nil {
		return none, err
	}
	shown, err := splice(r.Body, zeroProgress(v))
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Survey], error) {
		ok, err := insert(ctx, tx, r, v, ch)
		if err != nil {
			return none, err
		}
		if !ok {
			if there, err := find(ctx, tx, r.Workspace, r.SurveyID); err == nil && !caller.Sees(there.Project) {
				// The same fault as for an id that cannot be taken: it reveals nothing
				// about surveys of others.
				var c fault.Checks
				reserve(&c)
				return none, Invalid(&c)
			}
			return none, fault.New(fault.Conflict, "SURVEY_EXISTS", "Another survey already has this id. Use a different id.").
				With(fault.Field{Pointer: "/surveyId", Code: "exists", Detail: "Use a different id, or change the existing survey."})
		}
		reply := web.Reply[*Survey]{Value: v, Raw: shown, Status: http.StatusCreated, ETag: web.ETag(1), Location: v.Links.Self}
		return reply, s.record(ctx, tx, r.Workspace, "survey.created", v)
	})
}

func zeroProgress(v *Survey) *Progress {
	p := &Progress{ByStratum: map[string]Tally{}, ByGroup: map[string]Tally{}}
	aim(p, v.Sampling)
	return p
}

// record appends the event of a change and makes the change known.
func (s *Service) record(ctx context.Context, tx *db.Tx, ws, kind string, v *Survey) error {
	s.changed(tx, ws)
	return s.events.Append(ctx, tx, event.Event{
		Workspace: ws, Type: kind, Subject: v.SurveyID, Revision: v.Revision, Data: map[string]any{"status": v.Status, "round": v.Round},
	})
}

// prepare checks a draft and makes the record of it, all but what only the
// server says. All that is wrong is named at once. old is the record before; nil
// when it is a new one.
func (s *Service) prepare(ctx context.Context, ws string, d Draft, old *Survey) (*Survey, error) {
	var c fault.Checks
	var modes []string
	settled := false // its list was drawn by a version of its design, whatever that is now
	if old != nil {
		modes, settled = old.Modes, old.Sampling != nil && old.Sampling.Draw != nil
	}
	d.Check(&c)
	d.CheckServed(&c, s.cfg.served(ws), modes)
	checkDuties(&c, &d.Content)
	if reserved(d.SurveyID) {
		reserve(&c)
	}
	v := &Survey{SurveyID: d.SurveyID, Stage: StageOf(d.Type), ProjectID: d.ProjectID, Content: d.Content}
	v.Type = TypeOf(v.Stage)
	if err := s.checkProject(ctx, ws, v, &c); err != nil {
		return nil, err
	}
	if !settled {
		if err := checkMethodology(ctx, s, ws, v, &c); err != nil {
			return nil, err
		}
		if err := s.checkDesign(ctx, v, &c); err != nil {
			return nil, err
		}
	}
	f, err := s.pin(ctx, ws, v, &c)
	if err != nil {
		return nil, err
	}
	if f != nil && v.Eligibility != nil && v.Eligibility.Expression != "" && len([]rune(v.Eligibility.Expression)) <= MaxExpression {
		if _, err := f.Condition(v.Eligibility.Expression); err != nil {
			c.Add("/eligibility/expression", "invalid_expression", "The expression is not valid: "+err.Error()+".")
		}
	}
	if f != nil {
		if err := (&listing{s, v, old, f}).check(ctx, &c); err != nil {
			return nil, err
		}
	}
	if err := Invalid(&c); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("survey %s has no form, and nothing that says why", v.SurveyID)
	}
	v.Sampling = v.Sampling.Complete()
	if len(v.Modes) == 0 {
		v.Modes = []string{"visit"}
	}
	v.Unasked = unasked(f, v.Modes)
	if v.OnePerHousehold == nil {
		yes := true
		v.OnePerHousehold = &yes
	}
	v.Links = linksOf(v)
	return v, nil
}

// reserve notes that an id cannot be had.
func reserve(c *fault.Checks) {
	c.Add("/surveyId", "reserved", "This id is reserved, for example for a shipped template by which responses find a survey. Use a different id.")
}

// checkMethodology holds the sampling to the precision that its methodology asks
// for.
func checkMethodology(ctx context.Context, s *Service, ws string, v *Survey, c *fault.Checks) error {
	if v.Methodology == nil || !did.Valid(v.Methodology.ID) {
		return nil
	}
	t, err := s.cfg.Methodology(ctx, ws, *v.Methodology)
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
		for _, one := range f.Fields {
			c.Add(one.Pointer, one.Code, one.Detail)
		}
		return nil
	} else if err != nil {
		return fmt.Errorf("look for methodology: %w", err)
	}
	v.Sampling = v.Sampling.Adopt(c, t)
	return nil
}

// checkDesign holds the sampling to the design it names, which gives the size
// where the sampling does not.
func (s *Service) checkDesign(ctx context.Context, v *Survey, c *fault.Checks) error {
	if v.Sampling == nil {
		return nil
	}
	var t *Target
	if id := v.Sampling.DesignID; id != nil && *id != "" {
		var err error
		if t, err = s.cfg.Design(ctx, s.db, v.ProjectID, *id); err != nil {
			return fmt.Errorf("look for sample design: %w", err)
		}
		if t == nil {
			c.Add("/sampling/designId", "not_found", "The project has no sample design of this id.")
			return nil
		}
	}
	v.Sampling.CheckTarget(c, t)
	if t != nil && v.Sampling.Size == nil && t.Size >= 1 {
		sized := *v.Sampling
		sized.Size = &t.Size
		v.Sampling = &sized
	}
	return nil
}

// reserved ids are those by which a response names a shipped template.
func reserved(id string) bool {
	return slices.ContainsFunc([]string{StageBaseline, StageFollowUp, StageMonitoring}, func(stage string) bool { return template.Standard(stage) == id }) && id != ""
}

// checkProject asks area A about the project.
func (s *Service) checkProject(ctx context.Context, ws string, v *Survey, c *fault.Checks) error {
	const at = "/projectId"
	if v.ProjectID == "" || slices.ContainsFunc(c.Fields(), func(f fault.Field) bool { return f.Pointer == at }) {
		return nil
	}
	if !web.CallerFrom(ctx).Sees(v.ProjectID) { // looks as if it did not exist, whether it does or not
		c.Add(at, "not_found", "The key is limited to other projects.")
		return nil
	}
	held, project, err := s.cfg.Project(ctx, s.db, ws, v.ProjectID)
	switch {
	case err != nil:
		return fmt.Errorf("look for project: %w", err)
	case held && !project:
		c.Add(at, "not_a_project", "This DID belongs to a twin of this server that is not a project.")
	case !held && s.cfg.StrictRefs:
		c.Add(at, "not_found", "The project is not stored on this server, and references to external projects are refused.")
	}
	v.External = !held
	return nil
}

// render gives the stored form of a record, which has no progress. The fault
// is SURVEY_CONFIGURATION_INVALID when it is too large.
func render(v *Survey) ([]byte, error) {
	v.Progress = nil
	body, err := web.Encode(v)
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		var c fault.Checks
		c.Add("", "too_large", fmt.Sprintf("A survey may have at most %d bytes.", maxBody))
		return nil, Invalid(&c)
	}
	return body, nil
}

// Clone makes a draft with the configuration of another campaign, without its
// households, responses and rounds. Faults are those of Create, and
// SURVEY_NOT_FOUND.
func (s *Service) Clone(ctx context.Context, id string, c Clone) (web.Reply[*Survey], error) {
	_, v, err := read(ctx, s.db, id)
	if err != nil {
		return once.Refuse[*Survey](ctx, s.cfg.Idem, err)
	}
	d := v.draft()
	d.SurveyID, d.Window = c.SurveyID, c.Window
	if c.Name != "" {
		d.Name = c.Name
	}
	if c.ProjectID != "" {
		d.ProjectID = c.ProjectID
	}
	if c.TemplateVersion != 0 {
		d.TemplateVersion = c.TemplateVersion
	}
	return s.create(ctx, d, change{"cloned", "clone of " + v.SurveyID})
}
