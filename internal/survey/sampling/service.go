package sampling

import (
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
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/campaign"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Idem, Registry, ActsFor and Now have defaults.
type Config struct {
	DB      *db.DB
	Surveys *survey.Service
	Vault   *vault.Vault // names households
	Key     secret.Key   // seals parts of seeds
	Jobs    *job.Service
	Events  *event.Log
	Idem    *once.Store
	Cursors web.Cursors
	Now     func() time.Time
	// ActsFor lists the other DIDs the caller of ctx is known by, and those of the
	// groups it belongs to: what these have made is its own work, too.
	ActsFor func(ctx context.Context) ([]string, error)
	// Registry gives the twins that a query finds, by the rights of the caller, and
	// the number of the newest event by then. Without it there are none.
	Registry func(ctx context.Context, project string, q api.SampleQuery, visit func(Row) error) (revision int64, err error)
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
	if cfg.Idem == nil {
		cfg.Idem = once.Plain(cfg.DB)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.ActsFor == nil {
		cfg.ActsFor = func(context.Context) ([]string, error) { return nil, nil }
	}
	if cfg.Registry == nil {
		cfg.Registry = func(context.Context, string, api.SampleQuery, func(Row) error) (int64, error) { return 0, nil }
	}
	c := &core{cfg: cfg, db: cfg.DB}
	return &Service{c, frames{c}, drawer{c}, proofs{c}}
}

// Handlers does the jobs.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{FrameKind: s.runFrame, DrawKind: s.runDraw, VerifyKind: s.runVerify}
}

func (s *core) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// isCaller reports whether a DID is the caller, or somebody the caller acts for.
func (s *core) isCaller(ctx context.Context, did string) (bool, error) {
	as, err := s.cfg.ActsFor(ctx)
	return did == web.CallerFrom(ctx).DID || slices.Contains(as, did), err
}

// timeOf is a stored time; the zero time when there is none.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// sees reports whether a project exists for a caller.
func sees(c web.Caller, project string) bool {
	return len(c.Projects) == 0 || slices.Contains(c.Projects, project)
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
			return none, fault.New(fault.Conflict, "DESIGN_EXISTS", "A sample design has this id already, or had it. Use another one.").
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
	if !sees(web.CallerFrom(ctx), d.ProjectID) {
		return nil, fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{Pointer: "/projectId", Code: "not_found", Detail: "The key is limited to other projects."})
	}
	v, err := Compute(d)
	if err != nil || d.SurveyID == "" {
		return v, err
	}
	return v, s.checkSurvey(ctx, s.db, v)
}

// checkSurvey wants the survey of a design to have its target and a list to be
// made. Faults: SAMPLING_TARGET_MISMATCH, and those of survey.Drawable.
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
		return fault.New(fault.Conflict, "SAMPLING_TARGET_MISMATCH", "The survey promises another target than the design. Change one of them.").With(c.Fields()...)
	}
	return nil
}

func targetOf(v *Design) campaign.Target {
	p := v.Parameters
	return campaign.Target{ParameterType: p.ParameterType, Confidence: p.Confidence, Precision: p.Precision, MarginOfError: p.MarginOfError}
}

// Target is what a survey of a project must agree with that names a design; nil
// when there is no such design.
func (s *Service) Target(ctx context.Context, q db.Querier, project, id string) (*campaign.Target, error) {
	r, err := find(ctx, q, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && r.project != project {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	t := targetOf(&r.Design)
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
	return replyDesign(v, 0), nil
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
	rows, err := s.db.Query(ctx, listDesigns, c.Workspace, before, maxExamined)
	if project != "" {
		if err == nil {
			rows.Close()
		}
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
		if sees(c, r.project) && r.deleted == 0 {
			items = append(items, &r.Design)
		}
	}
	if len(found) < maxExamined {
		before = 0
	}
	return items, before, nil
}

// Versions reads a page of the versions of a design, newest first.
func (s *Service) Versions(ctx context.Context, id string, before, limit int) (items []*Design, next int, err error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt32
	}
	items, err = designs(s.db.Query(ctx, listVersions, r.nid, before, limit+1))
	if err != nil || len(items) <= limit {
		return items, 0, err
	}
	return items[:limit], items[limit-1].Version, nil
}

// Recalculate makes a new version from what was observed; the old one stays.
// Faults: DESIGN_NOT_FOUND, SAMPLING_PARAMETERS_INVALID, INSUFFICIENT_POPULATION.
func (s *Service) Recalculate(ctx context.Context, id string, o api.SampleObserved) (web.Reply[*Design], error) {
	var c fault.Checks
	check.Reason(&c, "/reason", o.Reason, true)
	if o.Mean == nil && o.SD == nil && o.DropoutRate == nil && o.DesignEffect == nil && o.Population == nil {
		c.Add("/mean", "required", "Give at least one of mean, sd, dropoutRate, designEffect and population.")
	}
	if err := c.Err(invalidCode, invalidText); err != nil {
		return web.Reply[*Design]{}, err
	}
	return s.revise(ctx, id, o.Reason, func(d Draft) (Draft, *api.SampleObserved) {
		set := func(to **float64, v *float64) {
			if v != nil {
				*to = v
			}
		}
		set(&d.ExpectedMean, o.Mean)
		set(&d.ExpectedSD, o.SD)
		set(&d.DropoutRate, o.DropoutRate)
		set(&d.DesignEffect, o.DesignEffect)
		if o.Population != nil && Stratified(&d) {
			for i := range d.Stratification.Strata { // their shares stay
				h := &d.Stratification.Strata[i]
				if h.Weight == nil && h.Population != nil && d.Population != nil {
					w := *h.Population / *d.Population
					h.Weight = &w
				}
				h.Population = nil
			}
		}
		set(&d.Population, o.Population)
		return d, &o
	})
}

// Revise makes a new version of a design as its maker sends it. Faults are those
// of Create, and DESIGN_NOT_FOUND.
func (s *Service) Revise(ctx context.Context, id string, d Draft) (web.Reply[*Design], error) {
	return s.revise(ctx, id, "", func(Draft) (Draft, *api.SampleObserved) { return d, nil })
}

// draftOf is a design as its maker would send it now.
func draftOf(v *Design) Draft {
	d := v.SampleDesignDraft
	if s := d.Stratification; s != nil {
		one := *s
		one.Strata = slices.Clone(s.Strata)
		for i := range one.Strata {
			h := &one.Strata[i]
			h.Clusters = nil
			if one.Method != fixed {
				h.SampleSize = nil
			}
			if h.Weight != nil {
				h.Population = nil // it followed from the weight
			}
		}
		d.Stratification = &one
	}
	return d
}

func (s *Service) revise(ctx context.Context, id, reason string, change func(Draft) (Draft, *api.SampleObserved)) (web.Reply[*Design], error) {
	var none web.Reply[*Design]
	r, err := find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	d, observed := change(draftOf(&r.Design))
	d.DesignID = r.DesignID
	if d.ProjectID != r.project {
		return none, fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{Pointer: "/projectId", Code: "read_only", Detail: "A design stays in its project."})
	}
	if observed != nil {
		d.SurveyID = "" // the survey it was drawn for has its list
	}
	v, err := s.prepare(ctx, d)
	if err != nil {
		return none, err
	}
	v.Version, v.Created, v.CreatedBy, v.Links = r.version+1, s.now(), web.CallerFrom(ctx).DID, r.Links
	v.Observed, v.Reason = observed, reason
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Design], error) {
		if err := s.storeVersion(ctx, tx, r, v); err != nil {
			return none, err
		}
		return replyDesign(v, http.StatusCreated), s.record(ctx, tx, "sampling.design_updated", v, nil)
	})
}

// storeVersion stores v as the version after that of r, or in its place.
func (s *Service) storeVersion(ctx context.Context, tx *db.Tx, r *designRow, v *Design) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode sample design: %w", err)
	}
	n, err := tx.Exec(ctx, updateDesign, r.nid, r.version, v.Version, string(body))
	if err != nil {
		return fmt.Errorf("update sample design: %w", err)
	}
	if n == 0 {
		return web.Overtaken()
	}
	_, err = tx.Exec(ctx, insertVersion, r.nid, v.Version, string(body))
	return db.Wrap("insert version", err)
}

// Approve records what somebody else than its maker thinks of the newest version.
// Faults: DESIGN_NOT_FOUND, VERSION_NOT_FOUND, APPROVER_IS_MAKER,
// SAMPLING_PARAMETERS_INVALID.
func (s *Service) Approve(ctx context.Context, id string, a api.SampleApproval) (web.Reply[*Design], error) {
	var none web.Reply[*Design]
	var c fault.Checks
	check.OneOf(&c, "/status", a.Status, "approved", "rejected")
	check.Short(&c, "/note", a.Note, check.MaxReason)
	if err := c.Err(invalidCode, "The decision is not valid."); err != nil {
		return none, err
	}
	r, err := find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	if a.Version != 0 && a.Version != r.version {
		return none, fault.New(fault.NotFound, "VERSION_NOT_FOUND", fmt.Sprintf("The newest version is %d; earlier ones are not decided about any more.", r.version))
	}
	caller := web.CallerFrom(ctx).DID
	if own, err := s.isCaller(ctx, r.CreatedBy); err != nil {
		return none, err
	} else if own {
		return none, fault.New(fault.Forbidden, "APPROVER_IS_MAKER", "You made this version. Somebody else decides about it.")
	}
	v := r.Design
	v.Verification = api.SampleVerification{Status: "approved", Verifier: caller, Timestamp: s.now(), Note: a.Note}
	if a.Status != "" {
		v.Verification.Status = a.Status
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Design], error) {
		if err := s.storeVersion(ctx, tx, r, &v); err != nil {
			return none, err
		}
		return replyDesign(&v, 0), s.record(ctx, tx, "sampling.design_decided", &v, map[string]string{"status": v.Verification.Status})
	})
}

// Delete removes a design from lists. Its frames and draws stay, for the draws
// that come after. The fault is DESIGN_NOT_FOUND.
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
