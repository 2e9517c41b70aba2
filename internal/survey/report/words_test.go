package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
)

// TestWordsHaveTheSameBlanks in the same order: a sentence is filled in by both.
func TestWordsHaveTheSameBlanks(t *testing.T) {
	t.Parallel()
	blank := regexp.MustCompile(`%(\.\d+)?[sdfg%]`)
	for language, all := range words {
		for english, text := range all {
			if got, want := blank.FindAllString(text, -1), blank.FindAllString(english, -1); !slices.Equal(got, want) {
				t.Errorf("%s of %q has the blanks %q", language, english, got)
			}
		}
	}
}

// TestKiswahili: no English word is left in a picture of figures, beside the words
// of the survey.
func TestKiswahili(t *testing.T) {
	t.Parallel()
	one, low, high, n := .4, .3, .5, 12
	s := &api.SurveyStatistics{
		Question: "home/fuel", Statistic: "proportion", By: "group", Confidence: .95, Round: 2, Estimates: []api.SurveyEstimate{
			{Estimate: &one, Low: &low, High: &high, N: &n, Method: "wilson", Option: "gas"},
			{Suppressed: true, Option: "gas", Value: "adopter"},
		},
	}
	names := Names{Language: "sw", Question: "Nishati", Options: map[string]string{"gas": "Gesi"}, Values: map[string]string{"adopter": "Wenye jiko"}}
	for _, svg := range [][]byte{
		Statistics(s, names, Frame{}),
		Agreement{Frame: Frame{Language: "sw"}, Said: "Waliyosema", Measured: "Iliyopimwa", Points: []Point{{1, 2}, {3, 2}}, Bias: &one, Low: &low, High: &high}.BlandAltman(),
		Agreement{Frame: Frame{Language: "sw-KE"}, Said: "Waliyosema", Measured: "Iliyopimwa", Points: []Point{{1, 2}, {3, 2}}}.Scatter(),
		Progress{Frame: Frame{Language: "sw"}, Parts: []Part{{"Kitui", 10, 5, 2}}}.SVG(),
	} {
		if !bytes.Contains(svg, []byte(`lang="sw"`)) {
			t.Errorf("the language is not said: %.120s", svg)
		}
		text := regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`).ReplaceAllString(string(svg), " ")
		for _, english := range []string{" of ", " to ", " households", " the ", "interval", " not ", "verified", "limit", "All "} {
			if strings.Contains(text, english) {
				t.Errorf("%q stands in %s", english, text)
			}
		}
	}
}
