package schema_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestMain adds two types to the table, as somebody would who needs them.
func TestMain(m *testing.M) {
	schema.Add(schema.Type{
		Name: "percent", Doc: map[string]any{"type": "number", "minimum": 0.0, "maximum": 100.0}, Compares: rql.Number, Cell: "number",
		Is: func(map[string]any) bool { return false },
	})
	schema.Add(schema.Type{
		Name: "plate", Doc: map[string]any{"type": "string", "format": "plate"}, Compares: rql.Text, Cell: "text",
		Valid: func(v any) bool { s, _ := v.(string); return strings.HasPrefix(s, "K") }, Hint: "a number plate such as KDA 123A",
	})
	os.Exit(m.Run())
}

// rig serves twins, lists and imports.
type rig struct {
	t     *testing.T
	h     http.Handler
	ended chan struct{} // a job has
}

func newRig(t *testing.T, d *db.DB) *rig {
	t.Helper()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, ended: make(chan struct{}, 10)}
	cursors := eventtest.Cursors()
	log := event.New(event.Config{DB: d, Cursors: cursors})
	jobs := job.New(job.Config{DB: d, Cursors: cursors, Record: func(_ context.Context, tx *db.Tx, _, _ string, _ int64) error {
		tx.AfterCommit(func() { r.ended <- struct{}{} })
		return nil
	}})
	protocols := protocol.New(protocol.Config{DB: d, Events: log, Cursors: cursors})
	twins := entity.New(entity.Config{
		DB: d, Protocols: protocols, Events: log, Cursors: cursors,
		ControlsAs: func(context.Context, db.Querier, web.Caller) ([]string, error) { return nil, nil },
	})
	find := search.New(search.Config{DB: d, Protocols: protocols, Cursors: cursors, Key: key})
	files := bulk.New(bulk.Config{DB: d, Entities: twins, Protocols: protocols, Search: find, Events: log, Exchange: exchange.New(exchange.Config{DB: d, Jobs: jobs}), Cursors: cursors})
	runner, err := jobs.NewRunner(job.RunnerConfig{Handlers: files.Handlers()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		runner.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-over })
	r.h = eventtest.Serve(t, protocols.Routes, twins.Routes, find.Routes, jobs.Routes, files.Routes)
	return r
}

// send is a request of the owner, with its answer.
func (r *rig) send(status int, method, path, kind, body string) string {
	r.t.Helper()
	req := httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer w owner")
	req.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, req)
	if w.Code != status {
		r.t.Fatalf("%s %s = %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// names are the serials of the twins that a list has, in its order.
func (r *rig) names(query string) string {
	r.t.Helper()
	var page struct {
		Items []struct {
			Properties struct {
				Serial string `json:"serial"`
			} `json:"properties"`
		} `json:"items"`
	}
	text := r.send(200, "GET", "/v1/entities?protocol=did:ixo:protocol/kiln&"+query, "", "")
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, one := range page.Items {
		out = append(out, one.Properties.Serial)
	}
	return strings.Join(out, " ")
}

// TestAddedType: a type in the table is one that protocols declare, twins are
// held to, filters compare, lists sort by and files carry. Nothing else has to
// know it.
func TestAddedType(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		const js = "application/json"
		r.send(201, "POST", "/v1/protocols", js, `{"type":"Protocol","did":"did:ixo:protocol/kiln","name":"Kiln","version":"1.0.0","class":"physical","domainType":"asset",
			"properties":{"serial":"string","moisture":{"type":"percent","indexed":true},"plate":{"type":"plate","indexed":true}}}`)
		r.send(200, "POST", "/v1/protocols/did:ixo:protocol%2Fkiln/publish", js, `{}`)
		refused := r.send(400, "POST", "/v1/entities", js, `{"type":"Kiln","protocol":"did:ixo:protocol/kiln","properties":{"moisture":101,"plate":"X"}}`)
		for _, part := range []string{"The value must be at most 100.", "The value must be a number plate such as KDA 123A."} {
			if !strings.Contains(refused, part) {
				t.Errorf("a wrong twin is refused with %s, want %q", refused, part)
			}
		}
		r.send(202, "POST", "/v1/imports?type=Kiln&protocol=did:ixo:protocol/kiln", "text/csv",
			"properties.serial,properties.moisture,properties.plate\n1,9,KC\n2,40,KA\n3,100,KB\n")
		<-r.ended
		for query, want := range map[string]string{
			"sort=properties.moisture":            "1 2 3", // as numbers, not as texts
			"sort=-properties.plate":              "1 3 2",
			"filter=gt(properties.moisture,9.5)":  "3 2",
			"filter=eq(properties.plate,KB)":      "3",
			"filter=like(properties.plate,K*)":    "3 2 1",
			"filter=ge(properties.moisture,1000)": "",
		} {
			if got := r.names(query); got != want {
				t.Errorf("%s = %q, want %q", query, got, want)
			}
		}
	})
}
