package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestJobs leaves work in the store of a server that does not run, as a crash
// would: the next start finds it, does it, and shows it to its workspace.
func TestJobs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		other, err := owner(t, s).Workspaces.Create(t.Context(), client.WorkspaceDraft{ID: "kitui", Name: "K"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(patience); err != nil {
			t.Fatal(err)
		}
		now, later := enqueue(t, o, time.Time{}), enqueue(t, o, time.Now().Add(time.Hour))
		s = server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		done, err := c.Jobs.Wait(ctx, now)
		if err != nil || done.Status != "succeeded" || done.Attempts != 1 || done.FinishedAt.IsZero() {
			t.Errorf("job = %+v, %v; want succeeded in one attempt", done, err)
		}
		if _, err := c.Jobs.Cancel(ctx, now); client.CodeOf(err) != "JOB_FINISHED" {
			t.Errorf("cancel of a job that is over: %v, want JOB_FINISHED", err)
		}
		if j, err := c.Jobs.Cancel(ctx, later); err != nil || j.Status != "cancelled" {
			t.Errorf("cancel = %+v, %v; want cancelled at once", j, err)
		}
		var ids []string
		for j, err := range c.Jobs.List(ctx, client.JobQuery{Kind: "store.sweep", Limit: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, j.ID)
		}
		if !slices.Equal(ids, []string{later, now}) {
			t.Errorf("jobs = %v, want %s and %s, the newest first", ids, later, now)
		}
		foreign := with(t, s.URL, other.OwnerKey.Text)
		if _, err := foreign.Jobs.Get(ctx, now); client.CodeOf(err) != "JOB_NOT_FOUND" {
			t.Errorf("a foreign job: %v, want JOB_NOT_FOUND", err)
		}
		if _, err := foreign.Jobs.Cancel(ctx, now); client.CodeOf(err) != "JOB_NOT_FOUND" {
			t.Errorf("cancel of a foreign job: %v, want JOB_NOT_FOUND", err)
		}
	})
}

// enqueue stores a job of the default workspace.
func enqueue(t *testing.T, o server.Options, at time.Time) (id string) {
	t.Helper()
	d := openStore(t, o)
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: "default", DID: "did:key:z6Mktest"})
	err := d.InTx(ctx, func(tx *db.Tx) (err error) {
		id, err = job.New(job.Config{DB: d}).Enqueue(ctx, tx, job.Draft{Kind: "store.sweep", RunAt: at})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}
