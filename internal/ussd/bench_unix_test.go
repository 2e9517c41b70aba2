//go:build unix

package ussd_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
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

// benchStore is a store with the table of bare.
func benchStore(b *testing.B, sync string) *db.DB {
	d := dbtest.SQLite(b, dbtest.With(func(c *db.Config) { c.Sync = sync }))
	if _, err := d.Exec(b.Context(), `CREATE TABLE bare (id TEXT NOT NULL PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID`); err != nil {
		b.Fatal(err)
	}
	return d
}

// handlers are a bare durable step behind net/http, and ours.
func handlers(b *testing.B, sync string) map[string]http.Handler {
	d := benchStore(b, sync)
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var q struct{ SessionID, Text string }
		if err == nil {
			err = json.Unmarshal(body, &q, json.MatchCaseInsensitiveNames(true))
		}
		if err == nil {
			err = bare(r.Context(), d, q.SessionID, q.Text)
		}
		if err != nil {
			b.Error(err)
		}
		_, _ = io.WriteString(w, "CON Welcome to the bare line\n1. Know More\n2. Account Menu\n*. Exit")
	})
	return map[string]http.Handler{"bare": plain, "ussd": newLine(b, benchStore(b, sync), newClock(), func(c *ussd.Config) { c.Log = nil }).http}
}

// BenchmarkStep measures the work of one key press, without a network and with
// the store's sync off.
func BenchmarkStep(b *testing.B) {
	for name, h := range handlers(b, "normal") {
		b.Run(name, func(b *testing.B) {
			dialAndStep(b, func(session, text string) error {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/ussd", strings.NewReader(body(session, phone1, text)))
				r.Header["Content-Type"] = []string{"application/json"}
				w := &sink{h: http.Header{}}
				h.ServeHTTP(w, r)
				if !bytes.HasPrefix(w.body, []byte("CON ")) {
					return fmt.Errorf("answer = %q", w.body)
				}
				return nil
			})
		})
	}
}

// BenchmarkServer measures key presses over 64 connections, durably stored.
func BenchmarkServer(b *testing.B) {
	for name, h := range handlers(b, "full") {
		server := httptest.NewServer(h)
		b.Cleanup(server.Close)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		b.Run(name, func(b *testing.B) {
			dialAndStep(b, func(session, text string) error {
				r, err := client.Post(server.URL+"/api/ussd", "application/json", strings.NewReader(body(session, phone1, text)))
				if err != nil {
					return err
				}
				defer r.Body.Close()
				got, err := io.ReadAll(r.Body)
				if err == nil && !bytes.HasPrefix(got, []byte("CON ")) {
					err = fmt.Errorf("answer = %q", got)
				}
				return err
			})
		})
	}
}

// cpu is the time that this process has used. The clock depends on who else
// is at work; compare this.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// dialAndStep measures first dials, and sessions of one dial and seven steps.
func dialAndStep(b *testing.B, send func(session, text string) error) {
	var n atomic.Int64 // no session is used twice
	for name, texts := range map[string][]string{"dial": {""}, "session": {"", "1", "0", "1", "0", "1", "0", "1"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			began := cpu(b)
			defer func() { b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/1000, "cpu-µs/op") }()
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
