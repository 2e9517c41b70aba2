package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
)

func responseCommands() []command {
	return []command{{
		name: "responses import", args: "<survey> <file>", summary: "Import responses from an export, or from ODK Central or Kobo", run: responsesImport, flags: responsesImportFlags,
	}}
}

type importOptions struct {
	url, keyFile, source, format, mapping string
	dry, partial                          bool
}

func responsesImportFlags(fs *flag.FlagSet) any {
	o := &importOptions{}
	fs.StringVar(&o.url, "url", "", "`address` of the server; the one of this configuration by default")
	fs.StringVar(&o.keyFile, "key-file", "", "`file` with the API key; needs imports:write, imports:read, responses:write and responses:read")
	fs.StringVar(&o.source, "source", "hearth", "`program` that wrote the file: hearth, odk or kobo")
	fs.StringVar(&o.format, "format", "", "csv, xlsx, ndjson, json or zip; the end of the file's name by default")
	fs.StringVar(&o.mapping, "mapping", "", "`JSON` object: column to column of an export, such as {\"hh\":\"householdId\"}; \"\" leaves a column out")
	fs.BoolVar(&o.dry, "dry-run", false, "store nothing, and tell what would be")
	fs.BoolVar(&o.partial, "partial", false, "take rows although required answers are missing")
	return o
}

// importer talks to the server about one import.
type importer struct {
	call      *call
	base, key string
}

// loaded is an import as far as the program shows it.
type loaded struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Counts struct {
		Done, Total, Created, Partial, Unchanged, Refused, Media int64
	} `json:"counts"`
	Errors []api.JobError  `json:"errors"`
	Links  api.ReportLinks `json:"links"`
}

// responsesImport sends a file and waits until it is imported.
func responsesImport(ctx context.Context, c *call) error {
	o := c.own.(*importOptions)
	switch {
	case len(c.args) != 2:
		return errUsage{"import takes a survey and a file"}
	case o.keyFile == "":
		return errUsage{"--key-file is needed: a file with an API key"}
	}
	key, err := os.ReadFile(o.keyFile)
	if err != nil {
		return fmt.Errorf("read the API key: %w", err)
	}
	m := &importer{call: c, base: strings.TrimSuffix(cmp.Or(o.url, c.ownAddress()), "/"), key: strings.TrimSpace(string(key))}
	in, err := m.send(ctx, o, c.args[0], c.args[1])
	if err != nil {
		return err
	}
	if in, err = m.wait(ctx, c.args[0], in.ID); err != nil {
		return err
	}
	return m.tell(ctx, in)
}

// send sends the file.
func (m *importer) send(ctx context.Context, o *importOptions, survey, name string) (*loaded, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	defer f.Close()
	q := url.Values{"source": {o.source}, "format": {cmp.Or(o.format, strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), "."))}}
	if o.dry {
		q.Set("dryRun", "true")
	}
	if o.partial {
		q.Set("partial", "true")
	}
	if o.mapping != "" {
		q.Set("mapping", o.mapping)
	}
	in := &loaded{}
	return in, m.ask(ctx, http.MethodPost, importsOf(survey)+"?"+q.Encode(), f, in)
}

func importsOf(survey string) string { return "/v1/surveys/" + url.PathEscape(survey) + "/imports" }

// pollEvery is how often the program looks how far an import is.
const pollEvery = 500 * time.Millisecond

// wait looks at an import until it is over.
func (m *importer) wait(ctx context.Context, survey, id string) (*loaded, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		in := &loaded{}
		if err := m.ask(ctx, http.MethodGet, importsOf(survey)+"/"+url.PathEscape(id), nil, in); err != nil {
			return nil, err
		}
		if in.Status != "queued" && in.Status != "running" {
			return in, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the import %s goes on without this program: %w", id, ctx.Err())
		}
	}
}

// tell prints what became of the file, and the rows that were refused.
func (m *importer) tell(ctx context.Context, in *loaded) error {
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
func (m *importer) refused(ctx context.Context, rows string) error {
	tw := tabwriter.NewWriter(m.call.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "LINE\tRESPONSE\tCODE\tCOLUMN\tWHY")
	for cursor, first := "", true; first || cursor != ""; first = false {
		var page struct {
			Items []api.ResponseImportRow `json:"items"`
			Page  struct {
				Next string `json:"nextCursor"`
			} `json:"page"`
		}
		q := url.Values{"ok": {"false"}, "limit": {"500"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		if err := m.ask(ctx, http.MethodGet, rows+"?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, r := range page.Items {
			if r.Error == nil {
				continue
			}
			if len(r.Error.Errors) == 0 {
				fmt.Fprintf(tw, "%d\t%s\t%s\t\t%s\n", r.Line, r.ResponseID, r.Error.Code, r.Error.Message)
			}
			for _, e := range r.Error.Errors {
				fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", r.Line, r.ResponseID, r.Error.Code, e.Pointer, e.Detail)
			}
		}
		cursor = page.Page.Next
	}
	return tw.Flush()
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 8 << 20

// ask sends a request and reads the answer.
func (m *importer) ask(ctx context.Context, method, path string, body io.Reader, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, body)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+m.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		var problem struct {
			Code, Message string
			Errors        []api.Field
		}
		if json.Unmarshal(text, &problem, json.MatchCaseInsensitiveNames(true)) != nil || problem.Code == "" {
			return fmt.Errorf("the server answers %s", res.Status)
		}
		why := problem.Code + ": " + problem.Message
		for _, e := range problem.Errors {
			why += "\n  " + e.Pointer + ": " + e.Detail
		}
		return fmt.Errorf("%s", why)
	}
	if err := json.Unmarshal(text, v, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
