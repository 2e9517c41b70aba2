package export_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

const drawnElsewhere = `"drawnElsewhere":{"method":"R survey 4.1","by":"Jane Doe","at":"2026-01-02T00:00:00Z","documentHash":"abababababababababababababababababababababababababababababababab"}`

// A sample of strata, of villages in strata that were drawn by chance, and of
// villages that were drawn by their size.
var drawnSamples = map[string]string{
	"strata": `{"method":"stratified","size":24,"strata":[{"name":"north","population":400},{"name":"south","population":150.0}],
		"totals":[{"by":"group","values":{"adopter":300,"comparison":250}}],` + drawnElsewhere + `}`,
	"villages": `{"method":"multistage","size":24,"strata":[{"name":"north"},{"name":"south"}],
		"stages":[{"unit":"village","strata":[{"name":"north","units":30},{"name":"south","units":12}]},{"unit":"household"}],
		"clusters":[{"name":"v0","size":40},{"name":"v1","size":55},{"name":"v2","size":23}],` + drawnElsewhere + `}`,
	"bySize": `{"method":"cluster","size":24,"clusterSelection":"size","strata":[{"name":"north","population":900},{"name":"south","population":300}],
		"clusters":[{"name":"v0","size":40},{"name":"v1","size":55},{"name":"v2","size":23}],` + drawnElsewhere + `}`,
	"listed": `{"method":"simple_random","size":24,"population":500}`,
}

// drawn makes the survey "s" with 24 households: one is silent, one was noted as
// not eligible, one says so, one refuses, one does not answer the question.
func drawn(t *testing.T, r *rig, sampling string) {
	t.Helper()
	for _, one := range [][2]string{
		{"POST /v1/templates", homeTemplate},
		{"POST /v1/templates/home/publish", `{}`},
		{"POST /v1/surveys", `{"surveyId":"s","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"home","window":{"start":"2024-01-01T00:00:00Z"},"modes":["phone"],
			"collectors":["did:key:owner"],"eligibility":{"expression":"home.size != 99"},"sampling":` + sampling + `}`},
		{"POST /v1/surveys/s/households", homesOf(t)},
		{"POST /v1/surveys/s/activate", `{"reason":"x"}`},
		{"POST /v1/surveys/s/households/did%3Aixo%3Ahousehold%2F5/outcome", `{"outcome":"ineligible"}`},
	} {
		r.do(t, "owner "+one[0], one[1], 0, nil)
	}
	for i := range 24 {
		consent, answers := "true", fmt.Sprintf(`{"size":%d,"words":"x"}`, 1+i*7%5)
		switch i {
		case 3, 5:
			continue
		case 8:
			answers = `{"size":99}`
		case 10:
			consent, answers = "false", `{}`
		case 11:
			answers = `{"words":"none"}`
		}
		r.do(t, "owner POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2026-02-20T10:00:00Z","mode":"phone",
			"responses":{"consent":{"ok":%s},"home":%s}}`, i, i, consent, answers), 201, nil)
	}
}

func homesOf(t *testing.T) string {
	t.Helper()
	var homes []map[string]string
	for i := range 24 {
		homes = append(homes, map[string]string{
			"householdId": fmt.Sprintf("did:ixo:household/%d", i), "stratum": []string{"north", "south"}[i/15], "cluster": fmt.Sprintf("v%d", i%3),
			"group": []string{"adopter", "comparison"}[i%2],
		})
	}
	text, err := json.Marshal(map[string]any{"items": homes})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// figure reads a figure of the API.
func (r *rig) figure(t *testing.T, query string) api.SurveyEstimate {
	t.Helper()
	var out api.SurveyStatistics
	r.do(t, "owner GET /v1/surveys/s/statistics?question=home%2Fsize"+query, "", 200, &out)
	return out.Estimates[0]
}

// TestReproducedByR runs the lines of the export in R, and compares with the API.
func TestReproducedByR(t *testing.T) {
	t.Parallel()
	rscript := surveytest.R(t)
	for _, kind := range []string{"strata", "villages", "bySize"} {
		for _, level := range []string{"none", "full"} {
			t.Run(kind+" "+level, func(t *testing.T) {
				t.Parallel()
				dbtest.Any(t, func(t *testing.T, d *db.DB) {
					r := newRig(t, d)
					drawn(t, r, drawnSamples[kind])
					r.start(t)
					files := unpack(t, r.file(t, "mia", r.export(t, "mia", `{"format":"csv","design":true,"pii":"`+level+`"}`)))
					got := runR(t, rscript, files, kind == "strata")
					e := r.figure(t, "")
					want := []float64{*e.Estimate, *e.SE, *e.Low, *e.High}
					if kind == "strata" {
						f := r.figure(t, "&adjust=poststrata")
						want = append(want, *f.Estimate, *f.SE)
					}
					for i, w := range want {
						if i >= len(got) || !(math.Abs(got[i]-w) <= 1e-9*math.Abs(w)) {
							t.Errorf("R computes %v, the API %v", got, want)
							break
						}
					}
				})
			})
		}
	}
}

// runR runs the lines of an export in its folder: the figure, its error and
// interval, and the same with fitted weights.
func runR(t *testing.T, rscript string, files map[string]string, fitted bool) []float64 {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	more := "\nin_it <- subset(design, outcome == \"counted\" & !is.na(home.size))\ncat(\"@\", sprintf(\"%.17g\", c(coef(figure), SE(figure), confint(figure, df = degf(in_it)))))\n"
	if fitted {
		more += "m <- svymean(~home.size, subset(fitted, outcome == \"counted\" & !is.na(home.size)), na.rm = TRUE)\ncat(\"\", sprintf(\"%.17g\", c(coef(m), SE(m))))\n"
	}
	cmd := exec.CommandContext(t.Context(), rscript, "-e", files["reproduce.R"]+more)
	cmd.Dir = dir
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, errors.String(), files["reproduce.R"])
	}
	_, text, _ := strings.Cut(string(out), "@")
	var got []float64
	for _, word := range strings.Fields(text) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatalf("R says %s", out)
		}
		got = append(got, v)
	}
	return got
}

// Files of a drawn sample carry weights that add up to the population.
func TestWeights(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		drawn(t, r, drawnSamples["strata"])
		r.start(t)
		main := r.table(t, "auditor", `{"format":"csv"}`)
		sum := map[string]float64{}
		for _, row := range main {
			if row["weight"] != "" {
				w, err := strconv.ParseFloat(row["weight"], 64)
				if err != nil {
					t.Fatal(err)
				}
				sum[row["stratum"]] += w
			}
			if (row["weight"] != "") != (row["outcome"] == "counted" || row["outcome"] == "ineligible") || row["fpc1"] == "" {
				t.Errorf("row %v", row)
			}
			if _, ok := row["cluster"]; ok {
				t.Error("a sample without clusters has a column for them")
			}
		}
		// One household of the north was noted as not eligible: its weight is in the
		// table of the sample.
		if math.Abs(sum["north"]-400*12./13) > 1e-9 || math.Abs(sum["south"]-150) > 1e-9 {
			t.Errorf("weights add up to %v", sum)
		}
		e := r.export(t, "auditor", `{"format":"csv","design":true}`)
		if !e.Design || e.Counts.Rows != 22 {
			t.Errorf("export = %+v", e)
		}
		files := unpack(t, r.file(t, "auditor", e))
		homes := rows(t, []byte(files["sample.csv"]))
		seen := map[string]int{}
		for _, h := range homes {
			seen[h["outcome"]]++
			if !strings.HasPrefix(h["householdId"], "hh_") {
				t.Errorf("the sample names %q", h["householdId"])
			}
		}
		if got, want := fmt.Sprint(seen), "map[counted:20 ineligible:2 refused:1 silent:1]"; got != want {
			t.Errorf("outcomes are %s, want %s", got, want)
		}
		var doc struct {
			Sampling struct {
				DrawnElsewhere api.SurveyElsewhere `json:"drawnElsewhere"`
			} `json:"sampling"`
			Rounds []struct {
				Basis   string `json:"basis"`
				Counted string `json:"counted"`
			} `json:"rounds"`
		}
		if err := json.Unmarshal([]byte(files["design.json"]), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Rounds) != 1 || doc.Rounds[0].Basis != "drawnElsewhere" || !strings.Contains(doc.Rounds[0].Counted, "20 of 24") ||
			!strings.HasPrefix(doc.Sampling.DrawnElsewhere.By, "pe_") {
			t.Errorf("design = %s", files["design.json"])
		}
		none := unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","design":true,"pii":"none"}`)))
		if strings.Contains(none["sample.csv"], "household") || strings.Contains(none["design.json"], "Jane") {
			t.Error("a file that names nobody names somebody")
		}
	})
}

// Weights are those of the moment that a file shows.
func TestWeightsAsOf(t *testing.T) {
	rule2(t, "strata", func(t *testing.T, r *rig) {
		before := r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","design":true}`))
		at := r.clock().UTC().Format("2006-01-02T15:04:05.000Z")
		if w := r.send(t, "owner", "DELETE /v1/responses/r0?reason=x", "", "If-Match", "*"); w.Code >= 300 {
			t.Fatalf("DELETE = %d %s", w.Code, w.Body)
		}
		after := unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","design":true}`)))
		if strings.Contains(unpack(t, before)["sample.csv"], "redacted") || !strings.Contains(after["sample.csv"], "redacted") {
			t.Errorf("sample = %s", after["sample.csv"])
		}
		w := r.send(t, "owner", "PATCH /v1/responses/r1", `{"responses":{"home":{"size":99}}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
		if w.Code >= 300 {
			t.Fatalf("PATCH = %d %s", w.Code, w.Body)
		}
		then := unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","design":true,"asOf":"`+at+`"}`)))
		if then["sample.csv"] != after["sample.csv"] {
			t.Errorf("an earlier time has the weights of today:\n%s\nnot\n%s", then["sample.csv"], after["sample.csv"])
		}
		if now := unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","design":true}`))); now["sample.csv"] == after["sample.csv"] {
			t.Error("a correction does not show in the weights")
		}
	})
}

// rule2 runs a test on any database with the survey of a kind of sample.
func rule2(t *testing.T, kind string, fn func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		drawn(t, r, drawnSamples[kind])
		r.start(t)
		fn(t, r)
	})
}

// A list that somebody made has no weights, and the files say why.
func TestListedHasNoWeights(t *testing.T) {
	rule2(t, "listed", func(t *testing.T, r *rig) {
		files := unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","design":true}`)))
		if len(files) != 2 || !strings.Contains(files["design.json"], "made by hand") {
			t.Errorf("files = %v", files)
		}
		if strings.Contains(strings.SplitN(files["responses.csv"], "\n", 2)[0], "weight") {
			t.Error("a listed survey has a column for weights")
		}
		var book struct {
			Design api.CodebookDesign `json:"design"`
		}
		r.do(t, "reader GET /v1/surveys/s/codebook", "", 200, &book)
		if book.Design.Weighted || !strings.Contains(book.Design.NoWeights, "made by hand") || len(book.Design.R) > 0 {
			t.Errorf("codebook = %+v", book.Design)
		}
		r.do(t, "auditor POST /v1/surveys/s/exports", `{"format":"ndjson","design":true}`, 400, nil)
		r.do(t, "auditor POST /v1/surveys/s/exports", `{"format":"csv","shape":"long","design":true}`, 400, nil)
	})
}

// The figure of a choice is the share of its first option, as in R: Stata has no mean
// of texts, and the mean of numbers that stand for options says nothing.
func TestChoiceInStata(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		`["wood","gas"]`: `generate byte counted = outcome == "counted" & !inlist(home_kind, "", "dont_know", "refused")|generate double figure = cond(counted, home_kind == "wood", 0)|svy, subpop(counted) level(90): mean figure`,
		`["2","1"]`:      `generate byte counted = outcome == "counted" & !missing(home_kind)|generate double figure = cond(counted, home_kind == 2, 0)|svy, subpop(counted) level(90): mean figure`,
	} {
		k := &export.Column{Type: "single_choice"}
		for _, v := range strings.Split(strings.Trim(values, `[]"`), `","`) {
			k.Options = append(k.Options, form.Option{Value: v})
		}
		if got := strings.Join(export.StataFigure(k, "home_kind"), "|"); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}

// A workbook has the sample in a sheet, a Stata file comes with its lines, and
// the codebook has both.
func TestDesignInOtherFormats(t *testing.T) {
	rule2(t, "villages", func(t *testing.T, r *rig) {
		b := r.file(t, "auditor", r.export(t, "auditor", `{"format":"xlsx"}`))
		book, err := sheet.OpenBook(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(book.Sheets()); got != "[data sample design codebook export]" {
			t.Errorf("sheets are %s", got)
		}
		files := unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"dta","design":true}`)))
		for _, want := range []string{
			"svyset cluster_id [pweight = weight], strata(stratum_id) fpc(fpc1) || unit, fpc(fpc2)", "merge m:1 responseId using",
			`generate byte counted = outcome == "counted" & !missing(home_size)`, "generate double figure = cond(counted, home_size, 0)", "svy, subpop(counted) level(95): mean figure",
		} {
			if !strings.Contains(files["reproduce.do"], want) {
				t.Errorf("no %q in %s", want, files["reproduce.do"])
			}
		}
		if len(files["responses.dta"]) == 0 || len(files["sample.csv"]) == 0 {
			t.Errorf("files = %d", len(files))
		}
		var cb struct {
			Design  api.CodebookDesign `json:"design"`
			Columns []struct {
				Name string `json:"name"`
			} `json:"columns"`
		}
		r.do(t, "reader GET /v1/surveys/s/codebook", "", 200, &cb)
		if !cb.Design.Weighted || !strings.Contains(strings.Join(cb.Design.R, "\n"), "svydesign(ids = ~cluster + unit, strata = ~stratum, weights = ~weight, fpc = ~fpc1 + fpc2, nest = TRUE, data = homes)") {
			t.Errorf("codebook = %+v", cb.Design)
		}
		if !strings.Contains(fmt.Sprint(cb.Columns), "{fpc2}") {
			t.Error("the codebook does not explain fpc2")
		}
	})
}
