package cli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

func jobCommands() []command {
	return []command{
		{name: "jobs list", summary: "List background work, newest first", run: jobsList, flags: jobsListFlags},
		{name: "jobs show", args: "<id>", summary: "Show how far a job has come", run: jobsAsk(http.MethodGet, ""), flags: jobsFlags},
		{name: "jobs wait", args: "<id>", summary: "Wait until a job is over", run: jobsWait, flags: jobsFlags},
		{name: "jobs cancel", args: "<id>", summary: "Ask a job to stop", run: jobsAsk(http.MethodPost, "/cancel"), flags: jobsFlags},
	}
}

type jobOptions struct {
	access
	status, kind string
	limit        int
}

func jobsFlags(fs *flag.FlagSet) any {
	o := &jobOptions{}
	o.register(fs, "jobs:read, and jobs:write to cancel")
	return o
}

func jobsListFlags(fs *flag.FlagSet) any {
	o := jobsFlags(fs).(*jobOptions)
	fs.StringVar(&o.status, "status", "", "queued, running, succeeded, completedWithErrors, failed or cancelled")
	fs.StringVar(&o.kind, "kind", "", "kind of work, such as entity.import")
	fs.IntVar(&o.limit, "limit", 50, "`number` of jobs at most")
	return o
}

// work is a job as far as the program shows it.
type work struct {
	ending
	ID        string         `json:"id"`
	Kind      string         `json:"kind"`
	Progress  api.Progress   `json:"progress"`
	Errors    []api.JobError `json:"errors"`
	CreatedAt time.Time      `json:"createdAt"`
}

// row prints the job as a line of a table.
func (w *work) row(tw *tabwriter.Writer) {
	fmt.Fprintf(tw, "%s\t%s\t%s\t%d/%d\t%s\t%s\n", w.ID, w.Kind, w.Status, w.Progress.Done, w.Progress.Total, w.CreatedAt.UTC().Format(time.RFC3339), w.Progress.Note)
}

const jobColumns = "ID\tKIND\tSTATUS\tDONE\tCREATED\tNOTE"

// tell prints the job and why it failed.
func (w *work) tell(c *call) error {
	tw := c.table(jobColumns)
	w.row(tw)
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, e := range w.Errors {
		fmt.Fprintln(c.out, e.Code+": "+e.Message)
		for _, f := range e.Fields {
			fmt.Fprintln(c.out, "  "+f.Pointer+": "+f.Detail)
		}
	}
	return nil
}

func jobPath(id string) string { return "/v1/jobs/" + url.PathEscape(id) }

func jobsList(ctx context.Context, c *call) error {
	o := c.own.(*jobOptions)
	if len(c.args) != 0 {
		return errUsage{"list takes no arguments"}
	}
	if o.limit < 1 || o.limit > 1000 {
		return errUsage{"--limit takes a number from 1 to 1000"}
	}
	m, err := o.dial(ctx, c)
	if err != nil {
		return err
	}
	q := url.Values{"limit": {fmt.Sprint(o.limit)}}
	for name, v := range map[string]string{"status": o.status, "kind": o.kind} {
		if v != "" {
			q.Set(name, v)
		}
	}
	var page struct {
		Items []work `json:"items"`
	}
	if err := m.ask(ctx, http.MethodGet, "/v1/jobs?"+q.Encode(), nil, &page); err != nil {
		return err
	}
	tw := c.table(jobColumns)
	for i := range page.Items {
		page.Items[i].row(tw)
	}
	return tw.Flush()
}

// jobsAsk is a command that asks one thing of a job and shows it.
func jobsAsk(method, what string) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		m, id, err := c.own.(*jobOptions).about(ctx, c, "job id")
		if err != nil {
			return err
		}
		w := &work{}
		if err := m.ask(ctx, method, jobPath(id)+what, nil, w); err != nil {
			return err
		}
		return w.tell(c)
	}
}

// jobsWait fails when the job does, so that scripts notice.
func jobsWait(ctx context.Context, c *call) error {
	m, id, err := c.own.(*jobOptions).about(ctx, c, "job id")
	if err != nil {
		return err
	}
	w, err := await(ctx, m, jobPath(id), func(work) {})
	if err != nil {
		return err
	}
	if err := w.tell(c); err != nil {
		return err
	}
	if w.Status != "succeeded" && w.Status != "completedWithErrors" {
		return fmt.Errorf("the job is %s", w.Status)
	}
	return nil
}
