package cli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

func twinImportCommands() []command {
	return []command{
		{name: "imports create", args: "<file>", summary: "Import twins from CSV, XLSX or NDJSON", run: importsCreate, flags: importsCreateFlags},
		{name: "imports show", args: "<id>", summary: "Show how far an import of twins has come", run: importsShow, flags: importsReadFlags},
		{name: "imports rows", args: "<id>", summary: "List the results for the rows of an import of twins", run: importsRows, flags: importsReadFlags},
	}
}

type twinImportOptions struct {
	access
	format, mode, protocol, kind, mapping string
	dry                                   bool
}

func importsCreateFlags(fs *flag.FlagSet) any {
	o := &twinImportOptions{}
	o.register(fs, "imports:write, imports:read and what the rows need, such as entities:write")
	fs.StringVar(&o.format, "format", "", "csv, xlsx or ndjson; the end of the file's name by default")
	fs.StringVar(&o.mode, "mode", "create", "create, or upsert to change existing twins")
	fs.StringVar(&o.protocol, "protocol", "", "`DID` of the protocol for rows that name none")
	fs.StringVar(&o.kind, "type", "", "type for rows that name none")
	fs.StringVar(&o.mapping, "mapping", "", "`JSON` object: column to path, such as {\"Serial no.\":\"properties.serial\"}; \"\" leaves a column out")
	fs.BoolVar(&o.dry, "dry-run", false, "store nothing, and report what would be stored")
	return o
}

type importReadOptions struct {
	access
	refused bool
}

func importsReadFlags(fs *flag.FlagSet) any {
	o := &importReadOptions{}
	o.register(fs, "imports:read")
	fs.BoolVar(&o.refused, "refused", false, "only rows that were refused")
	return o
}

// twinImport is an import of twins as far as the program shows it.
type twinImport struct {
	ending
	ID     string `json:"id"`
	DryRun bool   `json:"dryRun"`
	Counts struct {
		Done, Total, Created, Updated, Unchanged, Refused, Incomplete, Warnings int64
	} `json:"counts"`
	Errors []api.JobError `json:"errors"`
}

// twinRow is what became of a row.
type twinRow struct {
	Line     int64
	Action   string
	DID      string
	Warnings []api.Field
	Error    *struct {
		Code, Message string
		Errors        []api.Field
	}
}

func importPath(id string) string { return "/v1/imports/" + url.PathEscape(id) }

// importsCreate sends a file and waits until it is imported.
func importsCreate(ctx context.Context, c *call) error {
	o := c.own.(*twinImportOptions)
	if len(c.args) != 1 {
		return errUsage{"create takes a file"}
	}
	m, err := o.dial(ctx, c)
	if err != nil {
		return err
	}
	q := url.Values{"format": {formatOf(o.format, c.args[0])}, "mode": {o.mode}}
	for name, v := range map[string]string{"protocol": o.protocol, "type": o.kind, "mapping": o.mapping} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if o.dry {
		q.Set("dryRun", "true")
	}
	var in twinImport
	if err := m.upload(ctx, "/v1/imports?"+q.Encode(), c.args[0], &in); err != nil {
		return err
	}
	if in, err = await(ctx, m, importPath(in.ID), func(twinImport) {}); err != nil {
		return err
	}
	in.tell(c)
	if in.Counts.Refused+in.Counts.Incomplete+in.Counts.Warnings > 0 {
		err = m.rows(ctx, in.ID, false, func(r twinRow) bool { return r.Error != nil || len(r.Warnings) > 0 })
	}
	if err != nil || in.Status == "succeeded" || in.Status == "completedWithErrors" {
		return err
	}
	return fmt.Errorf("the import is %s", in.Status)
}

// tell prints the progress of the import.
func (i *twinImport) tell(c *call) {
	n, dry := i.Counts, ""
	if i.DryRun {
		dry = " (dry run: nothing is stored)"
	}
	fmt.Fprintf(c.out, "%s %s%s: %d of %d rows: %d created, %d updated, %d unchanged, %d refused, %d incomplete, %d warnings\n",
		i.ID, i.Status, dry, n.Done, n.Total, n.Created, n.Updated, n.Unchanged, n.Refused, n.Incomplete, n.Warnings)
	for _, e := range i.Errors {
		fmt.Fprintln(c.out, e.Code+": "+e.Message)
	}
}

func importsShow(ctx context.Context, c *call) error {
	m, id, err := c.own.(*importReadOptions).about(ctx, c, "import id")
	if err != nil {
		return err
	}
	var in twinImport
	if err := m.ask(ctx, http.MethodGet, importPath(id), nil, &in); err != nil {
		return err
	}
	in.tell(c)
	return nil
}

func importsRows(ctx context.Context, c *call) error {
	o := c.own.(*importReadOptions)
	m, id, err := o.about(ctx, c, "import id")
	if err != nil {
		return err
	}
	return m.rows(ctx, id, o.refused, func(twinRow) bool { return true })
}

// about is the server and the id that a command takes.
func (a *access) about(ctx context.Context, c *call, what string) (*remote, string, error) {
	id, err := c.one(what)
	if err != nil {
		return nil, "", err
	}
	m, err := a.dial(ctx, c)
	return m, id, err
}

// rows lists rows of an import, with the columns to blame.
func (m *remote) rows(ctx context.Context, id string, refused bool, show func(twinRow) bool) error {
	tw := m.call.table("LINE\tACTION\tDID\tCODE\tCOLUMN\tWHY")
	q := url.Values{"limit": {"500"}}
	if refused {
		q.Set("ok", "false")
	}
	err := walk(ctx, m, importPath(id)+"/rows", q, func(r twinRow) {
		if !show(r) {
			return
		}
		line := func(code, column, why string) {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\n", r.Line, r.Action, r.DID, code, column, why)
		}
		switch {
		case r.Error != nil && len(r.Error.Errors) == 0:
			line(r.Error.Code, "", r.Error.Message)
		case r.Error == nil && len(r.Warnings) == 0:
			line("", "", "")
		}
		if r.Error != nil {
			for _, e := range r.Error.Errors {
				line(r.Error.Code, e.Pointer, e.Detail)
			}
		}
		for _, w := range r.Warnings {
			line("warning "+w.Code, w.Pointer, w.Detail)
		}
	})
	if err != nil {
		return err
	}
	return tw.Flush()
}
