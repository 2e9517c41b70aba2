package export

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Files about the sample, in an archive.
const (
	sampleFile = "sample.csv"
	designFile = "design.json"
	rFile      = "reproduce.R"
	stataFile  = "reproduce.do"
)

// recipe is how other programs compute the figures of a survey again from files
// of this layout.
type recipe struct {
	l *Layout
	o *survey.Open
}

// example is the column of a question with a figure, numbers first; nil when
// there is none.
func (c *recipe) example() *Column {
	var coded *Column
	for i := range c.l.columns {
		k := &c.l.columns[i]
		if k.Of != "answer" || k.Option != "" || k.Row != "" || k.part != "" || len(k.inside) > 0 {
			continue
		}
		switch of := form.KindOf(form.Type(k.Type)); {
		case of.CEL == cel.Number:
			return k
		case coded == nil && (of.CEL == cel.Boolean || of.Options && !of.Several && !of.Rows):
			coded = k
		}
	}
	return coded
}

// rName is the name that R gives a column.
func rName(column string) string {
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' || r == '.' {
			return r
		}
		return '.'
	}, column)
	if name == "" || name[0] >= '0' && name[0] <= '9' || name[0] == '_' {
		name = "X" + name
	}
	return name
}

// r are the lines for R and its package survey.
func (c *recipe) r(f Format) []string {
	key, s := c.l.recordKey(), c.l.cfg.Sample
	sample, answers := `read.csv("`+sampleFile+`")`, `read.csv("responses.csv", na.strings = c("", "NA", "`+dontKnow+`", "`+refused+`"))`
	if f == XLSX {
		sample = `as.data.frame(readxl::read_excel("export.xlsx", "sample"))`
		answers = `as.data.frame(readxl::read_excel("export.xlsx", "data", na = c("", "` + dontKnow + `", "` + refused + `"), guess_max = 1e6))`
	}
	out := []string{
		"library(survey)",
		fmt.Sprintf("homes <- subset(%s, round == %d & !is.na(weight))", sample, c.o.Round),
		"answers <- " + answers,
		"names(answers) <- make.names(names(answers))",
		fmt.Sprintf(`answers <- answers[c("%s", setdiff(names(answers), names(homes)))]`, key),
		fmt.Sprintf(`homes <- merge(homes, answers, by = "%s", all.x = TRUE)`, key),
	}
	ids, nested := "~1", ""
	switch {
	case s.Clustered && s.Stages == 2:
		out = append(out, "homes$unit <- seq_len(nrow(homes))")
		ids, nested = "~cluster + unit", ", nest = TRUE"
	case s.Clustered:
		ids, nested = "~cluster", ", nest = TRUE"
	}
	return append(append(out, "design <- svydesign(ids = "+ids+c.rStrata()+", weights = ~weight"+c.rStages()+nested+", data = homes)"), c.rFigures()...)
}

func (c *recipe) rStrata() string {
	if len(c.o.Sampling.Strata) == 0 {
		return ""
	}
	return ", strata = ~stratum"
}

func (c *recipe) rStages() string {
	if c.l.cfg.Sample.Stages == 0 {
		return ""
	}
	return ", fpc = ~" + strings.Join(fpcNames[:c.l.cfg.Sample.Stages], " + ")
}

// rFigures are the lines for a figure, and for the one with weights that are
// fitted to known totals.
func (c *recipe) rFigures() []string {
	k := c.example()
	if k == nil {
		return nil
	}
	name, of := rName(k.Name), "~"+rName(k.Name)
	if form.KindOf(form.Type(k.Type)).Options && len(k.Options) > 0 {
		of = fmt.Sprintf("~I(%s == %s)", name, rText(k.Options[0].Value))
	}
	domain := fmt.Sprintf(`, outcome == "counted" & !is.na(%s))`, name)
	out := []string{
		"figure <- svymean(" + of + ", subset(design" + domain + ")",
		"print(c(mean = coef(figure), SE = SE(figure)), digits = 15)",
		fmt.Sprintf("print(confint(figure, level = %v, df = degf(subset(design%s)), digits = 15)", c.confidence(), domain),
	}
	if len(c.o.Sampling.Totals) == 0 || !slices.Contains([]string{"group", "stratum"}, c.o.Sampling.Totals[0].By) {
		return out
	}
	t := c.o.Sampling.Totals[0]
	var names, values []string
	for _, v := range slices.Sorted(maps.Keys(t.Values)) {
		names, values = append(names, rText(v)), append(values, fmt.Sprint(t.Values[v]))
	}
	return append(out, "# adjust=poststrata",
		fmt.Sprintf("fitted <- postStratify(design, ~%s, data.frame(%s = c(%s), Freq = c(%s)))", t.By, t.By, strings.Join(names, ", "), strings.Join(values, ", ")),
		"print(svymean("+of+", subset(fitted"+domain+", na.rm = TRUE), digits = 15)")
}

// confidence is the default confidence of figures.
func (c *recipe) confidence() float64 {
	if v := c.o.Sampling.Confidence; v != nil {
		return *v
	}
	return 0.95
}

// rText is a text as R and Stata write it.
func rText(s string) string { return string(quote(nil, s)) }

// stata are the lines for Stata 14 and newer.
func (c *recipe) stata() []string {
	key, s := c.l.recordKey(), c.l.cfg.Sample
	out := []string{
		`import delimited using "` + sampleFile + `", clear case(preserve) encoding("utf-8")`,
		fmt.Sprintf("keep if round == %d & !missing(weight)", c.o.Round),
		fmt.Sprintf(`merge m:1 %s using "responses.dta", keep(master match) nogenerate`, key),
		"generate long unit = _n",
	}
	first, strata := "unit", ""
	if s.Clustered {
		out, first = append(out, "egen long cluster_id = group(stratum cluster), missing"), "cluster_id"
	}
	if len(c.o.Sampling.Strata) > 0 {
		out, strata = append(out, "egen long stratum_id = group(stratum), missing"), " strata(stratum_id)"
	}
	set := "svyset " + first + " [pweight = weight]," + strata
	if s.Stages > 0 {
		set += " fpc(fpc1)"
	}
	if s.Stages == 2 {
		set += " || unit, fpc(fpc2)"
	}
	out = append(out, strings.TrimSuffix(set, ","))
	if k := c.example(); k != nil {
		for _, v := range newStataWriter(c.l, About{}).vars {
			if v.column == k.Name {
				out = append(out, stataFigure(k, v.name, c.confidence())...)
			}
		}
	}
	return out
}

// stataFigure writes the lines for a figure. A household without an answer stays in
// the design, outside of the figure: Stata would leave rows with a missing value out
// of both, which gives another variance.
func stataFigure(k *Column, name string, confidence float64) []string {
	figure, known := name, "!missing("+name+")" // don't know and refused are missing values of numbers
	if form.KindOf(form.Type(k.Type)).Options && len(k.Options) > 0 {
		first := k.Options[0].Value
		if !allWhole(k.Options) {
			first, known = rText(first), fmt.Sprintf(`!inlist(%s, "", %q, %q)`, name, dontKnow, refused)
		}
		figure = name + " == " + first
	}
	return []string{
		`generate byte counted = outcome == "counted" & ` + known,
		"generate double figure = cond(counted, " + figure + ", 0)",
		fmt.Sprintf("svy, subpop(counted) level(%v): mean figure", math.Round(1e4*confidence)/100),
	}
}

// design is what the codebook says about the sample.
func (c *recipe) design() *api.CodebookDesign {
	_, why := sampleOf(c.o)
	d := &api.CodebookDesign{NoWeights: why, Weighted: why == ""}
	if d.Weighted {
		d.R, d.Stata = c.r(CSV), c.stata()
	}
	return d
}

// designDoc is the file about the design of an export.
type designDoc struct {
	SurveyID  string          `json:"surveyId"`
	AsOf      time.Time       `json:"asOf"`
	Sampling  survey.Sampling `json:"sampling"`
	NoWeights string          `json:"noWeights,omitzero"`
	Rounds    []designRound   `json:"rounds,omitzero"`
	R         []string        `json:"r,omitzero"`
	Stata     []string        `json:"stata,omitzero"`
}

// designRound is the sample of a round.
type designRound struct {
	Round      int    `json:"round"`
	Basis      string `json:"basis,omitzero"`
	Households int    `json:"households"`
	Counted    string `json:"counted,omitzero"`
	NoWeights  string `json:"noWeights,omitzero"`
}

// document makes the file about the design.
func (c *recipe) document(f Format, asOf time.Time) *designDoc {
	_, why := sampleOf(c.o)
	d := &designDoc{SurveyID: c.o.SurveyID, AsOf: asOf, Sampling: c.l.openSampling(c.o.Sampling), NoWeights: why}
	if c.l.cfg.weights == nil {
		return d
	}
	for _, r := range c.l.cfg.weights.rounds {
		d.Rounds = append(d.Rounds, designRound{Round: r.Round, Basis: r.Basis, Households: len(r.Homes), Counted: r.Words, NoWeights: r.Why})
	}
	if f == Stata {
		d.Stata = c.stata()
	} else {
		d.R = c.r(f)
	}
	return d
}

// rows is the sheet about the design: a description, then the lines of R.
func (c *recipe) rows(asOf time.Time) [][]string {
	d := c.document(XLSX, asOf)
	text, err := json.Marshal(d.Sampling, json.Deterministic(true))
	if err != nil {
		text = nil // it came from JSON
	}
	out := [][]string{{"sampling", shorten(string(text))}, {"noWeights", d.NoWeights}, nil, {"round", "basis", "households", "counted", "noWeights"}}
	for _, r := range d.Rounds {
		out = append(out, []string{strconv.Itoa(r.Round), r.Basis, strconv.Itoa(r.Households), r.Counted, r.NoWeights})
	}
	out = append(out, nil, []string{"R", "The file must be called export.xlsx."})
	for _, line := range d.R {
		out = append(out, []string{line})
	}
	return out
}

// parts are the files about the sample in an archive.
func (c *recipe) parts(f Format, asOf time.Time) ([]part, error) {
	d := c.document(f, asOf)
	text, err := json.Marshal(d, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write design: %w", err)
	}
	out := []part{{name: designFile, text: append(text, '\n')}}
	if c.l.cfg.weights == nil {
		return out, nil
	}
	table := appendHeads(nil, c.l.homeNames())
	err = c.l.eachHome(func(row []cell) error {
		table = appendCells(table, row)
		return nil
	})
	name, lines := rFile, d.R
	if f == Stata {
		name, lines = stataFile, d.Stata
	}
	return append(out, part{name: sampleFile, text: table}, part{name: name, text: []byte(strings.Join(lines, "\n") + "\n")}), err
}
