package cli

import (
	"context"
	"flag"
	"fmt"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

func responseCommands() []command {
	return []command{{
		name: "responses import", args: "<survey> <file>", summary: "Import responses from an export, or from ODK Central or Kobo", run: responsesImport, flags: responsesImportFlags,
	}}
}

type importOptions struct {
	access
	source, format, mapping string
	dry, partial            bool
}

func responsesImportFlags(fs *flag.FlagSet) any {
	o := &importOptions{}
	o.register(fs, "imports:write, imports:read, responses:write and responses:read")
	fs.StringVar(&o.source, "source", "hearth", "`program` that wrote the file: hearth, odk or kobo")
	fs.StringVar(&o.format, "format", "", "csv, xlsx, ndjson, json or zip; the end of the file's name by default")
	fs.StringVar(&o.mapping, "mapping", "", "`JSON` object: column to column of an export, such as {\"hh\":\"householdId\"}; \"\" leaves a column out")
	fs.BoolVar(&o.dry, "dry-run", false, "store nothing, and report what would be stored")
	fs.BoolVar(&o.partial, "partial", false, "accept rows even if required answers are missing")
	return o
}

// loaded is an import as far as the program shows it.
type loaded struct {
	ending
	ID     string `json:"id"`
	Counts struct {
		Done, Total, Created, Partial, Unchanged, Refused, Media int64
	} `json:"counts"`
	Errors []api.JobError  `json:"errors"`
	Links  api.ReportLinks `json:"links"`
}

// responsesImport sends a file and waits until it is imported.
func responsesImport(ctx context.Context, c *call) error {
	o := c.own.(*importOptions)
	if len(c.args) != 2 {
		return errUsage{"import takes a survey and a file"}
	}
	m, err := o.dial(ctx, c)
	if err != nil {
		return err
	}
	in, err := o.send(ctx, m, c.args[0], c.args[1])
	if err != nil {
		return err
	}
	if in, err = await(ctx, m, importsOf(c.args[0])+"/"+url.PathEscape(in.ID), func(loaded) {}); err != nil {
		return err
	}
	return in.tell(ctx, m)
}

// send sends the file.
func (o *importOptions) send(ctx context.Context, m *remote, survey, name string) (in loaded, err error) {
	q := url.Values{"source": {o.source}, "format": {formatOf(o.format, name)}}
	if o.dry {
		q.Set("dryRun", "true")
	}
	if o.partial {
		q.Set("partial", "true")
	}
	if o.mapping != "" {
		q.Set("mapping", o.mapping)
	}
	err = m.upload(ctx, importsOf(survey)+"?"+q.Encode(), name, &in)
	return in, err
}

func importsOf(survey string) string { return "/v1/surveys/" + url.PathEscape(survey) + "/imports" }

// tell prints the result of the file, and the refused rows.
func (in *loaded) tell(ctx context.Context, m *remote) error {
	n := in.Counts
	fmt.Fprintf(m.call.out, "%s: %d of %d rows: %d created (%d partial), %d unchanged, %d refused, %d attachments\n", in.Status, n.Done, n.Total, n.Created, n.Partial, n.Unchanged, n.Refused, n.Media)
	for _, e := range in.Errors {
		fmt.Fprintln(m.call.out, e.Code+": "+e.Message)
	}
	if n.Refused > 0 {
		if err := m.refused(ctx, in.Links.Rows); err != nil {
			return err
		}
	}
	if in.Status == "succeeded" || in.Status == "completedWithErrors" {
		return nil
	}
	return fmt.Errorf("the import is %s", in.Status)
}

// refused lists the rows that were refused, with the columns to blame.
func (m *remote) refused(ctx context.Context, rows string) error {
	tw := m.call.table("LINE\tRESPONSE\tCODE\tCOLUMN\tWHY")
	err := walk(ctx, m, rows, url.Values{"ok": {"false"}, "limit": {"500"}}, func(r api.ResponseImportRow) {
		if r.Error == nil {
			return
		}
		if len(r.Error.Errors) == 0 {
			fmt.Fprintf(tw, "%d\t%s\t%s\t\t%s\n", r.Line, r.ResponseID, r.Error.Code, r.Error.Message)
		}
		for _, e := range r.Error.Errors {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", r.Line, r.ResponseID, r.Error.Code, e.Pointer, e.Detail)
		}
	})
	if err != nil {
		return err
	}
	return tw.Flush()
}
