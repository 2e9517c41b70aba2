package ussd_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// sink is a response that keeps nothing.
type sink struct {
	h    http.Header
	code int
	body []byte
}

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(b []byte) (int, error) { s.body = append(s.body[:0], b...); return len(b), nil }

// bare is the least a durable step can be: read a row, decide nothing, write
// it, in one transaction.
func bare(ctx context.Context, d *db.DB, session, text string) error {
	return d.InTx(ctx, func(tx *db.Tx) error {
		var state []byte
		if err := tx.QueryRow(ctx, `SELECT state FROM bare WHERE id = $1`, session).Scan(&state); err != nil && text != "" {
			return err
		}
		state = append(state[:0], "CON Welcome to the bare line\n1. Know More\n2. Account Menu\n*. Exit"...)
		_, err := tx.Exec(ctx, `INSERT INTO bare(id, state) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET state = excluded.state`, session, state)
		return err
	})
}

// BenchmarkStep measures one key press against the bare one, with the store's
// sync off: what is left is the work. Parallel callers share commits.
func BenchmarkStep(b *testing.B) {
	store := func(b *testing.B) *db.DB {
		d := dbtest.SQLite(b, dbtest.With(func(c *db.Config) { c.Sync = "normal" }))
		if _, err := d.Exec(b.Context(), `CREATE TABLE bare (id TEXT NOT NULL PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID`); err != nil {
			b.Fatal(err)
		}
		return d
	}
	b.Run("bare", func(b *testing.B) {
		d := store(b)
		dialAndStep(b, func(session, text string) error { return bare(b.Context(), d, session, text) })
	})
	b.Run("ussd", func(b *testing.B) {
		l := newLine(b, store(b), newClock(), func(c *ussd.Config) { c.Log = nil })
		dialAndStep(b, func(session, text string) error {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/ussd", strings.NewReader(body(session, phone1, text)))
			r.Header["Content-Type"] = []string{"application/json"}
			w := &sink{h: http.Header{}}
			l.http.ServeHTTP(w, r)
			if !bytes.HasPrefix(w.body, []byte("CON ")) {
				b.Errorf("answer = %q", w.body)
			}
			return nil
		})
	})
	b.Run("http", func(b *testing.B) { // what the harness itself costs
		api := web.NewAPI(web.APIConfig{Name: "bare", Errors: web.End})
		api.Handle(http.MethodPost, "/api/ussd", func(w http.ResponseWriter, r *http.Request) error {
			_, err := io.Copy(w, r.Body)
			return err
		}, web.Doc{Summary: "x", Scope: web.Public, Light: true})
		mux := http.NewServeMux()
		api.Mount(mux)
		h := web.WithRequestIDs(must(web.NewProxies(false, nil))(b).Middleware(mux))
		dialAndStep(b, func(session, text string) error {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/ussd", strings.NewReader(body(session, phone1, text)))
			r.Header["Content-Type"] = []string{"application/json"}
			h.ServeHTTP(&sink{h: http.Header{}}, r)
			return nil
		})
	})
}

// dialAndStep measures first dials, and sessions of one dial and seven steps.
func dialAndStep(b *testing.B, send func(session, text string) error) {
	var n atomic.Int64 // no session is used twice
	for name, texts := range map[string][]string{"dial": {""}, "session": {"", "1", "0", "1", "0", "1", "0", "1"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				session := ""
				for i := 0; pb.Next(); i++ {
					text := texts[i%len(texts)]
					if text == "" {
						session = "s" + strconv.FormatInt(n.Add(1), 10)
					}
					if err := send(session, text); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
