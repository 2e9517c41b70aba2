package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/test/server"
)

// try is a write that was sent.
type try struct {
	Key  string `json:"key"`  // Idempotency-Key
	Name string `json:"name"` // of the API key; unique
}

// body returns the body to send. The number of scopes varies, so that a torn
// record would show.
func (t try) body() []byte {
	return fmt.Appendf(nil, `{"name":%q,"scopes":["events:read","keys:read"]}`, t.Name)
}

// ack is a write that was acknowledged, with the answer.
type ack struct {
	try
	ID     string         `json:"id"`
	Answer jsontext.Value `json:"answer"`
}

// line is one line of a writer's log: a try, or an ack when it has an id.
type line = ack

// write lets all writers work until wait is over, and then kills the server.
// It returns the files of the logs.
func (w *world) write(ctx context.Context, s *server.Server, wait time.Duration) ([]string, error) {
	client := s.Client(w.writers)
	defer client.Close()
	var wg sync.WaitGroup
	logs := make([]string, w.writers)
	errs := make([]error, w.writers+1)
	for i := range w.writers {
		logs[i] = filepath.Join(w.dir, fmt.Sprintf("acks-%d.log", i))
		wg.Go(func() { errs[i] = w.writer(ctx, client, logs[i], i) })
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	errs[w.writers] = s.Kill()
	wg.Wait()
	return logs, errors.Join(errors.Join(errs...), ctx.Err())
}

// writer writes until the server is gone. Each acknowledgement is on disk
// before the next call, so the log survives this process too.
func (w *world) writer(ctx context.Context, c *server.Client, path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := 0; ; i++ {
		name := fmt.Sprintf("crash-%d-%d-%d-%d", w.seed, w.r.rounds, n, i)
		t := try{Key: name, Name: name}
		if err := record(f, line{try: t}, false); err != nil {
			return err
		}
		a, err := c.Do(ctx, "POST", "/v1/api-keys", t.body(), "Idempotency-Key", t.Key)
		if err != nil {
			return nil // killed: nobody knows what became of this one
		}
		got, err := acknowledged(t, a)
		if err != nil {
			return fmt.Errorf("a write was refused: %w", err)
		}
		if err := record(f, got, true); err != nil {
			return err
		}
	}
}

// acknowledged reads a successful answer.
func acknowledged(t try, a *server.Answer) (ack, error) {
	if a.Status != 201 {
		return ack{}, fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	var got struct {
		ID string `json:"id"`
	}
	if err := a.JSON(&got); err != nil {
		return ack{}, err
	}
	return ack{try: t, ID: got.ID, Answer: a.Body}, nil
}

func record(f *os.File, l line, sync bool) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil || !sync {
		return err
	}
	return f.Sync()
}

// read adds the content of the logs to the world.
func (w *world) read(logs []string) error {
	for _, path := range logs {
		if err := w.readLog(path); err != nil {
			return fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func (w *world) readLog(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var last try
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return err
		}
		if l.ID == "" {
			last = l.try
			continue
		}
		w.known[l.ID] = l
		w.recent = append(w.recent, l.ID)
		last = try{}
	}
	if last.Key != "" {
		w.open = append(w.open, last)
	}
	return lines.Err()
}
