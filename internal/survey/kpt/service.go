package kpt

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Idem and Now have defaults.
type Config struct {
	DB      *db.DB
	Vault   *vault.Vault // names households
	Events  *event.Log
	Idem    *once.Store
	Cursors web.Cursors
	Now     func() time.Time
	// Household reports whether a DID belongs to a household whose twin the caller
	// of ctx may see.
	Household func(ctx context.Context, q db.Querier, did string) (bool, error)
	// Design reports whether a project has a sample design.
	Design func(ctx context.Context, q db.Querier, project, id string) (bool, error)
}

// Service is the use cases of kitchen performance tests.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{cfg: cfg, db: cfg.DB}
}

// Record stores a test. Faults: KPT_INVALID, KPT_EXISTS, KPT_OVERLAPS,
// HOUSEHOLD_UNKNOWN, HOUSEHOLD_ERASED.
func (s *Service) Record(ctx context.Context, d Draft) (web.Reply[*Test], error) {
	var none web.Reply[*Test]
	normalise(&d)
	var c fault.Checks
	p := checkDraft(&c, &d, s.cfg.Now())
	check.DID(&c, "/householdId", d.HouseholdID)
	if d.ProjectID != "" {
		check.DID(&c, "/projectId", d.ProjectID)
	}
	if err := c.Err(invalidCode, invalidText); err != nil {
		return once.Refuse[*Test](ctx, s.cfg.Idem, err)
	}
	caller, now := web.CallerFrom(ctx), s.cfg.Now().UnixMilli()
	r := &row{nid: s.db.NewNID(), household: d.HouseholdID, grp: d.TestGroup, status: recorded, actor: caller.DID, period: p, id: d.ID, revision: 1, created: now, updated: now, draft: d}
	if r.id == "" {
		r.id = "kpt_" + strconv.FormatInt(r.nid, 10)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Test], error) {
		if err := s.admit(ctx, tx, r); err != nil {
			return none, err
		}
		ok, err := r.insert(ctx, tx, caller.Workspace)
		if err == nil && !ok {
			err = taken()
		}
		if err != nil {
			return none, err
		}
		return s.reply(ctx, r, http.StatusCreated), s.announce(ctx, tx, "kpt.recorded", r)
	})
}

func taken() error {
	return fault.New(fault.Conflict, "KPT_EXISTS", "Another kitchen performance test already has this id. Use a different id.").
		With(fault.Field{Pointer: "/id", Code: "exists", Detail: "Use another id."})
}

// admit sets the project of a new test and checks that the household may be
// tested.
func (s *Service) admit(ctx context.Context, tx *db.Tx, r *row) error {
	ws := web.CallerFrom(ctx).Workspace
	if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), ws, r.household); err != nil {
		return err
	}
	if err := vault.CheckErased(ctx, tx, ws, r.household, "/householdId"); err != nil {
		return err
	}
	var err error
	if r.project, err = s.projectOf(ctx, tx, r); err != nil {
		return err
	}
	if err := s.known(ctx, tx, r); err != nil {
		return err
	}
	return s.settle(ctx, tx, r)
}

// projectOf is the project a draft names, else the only one it can mean.
func (s *Service) projectOf(ctx context.Context, q db.Querier, r *row) (string, error) {
	c, named := web.CallerFrom(ctx), r.draft.ProjectID
	if named == "" && len(c.Projects) == 1 {
		named = c.Projects[0]
	}
	var wrong fault.Checks
	switch {
	case named == "":
		rows, err := q.Query(ctx, listProjects, c.Workspace, r.household)
		all, err := db.Collect(rows, err, "list projects of a household", db.Column[string])
		if err != nil {
			return "", err
		}
		if len(all) == 1 && c.Sees(all[0]) {
			return all[0], nil
		}
		wrong.Add("/projectId", "required", "The household is on lists of no project, or of several: name the project it was tested for.")
	case !c.Sees(named):
		wrong.Add("/projectId", "not_found", "The key is limited to other projects.")
	}
	return named, wrong.Err(invalidCode, invalidText)
}

// known requires that the household exists: as a twin, or on a list of the
// project. The fault is HOUSEHOLD_UNKNOWN.
func (s *Service) known(ctx context.Context, q db.Querier, r *row) error {
	ok, err := s.cfg.Household(ctx, q, r.household)
	if err == nil && !ok {
		ok, err = db.Exists(q.QueryRow(ctx, selectListed, web.CallerFrom(ctx).Workspace, r.project, r.household), "look for a listed household")
	}
	if err == nil && !ok {
		err = fault.New(fault.Unprocessable, "HOUSEHOLD_UNKNOWN", "No household has this DID: make its twin, or add it to the list of a survey of the project.").
			With(fault.Field{Pointer: "/householdId", Code: "not_found", Detail: "This household has no twin that you see and is on no list of the project."})
	}
	return err
}

// settle requires that the design of a test exists, and that none of its days
// counts in another test of the same fuel in the household. The days that count are
// the last ones of the period, as many as there are logs. Faults: KPT_INVALID,
// KPT_OVERLAPS.
func (s *Service) settle(ctx context.Context, tx *db.Tx, r *row) error {
	ws := web.CallerFrom(ctx).Workspace
	if sel := r.draft.Selection; sel != nil && sel.DesignID != "" {
		ok, err := s.cfg.Design(ctx, tx, r.project, sel.DesignID)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{Pointer: "/selection/designId", Code: "not_found", Detail: "The project has no such sample design."})
		}
	}
	if _, err := tx.Exec(ctx, touchProject, ws, r.project); err != nil {
		return fmt.Errorf("count kitchen tests: %w", err)
	}
	f := r.draft.FuelMeasurements
	rows, err := tx.Query(ctx, selectOverlap, ws, r.project, r.household, f.Fuel, r.end-int64(len(f.DailyLogs)), r.end, r.nid)
	others, err := db.Collect(rows, err, "look for overlapping kitchen tests", func(o *row, from db.Row) error { return from.Scan(&o.id, &o.actor) })
	if err != nil || len(others) == 0 {
		return err
	}
	if slices.ContainsFunc(others, func(o row) bool { return o.id == r.id }) { // it is sent again
		return taken()
	}
	// Whoever knows the household by its DID must not learn its name.
	detail := "Only the person who recorded it and keys with the scope responses:pii see which test that is."
	if others[0].knows(ctx) {
		detail = "See " + others[0].id + "."
	}
	return fault.New(fault.Conflict, "KPT_OVERLAPS", "The household was already tested for this fuel at the same time.").
		With(fault.Field{Pointer: "/testPeriod", Code: "exists", Detail: detail})
}

// knows reports whether the caller may know which household was tested: by its
// scope, or because it has recorded the test.
func (r *row) knows(ctx context.Context) bool {
	c := web.CallerFrom(ctx)
	return c.May(privacy.PII) || c.Known() && c.DID == r.actor
}

func (s *Service) announce(ctx context.Context, tx *db.Tx, kind string, r *row) error {
	return s.cfg.Events.Append(ctx, tx, event.Event{Workspace: web.CallerFrom(ctx).Workspace, Type: kind, Subject: r.id, Revision: r.revision})
}

func (s *Service) reply(ctx context.Context, r *row, status int) web.Reply[*Test] {
	v := s.shown(ctx, r)
	return web.Reply[*Test]{Value: v, Status: status, ETag: web.ETag(r.revision), Location: v.Links.Self}
}

// shown is a test as the caller may see it.
func (s *Service) shown(ctx context.Context, r *row) *Test {
	self := "/v1/kpt/" + url.PathEscape(r.id)
	v := &Test{
		KitchenTestDraft: r.draft, Status: r.status, RecordedBy: r.actor, Created: timeOf(r.created), Updated: timeOf(r.updated), Reason: r.reason, Revision: r.revision,
		Links: api.KitchenTestLinks{Self: self, History: self + "/history"},
	}
	v.ID, v.ProjectID, v.HouseholdID, v.TestGroup = r.id, r.project, r.household, r.grp
	v.TestPeriod.StartDate, v.TestPeriod.EndDate = dayText(r.start), dayText(r.end)
	derive(v)
	if !r.knows(ctx) {
		x := s.sight(ctx, r)
		v.HouseholdID, v.RecordedBy, v.Evidence, v.CookingSessions, v.Masked = x.Household(r.household), x.Person(r.actor), nil, nil, true
	}
	return v
}

func (s *Service) sight(ctx context.Context, r *row) privacy.Sight {
	c := web.CallerFrom(ctx)
	return privacy.See(c.DID, c.May, s.cfg.Vault.Pseudonyms(c.Workspace, r.project))
}

// Get reads a test. The fault is KPT_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (web.Reply[*Test], error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return web.Reply[*Test]{}, err
	}
	return s.reply(ctx, r, 0), nil
}

// Change is a correction or withdrawal: of which revision, why, and what to.
type Change struct {
	IfMatch string
	Reason  string
	Draft   *Draft // nil withdraws
}

// Change corrects or withdraws a test. Faults: KPT_NOT_FOUND, KPT_INVALID,
// KPT_LOCKED, KPT_OVERLAPS, NOT_RECORDER, HOUSEHOLD_ERASED and those of
// web.CheckMatch.
func (s *Service) Change(ctx context.Context, id string, ch Change) (web.Reply[*Test], error) {
	var out web.Reply[*Test]
	var c fault.Checks
	check.Reason(&c, "query/reason", ch.Reason, true)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return out, err
	}
	of, err := find(ctx, s.db, id)
	if err != nil {
		return out, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), web.CallerFrom(ctx).Workspace, of.household); err != nil {
			return err
		}
		r, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := mayChange(ctx, r, ch.IfMatch); err != nil {
			return err
		}
		var kind string
		if ch.Draft != nil {
			kind = "kpt.corrected"
			err = s.correct(ctx, tx, r, *ch.Draft)
		} else {
			kind = "kpt.withdrawn"
			r.status = withdrawn
		}
		if err != nil {
			return err
		}
		r.revision, r.updated, r.reason = r.revision+1, s.cfg.Now().UnixMilli(), ch.Reason
		if err := r.update(ctx, tx, web.CallerFrom(ctx).DID); err != nil {
			return err
		}
		out = s.reply(ctx, r, 0)
		return s.announce(ctx, tx, kind, r)
	})
	return out, err
}

// mayChange reports whether a test is the caller's to change, as it stands.
func mayChange(ctx context.Context, r *row, ifMatch string) error {
	if c := web.CallerFrom(ctx); !(c.Known() && c.DID == r.actor) && !c.May("surveys:write") {
		return fault.New(fault.Forbidden, "NOT_RECORDER", "Only the person who recorded a kitchen performance test, or a key with the scope surveys:write, may change it.")
	}
	if err := web.CheckMatch(ifMatch, r.revision); err != nil {
		return err
	}
	if r.status != recorded {
		return fault.New(fault.Conflict, "KPT_LOCKED", "The kitchen performance test is "+r.status+" and can no longer change. Record another one.")
	}
	return nil
}

// correct replaces what a test says with a draft. The household stays, and so
// does what the caller could not read and does not send.
func (s *Service) correct(ctx context.Context, tx *db.Tx, r *row, d Draft) error {
	normalise(&d)
	var c fault.Checks
	same := func(at, given string, is ...string) {
		for _, v := range append(is, "") {
			if given == v {
				return
			}
		}
		c.Add(at, "read_only", "A correction cannot change this. Withdraw the test and record another one.")
	}
	same("/id", d.ID, r.id)
	same("/projectId", d.ProjectID, r.project)
	same("/householdId", d.HouseholdID, r.household, s.sight(ctx, r).Names.Household(r.household))
	p := checkDraft(&c, &d, s.cfg.Now())
	if err := c.Err(invalidCode, invalidText); err != nil {
		return err
	}
	ws := web.CallerFrom(ctx).Workspace
	if err := vault.CheckErased(ctx, tx, ws, r.household, "/householdId"); err != nil {
		return err
	}
	if !r.knows(ctx) {
		if d.Evidence == nil {
			d.Evidence = r.draft.Evidence
		}
		if d.CookingSessions == nil {
			d.CookingSessions = r.draft.CookingSessions
		}
	}
	r.draft, r.period, r.grp = d, p, d.TestGroup
	return s.settle(ctx, tx, r)
}

// Filter narrows a list of tests. Empty members are ignored.
type Filter struct {
	Project, Household, Group, Status, Fuel string
}

func (f Filter) fits(r *row) bool {
	return (f.Project == "" || f.Project == r.project) && (f.Group == "" || f.Group == r.grp) && (f.Status == "" || f.Status == r.status) &&
		(f.Fuel == "" || f.Fuel == r.draft.FuelMeasurements.Fuel)
}

// maxExamined is how many tests one page looks at.
const maxExamined = 300

// List reads a page of tests before a number, newest first; next is 0 at the
// end. A page may be short.
func (s *Service) List(ctx context.Context, f Filter, before int64, limit int) (items []*Test, next int64, err error) {
	c := web.CallerFrom(ctx)
	if f.Project == "" && len(c.Projects) == 1 {
		f.Project = c.Projects[0]
	}
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.rows(ctx, f, before)
	found, err := db.Collect(rows, err, "list kitchen tests", func(r **row, from db.Row) error {
		*r = new(row)
		return (*r).scan(from)
	})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range found {
		if len(items) == limit {
			return items, before, nil
		}
		before = r.nid
		// Whoever asks by a DID must not learn the name of the household.
		if c.Sees(r.project) && f.fits(r) && (f.Household == "" || r.knows(ctx)) {
			items = append(items, s.shown(ctx, r))
		}
	}
	if len(found) < maxExamined {
		before = 0
	}
	return items, before, nil
}

func (s *Service) rows(ctx context.Context, f Filter, before int64) (db.Rows, error) {
	ws := web.CallerFrom(ctx).Workspace
	switch {
	case f.Household != "":
		return db.Reader(ctx, s.db).Query(ctx, listHousehold, ws, f.Household, before, maxExamined)
	case f.Project != "":
		return db.Reader(ctx, s.db).Query(ctx, listProject, ws, f.Project, before, maxExamined)
	}
	return db.Reader(ctx, s.db).Query(ctx, listTests, ws, before, maxExamined)
}

// History reads a page of the revisions of a test before one, newest first. The
// fault is KPT_NOT_FOUND.
func (s *Service) History(ctx context.Context, id string, before int64, limit int) (items []Revision, next int64, err error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	x := s.sight(ctx, r)
	rows, err := db.Reader(ctx, s.db).Query(ctx, listHistory, r.nid, before, limit+1)
	items, err = db.Collect(rows, err, "list revisions of a kitchen test", func(v *Revision, from db.Row) error {
		was, by, body := *r, "", ""
		was.draft = Draft{}
		if err := from.Scan(&was.revision, &was.updated, &by, &was.reason, &was.status, &body); err != nil {
			return err
		}
		*v = Revision{Revision: was.revision, At: timeOf(was.updated), By: x.Person(by), Reason: was.reason}
		if body == "" {
			return nil
		}
		if err := was.read(body); err != nil {
			return err
		}
		was.grp = was.draft.TestGroup
		was.start, _ = dayOf(was.draft.TestPeriod.StartDate)
		was.end, _ = dayOf(was.draft.TestPeriod.EndDate)
		v.Test = s.shown(ctx, &was)
		return nil
	})
	if err != nil || len(items) <= limit {
		return items, 0, err
	}
	return items[:limit], items[limit-1].Revision, nil
}

// Erase removes what the tests of a household say: the facts that there were
// tests, of which group and when remain. It is an erase.Eraser.
func (s *Service) Erase(ctx context.Context, tx *db.Tx, ws, person string) (int64, error) {
	if err := vault.BeginErasure(ctx, tx, s.db.Dialect(), ws, person); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, eraseHistory, ws, person); err != nil {
		return 0, fmt.Errorf("erase revisions of kitchen tests: %w", err)
	}
	n, err := tx.Exec(ctx, eraseTests, ws, person)
	return n, db.Wrap("erase kitchen tests", err)
}
