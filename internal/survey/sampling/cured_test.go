package sampling_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Every draw is read and proven by its own id: not only the newest, and also when
// its design was deleted.
func TestDrawsByID(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		must(v.s.Create(ctx, small("d")))(t)
		must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
		first := must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1"}))(t).Value
		second := must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "2", Reason: "The first was a trial."}))(t).Value
		read := func(when string) {
			t.Helper()
			for _, one := range []*api.SampleDraw{first, second} {
				w := sampling.Which{Draw: one.DrawID}
				if got := must(v.s.GetDraw(ctx, w))(t).Value; got.DrawID != one.DrawID || got.Seed != one.Seed || got.DesignGone != (when != "at first") {
					t.Errorf("%s: read %+v", when, got)
				}
				if got := must(v.s.Verify(auditor(t), w))(t); !got.Verified || got.DrawID != one.DrawID {
					t.Errorf("%s: verify %+v", when, got)
				}
				if units, _, err := v.s.Units(ctx, w, "", 0, 100); err != nil || len(units) != 8 {
					t.Errorf("%s: %d units, %v", when, len(units), err)
				}
				rec := new(api.SampleRecord)
				w2 := v.get(auditor(t), "/v1/sampling/draws/"+one.DrawID+"/record")
				if err := json.Unmarshal(w2.Body.Bytes(), rec); err != nil || w2.Code != 200 || rec.Draw.Seed != one.Seed {
					t.Fatalf("%s: record %d %.300s", when, w2.Code, w2.Body)
				}
				if got := must(sampling.VerifyRecord(rec))(t); !got.Verified {
					t.Errorf("%s: verify record %+v", when, got)
				}
			}
		}
		read("at first")
		must(v.s.Delete(ctx, "d"))(t)
		read("after the design was deleted")
		_, err := v.s.GetDraw(ctx, newest("d"))
		wantCode(t, "by the deleted design", err, "DESIGN_NOT_FOUND")
		for _, c := range []web.Caller{
			{Workspace: "other", DID: "did:key:x", Scopes: []string{"*"}},
			{Workspace: "ws", DID: "did:key:x", Scopes: []string{"*"}, Projects: []string{"did:ixo:project/two"}},
		} {
			_, err := v.s.GetDraw(web.WithCaller(t.Context(), c), sampling.Which{Draw: first.DrawID})
			wantCode(t, "by a stranger", err, "SAMPLE_DRAW_NOT_FOUND")
		}
		for _, id := range []string{"drw_0", "drw_99", "nothing", "drw_x"} {
			_, err := v.s.GetDraw(ctx, sampling.Which{Draw: id})
			wantCode(t, id, err, "SAMPLE_DRAW_NOT_FOUND")
		}
	})
}

// However many draws a project has, those of the same frame show with a later one,
// in every answer.
func TestEarlierDraws(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	for _, id := range []string{"d", "other"} {
		must(v.s.Create(ctx, small(id)))(t)
	}
	must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	must(v.s.PutFrame(ctx, "other", api.SampleFrameDraft{CSV: csv(44)}))(t)
	first := must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1"}))(t).Value
	for i := range 101 {
		must(v.s.Commit(ctx, "other", api.SampleCommit{Second: api.SampleSecond{Source: "party"}, Reason: fmt.Sprint("Trial ", i)}))(t)
	}
	holds := func(what string, got *api.SampleDraw) {
		t.Helper()
		if len(got.Earlier) != 101 || got.EarlierOfFrame != 1 || got.EarlierOfProject != 102 {
			t.Errorf("%s: %d earlier, %d of the frame, %d of the project", what, len(got.Earlier), got.EarlierOfFrame, got.EarlierOfProject)
			return
		}
		if last := got.Earlier[100]; last.DrawID != first.DrawID || !last.SameFrame || !last.SameDesign || got.Earlier[0].SameFrame {
			t.Errorf("%s: earlier %+v", what, last)
		}
	}
	holds("commit", must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party"}, Reason: "Again"}))(t).Value)
	holds("contribute", must(v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: "x"}))(t).Value)
	holds("draw", must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t).Value)
	holds("read", must(v.s.GetDraw(ctx, newest("d")))(t).Value)
	list, next, err := v.s.Draws(ctx, project, first.FrameHash, 0, 1)
	if err != nil || len(list) != 1 || next == 0 || list[0].EarlierOfFrame != 1 || list[0].Earlier != nil {
		t.Fatalf("draws of the frame: %+v, %d, %v", list, next, err)
	}
	if list, next, err = v.s.Draws(ctx, project, first.FrameHash, next, 1); err != nil || len(list) != 1 || next != 0 || list[0].DrawID != first.DrawID {
		t.Errorf("the first of them: %+v, %d, %v", list, next, err)
	}
	if w := v.get(ctx, "/v1/sampling/draws?projectId="+project); strings.Contains(w.Body.String(), `"earlier":[`) {
		t.Errorf("a list says that there are no earlier draws: %.300s", w.Body)
	}
}

// A household more is another frame, and no way around the reason.
func TestReasonWhateverTheFrame(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		must(v.s.Create(ctx, small("d")))(t)
		must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
		must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1"}))(t)
		must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(41)}))(t)
		_, err := v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1"})
		wantCode(t, "another frame of the design", err, "FRAME_DRAWN")
		_, err = v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party"}})
		wantCode(t, "a commitment to it", err, "FRAME_DRAWN")
		must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1", Reason: "One was missing."}))(t)
	})
}

// surveyed is a survey that a design draws for.
func (v *env) surveyed(t *testing.T, id string) {
	t.Helper()
	must(v.Surveys.Create(manager(t), survey.Draft{SurveyID: id, Type: "BaselineSurvey", ProjectID: project, Content: survey.Content{
		Template: flags(), Sampling: &survey.Sampling{Method: "stratified", Size: f(8), Confidence: f(.95)}, Collectors: []survey.Collector{{DID: "did:key:collector"}},
	}}))(t)
}

// What becomes of a design after the commitment changes nothing about the draw.
func TestCommittedVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		v.surveyed(t, "s")
		draft := small("d")
		draft.SurveyID = "s"
		must(v.s.Create(ctx, draft))(t)
		must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
		must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party"}}))(t)
		must(v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: "x"}))(t)
		must(v.s.Recalculate(ctx, "d", api.SampleObserved{DropoutRate: f(.3), Reason: "Later"}))(t)
		draft.Confidence, draft.Precision, draft.SurveyID = f(.9), f(.2), ""
		draft.Totals = []api.SurveyTotal{{By: "stratum", Values: map[string]float64{"rural": 1, "urban": 2}, Source: "Census"}}
		must(v.s.Revise(ctx, "d", draft))(t)
		got := must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t).Value
		if got.Version != 1 {
			t.Errorf("drawn by version %d", got.Version)
		}
		var s survey.Survey
		if err := json.Unmarshal(must(v.Surveys.Get(ctx, "s"))(t).Raw, &s); err != nil {
			t.Fatal(err)
		}
		if p := s.Sampling; p.Draw == nil || p.Draw.Version != 1 || *p.Confidence != .95 || *p.Precision != .1 || len(p.Totals) != 0 {
			t.Errorf("sampling of the survey %+v", p)
		}
		if _, err := v.Surveys.Update(ctx, "s", "*", "", []byte(`{"name":"Baseline"}`)); err != nil {
			t.Errorf("another name: %v %+v", err, fieldsOf(err))
		}
		if got := must(v.s.Verify(auditor(t), newest("d")))(t); !got.Verified {
			t.Errorf("verify %+v", got)
		}
	})
}

// proven is the record of a draw with a replacement, as text.
func (v *env) proven(t *testing.T) []byte {
	t.Helper()
	ctx := manager(t)
	v.surveyed(t, "s")
	draft := small("d")
	draft.Name, draft.SurveyID = "Kitui", "s"
	must(v.s.Create(ctx, draft))(t)
	must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "beacon", Beacon: "drand/quicknet", Round: 36000000}, Reason: "As planned"}))(t)
	v.now = v.now.Add(24 * 365 * time.Hour)
	must(v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: strings.Repeat("0badcafe", 8)}))(t)
	must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t)
	units, _, err := v.s.Units(ctx, newest("d"), "", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	must(v.s.Replace(ctx, "d", api.SampleReplacement{Unit: units[0].Unit, Reason: "Moved away"}))(t)
	w := v.get(auditor(t), "/v1/sampling/designs/d/record")
	if w.Code != 200 {
		t.Fatalf("record: %d %s", w.Code, w.Body)
	}
	if *update {
		if err := os.WriteFile("../../cli/testdata/record.json", w.Body.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w.Body.Bytes()
}

var update = flag.Bool("update", false, "write the record that the command line is tested with")

// spared are members that say what became of things later, or where to look: the
// record does not fix them.
func spared(path string) bool {
	return strings.HasPrefix(path, "design/verification") || path == "draw/designDeleted" || strings.HasSuffix(path, "/seq")
}

// Whichever member of a record is changed, the check fails and names it.
func TestEveryMemberIsFixed(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	text := v.proven(t)
	rec := new(api.SampleRecord)
	if err := json.Unmarshal(text, rec); err != nil {
		t.Fatal(err)
	}
	if got := must(sampling.VerifyRecord(rec))(t); !got.Verified {
		t.Fatalf("the record itself: %+v", got)
	}
	if e := rec.Draw.Entries; len(e) != 3 || e[0].Seq == 0 || e[1].Seq <= e[0].Seq || e[0].Hash != sampling.EntryHash(&e[0]) {
		t.Errorf("entries %+v", rec.Draw.Entries)
	}
	old := *rec // as it was published before entries were part of it
	old.Format, old.Draw.Entries, old.Units = "hearth-sample-1", nil, slices.Clone(rec.Units)
	for i := range old.Units {
		old.Units[i].ReplacedBy = ""
	}
	if got := must(sampling.VerifyRecord(&old))(t); !got.Verified || !slices.ContainsFunc(got.Remarks, func(r string) bool { return strings.Contains(r, "older than entries") }) {
		t.Errorf("a record of the first format: %+v", got)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	leaves("", doc, func(path string, set func(any), was any) {
		if spared(path) || path == "format" {
			return
		}
		n++
		set(changed(was))
		defer set(was)
		forged, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		rec := new(api.SampleRecord)
		if err := json.Unmarshal(forged, rec); err != nil {
			return // it is no record any more
		}
		got, err := sampling.VerifyRecord(rec)
		if err != nil {
			return
		}
		if got.Verified {
			t.Errorf("%s was changed from %v, and nobody noticed", path, was)
			return
		}
		if !named(got, path, rec) {
			t.Errorf("%s was changed, and nothing names it: %+v", path, got.Checks)
		}
	})
	if n < 140 {
		t.Errorf("%d members were changed", n)
	}
}

// Whoever writes a whole record anew around another second part is found out by the
// entry of the draw.
func TestAnotherSecondPart(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	rec := new(api.SampleRecord)
	if err := json.Unmarshal(v.proven(t), rec); err != nil {
		t.Fatal(err)
	}
	rec.Draw.SecondPart = strings.Repeat("f00dcafe", 8)
	rec.Draw.Seed = sampling.Join(rec.Draw.FirstPart, rec.Draw.SecondPart)
	got := must(sampling.VerifyRecord(rec))(t)
	for _, check := range got.Checks {
		switch {
		case check.Name == "seed" && !check.OK:
			t.Errorf("the forgery is a poor one: %s", check.Detail)
		case check.Name == "record" && (check.OK || !strings.Contains(check.Detail, "draw/seed")):
			t.Errorf("the entries do not fix the seed: %+v", check)
		}
	}
}

// Whoever rewrites replacements in all places that tell of them is found out by the
// entry of the last one.
func TestOtherReplacements(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(rec *api.SampleRecord){
		"nothing":         func(*api.SampleRecord) {},
		"another reason":  func(rec *api.SampleRecord) { eachSwapped(rec, func(u *api.SampleUnit) { u.Reason = "Refused" }) },
		"somebody else":   func(rec *api.SampleRecord) { eachSwapped(rec, func(u *api.SampleUnit) { u.By = "did:key:x" }) },
		"another time":    func(rec *api.SampleRecord) { eachSwapped(rec, func(u *api.SampleUnit) { u.At = u.At.Add(-time.Hour) }) },
		"without entry":   func(rec *api.SampleRecord) { rec.Draw.Entries = rec.Draw.Entries[:2] },
		"an older format": func(rec *api.SampleRecord) { rec.Format, rec.Draw.Entries = "hearth-sample-1", rec.Draw.Entries[:2] },
	} {
		v := newEnv(t, dbtest.SQLite(t))
		rec := new(api.SampleRecord)
		if err := json.Unmarshal(v.proven(t), rec); err != nil {
			t.Fatal(err)
		}
		forge(rec)
		if got := must(sampling.VerifyRecord(rec))(t); got.Verified != (name == "nothing") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// eachSwapped changes the units that were replaced, or that replace one.
func eachSwapped(rec *api.SampleRecord, change func(u *api.SampleUnit)) {
	for i := range rec.Units {
		if u := &rec.Units[i]; u.Replaces != "" || u.ReplacedBy != "" {
			change(u)
		}
	}
}

// named reports whether a check that failed says which member it is.
func named(got *api.SampleCheck, path string, rec *api.SampleRecord) bool {
	part := strings.Split(path, "/")
	want := part[0]
	switch {
	case part[0] == "draw":
		want = part[1]
	case part[0] == "units":
		want = ""
	}
	for _, c := range got.Checks {
		if !c.OK && (want != "" && (c.Name == want || strings.Contains(c.Detail, want)) || part[0] == "units" && (c.Name == "sample" || c.Name == "replacements")) {
			return true
		}
	}
	return false
}

// leaves visits every value of a document that is no object and no list.
func leaves(path string, v any, visit func(path string, set func(any), was any)) {
	each := func(name string, one any, set func(any)) {
		at := strings.TrimPrefix(path+"/"+name, "/")
		switch one.(type) {
		case map[string]any, []any:
			leaves(at, one, visit)
		default:
			visit(at, set, one)
		}
	}
	switch x := v.(type) {
	case map[string]any:
		for name, one := range x {
			each(name, one, func(to any) { x[name] = to })
		}
	case []any:
		for i, one := range x {
			each(fmt.Sprint(i), one, func(to any) { x[i] = to })
		}
	}
}

// changed is another value of the same kind.
func changed(v any) any {
	switch x := v.(type) {
	case bool:
		return !x
	case float64:
		return x + 1
	case string:
		if at, err := time.Parse(time.RFC3339Nano, x); err == nil {
			return at.Add(time.Hour).Format(time.RFC3339Nano)
		}
		return x + "x"
	}
	return "x"
}

// A survey that names a design has its size, and no warning by a proportion of one
// half that the design does not expect.
func TestSurveyOfDesign(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	draft := documented()
	draft.DesignID, draft.ProjectID = "d", project
	design := must(v.s.Create(ctx, draft))(t).Value
	id := "d"
	create := func(name string, s survey.Sampling) (*survey.Survey, error) {
		r, err := v.Surveys.Create(ctx, survey.Draft{SurveyID: name, Type: "BaselineSurvey", ProjectID: project, Content: survey.Content{
			Template: flags(), Sampling: &s, Collectors: []survey.Collector{{DID: "did:key:collector"}},
		}})
		return r.Value, err
	}
	s := must(create("s", survey.Sampling{Method: "simple_random", DesignID: &id, Confidence: f(.95), Precision: f(.05), Population: f(5000)}))(t)
	if got := s.Sampling; got.Size == nil || *got.Size != float64(design.Parameters.DrawnSize) || len(got.Warnings) != 0 {
		t.Errorf("sampling %+v", got)
	}
	_, err := create("none", survey.Sampling{Method: "simple_random"})
	wantCode(t, "neither size nor design", err, survey.InvalidCode)
	three := []api.SamplingStage{{Unit: "district"}, {Unit: "village"}, {Unit: "household"}}
	_, err = create("three", survey.Sampling{Method: "multistage", Size: f(100), Stages: three})
	if fields := fieldsOf(err); len(fields) != 1 || fields[0].Pointer != "/sampling/stages" || fields[0].Code != "too_many" {
		t.Errorf("three stages: %v %+v", err, fields)
	}
	must(create("two", survey.Sampling{Method: "multistage", Size: f(100), Stages: three[1:]}))(t)
}

// A cluster that a draw by size can meet twice is refused with the frame, before
// anything is committed: whether it is met twice would depend on the seed.
func TestLargeCluster(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	frame := func(large int) api.SampleFrameDraft {
		var b strings.Builder
		b.WriteString("household,cluster\n")
		for i := range 100 {
			cluster := "large"
			if i >= large {
				cluster = fmt.Sprint("v", i%10)
			}
			fmt.Fprintf(&b, "did:ixo:household/%d,%s\n", i, cluster)
		}
		return api.SampleFrameDraft{CSV: b.String()}
	}
	draft := func(selection string, drawn float64) sampling.Draft {
		d := small("d")
		d.Stratification, d.Population, d.Precision = nil, f(100), f(.4)
		d.Clusters = &api.SampleClusters{Selection: selection, Drawn: f(drawn), PerCluster: f(2)}
		return d
	}
	must(v.s.Create(ctx, draft("size", 5)))(t)
	_, err := v.s.PutFrame(ctx, "d", frame(21))
	wantCode(t, "longer than a step", err, "INSUFFICIENT_POPULATION")
	if err != nil && !strings.Contains(err.Error(), `cluster "large" has 21 of 100 households, more than one step of 5 clusters: divide it, or draw fewer clusters`) {
		t.Errorf("refused with %v", err)
	}
	if got := must(v.s.PutFrame(ctx, "d", frame(20)))(t).Value; got.Strata[0].Largest == nil || *got.Strata[0].Largest != (api.SampleFrameCluster{Name: "large", Population: 20}) {
		t.Errorf("as long as a step: %+v", got.Strata)
	}
	must(v.s.Revise(ctx, "d", draft("equal", 5)))(t)
	must(v.s.PutFrame(ctx, "d", frame(40)))(t)
	must(v.s.Revise(ctx, "d", draft("size", 5)))(t)
	_, err = v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party"}})
	wantCode(t, "by size only later", err, "INSUFFICIENT_POPULATION")
	must(v.s.Revise(ctx, "d", draft("size", 2)))(t)
	must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party"}}))(t)
}
