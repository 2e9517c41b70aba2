package sampling

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Idem, Registry, CheckQuery, ActsFor,
// Project and Now have defaults.
type Config struct {
	DB       *db.DB
	Surveys  *survey.Service
	Vault    *vault.Vault // names households
	Key      secret.Key   // seals parts of seeds
	Jobs     *job.Service
	Exchange *exchange.Service // keeps files that are sent
	Events   *event.Log
	Idem     *once.Store
	Cursors  web.Cursors
	Now      func() time.Time
	ActsFor  survey.ActsFor
	// Project reports whether a DID is held here, and whether it is a project.
	// StrictRefs refuses those that are not held.
	Project    func(ctx context.Context, q db.Querier, ws, did string) (held, isProject bool, err error)
	StrictRefs bool
	// Registry passes the twins that a query finds, with the rights of the caller,
	// and returns the number of the newest event at that time. Without it there are
	// none.
	Registry func(ctx context.Context, project string, q api.SampleQuery, visit func(Row) error) (revision int64, err error)
	// CheckQuery refuses a query that Registry would refuse.
	CheckQuery func(ctx context.Context, q api.SampleQuery) error
}

// Service is the use cases of sample designs.
type Service struct {
	*core
	frames
	drawer
	proofs
}

// core is what all of them stand on; frames freezes lists, drawer draws, and
// proofs makes draws again.
type (
	core struct {
		cfg Config
		db  *db.DB
	}
	frames struct{ *core }
	drawer struct{ *core }
	proofs struct{ *core }
)

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Project == nil {
		cfg.Project = func(context.Context, db.Querier, string, string) (bool, bool, error) { return false, false, nil }
	}
	if cfg.Registry == nil {
		cfg.Registry = func(context.Context, string, api.SampleQuery, func(Row) error) (int64, error) { return 0, nil }
	}
	if cfg.CheckQuery == nil {
		cfg.CheckQuery = func(context.Context, api.SampleQuery) error { return nil }
	}
	c := &core{cfg: cfg, db: cfg.DB}
	return &Service{c, frames{c}, drawer{c}, proofs{c}}
}

// Handlers returns the jobs by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{FrameKind: s.runFrame, FileKind: s.runFile, DrawKind: s.runDraw, VerifyKind: s.runVerify}
}

func (s *core) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// timeOf is a stored time; the zero time when there is none.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func name(prefix string, nid int64) string { return prefix + strconv.FormatInt(nid, 10) }

func numberOf(prefix, id string) (int64, bool) {
	rest, ok := strings.CutPrefix(id, prefix)
	n, err := strconv.ParseInt(rest, 10, 64)
	return n, ok && err == nil && n > 0
}

// Create makes a design, whose first version is computed at once. Faults:
// SAMPLING_PARAMETERS_INVALID, STRATA_CONFLICT, INSUFFICIENT_POPULATION,
// DESIGN_EXISTS, SURVEY_NOT_FOUND, SAMPLING_TARGET_MISMATCH.
func (s *Service) Create(ctx context.Context, d Draft) (web.Reply[*Design], error) {
	var none web.Reply[*Design]
	if d.DesignID != "" && len(web.CallerFrom(ctx).Projects) > 0 {
		return none, fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{
			Pointer: "/designId", Code: "not_allowed", Detail: "A key that is limited to projects cannot choose an id: a conflict would reveal designs of others. Leave it out.",
		})
	}
	v, err := s.prepare(ctx, d)
	if err != nil {
		return once.Refuse[*Design](ctx, s.cfg.Idem, err)
	}
	nid := s.db.NewNID()
	if v.DesignID == "" {
		v.DesignID = name("dsg_", nid)
	}
	v.Version, v.Created, v.CreatedBy, v.Links = 1, s.now(), web.CallerFrom(ctx).DID, linksOf(v.DesignID)
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Design], error) {
		body, err := json.Marshal(v)
		if err != nil {
			return none, fmt.Errorf("encode sample design: %w", err)
		}
		n, err := tx.Exec(ctx, insertDesign, nid, web.CallerFrom(ctx).Workspace, v.DesignID, v.ProjectID, string(body))
		if err != nil {
			return none, fmt.Errorf("insert sample design: %w", err)
		}
		if n == 0 {
			return none, fault.New(fault.Conflict, "DESIGN_EXISTS", "Another sample design has, or had, this id. Use a different id.").
				With(fault.Field{Pointer: "/designId", Code: "exists", Detail: "Use another id."})
		}
		if _, err := tx.Exec(ctx, insertVersion, nid, 1, string(body)); err != nil {
			return none, fmt.Errorf("insert version: %w", err)
		}
		return replyDesign(v, http.StatusCreated), s.record(ctx, tx, "sampling.design_created", v, nil)
	})
}

func replyDesign(v *Design, status int) web.Reply[*Design] {
	return web.Reply[*Design]{Value: v, Status: status, ETag: web.ETag(int64(v.Version)), Location: v.Links.Self}
}

func linksOf(id string) api.SampleLinks {
	self := "/v1/sampling/designs/" + id
	return api.SampleLinks{Self: self, Versions: self + "/versions", Frame: self + "/frame", Draw: self + "/draw", Verify: self + "/verify"}
}

// record appends the event of a change.
func (s *core) record(ctx context.Context, tx *db.Tx, kind string, v *Design, data any) error {
	return s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: web.CallerFrom(ctx).Workspace, Type: kind, Subject: v.DesignID, Revision: int64(v.Version), Data: data,
	})
}

// prepare checks a draft and computes what follows from it.
func (s *Service) prepare(ctx context.Context, d Draft) (*Design, error) {
	if err := Check(&d); err != nil {
		return nil, err
	}
	if err := s.checkProject(ctx, d.ProjectID); err != nil {
		return nil, err
	}
	v, err := Compute(d)
	if err != nil || d.SurveyID == "" {
		return v, err
	}
	return v, s.checkSurvey(ctx, s.db, v)
}

// checkProject requires a project that exists, and that the caller sees. The
// fault is SAMPLING_PARAMETERS_INVALID.
func (s *core) checkProject(ctx context.Context, project string) error {
	c := web.CallerFrom(ctx)
	refuse := func(code, detail string) error {
		return fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{Pointer: "/projectId", Code: code, Detail: detail})
	}
	if !c.Sees(project) { // looks as if it did not exist, whether it does or not
		return refuse("not_found", "The key is limited to other projects.")
	}
	held, is, err := s.cfg.Project(ctx, s.db, c.Workspace, project)
	switch {
	case err != nil:
		return fmt.Errorf("look for project: %w", err)
	case held && !is:
		return refuse("not_a_project", "This DID belongs to a twin of this server that is not a project.")
	case !held && s.cfg.StrictRefs:
		return refuse("not_found", "The project is not stored on this server, and references to external projects are refused.")
	}
	return nil
}

// checkSurvey requires that the survey of a design has its target, and a list
// that can be filled. Faults: SAMPLING_TARGET_MISMATCH, and those of
// survey.Drawable.
func (s *core) checkSurvey(ctx context.Context, q db.Querier, v *Design) error {
	plan, err := s.cfg.Surveys.Drawable(ctx, q, v.SurveyID, v.ProjectID)
	if err != nil {
		return err
	}
	t := targetOf(v)
	var c fault.Checks
	if plan.PopulationHash == "" {
		plan.CheckTarget(&c, &t)
	}
	if len(c.Fields()) > 0 {
		return fault.New(fault.Conflict, "SAMPLING_TARGET_MISMATCH", "The survey has a different target from the design. Change one of them.").With(c.Fields()...)
	}
	return nil
}

func targetOf(v *Design) survey.Target {
	p := v.Parameters
	return survey.Target{ParameterType: p.ParameterType, Tail: p.Tail, Confidence: p.Confidence, Precision: p.Precision, MarginOfError: p.MarginOfError}
}

// Target returns what a survey that names a design must agree with; nil when
// the project has no such design.
func (s *Service) Target(ctx context.Context, q db.Querier, project, id string) (*survey.Target, error) {
	r, err := find(ctx, q, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && r.project != project {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	t := targetOf(&r.Design)
	t.Size = float64(r.Parameters.DrawnSize)
	rows, err := q.Query(ctx, listHashes, r.nid)
	t.FrameHashes, err = db.Collect(rows, err, "list frames", db.Column[string])
	t.FrameHashes = slices.DeleteFunc(t.FrameHashes, func(h string) bool { return h == "" })
	return &t, err
}

// Get reads a version of a design; 0 is the newest. Faults: DESIGN_NOT_FOUND,
// VERSION_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string, version int) (web.Reply[*Design], error) {
	var none web.Reply[*Design]
	r, err := find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	v, err := versionOf(ctx, s.db, r, version)
	if err != nil {
		return none, err
	}
	if v == &r.Design {
		if err := s.overtaken(ctx, r); err != nil {
			return none, err
		}
	}
	return replyDesign(v, 0), nil
}

// overtaken warns where the newest frame leads to another sample size than the
// design alone.
func (s *Service) overtaken(ctx context.Context, r *designRow) error {
	f, err := findFrame(ctx, s.db, r.nid, "")
	if fault.KindOf(err) == fault.NotFound || err == nil && f.State != "frozen" {
		return nil
	} else if err != nil {
		return err
	}
	plan, _, err := PlanOf(&r.Design, &f.SampleFrame)
	if err != nil {
		r.Warnings = append(r.Warnings, "nothing can be drawn from the newest frame: "+err.Error())
		return nil
	}
	n := drawnOf(plan.Strata)
	if n != r.Parameters.DrawnSize {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the newest frame has %d households: a draw takes %d of them, not the %d that the design alone gives", f.Population, n, r.Parameters.DrawnSize))
	}
	return nil
}

func versionOf(ctx context.Context, q db.Querier, r *designRow, version int) (*Design, error) {
	if version == 0 || version == r.version {
		return &r.Design, nil
	}
	rows, err := q.Query(ctx, selectVersion, r.nid, version)
	list, err := designs(rows, err)
	if err == nil && len(list) == 0 {
		err = fault.New(fault.NotFound, "VERSION_NOT_FOUND", fmt.Sprintf("The design has %d versions.", r.version))
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func designs(rows db.Rows, err error) ([]*Design, error) {
	return db.Collect(rows, err, "list sample designs", func(v **Design, row db.Row) error {
		var body string
		*v = new(Design)
		if err := row.Scan(&body); err != nil {
			return err
		}
		return json.Unmarshal([]byte(body), *v)
	})
}

// maxExamined is how many designs or draws one page looks at.
const maxExamined = 300

// List reads a page of designs before a number, newest first; next is 0 at the
// end.
func (s *Service) List(ctx context.Context, project string, before int64, limit int) (items []*Design, next int64, err error) {
	c := web.CallerFrom(ctx)
	if project == "" && len(c.Projects) == 1 {
		project = c.Projects[0]
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var rows db.Rows
	if project == "" {
		rows, err = s.db.Query(ctx, listDesigns, c.Workspace, before, maxExamined)
	} else {
		rows, err = s.db.Query(ctx, listDesignsOf, c.Workspace, project, before, maxExamined)
	}
	found, err := db.Collect(rows, err, "list sample designs", func(r **designRow, row db.Row) error {
		*r = new(designRow)
		return (*r).scan(row)
	})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range found {
		if len(items) == limit {
			return items, before, nil
		}
		before = r.nid
		if c.Sees(r.project) && r.deleted == 0 {
			items = append(items, &r.Design)
		}
	}
	if len(found) < maxExamined {
		before = 0
	}
	return items, before, nil
}

// Delete removes a design from lists. Its frames and draws stay, for later
// draws. The fault is DESIGN_NOT_FOUND.
func (s *Service) Delete(ctx context.Context, id string) (*Design, error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	v := r.Design
	v.Deleted = s.now()
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode sample design: %w", err)
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, deleteDesign, r.nid, v.Deleted.UnixMilli(), string(body))
		if err != nil {
			return fmt.Errorf("delete sample design: %w", err)
		}
		if n == 0 {
			return notFound()
		}
		return s.record(ctx, tx, "sampling.design_deleted", &v, nil)
	})
	return &v, err
}
