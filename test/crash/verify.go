package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/server"
)

// verify checks what the last round wrote: acknowledged writes are there with
// their exact bodies, the others are whole or absent, and the event log has no
// gap and has one event for each key.
func (w *world) verify(ctx context.Context, s *server.Server) error {
	c := s.Client(w.writers)
	defer c.Close()
	if err := w.readBack(ctx, c, w.recent); err != nil {
		return err
	}
	w.r.acks += len(w.recent)
	w.recent = nil
	if err := w.sendAgain(ctx, c); err != nil {
		return err
	}
	if err := w.changes(ctx, c); err != nil {
		return err
	}
	w.compareEvents(ctx, c)
	return nil
}

// readBack reads keys by id, a few at a time.
func (w *world) readBack(ctx context.Context, c *server.Client, ids []string) error {
	work := make(chan string)
	errs := make(chan error, w.writers)
	var mu sync.Mutex
	for range w.writers {
		go func() {
			var err error
			for id := range work {
				if err == nil {
					err = w.readOne(ctx, c, &mu, id)
				}
			}
			errs <- err
		}()
	}
	for _, id := range ids {
		work <- id
	}
	close(work)
	var err error
	for range w.writers {
		err = errors.Join(err, <-errs)
	}
	return err
}

func (w *world) readOne(ctx context.Context, c *server.Client, mu *sync.Mutex, id string) error {
	a, err := c.Do(ctx, "GET", "/v1/api-keys/"+id, nil)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	want := w.known[id]
	switch {
	case a.Status == 404:
		w.r.lost = append(w.r.lost, fmt.Sprintf("round %d: %s, written as %s", w.r.rounds, id, want.Name))
		delete(w.known, id) // one finding is enough
	case a.Status != 200:
		w.r.refused = append(w.r.refused, fmt.Sprintf("round %d: read %s: %d %s", w.r.rounds, id, a.Status, a.Body))
	case !sameRecord(want.Answer, a.Body):
		w.r.torn = append(w.r.torn, fmt.Sprintf("round %d: %s\n      acknowledged %s\n      stored       %s", w.r.rounds, id, want.Answer, a.Body))
	}
	return nil
}

// sameRecord compares an answer to a write with a later read, member by
// member. The server shows the text of a key only once.
func sameRecord(written, read []byte) bool {
	var a, b map[string]any
	if json.Unmarshal(written, &a) != nil || json.Unmarshal(read, &b) != nil {
		return false
	}
	delete(a, "key")
	x, err1 := json.Marshal(a, json.Deterministic(true))
	y, err2 := json.Marshal(b, json.Deterministic(true))
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// sendAgain repeats every write that got no answer, with the same
// Idempotency-Key. Whether it had been stored or not, it is stored once now.
func (w *world) sendAgain(ctx context.Context, c *server.Client) error {
	for _, t := range w.open {
		a, err := c.Do(ctx, "POST", "/v1/api-keys", t.body(), "Idempotency-Key", t.Key)
		if err != nil {
			return err
		}
		got, err := acknowledged(t, a)
		if err != nil {
			w.r.refused = append(w.r.refused, fmt.Sprintf("round %d: %s sent again: %v", w.r.rounds, t.Name, err))
			continue
		}
		w.r.retried++
		if a.Header.Get("Idempotent-Replayed") == "true" {
			w.r.whole++
		}
		w.known[got.ID] = got
		if err := w.readBack(ctx, c, []string{got.ID}); err != nil {
			return err
		}
	}
	w.open = nil
	return nil
}

// changes reads the event log from where it was last read.
func (w *world) changes(ctx context.Context, c *server.Client) error {
	for {
		a, err := c.Do(ctx, "GET", fmt.Sprintf("/v1/changes?after=%d&limit=1000", w.seq), nil)
		if err != nil {
			return err
		}
		var page struct {
			Items []struct {
				Seq           int64
				Type, Subject string
			}
			HasMore bool `json:"hasMore"`
		}
		if a.Status != 200 {
			return fmt.Errorf("read the event log: %d %s", a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, &page, json.MatchCaseInsensitiveNames(true)); err != nil {
			return err
		}
		for _, e := range page.Items {
			if e.Seq != w.seq+1 {
				w.r.gaps = append(w.r.gaps, fmt.Sprintf("round %d: entry %d follows entry %d", w.r.rounds, e.Seq, w.seq))
			}
			w.seq = e.Seq
			w.r.changes++
			if e.Type == "key.created" {
				w.created[e.Subject]++
			}
		}
		if !page.HasMore {
			return nil
		}
	}
}

// compareEvents checks that there is exactly one event for every known key, and no
// unknown key except the owner's.
func (w *world) compareEvents(ctx context.Context, c *server.Client) {
	for id, n := range w.created {
		if n > 1 {
			w.r.doubled = append(w.r.doubled, fmt.Sprintf("round %d: %d events tell that %s was created", w.r.rounds, n, id))
			w.created[id] = 1
		}
		if _, ok := w.known[id]; ok || w.foreign[id] {
			continue
		}
		w.foreign[id] = true
		if a, err := c.Do(ctx, "GET", "/v1/api-keys/"+id, nil); err == nil && bytes.Contains(a.Body, []byte(`"crash-`)) {
			w.r.doubled = append(w.r.doubled, fmt.Sprintf("round %d: a second record %s: %s", w.r.rounds, id, a.Body))
		}
	}
	for id := range w.known {
		if w.created[id] == 0 {
			w.r.lost = append(w.r.lost, fmt.Sprintf("round %d: no event tells of %s", w.r.rounds, id))
			w.created[id] = 1
		}
	}
}

// finish reads every record of this store once more, sends a sample of all
// writes again, stops the server normally and runs "hearth db check".
func (w *world) finish(ctx context.Context) error {
	s, err := w.start()
	if err != nil {
		return err
	}
	if err := w.finishWith(ctx, s); err != nil {
		return errors.Join(err, s.Kill())
	}
	if err := s.Stop(30 * time.Second); err != nil {
		return err
	}
	o, err := w.options()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, w.binary, "db", "check", "--data-dir", o.Dir)
	if o.DatabaseURL != "" {
		cmd.Env = append(cmd.Environ(), "DATABASE_URL="+o.DatabaseURL)
	}
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.r.damaged = append(w.r.damaged, fmt.Sprintf("hearth db check: %v\n%s", err, out))
	}
	return nil
}

func (w *world) finishWith(ctx context.Context, s *server.Server) error {
	if err := w.verify(ctx, s); err != nil {
		return err
	}
	c := s.Client(w.writers)
	defer c.Close()
	ids := slices.Sorted(maps.Keys(w.known))
	if err := w.readBack(ctx, c, ids); err != nil {
		return err
	}
	for range min(len(ids), 20) {
		a := w.known[ids[w.rng.IntN(len(ids))]]
		again, err := c.Do(ctx, "POST", "/v1/api-keys", a.body(), "Idempotency-Key", a.Key)
		if err != nil {
			return err
		}
		if again.Status != 201 || !bytes.Equal(again.Body, a.Answer) {
			w.r.doubled = append(w.r.doubled, fmt.Sprintf("%s sent again: %d %s, first answered %s", a.Name, again.Status, again.Body, a.Answer))
		}
	}
	if err := w.changes(ctx, c); err != nil {
		return err
	}
	w.compareEvents(ctx, c)
	return nil
}

// integrity checks every page and every reference of a copy. It returns what is
// wrong.
func integrity(ctx context.Context, path string) (problem string, err error) {
	d, err := db.Open(ctx, db.Config{Path: path})
	if err != nil {
		return fmt.Sprintf("cannot be opened: %v", err), nil
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	report, err := d.Check(ctx)
	if err != nil {
		return fmt.Sprintf("cannot be checked: %v", err), nil
	}
	var found []string
	for _, f := range report.Findings {
		if !f.OK {
			found = append(found, f.Name+": "+f.Detail)
		}
	}
	return strings.Join(found, "; "), nil
}
