package intake

import (
	"context"
	"errors"
	"io"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Draft says how a file is read. Check needs the form and its layout too.
type Draft struct {
	Form   *form.Form
	Layout Layout

	Source     Source
	Format     Format
	Partial    bool // accept rows even if required answers are missing
	Mapping    map[string]string
	Household  string
	Collectors map[string]string
}

// Checked is a row as far as its form can be used to check it.
type Checked struct {
	Line     int64
	ID       string
	Partial  bool // required answers are missing
	Warnings []fault.Field
	Err      *fault.Error // why it would be refused
}

// Check reads a file as an import does and checks its rows against a form. It
// needs no store, so it cannot check what depends on a survey, such as who may
// collect. The fault of a file that cannot be read is FILE_INVALID.
func Check(ctx context.Context, d Draft, file *io.SectionReader, each func(Checked)) (err error) {
	l := d.Layout
	p := &settings{Source: d.Source, Format: d.Format, Partial: d.Partial, Mapping: d.Mapping, Household: d.Household, Collectors: d.Collectors}
	in := &input{p: p, layout: l, heads: l.Heads(), names: newNames(p, l), src: file, size: file.Size(), hashing: true}
	if err := in.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for {
		r, err := in.row()
		if errors.Is(err, io.EOF) && fault.As(err) == nil {
			return nil
		} else if err != nil {
			return err
		}
		out := Checked{Line: r.line, ID: r.id, Warnings: r.notes, Err: r.err}
		if r.err == nil {
			var got *form.Result
			if got, out.Err = judge(d.Form, r, d.Partial); out.Err == nil {
				out.Partial = !got.Complete
				if len(got.NoConsent) > 0 {
					out.Warnings = append(out.Warnings, noConsent())
				}
			}
		}
		each(out)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// judge holds a row to a form.
func judge(f *form.Form, r *row, partial bool) (*form.Result, *fault.Error) {
	var c fault.Checks
	if !did.Valid(r.draft.HouseholdID) {
		c.Add("/householdId", "not_a_did", "The household has no DID: name its column in mapping, or give a pattern in household.")
	}
	got := f.Check(form.Input{Answers: r.draft.Responses.Value, Now: r.draft.Timestamp, Partial: partial})
	for _, w := range got.Wrong {
		c.Add(w.Pointer, w.Code, w.Detail)
	}
	if !partial {
		for _, m := range got.Missing {
			c.Add(m.Pointer, m.Code, m.Detail)
		}
	}
	return got, fault.As(c.Err("RESPONSE_INVALID", "The response is not valid."))
}
