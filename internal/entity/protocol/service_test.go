package protocol_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		eventtest.Cases(t, "protocols.json", d, e.l, eventtest.Serve(t, e.s.Routes))
	})
}

// crowd runs f n times at once and counts how it went by the code of the fault.
func crowd(n int, f func(i int) error) map[string]int {
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := f(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				got["ok"]++
			case fault.CodeOf(err) != "":
				got[fault.CodeOf(err)]++
			default:
				got[err.Error()]++
			}
		})
	}
	wg.Wait()
	return got
}

func TestOnePublisherWins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for range 5 {
			id := e.create(t, "ws", `{"properties":{"a":"string"}}`)
			got := crowd(6, func(int) error {
				_, err := e.s.Publish(owner(t, "ws"), id, "", protocol.Change{})
				return err
			})
			if got["ok"] != 1 || got["PROTOCOL_PUBLISHED"] != 5 {
				t.Fatalf("publishers = %v, want one ok and five PROTOCOL_PUBLISHED", got)
			}
		}
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != 10 {
			t.Errorf("%d events, %v, want 5 created and 5 published", r.Newest, err)
		}
	})
}

// A draft that is published while somebody changes it is published as it was
// or as it is now, and never changes after.
func TestPublishAgainstChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for range 8 {
			id := e.create(t, "ws", `{"properties":{"a":"string"}}`)
			got := crowd(2, func(i int) error {
				if i == 0 {
					_, err := e.s.Publish(owner(t, "ws"), id, "", protocol.Change{})
					return err
				}
				_, err := e.s.Update(owner(t, "ws"), id, "", `"1"`, []byte(`{"properties":{"b":"number"}}`))
				return err
			})
			switch {
			case got["ok"] == 1 && got["PROTOCOL_PUBLISHED"]+got["PROTOCOL_CHANGED"] == 1:
			case got["ok"] == 2: // the change came first, and was published
			default:
				t.Fatalf("publish and change = %v", got)
			}
			p, err := e.s.FindAny(t.Context(), "ws", id, "")
			if err != nil {
				t.Fatal(err)
			}
			if p.Status == protocol.StatusPublished && got["ok"] == 1 && p.Kind("b") != "" {
				t.Error("a change that was refused is in the published version")
			}
			if r, err := e.s.Get(owner(t, "ws"), id, "", false); err != nil || !strings.Contains(string(r.Raw), p.ContentHash) {
				t.Errorf("stored %s, cached hash %s, %v", r.Raw, p.ContentHash, err)
			}
		}
	})
}

func TestNewVersionsInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.create(t, "ws", `{}`)
		got := crowd(8, func(int) error {
			_, err := e.s.AddVersion(owner(t, "ws"), id, []byte(`{"version":"1.1.0"}`))
			return err
		})
		if got["ok"] != 1 || got["PROTOCOL_VERSION_EXISTS"]+got["PROTOCOL_INVALID"] != 7 {
			t.Errorf("eight times 1.1.0 = %v, want one", got)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT versions FROM protocols WHERE ws = $1 AND did = $2`, "ws", id).Scan(&n); err != nil || n != 2 {
			t.Errorf("versions = %d, %v, want 2", n, err)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.create(t, "ws", `{}`)
		for range 11 { // 90 rows each, which count
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				for range 90 {
					if _, err := tx.Exec(t.Context(), `INSERT INTO protocols (ws, did, nid, version, class, domain, open, versions, updated_at)
						VALUES ($1, $2, $3, '1.0.0', '', '', $4, 1, 0)`, "ws", did.NewEntity(), d.NewNID(), 0); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		got := crowd(15, func(int) error {
			_, err := e.s.Create(owner(t, "ws"), draft(t, `{}`))
			return err
		})
		if got["ok"] != 9 || got["TOO_MANY_PROTOCOLS"] != 6 {
			t.Errorf("the last 15 of 1006 = %v, want 9 made", got)
		}
		e.create(t, "other", `{}`)
		for i := range 99 {
			if _, err := e.s.AddVersion(owner(t, "ws"), id, fmt.Appendf(nil, `{"version":"1.0.%d"}`, i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.s.AddVersion(owner(t, "ws"), id, []byte(`{"version":"2.0.0"}`)); fault.CodeOf(err) != "TOO_MANY_VERSIONS" {
			t.Errorf("version 101 = %v, want TOO_MANY_VERSIONS", err)
		}
	})
}

// The life of a protocol, and what Find says at each step.
func TestLife(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := owner(t, "ws")
		id := e.create(t, "ws", `{"name":"Stove","properties":{"serial":{"type":"string","indexed":true}}}`)
		want := func(version, code, got string) {
			t.Helper()
			p, err := e.s.Find(t.Context(), "ws", id, version)
			if fault.CodeOf(err) != code || err == nil && p.Version != got {
				t.Errorf("Find(%q) = %v, %v; want %s %s", version, p, err, got, code)
			}
			if _, err := e.s.Find(t.Context(), "other", id, version); fault.CodeOf(err) != "PROTOCOL_NOT_FOUND" {
				t.Errorf("Find(%q) in another workspace = %v", version, err)
			}
		}
		do := func(f func(context protocol.Change) (web.Reply[*protocol.Record], error), version string) {
			t.Helper()
			if _, err := f(protocol.Change{Version: version, Reason: "why"}); err != nil {
				t.Fatalf("%v %v", err, fields(err))
			}
		}
		publish := func(c protocol.Change) (web.Reply[*protocol.Record], error) { return e.s.Publish(ctx, id, "", c) }
		deprecate := func(c protocol.Change) (web.Reply[*protocol.Record], error) { return e.s.Deprecate(ctx, id, "", c) }
		retire := func(c protocol.Change) (web.Reply[*protocol.Record], error) { return e.s.Retire(ctx, id, "", c) }
		want("", "PROTOCOL_NOT_PUBLISHED", "")
		want("1.0.0", "PROTOCOL_NOT_PUBLISHED", "")
		want("9.0.0", "PROTOCOL_NOT_FOUND", "")
		do(publish, "")
		want("", "", "1.0.0")
		e.next(t, "ws", id, `{"version":"2.0.0"}`)
		want("", "", "2.0.0")
		want("1.0.0", "", "1.0.0")
		do(deprecate, "2.0.0")
		want("", "", "1.0.0")
		want("2.0.0", "", "2.0.0")
		do(retire, "1.0.0")
		want("", "", "2.0.0") // deprecated, but there is no other
		want("1.0.0", "PROTOCOL_VERSION_RETIRED", "")
		do(retire, "")
		want("", "PROTOCOL_VERSION_RETIRED", "")
		for name, f := range map[string]func(protocol.Change) (web.Reply[*protocol.Record], error){"publish": publish, "deprecate": deprecate, "retire": retire} {
			if _, err := f(protocol.Change{}); fault.CodeOf(err) != "STATE_TRANSITION_INVALID" {
				t.Errorf("%s of what is retired = %v, want STATE_TRANSITION_INVALID", name, err)
			}
		}
		if p, err := e.s.FindAny(t.Context(), "ws", id, "1.0.0"); err != nil || p.Status != protocol.StatusRetired || p.StatusReason != "why" {
			t.Errorf("FindAny = %+v, %v", p, err)
		}
	})
}

// Another instance sees a change once it is told.
func TestOtherInstance(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	e, other := newEnv(t, d), newEnv(t, d)
	var told []string
	d.OnChange(func(_ context.Context, tx *db.Tx, changes []db.Change) error {
		tx.AfterCommit(func() {
			for _, c := range changes {
				told = append(told, c.Topic+" "+c.Workspace)
				other.s.Forget(c.Workspace)
			}
		})
		return nil
	})
	id := e.create(t, "ws", `{}`)
	for i, act := range []func() error{
		func() error { return nil },
		func() error { _, err := e.s.Publish(owner(t, "ws"), id, "", protocol.Change{}); return err },
		func() error { _, err := e.s.Retire(owner(t, "ws"), id, "", protocol.Change{}); return err },
	} {
		if err := act(); err != nil {
			t.Fatal(err)
		}
		_, err := other.s.Find(t.Context(), "ws", id, "")
		if want := []string{"PROTOCOL_NOT_PUBLISHED", "", "PROTOCOL_VERSION_RETIRED"}[i]; fault.CodeOf(err) != want {
			t.Errorf("step %d: the other instance says %v, want %q", i, err, want)
		}
	}
	if !slices.Equal(told, []string{"protocols ws", "protocols ws", "protocols ws"}) {
		t.Errorf("told %v", told)
	}
}

// What is sent twice under one Idempotency-Key is done once and answered twice.
func TestOnce(t *testing.T) {
	t.Parallel()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, func(c *protocol.Config) { c.Idem = once.New(once.Config{DB: d, Key: key}) })
		path := "/v1/protocols"
		for i, c := range []struct {
			suffix, body string
			status       int
		}{
			{"", `{"type":"Protocol","properties":{"a":"string"}}`, 201},
			{"/publish", `{}`, 200},
			{"/versions", `{"version":"1.1.0"}`, 201},
			{"/deprecate", `{"reason":"old"}`, 200},
			{"/retire", `{"version":"1.0.0"}`, 200},
		} {
			first := e.post(t, "ws", path+c.suffix, c.body, fmt.Sprint("key", i))
			again := e.post(t, "ws", path+c.suffix, c.body, fmt.Sprint("key", i))
			if first.Code != c.status || again.Code != c.status || first.Body.String() != again.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
				t.Fatalf("%s = %d %s, then %d %s", c.suffix, first.Code, first.Body, again.Code, again.Body)
			}
			if i == 0 {
				path, _, _ = strings.Cut(first.Header().Get("Location"), "?")
			}
		}
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != 5 {
			t.Errorf("%d events, %v, want 5", r.Newest, err)
		}
		if w := e.post(t, "ws", path+"/publish", `{"version":"9.9.9"}`, "new"); w.Code != 404 {
			t.Errorf("a refusal under a key = %d", w.Code)
		}
	})
}

func TestDeclaringAndOfClass(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		show := func(ws, property string) string {
			t.Helper()
			list, open, err := e.s.Declaring(t.Context(), ws, property)
			if err != nil {
				t.Fatal(err)
			}
			out := []string{fmt.Sprint(open)}
			for _, d := range list {
				out = append(out, fmt.Sprintf("%s %s %v", strings.TrimPrefix(d.Protocol, "did:ixo:protocol/"), d.Kind, d.Indexed))
			}
			return strings.Join(out, ", ")
		}
		equal := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s = %s, want %s", what, got, want)
			}
		}
		equal("nothing", show("ws", "colour"), "false")
		equal("shipped", show("ws", "fuelType"), "false, household string true")
		id := e.create(t, "ws", `{"did":"did:ixo:protocol/a","properties":{"colour":{"type":"string","indexed":true},"n":"integer"}}`)
		equal("a draft", show("ws", "colour"), "false")
		e.release(t, "ws", id)
		equal("published", show("ws", "colour"), "false, a string true")
		e.next(t, "ws", id, `{"version":"1.1.0","properties":{"colour":"string","n":"number"}}`)
		equal("indexed no more", show("ws", "colour"), "false, a string false")
		equal("wider", show("ws", "n"), "false, a number false")
		e.next(t, "ws", id, `{"version":"1.2.0","properties":{"colour":"boolean"}}`)
		equal("another type", show("ws", "colour"), "false, a mixed false")
		e.publish(t, "ws", `{"did":"did:ixo:protocol/child","extends":"did:ixo:protocol/a","additionalProperties":true,"class":"cognitive"}`)
		equal("inherited", show("ws", "colour"), "true, a mixed false, child boolean false")
		equal("another workspace", show("other", "colour"), "false")
		equal("open to any", show("ws", "zzz"), "true")
		// Twins of an open version may have a property that the next one indexes.
		open := e.create(t, "ws", `{"did":"did:ixo:protocol/open","properties":{"name":"string","tag":{"type":"string","indexed":true}},"additionalProperties":true}`)
		e.release(t, "ws", open)
		equal("open and declared", show("ws", "tag"), "true, open string true")
		e.next(t, "ws", open, `{"version":"1.1.0","properties":{"late":{"type":"string","indexed":true}}}`)
		equal("declared by all open ones", show("ws", "tag"), "true, open string true")
		equal("declared after an open one", show("ws", "late"), "true, open string false")
		e.next(t, "ws", open, `{"version":"2.0.0","properties":{"tag":null},"additionalProperties":false}`)
		equal("not even allowed any more", show("ws", "tag"), "true, open string true")
		e.next(t, "ws", open, `{"version":"3.0.0","additionalProperties":true}`)
		equal("allowed again", show("ws", "tag"), "true, open string false")
		if _, err := e.s.Retire(owner(t, "ws"), open, "", protocol.Change{Version: "1.0.0"}); err != nil {
			t.Fatal(err)
		}
		equal("its twins stay", show("ws", "late"), "true, open string false")
		for class, want := range map[string]string{
			"physical":  "a asset clean-cooking household open person stove-use-monitor template",
			"cognitive": "child claim credential group organisation project", "system": "network", "oracle": "oracle", "x": "",
		} {
			for range 2 {
				dids, err := e.s.OfClass(t.Context(), "ws", class)
				if err != nil {
					t.Fatal(err)
				}
				equal(class, strings.ReplaceAll(strings.Join(dids, " "), "did:ixo:protocol/", ""), want)
			}
		}
	})
}

// A list shows all, page by page, each once, also when it is filtered.
func TestListPages(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for i := range 230 {
			name := "Other"
			if i%23 == 0 {
				name = "Rare stove"
			}
			e.create(t, "ws", fmt.Sprintf(`{"did":"did:ixo:protocol/x%03d","name":%q}`, i, name))
		}
		h := eventtest.Serve(t, e.s.Routes)
		for query, want := range map[string]int{"limit=7": 243, "limit=1000": 243, "name=rare+STOVE&limit=50": 10, "status=published&limit=5": 13, "class=oracle": 1, "name=nothing": 0, "status=draft&limit=100": 230} {
			seen := map[string]bool{}
			path := "/v1/protocols?" + query
			for path != "" {
				w := get(t, h, "ws", path)
				var page web.Page[protocol.Record]
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
					t.Fatalf("%s = %d %.200s", path, w.Code, w.Body)
				}
				for _, r := range page.Items {
					if seen[r.DID] {
						t.Errorf("%s shows %s twice", query, r.DID)
					}
					seen[r.DID] = true
				}
				if path = ""; page.Page.HasMore {
					path = "/v1/protocols?" + query + "&cursor=" + page.Page.NextCursor
				}
			}
			if len(seen) != want {
				t.Errorf("%s shows %d, want %d", query, len(seen), want)
			}
		}
	})
}

// The DID of a twin is not that of a protocol as well.
func TestTakenByATwin(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, func(c *protocol.Config) {
			c.Taken = func(_ context.Context, _ db.Querier, ws, id string) (bool, error) {
				return ws == "ws" && id == "did:ixo:device/1", nil
			}
		})
		const body = `{"type":"Protocol","did":"did:ixo:device/1","name":"x","properties":{},"relationships":{}}`
		if w := e.post(t, "ws", "/v1/protocols", body, ""); w.Code != 409 || !strings.Contains(w.Body.String(), "PROTOCOL_EXISTS") {
			t.Errorf("the DID of a twin = %d %s, want 409", w.Code, w.Body)
		}
		if w := e.post(t, "other", "/v1/protocols", body, ""); w.Code != 201 {
			t.Errorf("the DID of another workspace's twin = %d %s, want 201", w.Code, w.Body)
		}
	})
}

// Holds knows the protocols of a workspace in every state, and the shipped ones.
func TestHolds(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		holds := func(ws, id string, want bool) {
			t.Helper()
			if got, err := e.s.Holds(t.Context(), ws, id); err != nil || got != want {
				t.Errorf("Holds(%s, %s) = %v, %v, want %v", ws, id, got, err, want)
			}
		}
		holds("ws", "did:ixo:kind/1", false)
		e.create(t, "ws", `{"did":"did:ixo:kind/1","name":"a draft"}`)
		e.create(t, "ws", `{"did":"did:ixo:Kind/2","name":"b"}`)
		holds("ws", "did:ixo:kind/1", true)
		holds("ws", "did:ixo:Kind/2", true)
		holds("ws", "did:ixo:kind/2", false)
		holds("other", "did:ixo:kind/1", false)
		holds("other", "did:ixo:protocol/claim", true)
	})
}
