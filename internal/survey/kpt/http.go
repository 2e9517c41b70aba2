package kpt

import (
	"context"
	"net/http"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag = "kpt"
	one = "/v1/kpt/{kptId}"
)

const recording = "A test covers at least three days, with a log for each; total is their sum (it may differ by 0.1 %). A household is in one test of a fuel at a time. " +
	"Figures include only tests whose random selection is documented: selection with a method other than purposive, and designId or document. " +
	"The household must have a twin, or be on the list of a survey of the project. Keys with responses:pii and the person who recorded the test see households by DID, others by name."

// Routes adds kitchen performance tests to the API.
func (s *Service) Routes(a *web.API) {
	const read, write = "responses:read", "responses:write"
	changing := []string{"KPT_NOT_FOUND", "KPT_LOCKED", "NOT_RECORDER", "STALE_REVISION", "PRECONDITION_REQUIRED", "INVALID_PARAMETER"}
	web.Post(a, "/v1/kpt", s.serveRecord, web.Doc{
		Summary: "Record a kitchen performance test", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: example("kpt-123"), Description: recording,
		Codes: []string{invalidCode, "KPT_EXISTS", "KPT_OVERLAPS", "HOUSEHOLD_UNKNOWN", "HOUSEHOLD_ERASED"},
	})
	web.Get(a, "/v1/kpt", s.serveList, web.Doc{
		Summary: "List kitchen performance tests, newest first", Scope: read, Tag: tag, Codes: []string{"INVALID_PARAMETER"}, Description: "A page may be short: follow hasMore.",
	})
	web.Get(a, "/v1/kpt/analysis", s.serveAnalyse, web.Doc{
		Summary: "Read the results of kitchen performance tests, with their uncertainty", Scope: "analytics:read", Tag: tag, Produces: report.Media, Codes: []string{"INVALID_PARAMETER", "KPT_TOO_MANY", "UNITS_MIXED"},
		Description: "Fuel per day and household, head or standard adult: mean, spread, standard error, interval and the decision about the target (90/10) in each group, and the saving between them. " +
			"A figure that misses its target is replaced by the lower bound in the reference group and by the upper bound in the intervention group (precision.use). " +
			"A test counts if it was recorded and not withdrawn, its random selection is documented, and tests of the other group took place at the same time; leftOut counts the others. " +
			"The saving has Student's t with the smaller degrees of freedom of both groups; households in both go together. Groups of fewer than 5 households are suppressed for keys without responses:pii. As a picture (format=svg) it is the groups and the saving with their intervals.",
	})
	web.Get(a, one, s.serveGet, web.Doc{Summary: "Read a kitchen performance test", Scope: read, Tag: tag, Codes: []string{"KPT_NOT_FOUND"}})
	web.Put(a, one, s.serveCorrect, web.Doc{
		Summary: "Correct a kitchen performance test", Scope: write, Tag: tag, Example: corrected(), Codes: append(changing, invalidCode, "KPT_OVERLAPS", "HOUSEHOLD_ERASED"),
		Description: "The body is the whole test; id, project and household stay. Only the person who recorded it, or a key with surveys:write, may correct it, with a reason. The history has the earlier values.",
	})
	web.Delete(a, one, s.serveWithdraw, web.Doc{
		Summary: "Withdraw a kitchen performance test", Scope: write, Tag: tag, Codes: changing,
		Description: "It stays readable and is no longer in any figure. Only the person who recorded it, or a key with surveys:write, may withdraw it, with a reason. This cannot be undone.",
	})
	web.Get(a, one+"/history", s.serveHistory, web.Doc{Summary: "List the revisions of a kitchen performance test, newest first", Scope: read, Tag: tag, Codes: []string{"KPT_NOT_FOUND"}})
}

// example is the documented test, with what figures need.
func example(id string) Draft {
	return Draft{
		ID: id, Type: "KPTClaim", ProjectID: "did:ixo:entity:123", HouseholdID: "did:ixo:household/123", TestGroup: intervention,
		TestPeriod:       api.KitchenTestPeriod{StartDate: "2024-02-01", EndDate: "2024-02-04", DurationDays: 3},
		FuelMeasurements: api.KitchenTestFuel{Fuel: "wood", Unit: "kg", Total: 11.9, DailyLogs: []float64{3.2, 2.8, 3.0, 2.9}},
		People:           &api.KitchenTestPeople{Children: 2, Women: 1, Men: 1},
		Selection:        &api.KitchenTestChoice{Method: "simple_random", Document: "MADD 4.2, draw of 20 January"},
		ExternalFactors:  &api.KitchenTestFactors{Season: "dry", CulturalEvents: []string{"none"}, OccupationalFactors: []string{"typical_workweek"}},
	}
}

// corrected is an example without the members that a correction cannot change.
func corrected() Draft {
	d := example("")
	d.ProjectID, d.HouseholdID = "", ""
	return d
}

func (s *Service) serveRecord(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*Test], error) {
	return s.Record(ctx, in.Body)
}

// of names a test.
type of struct {
	ID string `path:"kptId" doc:"Id of the test." example:"kpt-123"`
}

// changed names a test, the revision that was read, and why it changes.
type changed struct {
	of
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; required."`
	Reason  string `query:"reason" doc:"The reason, for the history; needed." example:"A day was entered twice."`
}

func (s *Service) serveGet(ctx context.Context, in *of) (web.Reply[*Test], error) {
	return s.Get(ctx, in.ID)
}

func (s *Service) serveCorrect(ctx context.Context, in *struct {
	changed
	Body Draft
},
) (web.Reply[*Test], error) {
	return s.Change(ctx, in.ID, Change{IfMatch: in.IfMatch, Reason: in.Reason, Draft: &in.Body})
}

func (s *Service) serveWithdraw(ctx context.Context, in *changed) (web.Reply[*Test], error) {
	return s.Change(ctx, in.ID, Change{IfMatch: in.IfMatch, Reason: in.Reason})
}

// place is where a list continues.
type place struct {
	Before int64 `json:"b"`
}

func (s *Service) serveList(ctx context.Context, in *struct {
	Project   string `query:"projectId" doc:"Only tests of this project."`
	Household string `query:"householdId" doc:"Only tests of this household, by its DID; for keys with responses:pii, and with responses:write those you have recorded."`
	Group     string `query:"testGroup" enum:"reference,intervention"`
	Status    string `query:"status" enum:"recorded,withdrawn,erased"`
	Fuel      string `query:"fuel" doc:"Only tests of this fuel."`
	web.Paging
},
) (web.Reply[web.Page[*Test]], error) {
	var c fault.Checks
	check.OneOf(&c, "query/testGroup", in.Group, reference, intervention)
	check.OneOf(&c, "query/status", in.Status, recorded, withdrawn, erased)
	if in.Household != "" {
		caller := web.CallerFrom(ctx)
		if strings.HasPrefix(in.Household, "hh_") {
			c.Add("query/householdId", "pseudonym", "This route does not find households by name.")
		} else if !caller.May(privacy.PII) && !caller.May("responses:write") {
			c.Add("query/householdId", "scope_missing", "This key sees households only by name. Asking by DID needs the scope responses:pii.")
		}
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[web.Page[*Test]]{}, err
	}
	f := Filter{Project: in.Project, Household: in.Household, Group: in.Group, Status: in.Status, Fuel: in.Fuel}
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Test, place, error) {
		items, next, err := s.List(ctx, f, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveHistory(ctx context.Context, in *struct {
	of
	web.Paging
},
) (web.Reply[web.Page[Revision]], error) {
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]Revision, place, error) {
		items, next, err := s.History(ctx, in.ID, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveAnalyse(ctx context.Context, in *struct {
	Query
	report.Rendering
},
) (web.Reply[*Analysis], error) {
	picture, err := in.Picture()
	if err != nil {
		return web.Reply[*Analysis]{}, err
	}
	out, err := s.Analyse(ctx, in.Query)
	if err == nil && picture {
		return report.Reply[*Analysis](draw(out, report.Frame{Width: in.Width, Language: in.Language})), nil
	}
	return web.Reply[*Analysis]{Value: out}, err
}

// draw is the fuel of both groups with its intervals, and the saving in words.
func draw(a *Analysis, f report.Frame) []byte {
	per := map[string]string{"household": "household", "head": "head", "adult": "standard adult"}[a.Per]
	f.Title = f.Say("%s in a day, per %s", strings.ToUpper(a.Fuel[:1])+a.Fuel[1:], f.Say(per))
	f.About = f.Say("Mean of kitchen tests, %g %% interval", 100*a.Confidence)
	unit := report.Unit{Name: a.Unit}
	var rows []report.Row
	for _, g := range a.Groups {
		label := map[string]string{reference: "With the old stove (reference)", intervention: "With the new stove (intervention)"}[g.Group]
		rows = append(rows, report.Row{Label: f.Say(label), Value: g.Estimate, Low: g.Low, High: g.High, N: g.N, Hidden: g.Suppressed})
	}
	if s := a.Saving; s != nil {
		rows = append(rows, report.Row{Label: f.Say("Saving"), Value: s.Estimate, Low: s.Low, High: s.High, Hidden: s.Suppressed})
		if s.Share != nil {
			f.Notes = append(f.Notes, f.Say("The saving is %.1f %% of what the reference group uses.", 100**s.Share))
		}
	}
	f.Notes = append(f.Notes, a.Remarks...)
	return report.Estimates{Frame: f, Unit: unit, Confidence: a.Confidence, Rows: rows}.SVG()
}
