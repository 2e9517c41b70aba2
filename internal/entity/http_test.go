package entity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "entities.json", d, v.l, v.h)
	})
}

// All that is wrong with a request is named at once, and nothing is stored.
func TestAllThatIsWrong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "wrong.json", d, v.l, v.h)
	})
}

// The same request twice makes one twin and gives one answer, also in a crowd.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.create(t, "ws", entity.Draft{DID: "did:ixo:x:1", Type: "x", Protocol: "did:ixo:protocol/household"})
		for i, r := range []struct{ request, body string }{
			{"POST /v1/entities", documented},
			{"POST /v1/entities", `{"type":"o","protocol":"did:ixo:protocol/organisation"}`},
			{"POST /v1/domains", `{"type":"o","protocol":"did:ixo:protocol/project"}`},
			{"POST /v1/entities/did:ixo:x:1/relationships", `{"role":"peer","target":"did:ixo:x:2"}`},
			{"POST /v1/entities/did:ixo:x:1/verification", `{"status":"verified","revision":2}`},
			{"POST /v1/entities/did:ixo:x:1/transitions", `{"to":"suspended"}`},
			{"POST /v1/entities/did:ixo:x:1/transfer", `{"controller":"did:key:owner"}`},
		} {
			key := fmt.Sprintf("the-key-of-request-%d", i)
			var mu sync.Mutex
			answers, fresh := map[string]int{}, 0
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					w := v.send(t, "ws owner", r.request, r.body, "Idempotency-Key", key)
					mu.Lock()
					defer mu.Unlock()
					answers[fmt.Sprint(w.Code, w.Header().Get("ETag"), w.Header().Get("Location"), w.Body)]++
					if w.Header().Get("Idempotent-Replayed") == "" {
						fresh++
					}
				})
			}
			wg.Wait()
			if len(answers) != 1 || fresh != 1 {
				t.Errorf("%s: %d answers, %d of them fresh: %v", r.request, len(answers), fresh, answers)
			}
		}
		if e := v.get(t, "ws", "did:ixo:x:1"); e.Revision != 5 || len(e.Relationships) != 1 {
			t.Errorf("revision %d with %d edges, want 5 with 1", e.Revision, len(e.Relationships))
		}
		// Another body under a used key is refused, and a refused one may come again.
		key := "0123456789abcdef"
		if w := v.send(t, "ws owner", "POST /v1/entities", `{"type":"x","protocol":"did:ixo:protocol/none"}`, "Idempotency-Key", key); w.Code != 404 {
			t.Errorf("unknown protocol = %d", w.Code)
		}
		if w := v.send(t, "ws owner", "POST /v1/entities", documented, "Idempotency-Key", key); w.Code != 201 {
			t.Errorf("corrected = %d %s", w.Code, w.Body)
		}
		if w := v.send(t, "ws owner", "POST /v1/entities", strings.Replace(documented, "value", "other", 1), "Idempotency-Key", key); w.Code != 422 {
			t.Errorf("another body = %d, want 422", w.Code)
		}
	})
}

// What other packages add to a read.
func TestReadHooks(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	v := newEnv(t, dbtest.SQLite(t), func(c *entity.Config) {
		c.At = func(_ context.Context, _ db.Querier, r *entity.Row, at string) ([]byte, int64, error) {
			if at == "broken" {
				return nil, 0, broken
			}
			return []byte(`{"at":"` + at + `"}`), r.Revision + 6, nil
		}
		c.Fields = func(_ context.Context, _ *entity.Row, body []byte, fields string) ([]byte, error) {
			return fmt.Appendf(nil, `{"fields":%q,"of":%s}`, fields, body), nil
		}
		c.Expand = func(_ context.Context, _ db.Querier, r *entity.Row, body []byte, expand string) ([]byte, error) {
			return fmt.Appendf(nil, `{"expand":%q,"of":%s}`, expand, body), nil
		}
	})
	v.h = v.plain() // the hooks give what no twin is
	e := v.create(t, "ws", draftOf("template"))
	path := "GET /v1/entities/" + e.DID
	for _, tt := range []struct{ query, body, etag string }{
		{"?at=5", `{"at":"5"}`, `"7"`},
		{"?at=5&fields=a", `{"fields":"a","of":{"at":"5"}}`, `"7"`},
		{"?at=5&fields=a&expand=b", `{"fields":"a","of":{"expand":"b","of":{"at":"5"}}}`, ``},
	} {
		w := v.send(t, "ws owner", path+tt.query, "")
		if w.Code != 200 || w.Body.String() != tt.body || w.Header().Get("ETag") != tt.etag {
			t.Errorf("%s = %d %s %s, want %s %s", tt.query, w.Code, w.Header().Get("ETag"), w.Body, tt.etag, tt.body)
		}
	}
	if w := v.send(t, "ws owner", path+"?at=broken", ""); w.Code != 500 || strings.Contains(w.Body.String(), "broken") {
		t.Errorf("a broken hook = %d %s, want 500 and no detail", w.Code, w.Body)
	}
	if w := v.send(t, "other owner", path+"?at=5", ""); w.Code != 404 {
		t.Errorf("of another workspace = %d, want 404", w.Code)
	}
}

// Whoever has been answered reads what was stored, however many others read
// meanwhile, and nobody reads what is not theirs because somebody else has.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := draftOf("project")
		draft.DID = projectOne
		v.create(t, "ws", draft)
		e := v.create(t, "ws", with(draftOf("clean-cooking"), "project", projectOne))
		path := "GET /v1/entities/" + e.DID
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				last := int64(0)
				for {
					select {
					case <-stop:
						return
					default:
					}
					got := decode(t, v.send(t, "ws reader", path, "").Body.Bytes())
					if got.Revision < last {
						t.Errorf("revision %d after %d", got.Revision, last)
					}
					last = got.Revision
				}
			})
		}
		for n := int64(1); n <= 40; n++ {
			w := v.send(t, "ws owner", "PATCH /v1/entities/"+e.DID, fmt.Sprintf(`{"properties":{"serial":"%d"}}`, n), "If-Match", fmt.Sprintf(`"%d"`, n))
			if got := v.send(t, "ws reader", path, ""); got.Body.String() != w.Body.String() || got.Header().Get("ETag") != fmt.Sprintf(`"%d"`, n+1) {
				t.Fatalf("read after revision %d = %s", n+1, got.Body)
			}
			for who, code := range map[string]int{"other owner": 404, "ws limited": 200, "ws none": 200} {
				if got := v.send(t, who, path, ""); got.Code != code {
					t.Errorf("read by %s = %d, want %d", who, got.Code, code)
				}
			}
		}
		// It leaves the project, and exists no more for those limited to it.
		if err := v.unrelate(t, "ws", e.DID, e.Relationships[0].ID); err != nil {
			t.Fatal(err)
		}
		if got := v.send(t, "ws limited", path, ""); got.Code != 404 {
			t.Errorf("read by a limited key after it has left = %d, want 404", got.Code)
		}
		close(stop)
		readers.Wait()
	})
}
