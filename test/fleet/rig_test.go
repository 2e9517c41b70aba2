package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of chaos, each from the moment in which the part that failed is up again.
const (
	requestsBack = 2 * time.Second
	runsBack     = 25 * time.Second
	jobsBack     = 35 * time.Second
	mostWait     = 15 * time.Second // of a request at a node that runs
)

// rig is three nodes, each with a link of its own to a PostgreSQL of the test's own, under
// load: twins and responses are made all the time, each once.
type rig struct {
	pg     *dbtest.Cluster
	second *dbtest.Cluster // the standby that confirms; nil without one
	links  []*dbtest.Link
	seats  []*seat
	urls   []string
	turns  []atomic.Int64 // even while the node runs
	survey string
	http   *http.Client
	going  sync.WaitGroup
	stop   context.CancelFunc

	mu       sync.Mutex
	acked    map[string]bool // names of twins and ids of responses that were answered
	statuses map[int]int
	strange  string        // the first answer that writers must not get
	longest  time.Duration // that a node which ran had a writer wait
	late     string        // what waited so
}

// newRig starts the nodes, and the load.
func newRig(t *testing.T, standby bool, env ...string) *rig {
	t.Helper()
	r := &rig{acked: map[string]bool{}, statuses: map[int]int{}, http: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	r.pg = dbtest.Own(t, dbtest.Replicated()...)
	if standby {
		var err error
		if r.second, err = r.pg.Standby(t.Context(), "second"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.second.Stop() }) // it may have ended
		on(t, r.pg, `ALTER SYSTEM SET synchronous_standby_names = 'second'`)
		on(t, r.pg, `SELECT pg_reload_conf()`)
	}
	program, dir := server.Binary(t), t.TempDir()
	r.turns = make([]atomic.Int64, 3)
	for i := range 3 {
		port := freePort(t)
		one := &seat{options: server.Options{
			Binary: program, Dir: filepath.Join(dir, fmt.Sprint(i)), DatabaseURL: r.address(t), Ready: patience, Env: append(append(sharedKeys(), "PORT="+port), env...),
		}}
		one.start(t, program)
		r.seats, r.urls = append(r.seats, one), append(r.urls, "http://127.0.0.1:"+port)
	}
	t.Cleanup(func() {
		for _, one := range r.seats {
			if err := one.running.Kill(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("%s:\n%s", one.options.Dir, one.running.Output())
			}
		}
	})
	made := decode[struct {
		SurveyID string `json:"surveyId"`
	}](t, call(t, r.client(0), 201, "POST /v1/surveys", object{
		"type": "BaselineSurvey", "projectId": "did:ixo:entity:123", "template": object{"eligibilityCriteria": true, "socioEconomicData": true},
		"sampling": object{"method": "simple_random", "size": 100, "confidence": 0.95, "enrolment": "open"}, "collectors": []object{{"did": "did:ixo:agent/123"}},
	}))
	r.survey = made.SurveyID
	call(t, r.client(0), 200, "POST /v1/surveys/"+r.survey+"/activate", object{})
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	t.Cleanup(func() { stop(); r.going.Wait() })
	for w := range 6 {
		r.going.Go(func() { r.write(ctx, w) })
	}
	return r
}

// address is the database through a link of a node's own, and its standby through another.
func (r *rig) address(t *testing.T) string {
	t.Helper()
	link, text := dbtest.NewLink(t, r.pg.URL("postgres"))
	r.links = append(r.links, link)
	if r.second == nil {
		return text
	}
	_, other := dbtest.NewLink(t, r.second.URL("postgres"))
	first, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	then, err := url.Parse(other)
	if err != nil {
		t.Fatal(err)
	}
	q := first.Query()
	q.Set("target_session_attrs", "read-write")
	first.Host, first.RawQuery = first.Host+","+then.Host, q.Encode()
	return first.String()
}

func (r *rig) client(node int) *server.Client {
	return &server.Client{URL: r.urls[node], Key: server.OwnerKey, HTTP: r.http}
}

// draft is what is stored under a name: a twin, or a response.
func (r *rig) draft(name string) (path string, body object) {
	if strings.HasPrefix(name, "twin") {
		return "/v1/entities", object{"type": "Network", "protocol": "did:ixo:protocol/network", "properties": object{"name": name}}
	}
	return "/v1/surveys/" + r.survey + "/responses", object{
		"responseId": name, "householdId": "did:ixo:household/" + name, "timestamp": "2026-02-20T10:00:00Z",
		"responses": object{"eligibility": object{"current_cooking": []string{"wood"}}, "socio_economic": object{"household_size": 5}},
	}
}

// try sends what has a name to a node, once, and reports whether it was stored.
func (r *rig) try(ctx context.Context, node int, name string) bool {
	path, body := r.draft(name)
	turn, began := r.turns[node].Load(), time.Now()
	got, err := r.client(node).Do(ctx, "POST", path, body, "Idempotency-Key", name)
	took, status := time.Since(began), 0
	if err == nil {
		status = got.Status
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses[status]++
	if ran := turn%2 == 0 && r.turns[node].Load() == turn && ctx.Err() == nil; ran && took > r.longest {
		r.longest, r.late = took, fmt.Sprintf("%s at node %d: %d, %v", name, node, status, err)
	}
	switch status {
	case http.StatusCreated:
		r.acked[name] = true
	case 0, http.StatusConflict, http.StatusServiceUnavailable:
	default:
		if r.strange == "" {
			r.strange = fmt.Sprintf("%s at node %d: %d %s", name, node, status, got.Body)
		}
	}
	return status == http.StatusCreated
}

// write makes twins or responses. What was not answered goes to the next node, with its key.
func (r *rig) write(ctx context.Context, writer int) {
	kind := []string{"twin", "response"}[writer%2]
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("%s_%d_%d", kind, writer, i)
		for at := writer + i; !r.try(ctx, at%len(r.urls), name); at++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// answered is how many writes were answered.
func (r *rig) answered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked)
}

// goOn waits until the load has stored some more, by whichever node.
func (r *rig) goOn(t *testing.T, more int) {
	t.Helper()
	want := r.answered() + more
	until(t, "writing goes on", func() bool { return r.answered() >= want })
}

// back waits until each node has stored something, and fails when that takes too long.
func (r *rig) back(t *testing.T, what string) {
	t.Helper()
	began := time.Now()
	took := make([]time.Duration, len(r.urls))
	var all sync.WaitGroup
	for node := range r.urls {
		all.Go(func() {
			for i := 0; time.Since(began) < patience && t.Context().Err() == nil; i++ {
				if r.try(t.Context(), node, fmt.Sprintf("twin_%s_%d_%d_%d", what, began.UnixNano(), node, i)) {
					took[node] = time.Since(began)
					return
				}
			}
			t.Errorf("%s: node %d is not back", what, node)
		})
	}
	all.Wait()
	t.Logf("%s: the nodes are back after %s", what, took)
	if slowest := slices.Max(took); slowest > requestsBack {
		t.Errorf("%s: a node is back after %s, want at most %s", what, slowest, requestsBack)
	}
}

// turn says that a node does not run from now on, or does again.
func (r *rig) turn(node int) { r.turns[node].Add(1) }

// freeze stops the process of a node for a while.
func (r *rig) freeze(t *testing.T, node int, d time.Duration) {
	t.Helper()
	r.turn(node)
	if err := syscall.Kill(r.seats[node].running.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	before := r.answered()
	r.pass(t, d)
	t.Logf("in %s with a frozen node %d writes were answered", d, r.answered()-before)
	if err := syscall.Kill(r.seats[node].running.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.turn(node)
}

// pass lets a fault last.
func (r *rig) pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// end stops the load, and looks whether all that was answered is there once, and all that
// is there is there once.
func (r *rig) end(t *testing.T) {
	t.Helper()
	r.stop()
	r.going.Wait()
	seen := map[string]int{}
	c, err := client.New(client.Config{BaseURL: r.urls[0], Key: server.OwnerKey})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.Entities.List(t.Context(), client.EntityQuery{Limit: 1000, Type: "Network"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint(e.Properties["name"])]++
	}
	responses := int64(0)
	for e, err := range c.Responses.List(t.Context(), r.survey, client.ResponseQuery{Limit: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		responses++
		seen[e.ResponseID]++
	}
	lost, doubled := 0, 0
	for name := range r.acked {
		if seen[name] == 0 {
			lost++
		}
	}
	for _, n := range seen {
		if n > 1 {
			doubled++
		}
	}
	if lost > 0 || doubled > 0 {
		t.Errorf("of %d that were answered %d are lost, and %d are there twice", len(r.acked), lost, doubled)
	}
	survey, err := c.Surveys.Get(t.Context(), r.survey)
	if err != nil {
		t.Fatal(err)
	}
	if counted := survey.Progress.Completed + survey.Progress.Partial; counted != responses {
		t.Errorf("the survey counts %d responses and has %d", counted, responses)
	}
	if r.strange != "" {
		t.Errorf("a write was answered %s", r.strange)
	}
	if r.longest > mostWait {
		t.Errorf("a request waited %s at a node that ran, want at most %s: %s", r.longest, mostWait, r.late)
	}
	t.Logf("%d stored and there once; answers %v; the longest wait at a node that ran %s (%s)", len(r.acked), r.statuses, r.longest.Round(time.Millisecond), r.late)
}

// number is the number after a colon.
func number(t *testing.T, address string) int {
	t.Helper()
	n, err := strconv.Atoi(address[strings.LastIndex(address, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
