package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// TestDemoWhole loads the whole demo: its sizes are those the reference promises,
// the checks name the two bad collectors and nobody else, and all of it goes again.
func TestDemoWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole demo is part of the full run")
	}
	t.Parallel()
	s := newShow(t, 1, func(c *config.Config) { c.Data.SQLiteSynchronous = "normal" })
	before := s.rows(t)
	s.runs(t, func() {
		d := s.load(t)
		t.Logf("loaded in %.1f s: %+v", d.Seconds, d.Counts)
		want := client.DemoCounts{
			Organisations: 2, Groups: 4, People: 12, Households: 300, Stoves: 300, Monitors: 60, Readings: 86_400, Surveys: 4, Interviews: 400, Pictures: 120,
			Verified: d.Counts.Verified, Rejected: d.Counts.Rejected, Waiting: d.Counts.Waiting, BackChecks: d.Counts.BackChecks, Drawn: d.Counts.Drawn, KitchenTests: 24,
			Customers: 12, Calls: 42, ByPhone: 11, Conversations: 3, Webhooks: 1, Jobs: 3, Claims: 9, Credentials: 4,
		}
		if got := fmt.Sprintf("%+v", d.Counts); got != fmt.Sprintf("%+v", want) {
			t.Errorf("counts = %s, want %+v", got, want)
		}
		if c := d.Counts; c.Verified < 200 || c.Rejected < 40 || c.Waiting < 40 || c.Verified+c.Rejected+c.Waiting != 400 || c.BackChecks < 40 {
			t.Errorf("verdicts and back-checks = %+v", c)
		}
		s.checkQuality(t)
		s.checkLoaded(t)
		s.checkSample(t)
		s.checkMeasured(t)
		s.checkRules(t)
		s.checkDistricts(t)
		s.remove(t)
	})
	s.checkGone(t, before)
}

// people are the twins with an external id of the demo that begins so, by DID.
func (s *show) people(t *testing.T, prefix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for e, err := range s.api.Entities.List(t.Context(), client.EntityQuery{Type: "Person", Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if name := e.ExternalIDs["demo"]; strings.HasPrefix(name, prefix) {
			out[e.DID] = name
		}
	}
	return out
}

// checkQuality wants the checks of all surveys to name the two bad collectors, and
// nobody else for anything.
func (s *show) checkQuality(t *testing.T) {
	t.Helper()
	names := s.people(t, "demo-collector-")
	for _, id := range []string{"demo-baseline", "demo-follow-up", "demo-monitoring"} {
		flagged := map[string]map[string]int{}
		for f, err := range s.api.Quality.Flags(t.Context(), id, client.FlagQuery{Limit: 500}) {
			if err != nil {
				t.Fatal(err)
			}
			who := names[f.Collector]
			if f.Rule == "sensor_mismatch" {
				continue // of households, not of collectors
			}
			if flagged[who] == nil {
				flagged[who] = map[string]int{}
			}
			flagged[who][f.Rule]++
		}
		t.Logf("%s: %v", id, flagged)
		if got, want := slices.Sorted(maps.Keys(flagged)), []string{"demo-collector-3", "demo-collector-6"}; !slices.Equal(got, want) {
			t.Errorf("%s flags %v, want %v", id, flagged, want)
		}
		if flagged["demo-collector-3"]["copied_answers"] == 0 || flagged["demo-collector-6"]["collector_fast"] == 0 {
			t.Errorf("%s flags %v, want copies and haste", id, flagged)
		}
		report, err := s.api.Quality.Report(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range report.Effects {
			if who := names[e.Collector]; who != "demo-collector-3" && who != "demo-collector-6" {
				t.Errorf("%s: %s stands out in %s", id, who, e.Question)
			}
		}
		if len(report.Differences) > 0 {
			t.Errorf("%s: collectors differ: %+v", id, report.Differences)
		}
	}
}

// checkDistricts wants stoves in every district of the households: questions such as
// "how many stoves are active in Kitui?" have an answer.
func (s *show) checkDistricts(t *testing.T) {
	t.Helper()
	stoves, homes := map[any]int{}, map[any]int{}
	for typ, into := range map[string]map[any]int{"CleanCookingDevice": stoves, "Household": homes} {
		for e, err := range s.api.Entities.List(t.Context(), client.EntityQuery{Type: typ, Limit: 500}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.ExternalIDs["demo"] != "" {
				district, ok := e.Metadata["district"]
				if !ok {
					district = e.Properties["district"]
				}
				into[district]++
			}
		}
	}
	if len(stoves) != 3 || !maps.Equal(stoves, homes) {
		t.Errorf("stoves by district = %v, households = %v", stoves, homes)
	}
}

// checkLoaded looks at what the load leaves behind it: keys that work no more, and
// the survey that goes on.
func (s *show) checkLoaded(t *testing.T) {
	t.Helper()
	n := 0
	for k, err := range s.api.Keys.List(t.Context(), client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(k.Name, "(demo ") {
			if n++; k.Status != "revoked" {
				t.Errorf("the key %q is %s", k.Name, k.Status)
			}
		}
	}
	if n != 13 { // the loader, eight collectors, two verifiers, the manager, the supervisor
		t.Errorf("%d keys of the demo, want 13", n)
	}
	for id, want := range map[string]string{"demo-baseline": "closed", "demo-follow-up": "closed", "demo-monitoring": "active"} {
		if got, err := s.api.Surveys.Get(t.Context(), id); err != nil || got.Status != want {
			t.Errorf("%s = %+v, %v, want it %s", id, got, err, want)
		}
	}
}

// checkSample wants a draw that holds, and figures with an interval of it.
func (s *show) checkSample(t *testing.T) {
	t.Helper()
	const replacements = 2
	replaced := 0
	check, err := s.api.Sampling.Verify(t.Context(), "demo-monitoring-sample")
	if err != nil || !check.Verified || check.SoleSeed || len(check.Checks) == 0 {
		t.Errorf("proof of the draw = %+v, %v", check, err)
	}
	for u, err := range s.api.Sampling.Units(t.Context(), "demo-monitoring-sample", "replacement") {
		if err != nil || u.Reason == "" || u.Replaces == "" {
			t.Errorf("replacement = %+v, %v", u, err)
		}
		replaced++
	}
	if replaced != replacements {
		t.Errorf("%d replacements, want %d", replaced, replacements)
	}
	f, err := s.api.Statistics.Get(t.Context(), "demo-monitoring", client.StatisticsQuery{Question: "usage/used_last_7_days"})
	if err != nil || f.Basis != "drawn" || f.NoInterval != "" || len(f.Estimates) == 0 {
		t.Fatalf("figures of the drawn survey = %+v, %v", f, err)
	}
	for _, e := range f.Estimates {
		if e.Low == nil || e.High == nil || *e.Low > *e.Estimate || *e.High < *e.Estimate || *e.N < 60 {
			t.Errorf("a figure without an interval: %+v", e)
		}
	}
}

// checkMeasured wants enough pairs of answers and sensors for a kappa, and a saving
// that the kitchen tests show.
func (s *show) checkMeasured(t *testing.T) {
	t.Helper()
	n := 0
	for r, err := range s.api.Quality.CrossReferences(t.Context(), "demo-monitoring") {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if r.Households.Paired < 30 || r.Agreement != nil && (r.Agreement.Kappa == nil || r.Mismatches == 0) || r.Adjusted == nil || !r.Adjusted.Weighted || r.Hawthorne == nil {
			t.Errorf("cross-reference = %+v", r)
		}
	}
	if n != 2 {
		t.Errorf("%d cross-references, want 2", n)
	}
	project := ""
	for e, err := range s.api.Entities.List(t.Context(), client.EntityQuery{Type: "Project"}) {
		if err != nil {
			t.Fatal(err)
		}
		project = e.DID
	}
	a, err := s.api.KitchenTests.Analyse(t.Context(), client.KitchenTestFigures{ProjectID: project})
	if err != nil || a.Saving == nil || a.Saving.Low == nil || *a.Saving.Low <= 0 {
		t.Errorf("kitchen tests = %+v, %v, want a saving above 0", a, err)
	}
}

// digest is a hash over what a demo says, by external ids: names, places, answers
// and verdicts.
func (s *show) digest(t *testing.T) string {
	t.Helper()
	var lines []string
	byDID := map[string]string{}
	for e, err := range s.api.Entities.List(t.Context(), client.EntityQuery{Limit: 500}) {
		if err != nil {
			t.Fatal(err)
		}
		if name := e.ExternalIDs["demo"]; name != "" {
			byDID[e.DID] = name
			lines = append(lines, fmt.Sprintf("twin %s %s %s", name, e.Type, stable(t, e.Properties)))
		}
	}
	for _, id := range []string{"demo-baseline", "demo-follow-up", "demo-monitoring"} {
		for r, err := range s.api.Responses.List(t.Context(), id, client.ResponseQuery{Limit: 500}) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("response %s %s %s %s %s %s", r.ResponseID, byDID[r.HouseholdID], byDID[r.Collector], r.Verification.Status, r.Status, stable(t, r.Responses)))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// stable writes a value without days, which follow the day of the load.
func stable(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"startDate", "installedAt", "install_date"} {
		if i := bytes.Index(raw, []byte(`"`+name+`":"`)); i >= 0 {
			at := i + len(name) + 4
			copy(raw[at:at+10], "0000-00-00")
		}
	}
	return string(raw)
}

// TestDemoIsTheSame loads a demo three times: twice with one seed, once cut off again
// and again, and once with another seed.
func TestDemoIsTheSame(t *testing.T) {
	t.Parallel()
	digest := func(seed int64, cut bool) string {
		s := newShow(t, 10, nil)
		j, err := s.api.Demo.Load(t.Context(), client.DemoDraft{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if cut {
			s = s.cutOff(t, j)
		}
		s.runs(t, func() { s.wait(t, j, nil) })
		return s.digest(t)
	}
	first, other := digest(1, false), digest(2, false)
	if again := digest(1, true); again != first {
		t.Errorf("the digest of one that was cut off is %s, want %s", again, first)
	}
	if first == other {
		t.Error("another seed gives the same demo")
	}
}

// cutOff stops the server in the middle of each stage of a load and starts another on
// its folder, until little is left to do.
func (s *show) cutOff(t *testing.T, j *client.Job) *show {
	t.Helper()
	for _, stage := range []string{"households", "surveys", "interviews", "verification", "conversations"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.RunJobs(ctx)
		}()
		for {
			at, err := s.api.Jobs.Get(t.Context(), j.ID)
			if err != nil {
				t.Fatal(err)
			}
			if at.Progress.Note == stage || at.Final() {
				break
			}
		}
		cancel()
		<-done
		dir := s.Dir()
		s.Shut()
		b := app.Build(t, owner, func(c *config.Config) { c.Data.Dir = dir })
		s = &show{b, clientOf(t, b)}
	}
	return s
}

// TestDemoRefused holds who may load the demo, and where.
func TestDemoRefused(t *testing.T) {
	t.Parallel()
	s := newShow(t, 10, func(c *config.Config) { c.Server.Environment = "production" })
	code := func(j *client.Job, err error) string {
		var e *client.Error
		if err == nil {
			return j.ID
		}
		if !errorsAs(err, &e) {
			return err.Error()
		}
		return e.Code
	}
	ctx := t.Context()
	if got := code(s.api.Demo.Load(ctx, client.DemoDraft{})); got != "DEMO_IN_PRODUCTION" {
		t.Errorf("in production = %s", got)
	}
	if got := code(s.api.Demo.Remove(ctx)); got != "DEMO_NOT_FOUND" {
		t.Errorf("remove what is not there = %s", got)
	}
	k, err := s.api.Keys.Create(ctx, client.KeyDraft{Name: "operator", Scopes: []string{"operations:write", "operations:read"}})
	if err != nil {
		t.Fatal(err)
	}
	little := s.as(t, k.Text)
	if got := code(little.Demo.Load(ctx, client.DemoDraft{Force: true})); got != "SCOPE_MISSING" {
		t.Errorf("an operator who is no owner = %s", got)
	}
	first := code(s.api.Demo.Load(ctx, client.DemoDraft{Force: true}))
	if again := code(s.api.Demo.Load(ctx, client.DemoDraft{})); again != first || strings.Contains(first, "_") {
		t.Errorf("a second load is %s, want to join %s", again, first)
	}
	occupied := newOccupied(t)
	if got := code(occupied.api.Demo.Load(ctx, client.DemoDraft{})); got != "DEMO_STORE_OCCUPIED" {
		t.Errorf("beside others = %s", got)
	}
	occupied.runs(t, func() {
		j, err := occupied.api.Demo.Load(ctx, client.DemoDraft{Force: true})
		occupied.wait(t, j, err)
		occupied.tie(t)
		occupied.remove(t)
	})
	occupied.checkOthers(t)
}
