package cli

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cli/foreign"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// tally counts what became of everything.
type tally struct {
	forms  struct{ whole, loss, refused int }
	rows   outcome
	tables int // that could not be read as a whole
	media  int64
}

// outcome counts submissions.
type outcome struct{ created, partial, unchanged, refused, warned int }

func (o outcome) minus(b outcome) outcome {
	return outcome{o.created - b.created, o.partial - b.partial, o.unchanged - b.unchanged, o.refused - b.refused, o.warned - b.warned}
}

func (o outcome) String() string {
	return fmt.Sprintf("%d stored whole, %d partial, %d unchanged, %d refused, %d with warnings", o.created, o.partial, o.unchanged, o.refused, o.warned)
}

// note prints lines of the report. What submissions say stands in some.
func (p *project) note(what, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(p.c.out, "  %-10s %s\n", what, foreign.Shown(strings.TrimSuffix(line, "\n")))
		what = ""
	}
}

// keep writes a line of the file of the report.
func (p *project) keep(v any) {
	if p.file == nil {
		return
	}
	text, err := json.Marshal(v)
	if err == nil {
		_, err = p.file.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintln(p.c.err, "hearth: write report:", err)
		p.file = nil
	}
}

// formLine is a form in the file of the report.
type formLine struct {
	Form   string         `json:"form"`
	File   string         `json:"file"`
	Result string         `json:"result"` // whole, loss or refused
	Items  []xlsform.Item `json:"items,omitempty"`
	Errors []fault.Field  `json:"errors,omitempty"`
}

// tellForm says how a form was read.
func (p *project) tellForm(f *foreign.Form, r *xlsform.Report, consent bool) {
	line := formLine{f.ID, f.Name, "whole", r.Items, nil}
	if consent {
		line.Items = append(line.Items, xlsform.Item{
			Level: xlsform.Warning, Code: "consent_added", Detail: "The form asks for no consent: a question for it was added. The submissions have no answer to it, and are flagged.",
		})
	}
	notes := 0
	for _, i := range line.Items {
		if notes++; i.Level == xlsform.Warning {
			line.Result = "loss"
		}
	}
	if line.Result == "whole" {
		p.sum.forms.whole++
		fmt.Fprintf(p.c.out, "%s (%s): read whole, %d notes\n", foreign.Shown(f.ID), foreign.Shown(f.Name), notes)
	} else {
		p.sum.forms.loss++
		fmt.Fprintf(p.c.out, "%s (%s): read with loss\n", foreign.Shown(f.ID), foreign.Shown(f.Name))
	}
	for _, i := range line.Items {
		if i.Level == xlsform.Warning {
			p.note("loss", i.Place()+i.Detail)
		}
	}
	p.keep(line)
}

// refuse says why a form is not brought over, nor its submissions.
func (p *project) refuse(f *foreign.Form, bad *fault.Error) {
	p.sum.forms.refused++
	fmt.Fprintf(p.c.out, "%s (%s): refused, with its submissions\n", foreign.Shown(f.ID), foreign.Shown(f.Name))
	for _, e := range bad.Fields {
		p.note("error", e.Detail)
	}
	p.keep(formLine{f.ID, f.Name, "refused", nil, bad.Fields})
}

// rowLine is a submission in the file of the report.
type rowLine struct {
	Form string `json:"form"`
	api.ResponseImportRow
}

// row counts a submission. A refused one is printed at once.
func (p *project) row(f *foreign.Form, r api.ResponseImportRow) {
	n := &p.sum.rows
	if onlyCollector(r.Error) {
		r.Action, r.Error = "unchanged", nil
	}
	switch r.Action {
	case "created":
		n.created++
	case "partial":
		n.partial++
	case "unchanged":
		n.unchanged++
	default:
		n.refused++
	}
	if len(r.Warnings) > 0 {
		n.warned++
	}
	p.keep(rowLine{f.ID, r})
	if r.Error == nil {
		return
	}
	why := r.Error.Code + ": " + r.Error.Message
	for _, e := range r.Error.Errors {
		why += "\n" + e.Pointer + ": " + e.Detail
	}
	p.note("refused", strings.TrimSpace(r.ResponseID+" "+why))
}

// onlyCollector reports whether the only difference is the collector: the submission was
// stored before its submitter had an address here.
func onlyCollector(p *api.BatchProblem) bool {
	return p != nil && p.Code == "RESPONSE_CONFLICT" && len(p.Errors) == 1 && p.Errors[0].Pointer == "/collector"
}

// tellLoad says what became of the submissions of a table.
func (p *project) tellLoad(l *foreign.Load, o outcome) {
	p.note("", fmt.Sprintf("%s: %s, %d files of media", foreign.Shown(l.Name), o, l.Files))
}

// end says what became of all. What was refused is an error, so that scripts see
// it.
func (p *project) end(left int) error {
	dry := ""
	if p.o.dry {
		dry = "Dry run, nothing is stored: "
	}
	n := p.sum
	fmt.Fprintf(p.c.out, "%sforms: %d whole, %d with loss, %d refused. Submissions: %s. Attachments stored: %d. Files left out: %d\n",
		dry, n.forms.whole, n.forms.loss, n.forms.refused, n.rows, n.media, left)
	if n.forms.refused+n.rows.refused+n.tables > 0 {
		return fmt.Errorf("refused: %d forms, %d tables, %d submissions", n.forms.refused, n.tables, n.rows.refused)
	}
	return nil
}
