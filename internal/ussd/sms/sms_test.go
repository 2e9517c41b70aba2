package sms_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const number = "+254788990011"

// rig is an outbox with its jobs.
type rig struct {
	*sms.Outbox
	db   *db.DB
	jobs *job.Service
	log  *bytes.Buffer
}

func newRig(t *testing.T, d *db.DB, sender sms.Sender) *rig {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{db: d, log: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(&shared{w: r.log}, nil))
	r.jobs = job.New(job.Config{DB: d, Cursors: web.Cursors{Key: []byte("0123456789abcdef")}, Log: log})
	r.Outbox = sms.New(sms.Config{DB: d, Jobs: r.jobs, Key: key, Sender: sender, Log: log})
	return r
}

// shared is a writer for many.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

func (r *rig) run(t *testing.T) (stop func()) {
	t.Helper()
	runner, err := r.jobs.NewRunner(job.RunnerConfig{Handlers: r.Handlers(), Backoff: func(int) time.Duration { return time.Millisecond }, Alone: true, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

// enqueue stores a message.
func (r *rig) enqueue(t *testing.T, m sms.Message) bool {
	t.Helper()
	var queued bool
	err := r.db.InTx(t.Context(), func(tx *db.Tx) (err error) {
		queued, err = r.Enqueue(t.Context(), tx, m)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return queued
}

// all lists the messages.
func (r *rig) all(t *testing.T) []sms.Record {
	t.Helper()
	list, err := r.List(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (r *rig) await(t *testing.T, n int, status sms.Status) []sms.Record {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for {
		list, found := r.all(t), 0
		for _, m := range list {
			if m.Status == status {
				found++
			}
		}
		if found == n {
			return list
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d messages are %s, want %d: %+v", found, status, n, list)
		}
	}
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fake := &sms.Fake{}
		fails := 0
		fake.Fail(func(m sms.Message) error {
			if fails++; fails <= 3 {
				return errors.New("down, said " + m.To)
			}
			return nil
		})
		r := newRig(t, d, fake)
		if !r.enqueue(t, sms.Message{To: number, Text: "Msimbo 4711", About: "did:x:a"}) {
			t.Fatal("Enqueue() = false")
		}
		var to, body []byte
		if err := d.QueryRow(t.Context(), `SELECT recipient, body FROM sms_messages`).Scan(&to, &body); err != nil || bytes.Contains(to, []byte("7889")) || bytes.Contains(body, []byte("4711")) {
			t.Errorf("stored %q and %q, %v; want nothing to read", to, body, err)
		}
		r.run(t)
		m := r.await(t, 1, sms.Sent)[0]
		if sent := fake.Sent(); len(sent) != 1 || sent[0].To != number || sent[0].Text != "Msimbo 4711" || m.ProviderID != "fake-"+sent[0].ID || m.Attempts != 4 {
			t.Errorf("sent %+v, record %+v", sent, m)
		}
		if err := d.QueryRow(t.Context(), `SELECT recipient, body FROM sms_messages`).Scan(&to, &body); err != nil || to != nil || body != nil {
			t.Errorf("a message that was sent keeps %q and %q, %v", to, body, err)
		}
	})
}

func TestRollbackSendsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, &sms.Fake{})
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			if _, err := r.Enqueue(t.Context(), tx, sms.Message{To: number, Text: "x"}); err != nil {
				return err
			}
			return errors.New("no")
		})
		if err == nil || len(r.all(t)) != 0 {
			t.Errorf("%d messages are left", len(r.all(t)))
		}
	})
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err      error
		attempts int
		want     string
	}{
		"down for good": {errors.New("secret words of a provider"), 8, "The message could not be sent."},
		"refused":       {fault.New(fault.Invalid, "SMS_REFUSED", "The number does not exist."), 1, "The number does not exist."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				fake := &sms.Fake{}
				fake.Fail(func(sms.Message) error { return tt.err })
				r := newRig(t, d, fake)
				r.enqueue(t, sms.Message{To: number, Text: "x"})
				r.run(t)
				m := r.await(t, 1, sms.Failed)[0]
				if m.Attempts != tt.attempts || m.Error != tt.want {
					t.Errorf("record = %+v, want %d attempts and %q", m, tt.attempts, tt.want)
				}
			})
		})
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	r := newRig(t, d, &sms.Fake{})
	r.enqueue(t, sms.Message{To: number, Text: "x"})
	off := newRig(t, d, nil)
	if off.On() || off.enqueue(t, sms.Message{To: number, Text: "x"}) || len(off.all(t)) != 1 {
		t.Error("an outbox without a sender takes messages")
	}
	off.run(t) // what is left of better times ends
	if m := off.await(t, 1, sms.Failed)[0]; m.Error != "Messages are switched off." {
		t.Errorf("record = %+v", m)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]sms.Message{
		"no number": {Text: "x"}, "national": {To: "0700000001", Text: "x"}, "short": {To: "+2547", Text: "x"},
		"no text": {To: number}, "long": {To: number, Text: strings.Repeat("é", sms.MaxText+1)}, "not text": {To: number, Text: "\xff"},
	} {
		if err := m.Validate(); err == nil || strings.Contains(err.Error(), "0700000001") {
			t.Errorf("%s: Validate() = %v", name, err)
		}
	}
	if err := (sms.Message{To: number, Text: strings.Repeat("é", sms.MaxText)}).Validate(); err != nil {
		t.Errorf("Validate() = %v", err)
	}
}

func TestEraseCountExpire(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, &sms.Fake{})
		for n := range 4 {
			r.enqueue(t, sms.Message{To: number, Text: "x", About: fmt.Sprintf("did:x:%d", n%2)})
		}
		r.enqueue(t, sms.Message{To: "+254700000001", Text: "x", About: "did:x:0"})
		r.enqueue(t, sms.Message{To: "+254700000002", Text: "x"})
		if n, err := r.Recent(t.Context(), d, number, time.Now().Add(-time.Minute), 3); err != nil || n != 3 {
			t.Errorf("Recent() = %d, %v; want the limit", n, err)
		}
		if n, err := r.Recent(t.Context(), d, number, time.Now().Add(time.Minute), 3); err != nil || n != 0 {
			t.Errorf("Recent() of the future = %d, %v", n, err)
		}
		erase := func(about, to string, want int64) {
			t.Helper()
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				n, err := r.Erase(t.Context(), tx, about, to)
				if n != want {
					t.Errorf("Erase(%q, %q) = %d, want %d", about, to, n, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		erase("", "", 0)
		erase("did:x:0", "", 3)
		erase("did:x:9", number, 2)
		r.run(t) // jobs of erased messages end without a word
		r.await(t, 1, sms.Sent)
		if n, err := r.Expire(t.Context(), time.Now().Add(time.Minute), 10); err != nil || n != 1 || len(r.all(t)) != 0 {
			t.Errorf("Expire() = %d, %v", n, err)
		}
	})
}

// provider is the server of a provider: it keeps what it got.
func provider(t *testing.T, status int, answer string) (*http.Request, *[]byte, *outbound.Client, string) {
	t.Helper()
	got, body := &http.Request{}, &[]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		*body, _ = io.ReadAll(q.Body)
		*got = *q
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	c, err := outbound.New(outbound.Config{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return got, body, c, s.URL
}

var message = sms.Message{ID: "m1", To: number, Text: "Habari & karibu"}

func TestWebhook(t *testing.T) {
	t.Parallel()
	got, body, c, url := provider(t, 202, `{"id":"p-7","more":1}`)
	w := &sms.Webhook{Client: c, URL: url + "/hook", Secret: []byte("0123456789abcdef"), Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	id, err := w.Send(t.Context(), message)
	if err != nil || id != "p-7" {
		t.Fatalf("Send() = %q, %v", id, err)
	}
	if want := `{"id":"m1","to":"+254788990011","text":"Habari & karibu"}`; string(*body) != want {
		t.Errorf("body = %s, want %s", *body, want)
	}
	mac := hmac.New(sha256.New, w.Secret)
	fmt.Fprintf(mac, "m1.1800000000.%s", *body)
	if sig := got.Header.Get("webhook-signature"); sig != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		t.Errorf("signature = %q", sig)
	}
	if got.URL.Path != "/hook" || got.Header.Get("webhook-id") != "m1" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("request = %s %v", got.URL, got.Header)
	}
}

func TestAfricasTalking(t *testing.T) {
	t.Parallel()
	got, body, c, url := provider(t, 201, `{"SMSMessageData":{"Message":"Sent to 1/1 Total Cost: KES 0.8000","Recipients":[{"statusCode":101,"number":"+254788990011","status":"Success","cost":"KES 0.8000","messageId":"ATXid_1"}]}}`)
	a := &sms.AfricasTalking{Client: c, Base: url, Username: "sandbox", APIKey: "key", From: "2233"}
	id, err := a.Send(t.Context(), message)
	if err != nil || id != "ATXid_1" {
		t.Fatalf("Send() = %q, %v", id, err)
	}
	if want := "from=2233&message=Habari+%26+karibu&to=%2B254788990011&username=sandbox"; string(*body) != want {
		t.Errorf("body = %s, want %s", *body, want)
	}
	if got.URL.Path != "/version1/messaging" || got.Header.Get("apiKey") != "key" || got.Header.Get("Accept") != "application/json" {
		t.Errorf("request = %s %v", got.URL, got.Header)
	}
}

func TestProvidersInTrouble(t *testing.T) {
	t.Parallel()
	recipient := func(code int) string {
		return fmt.Sprintf(`{"SMSMessageData":{"Recipients":[{"statusCode":%d}]}}`, code)
	}
	for _, tt := range []struct {
		name   string
		status int
		answer string
		at     bool
		final  bool
	}{
		{"server error", 500, "", false, false},
		{"busy", 429, "", false, false},
		{"wrong key", 401, "", true, false},
		{"bad request", 400, "", false, true},
		{"bad number", 201, recipient(403), true, true},
		{"blacklisted", 201, recipient(406), true, true},
		{"no balance", 201, recipient(405), true, false},
		{"gateway", 201, recipient(501), true, false},
		{"nobody", 201, `{"SMSMessageData":{"Message":"InvalidSenderId","Recipients":[]}}`, true, true},
		{"no JSON", 201, "ok", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, c, url := provider(t, tt.status, tt.answer)
			var s sms.Sender = &sms.Webhook{Client: c, URL: url + "/secret-path"}
			if tt.at {
				s = &sms.AfricasTalking{Client: c, Base: url}
			}
			_, err := s.Send(t.Context(), message)
			if err == nil || (fault.KindOf(err) == fault.Invalid) != tt.final {
				t.Errorf("Send() = %v, want a refusal for good: %v", err, tt.final)
			}
			for _, hidden := range []string{"secret-path", number, "Habari"} {
				if strings.Contains(fmt.Sprint(err, errors.Unwrap(err)), hidden) {
					t.Errorf("error tells %s: %v", hidden, err)
				}
			}
		})
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	_, _, c, _ := provider(t, 200, "")
	url := gone.URL
	gone.Close()
	if _, err := (&sms.Webhook{Client: c, URL: url + "/secret-path"}).Send(t.Context(), message); err == nil || strings.Contains(fmt.Sprint(err, errors.Unwrap(err)), "secret-path") {
		t.Errorf("Send() to nobody = %v", err)
	}
	if _, err := (&sms.Webhook{Client: c, URL: "http://169.254.169.254/"}).Send(t.Context(), message); err == nil {
		t.Error("Send() goes into our own network")
	}
}
