package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cli/foreign"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
)

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// appUsers makes an address for each app user who has none here: those whose name
// a survey of an earlier run has as a collector.
func (p *project) appUsers(ctx context.Context, x *foreign.Export) error {
	ours := 0 // forms that have a survey in the project, or will have one
	for _, f := range x.Forms {
		h := &held{}
		if err := p.ask(ctx, http.MethodGet, "/v1/surveys/"+url.PathEscape(p.idOf(f)), nil, h); err != nil && !denied(err, "SURVEY_NOT_FOUND") {
			return err
		}
		if h.ProjectID == "" || h.ProjectID == p.o.project {
			ours++
		}
		for _, one := range h.Collectors {
			did, _ := one["did"].(string)
			if name, ok := one["name"].(string); ok && slices.Contains(x.AppUsers, name) {
				p.collectors[name] = did
			}
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(x.AppUsers), func(name string) bool { return p.collectors[name] != "" })
	switch {
	case len(fresh) == 0 || ours == 0:
		return nil
	case p.o.addresses == "":
		p.note("app users", fmt.Sprintf("%d have no address here, so you are the collector of what they sent: name a file for their addresses with --addresses.", len(fresh)))
		return nil
	case p.o.dry:
		p.note("app users", fmt.Sprintf("%d would get an address for ODK Collect.", len(fresh)))
		return nil
	}
	return p.addresses(ctx, fresh)
}

// addresses makes addresses and writes each to the file at once, because they are
// shown only once.
func (p *project) addresses(ctx context.Context, names []string) (err error) {
	f, err := os.OpenFile(p.o.addresses, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write addresses: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, name := range names {
		var a api.CollectAddress
		if err := p.post(ctx, "/v1/collect/addresses", api.CollectAddressDraft{Name: name, Origin: p.o.origin}, &a); err != nil {
			return err
		}
		p.collectors[name] = a.Collector
		var line []byte
		for i, cell := range []string{name, a.Collector, a.KeyID, a.URL, a.Settings} {
			if i > 0 {
				line = append(line, ',')
			}
			line = sheet.AppendCSV(line, cell)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write addresses: %w", err)
		}
	}
	p.note("app users", fmt.Sprintf("%d have an address for ODK Collect, in %s: name, collector, key, address, settings of the QR code.", len(names), p.o.addresses))
	return nil
}

// load brings over the submissions of a table. at is nil in a dry run of a form
// that has no survey yet: its rows are held to the form alone then.
func (p *project) load(ctx context.Context, f *foreign.Form, l *foreign.Load, compiled *form.Form, at *held) (err error) {
	packed, err := l.Pack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Close()) }()
	before := p.sum.rows
	if d := p.draft(compiled); d.Household != p.o.household {
		p.note("households", "The form does not have the question of --household: each submission is a household of its own, "+d.Household+".")
	}
	for _, wrong := range packed.Wrong {
		p.row(f, api.ResponseImportRow{Action: "refused", Error: &api.BatchProblem{Code: "ROW_INVALID", Message: wrong}})
	}
	if at == nil {
		err = p.check(ctx, f, compiled, packed)
	} else {
		err = p.upload(ctx, &batch{f, l, packed, p.draft(compiled)}, at)
	}
	var no denial
	if bad := fault.As(err); bad != nil {
		p.sum.tables++
		p.note("refused", foreign.Shown(l.Name)+": "+bad.Message)
		for _, one := range bad.Fields {
			p.note("", one.Pointer+": "+one.Detail)
		}
		return nil
	} else if errors.As(err, &no) {
		p.sum.tables++
		p.note("refused", foreign.Shown(l.Name)+": "+no.text)
		return nil
	} else if err != nil {
		return err
	}
	p.tellLoad(l, p.sum.rows.minus(before))
	return nil
}

// draft is how the submissions of a form are read. Where the form does not have
// the question that names the household, each submission is a household.
func (p *project) draft(compiled *form.Form) intake.Draft {
	l := layoutOf(compiled)
	d := intake.Draft{Form: compiled, Layout: l, Source: p.o.source, Format: intake.Zip, Partial: !p.o.whole, Mapping: p.mapping, Household: p.o.household, Collectors: p.collectors}
	_, rest, _ := strings.Cut(d.Household, "{")
	column, _, _ := strings.Cut(rest, "}")
	name := column[strings.LastIndexAny(column, "/-")+1:]
	if name != "instanceID" && !slices.ContainsFunc(l.Places(), func(q form.Place) bool { return q.Path[len(q.Path)-1] == name }) {
		d.Household = eachOwn(p.o.source)
	}
	return d
}

func layoutOf(compiled *form.Form) *export.Layout {
	return export.NewLayout(export.LayoutConfig{Form: compiled, Level: export.Full, Shape: export.Wide})
}

// check holds submissions to their form without a survey.
func (p *project) check(ctx context.Context, f *foreign.Form, compiled *form.Form, packed *foreign.Packed) error {
	return intake.Check(ctx, p.draft(compiled), packed.Section(), func(r intake.Checked) {
		row := api.ResponseImportRow{Line: r.Line, ResponseID: r.ID, Action: "created"}
		for _, w := range r.Warnings {
			row.Warnings = append(row.Warnings, api.Field(w))
		}
		switch {
		case r.Err != nil:
			row.Action, row.Error = "refused", &api.BatchProblem{Code: r.Err.Code, Message: r.Err.Message}
			for _, e := range r.Err.Fields {
				row.Error.Errors = append(row.Error.Errors, api.Field(e))
			}
		case r.Partial:
			row.Action = "partial"
		}
		p.row(f, row)
	})
}

// batch is a table of submissions on its way.
type batch struct {
	form   *foreign.Form
	load   *foreign.Load
	packed *foreign.Packed
	draft  intake.Draft
}

// upload sends submissions, waits until they are imported, and reads what became
// of each.
func (p *project) upload(ctx context.Context, b *batch, at *held) error {
	d, l := b.draft, b.load
	q := url.Values{"source": {string(d.Source)}, "format": {string(d.Format)}, "dryRun": {fmt.Sprint(p.o.dry)}, "partial": {fmt.Sprint(d.Partial)}, "household": {d.Household}}
	for name, m := range map[string]map[string]string{"mapping": d.Mapping, "collectors": d.Collectors} {
		if len(m) > 0 {
			text, err := json.Marshal(m, json.Deterministic(true))
			if err != nil {
				return fmt.Errorf("encode: %w", err)
			}
			q.Set(name, string(text))
		}
	}
	var in loaded
	if err := p.ask(ctx, http.MethodPost, importsOf(at.SurveyID)+"?"+q.Encode(), b.packed.Section(), &in); err != nil {
		return err
	}
	path := importsOf(at.SurveyID) + "/" + url.PathEscape(in.ID)
	shown := int64(-1)
	in, err := await(ctx, p.remote, path, func(in loaded) {
		if in.Counts.Done != shown {
			shown = in.Counts.Done
			fmt.Fprintf(p.c.err, "%s: %d of %d\n", foreign.Shown(l.Name), shown, in.Counts.Total)
		}
	})
	if err != nil {
		return err
	}
	for _, e := range in.Errors {
		if e.Code != "ALL_ROWS_REFUSED" {
			p.sum.tables++
			p.note("refused", foreign.Shown(l.Name)+": "+e.Code+": "+e.Message)
		}
	}
	p.sum.media += in.Counts.Media
	return walk(ctx, p.remote, in.Links.Rows, url.Values{"limit": {"500"}}, func(r api.ResponseImportRow) { p.row(b.form, r) })
}
