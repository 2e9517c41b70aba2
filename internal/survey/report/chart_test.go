package report_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/survey/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func num(v float64) *float64 { return &v }

func whole(v int) *int { return &v }

const long = "Wood that is gathered in the communal forest behind the school, or bought from neighbours who gather it there on days without a market"

// pictures are one of each kind, by the names of their golden files.
func pictures() map[string][]byte {
	shares := report.Estimates{
		Frame: report.Frame{Title: "What do you cook with most?", About: "Share of households, Wilson interval, 95 %", Notes: []string{"Households that said nothing are made up for by the others."}},
		Unit:  report.Unit{Percent: true}, Confidence: .95,
		Rows: []report.Row{
			{Label: "Gas", Value: num(.623), Low: num(.551), High: num(.6904), N: whole(1234)},
			{Label: long, Value: num(.25), Low: num(.2), High: num(.3), N: whole(1234)},
			{Label: "Other", Value: num(0), Low: num(0), High: num(.004), N: whole(1234)},
			{Label: "Charcoal", Hidden: true},
		},
	}
	narrow := shares
	narrow.Width, narrow.Inline, narrow.ID = 320, true, "q7"
	points := []report.Point{{2, 1.5}, {3, 3}, {1, 2}, {4, 2.5}, {2.5, 2.4}, {5, 4.1}, {0, .4}}
	agree := report.Agreement{
		Frame: report.Frame{Title: "Hours a day on the new stove", About: "Said in the interview against the sensor"}, Unit: report.Unit{Name: "h"},
		Said: "Interview", Measured: "Sensor", Points: points, Bias: num(.23), Low: num(-1.2), High: num(1.66),
	}
	return map[string][]byte{
		"shares": shares.SVG(), "narrow": narrow.SVG(),
		"means": report.Estimates{
			Frame: report.Frame{Title: "Fuel in a week", About: "Mean, 90 %"}, Unit: report.Unit{Name: "kg"}, Confidence: .9,
			Rows: []report.Row{{Label: "rural", Value: num(12.345), Low: num(11.1), High: num(13.59), N: whole(80)}, {Label: "urban", Value: num(7.2), N: whole(40)}},
		}.SVG(),
		"change": report.Change{
			Frame: report.Frame{Title: "Fuel in a week", About: "Round 2 less round 1"}, Unit: report.Unit{Name: "kg"}, Confidence: .95,
			Rows: []report.Row{{Label: "all", Value: num(-1.25), Low: num(-2), High: num(-.5)}, {Label: "rural", Value: num(.4), Low: num(-.3), High: num(1.1)}},
		}.SVG(),
		"strata": report.Progress{
			Frame: report.Frame{Title: "Strata", About: "Round 1"},
			Parts: []report.Part{{"Kitui", 40, 34, 20}, {"Machakos", 30, 33, 30}, {"Makueni", 0, 4, 0}},
		}.SVG(),
		"scatter": agree.Scatter(), "blandaltman": agree.BlandAltman(),
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, got := range pictures() {
		file := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs; look at it and run with -update:\n%s", file, got)
		}
	}
}

// parse reads a picture strictly: its elements, and the text of each kind.
func parse(t *testing.T, svg []byte) (names map[string]int, text map[string]string, root []xml.Attr) {
	t.Helper()
	names, text = map[string]int{}, map[string]string{}
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	var open []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names, text, root
		} else if err != nil {
			t.Fatalf("no XML: %v\n%s", err, svg)
		}
		switch one := tok.(type) {
		case xml.StartElement:
			if len(open) == 0 {
				root = one.Attr
			}
			names[one.Name.Local]++
			open = append(open, one.Name.Local)
			for _, a := range one.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "style" {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				text[open[len(open)-1]] += string(one)
			}
		}
	}
}

func TestAccessible(t *testing.T) {
	t.Parallel()
	for name, svg := range pictures() {
		names, text, root := parse(t, svg)
		said := map[string]string{}
		for _, a := range root {
			said[a.Name.Local] = a.Value
		}
		if said["role"] != "img" || !strings.Contains(said["aria-labelledby"], "-t ") || names["title"] != 1 || names["desc"] != 1 || text["title"] == "" {
			t.Errorf("%s: %v %v", name, said, names)
		}
	}
	_, text, _ := parse(t, pictures()["shares"])
	for _, want := range []string{
		"Gas: 62.3 %, 95 % interval 55.1 % to 69.0 %, from 1,234 households.", "Charcoal: not shown, because it comes from too few households.", long + ": 25.0 %",
		"Households that said nothing are made up for by the others.",
	} {
		if !strings.Contains(text["desc"], want) {
			t.Errorf("the description lacks %q: %s", want, text["desc"])
		}
	}
	if _, text, _ := parse(t, pictures()["blandaltman"]); !strings.Contains(text["desc"], "7 households. Bias +0.2300 h, limits of agreement −1.2000 to +1.6600 h.") {
		t.Errorf("the description of a comparison: %s", text["desc"])
	}
}

const hostile = "</text><script>alert(1)</script>\" onload='x' & \u202Eevil\x00\x1b \xff <!--"

func TestHostileLabels(t *testing.T) {
	t.Parallel()
	f := report.Frame{ID: hostile, Title: hostile, About: hostile, Notes: []string{hostile}}
	all := map[string][]byte{
		"rows":   report.Estimates{Frame: f, Unit: report.Unit{Name: hostile}, Rows: []report.Row{{Label: hostile, Value: num(1)}}}.SVG(),
		"change": report.Change{Frame: f, Unit: report.Unit{Name: hostile}, Rows: []report.Row{{Label: hostile, Value: num(1), Low: num(0), High: num(2)}}}.SVG(),
		"parts":  report.Progress{Frame: f, Parts: []report.Part{{Label: hostile, Target: 1}}}.SVG(),
		"points": report.Agreement{Frame: f, Unit: report.Unit{Name: hostile}, Said: hostile, Measured: hostile, Points: []report.Point{{1, 2}}}.Scatter(),
		"bounds": report.Agreement{Frame: f, Said: hostile, Measured: hostile, Bias: num(1)}.BlandAltman(),
	}
	for name, svg := range all {
		names, text, _ := parse(t, svg)
		if names["script"] != 0 || !strings.Contains(text["title"], "<script>alert(1)</script>") {
			t.Errorf("%s: %v %q", name, names, text["title"])
		}
		if strings.ContainsAny(string(svg), "\x00\x1b\u202e") || !utf8.Valid(svg) {
			t.Errorf("%s holds what turns or hides text", name)
		}
	}
}

func TestStrangeNumbers(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, values := range [][3]*float64{
		{&nan, &nan, &nan},
		{&inf, nil, nil},
		{num(1), num(math.Inf(-1)), &inf},
		{num(-1e308), num(-1e308), num(1e308)},
		{num(1e-300), num(0), num(2e-300)},
		{num(0), num(0), num(0)},
		{nil, num(1), num(2)},
		{num(1e18), num(1e17), num(1e19)},
	} {
		rows := []report.Row{{Label: "x", Value: values[0], Low: values[1], High: values[2]}}
		for _, svg := range [][]byte{report.Estimates{Rows: rows}.SVG(), report.Change{Rows: rows}.SVG(), report.Estimates{Unit: report.Unit{Percent: true}, Rows: rows}.SVG()} {
			parse(t, svg)
			if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
				t.Errorf("%v: %s", values, svg)
			}
		}
		if rows[0].Value != values[0] {
			t.Error("the rows of the caller were changed")
		}
	}
	parse(t, report.Estimates{}.SVG())
	parse(t, report.Progress{}.SVG())
	parse(t, report.Agreement{}.Scatter())
	parse(t, report.Agreement{Points: []report.Point{{nan, 1}, {1, inf}}}.BlandAltman())
}

// TestBounded has many rows and points give a picture of a bounded size that says
// what is left out.
func TestBounded(t *testing.T) {
	t.Parallel()
	rows, points := make([]report.Row, 500), make([]report.Point, 100_000)
	for i := range rows {
		rows[i] = report.Row{Label: strings.Repeat("longer ", 5000), Value: num(float64(i))}
	}
	svg := report.Estimates{Rows: rows[:70]}.SVG()
	if names, text, _ := parse(t, svg); names["circle"] != 60 || !strings.Contains(text["desc"], "10 more are not shown.") || strings.Count(string(svg), "\n") > 1000 {
		t.Errorf("%v, %d bytes", names, len(svg))
	}
	for i := range points {
		points[i] = report.Point{Said: float64(i % 7), Measured: float64(i % 5)}
	}
	if names, text, _ := parse(t, report.Agreement{Points: points}.Scatter()); names["circle"] != 2000 || !strings.Contains(text["desc"], "2,000 of 100,000 households are drawn.") {
		t.Errorf("%v", names)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v      float64
		digits int
		want   string
	}{
		{1234567.891, 2, "1,234,567.89"}, {-1234, 0, "−1,234"}, {999.95, 1, "1,000.0"}, {-.0001, 2, "0.00"}, {0, 0, "0"}, {100, 0, "100"},
	} {
		if got := report.Number(tt.v, tt.digits); got != tt.want {
			t.Errorf("Number(%v, %d) = %q, want %q", tt.v, tt.digits, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	got := report.Wrap(long, 300, 13, 4)
	if len(got) < 3 || strings.Join(got, " ") != long {
		t.Errorf("Wrap = %q", got)
	}
	if got := report.Wrap(strings.Repeat("x", 100)+" end", 100, 13, 3); len(got) != 3 || !strings.HasSuffix(got[2], "…") {
		t.Errorf("a long word: %q", got)
	}
	if got := report.Wrap(" \t\n", 100, 13, 3); len(got) != 0 {
		t.Errorf("nothing: %q", got)
	}
}

// TestPolicy has the one style of a picture be the one that its policy allows.
func TestPolicy(t *testing.T) {
	t.Parallel()
	_, text, _ := parse(t, pictures()["shares"])
	if !strings.Contains(report.Policy(), report.Source(text["style"])) {
		t.Errorf("the policy %s has not the hash of %s", report.Policy(), text["style"])
	}
	if names, _, _ := parse(t, pictures()["narrow"]); names["style"] != 0 {
		t.Error("an inline picture has a style of its own")
	}
}
