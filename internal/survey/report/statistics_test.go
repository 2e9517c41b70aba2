package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
)

func byGroup() *api.SurveyStatistics {
	return &api.SurveyStatistics{
		Question: "home/kind", Round: 2, Statistic: "proportion", Confidence: .9, Tail: "two", Adjust: "none", By: "stratum",
		Counted: api.SurveyCounted{Sample: 60, Answered: 52}, Remarks: []string{"The draw was made elsewhere and was not verified here."},
		Estimates: []api.SurveyEstimate{
			{Option: "wood", Estimate: num(.7), Low: num(.6), High: num(.78), N: whole(52), Method: "wilson"},
			{Option: "wood", Value: "a", Estimate: num(.9), Low: num(.8), High: num(.95), N: whole(48), Method: "wilson"},
			{Option: "wood", Value: "b", Suppressed: true},
			{Option: "gas", Estimate: num(.3), Low: num(.22), High: num(.4), N: whole(52), Method: "wilson"},
		},
	}
}

var labels = report.Names{Question: "What do you cook with?", Options: map[string]string{"wood": "Firewood", "gas": "Gas"}, Values: map[string]string{"a": "Upper valley"}}

func TestStatistics(t *testing.T) {
	t.Parallel()
	s := byGroup()
	changed := *s
	changed.Differences = []api.SurveyDifference{{Option: "wood", Value: "round:2", Less: "round:1", Estimate: num(.05), Low: num(.01), High: num(.09)}}
	for name, got := range map[string][]byte{"groups": report.Statistics(s, labels, report.Frame{}), "rounds": report.Statistics(&changed, labels, report.Frame{})} {
		file := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != string(got) {
			t.Errorf("%s differs (%v); look at it and run with -update:\n%s", file, err, got)
		}
	}
	_, text, _ := parse(t, report.Statistics(s, labels, report.Frame{}))
	for _, want := range []string{
		"Share of households · 90 % intervals (Wilson) · round 2 · 52 of 60 households answered.", "Firewood · all households: 70.0 %, 90 % interval 60.0 % to 78.0 %, from 52 households.",
		"Firewood · Upper valley: 90.0 %", "Firewood · b: not shown", "not verified here.",
	} {
		if !strings.Contains(text["desc"], want) {
			t.Errorf("the description lacks %q: %s", want, text["desc"])
		}
	}
	if _, text, _ := parse(t, report.Statistics(&changed, labels, report.Frame{})); !strings.Contains(text["desc"], "Firewood · round 2 less round 1: +5.0 points, 90 % interval +1.0 points to +9.0 points.") {
		t.Errorf("a change: %s", text["desc"])
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s    api.SurveyStatistics
		want string
	}{
		{api.SurveyStatistics{Statistic: "quantile", Q: .5, Confidence: .95}, "Median · 95 % intervals"},
		{api.SurveyStatistics{Statistic: "quantile", Q: .9, Confidence: .95, Tail: "one"}, "Quantile 0.9 · 95 % one-sided intervals"},
		{api.SurveyStatistics{Statistic: "ratio", Per: "home/size", NoInterval: "By hand."}, "Ratio, per home/size · round 0"},
		{api.SurveyStatistics{Statistic: "total", Adjust: "raking", Confidence: .9}, "Total, weights fitted to known totals (raking)"},
	} {
		if got := report.About(&tt.s, report.Names{}); !strings.HasPrefix(got, tt.want) {
			t.Errorf("About = %q, want %q", got, tt.want)
		}
	}
}
