package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

func jobAnswer(status string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"id":"j","status":"` + status + `"}`))}, nil
	}
}

// script serves one text per connection; the last one again and again.
func script(t *testing.T, positions *[]string, texts ...string) *client.Client {
	var n atomic.Int32
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		*positions = append(*positions, r.Header.Get("Last-Event-ID"))
		i := int(n.Add(1))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, texts[min(i, len(texts))-1])
	})
}

func ev(seq int) string {
	return fmt.Sprintf("id: %d\nevent: key.created\ndata: {\"seq\":%d,\"type\":\"key.created\",\"subject\":\"s\"}\n\n", seq, seq)
}

// take reads n events and then leaves.
func take(t *testing.T, c *client.Client, q client.StreamQuery, n int) []int64 {
	t.Helper()
	var got []int64
	for e, err := range c.Events.Stream(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Seq); len(got) == n {
			break
		}
	}
	return got
}

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	var positions []string
	c := script(t, &positions,
		"retry: 1\n\n"+ev(4)+ev(5)+"id: 6\nevent: key.created\nda", // cut inside an event
		": heartbeat\nid: 7\n\n", // only the position moves
		ev(7)+ev(8)+"event: close\ndata: {\"reason\":\"shutdown\"}\n\n",
		ev(9))
	got := take(t, c, client.StreamQuery{After: 3}, 4)
	if !slices.Equal(got, []int64{4, 5, 8, 9}) {
		t.Errorf("events = %v, want 4 5 8 9: what is behind the position is dropped", got)
	}
	if want := []string{"3", "5", "7", "8"}; !slices.Equal(positions, want) {
		t.Errorf("positions asked for = %v, want %v", positions, want)
	}
}

func TestStreamLive(t *testing.T) {
	t.Parallel()
	var positions []string
	c := script(t, &positions, ev(41), ev(42))
	if got := take(t, c, client.StreamQuery{Live: true, After: 9}, 2); !slices.Equal(got, []int64{41, 42}) {
		t.Errorf("events = %v, want 41 42", got)
	}
	if want := []string{"", "41"}; !slices.Equal(positions, want) {
		t.Errorf("positions asked for = %q, want %q: none at first", positions, want)
	}
}

func TestStreamGapGoesOn(t *testing.T) {
	t.Parallel()
	var positions []string
	c := script(t, &positions, "id: 19\nevent: gap\ndata: {\"reason\":\"expired\",\"after\":3,\"oldest\":20,\"newest\":30}\n\n"+ev(20))
	var gap *client.Gap
	var seq int64
	for e, err := range c.Events.Stream(t.Context(), client.StreamQuery{After: 3}) {
		if errors.As(err, &gap) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		seq = e.Seq
		break
	}
	if gap == nil || gap.Reason != "expired" || gap.Oldest != 20 || seq != 20 {
		t.Errorf("gap = %+v, then event %d; want expired up to 20, then 20", gap, seq)
	}
}

// last collects a stream until its error.
func last(ctx context.Context, c *client.Client) (n int, err error) {
	for _, e := range c.Events.Stream(ctx, client.StreamQuery{}) {
		if err = e; err == nil {
			n++
		}
	}
	return n, err
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	var positions []string
	revoked := script(t, &positions, ev(1)+"event: close\ndata: {\"reason\":\"revoked\"}\n\n")
	expired := script(t, &positions, ev(1)+"event: close\ndata: {\"reason\":\"expired\"}\n\n")
	if n, err := last(t.Context(), expired); n != 1 || client.CodeOf(err) != "KEY_EXPIRED" {
		t.Errorf("an expired key: %d events, %v; want 1 and KEY_EXPIRED", n, err)
	}
	if n, err := last(t.Context(), revoked); n != 1 || client.CodeOf(err) != "KEY_INVALID" {
		t.Errorf("a revoked key: %d events, %v; want 1 and KEY_INVALID", n, err)
	}
	for status, tries := range map[int]int32{401: 1, 403: 1, 404: 1, 200: 1, 503: 4, 429: 4} {
		var calls atomic.Int32
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); w.WriteHeader(status) })
		n, err := last(t.Context(), c)
		if e := asError(t, err); n != 0 || e.Status != status || calls.Load() != tries {
			t.Errorf("status %d: %d events, %v after %d connections; want the refusal after %d", status, n, err, calls.Load(), tries)
		}
	}
	broken := script(t, &positions, "id: 1\nevent: key.created\ndata: {\n\n")
	if n, err := last(t.Context(), broken); n != 0 || err == nil {
		t.Errorf("an event that is no JSON: %d events, %v; want an error", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := script(t, &positions, ev(1))
	var err error
	for _, e := range c.Events.Stream(ctx, client.StreamQuery{}) {
		cancel()
		err = e
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v, want the cancellation as the last thing", err)
	}
}

// TestStreamGoesOnAfterLongTrouble has a server that was there once and is
// then away for longer than a call would be tried.
func TestStreamGoesOnAfterLongTrouble(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch i := n.Add(1); {
		case i == 1:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ev(1))
		case i < 20 && i%2 == 0:
			cut(w)
		case i < 20:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ev(2))
		}
	})
	if got := take(t, c, client.StreamQuery{}, 2); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("events = %v, want 1 2", got)
	}
}

// TestStreamNoticesSilence has a connection that stays open and says nothing.
func TestStreamNoticesSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		silent := roundTrip(func(r *http.Request) (*http.Response, error) {
			calls++
			body, w := io.Pipe()
			go func() {
				if calls == 1 {
					_, _ = io.WriteString(w, ev(1))
					<-r.Context().Done()
					w.CloseWithError(r.Context().Err())
					return
				}
				_, _ = io.WriteString(w, ev(2))
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
		})
		c, err := client.New(client.Config{BaseURL: "http://x", HTTP: &http.Client{Transport: silent}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if got := take(t, c, client.StreamQuery{}, 2); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("events = %v, want 1 2", got)
		}
		if took := time.Since(begin); took < 45*time.Second || took > 46*time.Second {
			t.Errorf("the silence was noticed after %s, want 45 s", took)
		}
	})
}
