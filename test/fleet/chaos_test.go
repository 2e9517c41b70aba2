package fleet

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestChaos: whatever dies, hangs or goes silent under load, nothing that was answered is
// lost or there twice, nobody waits long at a node that runs, and all is well soon after
// the part is up again. Each part is a test by name.
func TestChaos(t *testing.T) {
	t.Parallel()
	whole(t)
	for name, part := range map[string]func(*testing.T){
		"node killed": nodeKilled, "node frozen": nodeFrozen, "link silent": linkSilent,
		"database killed": databaseKilled, "standby promoted": standbyPromoted, "nats killed": natsKilled,
	} {
		t.Run(name, part)
	}
}

// nodeKilled: kill -9 of one node after the other, with a run and jobs of it under way.
func nodeKilled(t *testing.T) {
	slow := modeltest.Script{modeltest.Text("Begin ")}
	for range 600 {
		slow = append(slow, modeltest.Pause(200*time.Millisecond), modeltest.Text("word "))
	}
	model := modeltest.Start(slow, slow, slow)
	t.Cleanup(model.Close)
	r := newRig(t, false, "LLM_BASE_URL="+model.URL)
	for node := range r.seats {
		r.goOn(t, 100)
		other := (node + 1) % len(r.seats)
		read := r.talk(t, node, other)
		<-model.Came()
		jobs := r.exports(t, node, 20)
		r.turn(node)
		if err := r.seats[node].running.Kill(); err != nil {
			t.Fatal(err)
		}
		var err error
		if r.seats[node].running, err = server.Start(r.seats[node].options); err != nil {
			t.Fatal(err)
		}
		r.turn(node)
		up := time.Now()
		r.back(t, "node killed")
		r.await(t, other, jobs, read, up)
	}
	r.end(t)
}

// await waits until jobs have ended and a run is known as interrupted. It fails when a job
// began again too late, or the run was ended too late, after a node was up.
func (r *rig) await(t *testing.T, node int, jobs []string, read func() string, up time.Time) {
	t.Helper()
	var jobsTook, runTook time.Duration
	back, asked := map[string]bool{}, up
	until(t, "jobs and the run end", func() bool {
		jobs = slices.DeleteFunc(jobs, func(path string) bool {
			again, ended := r.goesOn(t, node, path)
			if (again || ended) && !back[path] {
				back[path], jobsTook = true, time.Since(up)
			}
			return ended
		})
		if runTook == 0 && time.Since(asked) > time.Second { // a caller of the oracle has a limit
			if asked = time.Now(); strings.Contains(read(), `"interrupted":true`) {
				runTook = time.Since(up)
			}
		}
		return len(jobs) == 0 && runTook > 0
	})
	t.Logf("after the node was up the jobs went on within %s, and the run had ended after %s", jobsTook, runTook)
	if jobsTook > jobsBack || runTook > runsBack {
		t.Errorf("the jobs went on within %s and the run had ended after %s, want at most %s and %s", jobsTook, runTook, jobsBack, runsBack)
	}
}

// talk asks the oracle something at a node, and gives what reads the session at another.
func (r *rig) talk(t *testing.T, node, other int) (read func() string) {
	t.Helper()
	token := tokenFor(t, r.seats[node].running.Oracle())
	ask := func(ctx context.Context, node int, method, path, body string) string {
		q, err := http.NewRequestWithContext(ctx, method, r.urls[node]+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return ""
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("X-Auth-Type", "ucan")
		q.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	made := ask(t.Context(), node, http.MethodPost, "/sessions", "")
	_, rest, _ := strings.Cut(made, `"sessionId":"`)
	session, _, _ := strings.Cut(rest, `"`)
	if session == "" {
		t.Fatalf("a session is answered %s", made)
	}
	r.going.Go(func() { // it is cut off with the node
		ask(t.Context(), node, http.MethodPost, "/messages/"+session, `{"message":"Tell me.","stream":true}`)
	})
	return func() string { return ask(t.Context(), other, http.MethodGet, "/messages/"+session, "") }
}

// exports asks a node for files, and gives the paths of the jobs.
func (r *rig) exports(t *testing.T, node, n int) (paths []string) {
	t.Helper()
	for range n {
		made := decode[struct {
			Links struct {
				Self string `json:"self"`
			} `json:"links"`
		}](t, call(t, r.client(node), 202, "POST /v1/surveys/"+r.survey+"/exports", object{"format": "csv"}))
		paths = append(paths, made.Links.Self)
	}
	return paths
}

// goesOn reports whether a job has ended well, or has begun once more.
func (r *rig) goesOn(t *testing.T, node int, path string) (again, ended bool) {
	t.Helper()
	j := decode[struct {
		Status   string `json:"status"`
		Attempts int    `json:"attempts"`
	}](t, call(t, r.client(node), 200, "GET "+path, nil))
	if j.Status != "succeeded" && j.Status != "queued" && j.Status != "running" {
		t.Fatalf("%s has ended as %s", path, j.Status)
	}
	return j.Attempts > 1, j.Status == "succeeded"
}

// nodeFrozen: SIGSTOP of a node, shorter and longer than others wait for it.
func nodeFrozen(t *testing.T) {
	r := newRig(t, false)
	for i, d := range []time.Duration{5 * time.Second, 30 * time.Second, 90 * time.Second} {
		r.goOn(t, 100)
		r.freeze(t, i, d)
		r.back(t, "node frozen")
	}
	r.end(t)
}

// linkSilent: the link of a node to the database, and then those of all, carry nothing
// any more, and nobody is told.
func linkSilent(t *testing.T) {
	r := newRig(t, false)
	for _, silent := range [][]int{{0}, {0, 1, 2}} {
		r.goOn(t, 100)
		var thaw []func()
		for _, node := range silent {
			thaw = append(thaw, r.links[node].Freeze())
		}
		before := r.answered()
		r.pass(t, 40*time.Second)
		t.Logf("in 40s with %d silent links %d writes were answered", len(silent), r.answered()-before)
		for _, f := range thaw {
			f()
		}
		r.back(t, "link silent")
	}
	r.end(t)
}

// databaseKilled: kill -9 of all processes of PostgreSQL.
func databaseKilled(t *testing.T) {
	r := newRig(t, false)
	for range 3 {
		r.goOn(t, 100)
		if err := r.pg.Crash(); err != nil {
			t.Fatal(err)
		}
		r.pass(t, 3*time.Second)
		if err := r.pg.Revive(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.back(t, "database killed")
	}
	r.end(t)
}

// standbyPromoted: the primary is killed and its synchronous standby takes over.
func standbyPromoted(t *testing.T) {
	r := newRig(t, true)
	r.goOn(t, 200)
	if err := r.pg.Crash(); err != nil {
		t.Fatal(err)
	}
	r.pass(t, 3*time.Second)
	on(t, r.second, `SELECT pg_promote()`)
	r.back(t, "standby promoted")
	r.goOn(t, 200)
	r.end(t)
}

// natsKilled: NATS goes, and comes back.
func natsKilled(t *testing.T) {
	n := natsAt(t, -1)
	port := number(t, n.Addr().String())
	r := newRig(t, false, "NATS_URL="+n.ClientURL())
	for range 3 {
		r.goOn(t, 100)
		n.Shutdown()
		n.WaitForShutdown()
		r.back(t, "without NATS")
		r.pass(t, 3*time.Second)
		n = natsAt(t, port)
		r.back(t, "NATS killed")
	}
	r.end(t)
}
