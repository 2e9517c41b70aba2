package crossref

import (
	"context"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
)

// mostPoints is how many pairs a picture reads.
const mostPoints = 2000

// picture is a result to be drawn, as its reader may see it.
type picture struct {
	of     *Result
	name   string // of the question
	points []report.Point
	frame  report.Frame
}

// question is what the template of a survey calls a question.
func question(o *survey.Open, path, language string) string {
	for _, c := range o.Form.Columns() {
		if strings.Join(c.Path, "/") == path {
			if text := c.Label.In(language, o.Form.Template().Language()); text != "" {
				return text
			}
		}
	}
	return path
}

// points are the pairs of a result, as far as it still has them.
func points(ctx context.Context, q db.Querier, run int64) ([]report.Point, error) {
	rows, err := q.Query(ctx, selectPairs, run, 0, mostPoints)
	return db.Collect(rows, err, "read pairs", func(p *report.Point, row db.Row) error {
		var nid, days, mismatch int64
		var household string
		return row.Scan(&nid, &household, &p.Said, &p.Measured, &days, &mismatch)
	})
}

// draw makes the picture: differences asks for those of amounts.
func (p picture) draw(differences bool) []byte {
	f, v := p.frame, p.of
	f.Title = p.name
	what := f.Say("sensors")
	if v.Asked.Measure == fuel {
		what = f.Say("kitchen tests")
	}
	f.About = f.Say("Interview compared with %s · %d of %d households have both", what, v.Households.Paired, v.Households.Answered)
	if v.Suppressed {
		f.Notes = append(f.Notes, f.Say("Figures of fewer than 5 households are not shown."))
	}
	if v.Agreement != nil {
		return p.shares(f)
	}
	d := v.Difference
	if len(p.points) == 0 && d.N > 0 {
		f.Notes = append(f.Notes, f.Say("The picture leaves out individual households: a later run took over the pairs, or this key lacks responses:read."))
	}
	a := report.Agreement{Frame: f, Unit: report.Unit{Name: f.Say("%s a day", strings.TrimSuffix(d.Unit, "/day"))}, Said: f.Say("Said"), Measured: f.Say("Measured"), Points: p.points, Bias: d.Bias, Low: d.Low, High: d.High}
	if differences {
		return a.BlandAltman()
	}
	return a.Scatter()
}

// shares draws a result of use as bars.
func (p picture) shares(f report.Frame) []byte {
	a, v := p.of.Agreement, p.of
	n := a.N
	row := func(label string, value *float64) report.Row {
		return report.Row{Label: label, Value: value, N: &n, Hidden: value == nil && v.Suppressed}
	}
	var said, measured *float64
	if a.Both != nil && n > 0 {
		said, measured = number(share(*a.Both+*a.SaidOnly, n)), number(share(*a.Both+*a.MeasuredOnly, n))
	}
	rows := []report.Row{
		row(f.Say("Say that they use it"), said), row(f.Say("Measured to use it"), measured), row(f.Say("Household and sensor agree"), a.Agreement),
		row(f.Say("Over-reported: share of those who say so without measured use"), a.OverReport), row(f.Say("Under-reported: share of those who do not say so with measured use"), a.UnderReport),
	}
	if v.Adjusted != nil {
		rows = append(rows, report.Row{Label: f.Say("Use by all households, corrected"), Value: &v.Adjusted.Value})
	}
	switch {
	case a.Kappa != nil:
		f.Notes = append(f.Notes, f.Say("Cohen's kappa %.2f (95 %%: %.2f to %.2f).", *a.Kappa, *a.KappaLow, *a.KappaHigh))
	case a.NoKappa != "":
		f.Notes = append(f.Notes, a.NoKappa)
	}
	return report.Estimates{Frame: f, Unit: report.Unit{Percent: true}, Confidence: 0.95, Rows: rows}.SVG()
}
