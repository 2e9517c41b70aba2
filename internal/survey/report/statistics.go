package report

import (
	"strings"

	"github.com/hearth-dmrv/hearth/api"
)

// Names are the survey's names for the codes in its figures. A code without a
// name is shown itself.
type Names struct {
	Language string // of the other words
	Question string
	Per      string            // the question a ratio is per
	Unit     string            // of the answers
	Options  map[string]string // of the question
	Values   map[string]string // of the groups the households are divided into
}

func named(names map[string]string, code string) string {
	if text := names[code]; text != "" {
		return text
	}
	return code
}

// Statistics draws what a survey says about its population: differences if
// figures were compared, otherwise the figures themselves.
func Statistics(s *api.SurveyStatistics, n Names, f Frame) []byte {
	unit := Unit{Percent: s.Statistic == "proportion"}
	if s.Statistic == "mean" || s.Statistic == "total" || s.Statistic == "quantile" {
		unit.Name = n.Unit
	}
	if f.Title = n.Question; f.Title == "" {
		f.Title = s.Question
	}
	f.About, f.Language = About(s, n), n.Language
	f.Notes = f.Notes[:len(f.Notes):len(f.Notes)]
	for _, note := range append([]string{s.NoInterval}, s.Remarks...) {
		f.Notes = append(f.Notes, f.Say(note))
	}
	if len(s.Differences) > 0 {
		if unit.Percent {
			unit.Name = f.Say("points")
		}
		f.About += " · " + f.Say("difference")
		return Change{Frame: f, Unit: unit, Confidence: s.Confidence, Rows: differences(s, n)}.SVG()
	}
	several := false
	for _, e := range s.Estimates {
		several = several || e.Option != s.Estimates[0].Option
	}
	var rows []Row
	for _, e := range s.Estimates {
		label := label(n, e.Option, e.Value, several || s.By == "")
		if s.By != "" && e.Value == "" {
			label = strings.TrimPrefix(label+" · "+f.Say("all households"), " · ")
		}
		rows = append(rows, Row{Label: label, Value: e.Estimate, Low: e.Low, High: e.High, N: e.N, Hidden: e.Suppressed})
	}
	return Estimates{Frame: f, Unit: unit, Confidence: s.Confidence, Rows: rows}.SVG()
}

// label names a figure by its option and the value of its households.
func label(n Names, option, value string, withOption bool) string {
	var parts []string
	if option != "" && withOption {
		parts = append(parts, named(n.Options, option))
	}
	if value != "" {
		parts = append(parts, named(n.Values, value))
	}
	if text := strings.Join(parts, " · "); text != "" || !withOption {
		return text
	}
	return say(n.Language, "All households")
}

// roundOr is what a value is called that may be another round.
func roundOr(n Names, value string) string {
	if round, ok := strings.CutPrefix(value, "round:"); ok {
		return say(n.Language, "round %s", round)
	}
	return named(n.Values, value)
}

func differences(s *api.SurveyStatistics, n Names) []Row {
	var rows []Row
	for _, d := range s.Differences {
		text := say(n.Language, "%s less %s", roundOr(n, d.Value), roundOr(n, d.Less))
		if d.Option != "" && s.Statistic == "proportion" {
			text = named(n.Options, d.Option) + " · " + text
		}
		rows = append(rows, Row{Label: text, Value: d.Estimate, Low: d.Low, High: d.High, Hidden: d.Suppressed})
	}
	return rows
}

// About describes the figures in a line: the statistic, the interval with its
// confidence, the round and the number of households.
func About(s *api.SurveyStatistics, n Names) string {
	tell := func(english string, args ...any) string { return say(n.Language, english, args...) }
	text := tell(map[string]string{"proportion": "Share of households", "mean": "Mean", "total": "Total"}[s.Statistic])
	switch s.Statistic {
	case "ratio":
		per := n.Per
		if per == "" {
			per = s.Per
		}
		text = tell("Ratio, per %s", per)
	case "quantile":
		if text = tell("Quantile %s", trimmed(s.Q)); s.Q == 0.5 {
			text = tell("Median")
		}
	}
	if s.Adjust != "" && s.Adjust != "none" {
		text += tell(", weights fitted to known totals (%s)", s.Adjust)
	}
	method := ""
	for _, e := range s.Estimates {
		if e.Method != "" {
			method = " (" + tell(methodOf(e.Method)) + ")"
		}
	}
	if method != "" || s.NoInterval == "" {
		pattern := " · %s %% intervals%s"
		if s.Tail == "one" {
			pattern = " · %s %% one-sided intervals%s"
		}
		text += tell(pattern, trimmed(100*s.Confidence), method)
	}
	return tell("%s · round %d · %s of %s households answered", text, s.Round, Number(float64(s.Counted.Answered), 0), Number(float64(s.Counted.Sample), 0))
}

// methodOf is the name of the method for an interval.
func methodOf(code string) string {
	names := map[string]string{"wilson": "Wilson", "kornGraubard": "Korn–Graubard", "logit": "logit", "wald": "Wald", "t": "t", "woodruff": "Woodruff", "exact": "exact"}
	return named(names, code)
}
