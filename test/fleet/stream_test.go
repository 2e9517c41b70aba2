package fleet

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// events is how many events the reader of TestStreams follows: HEARTH_FLEET_EVENTS.
func events() int64 {
	if n, err := strconv.ParseInt(os.Getenv("HEARTH_FLEET_EVENTS"), 10, 64); err == nil {
		return n
	}
	if isWhole() {
		return 100_000
	}
	return 600
}

// shaky are nodes that are killed now and then, and come back at the same port.
type shaky struct {
	seats []*seat
	urls  []string
	kills atomic.Int64
}

func newShaky(t *testing.T, n int, env ...string) *shaky {
	t.Helper()
	url, dir, program := dbtest.URL(t), t.TempDir(), server.Binary(t)
	s := &shaky{}
	for i := range n {
		port := freePort(t)
		one := &seat{options: server.Options{
			Dir: filepath.Join(dir, fmt.Sprint(i)), DatabaseURL: url, Ready: patience, Env: append(append(sharedKeys(), "PORT="+port), env...),
		}}
		one.start(t, program)
		s.seats, s.urls = append(s.seats, one), append(s.urls, "http://127.0.0.1:"+port)
	}
	t.Cleanup(func() {
		for _, one := range s.seats {
			if err := one.running.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// shake kills one node after the other, each when all are up, until ctx ends.
func (s *shaky) shake(ctx context.Context, t *testing.T) {
	for i := 0; ctx.Err() == nil; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
		one := s.seats[i%len(s.seats)]
		if err := one.running.Kill(); err != nil {
			t.Error(err)
		}
		var err error
		if one.running, err = server.Start(one.options); err != nil {
			t.Error(err)
			return
		}
		s.kills.Add(1)
	}
}

// TestStreams: a reader that goes to another node every 40 events gets each event once and
// in order while nodes are killed, and all that was answered is among them. A webhook gets
// each at least once, and none twice once nobody is killed any more.
func TestStreams(t *testing.T) {
	t.Parallel()
	s, want := newShaky(t, 3, "HEARTH_OUTBOUND_ALLOW=127.0.0.1"), events()
	var hook *hooked
	if isWhole() { // what a killed node was sending is sent again 40 s later
		hook = s.hook(t)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var going sync.WaitGroup
	defer going.Wait()
	defer stop()
	going.Go(func() { s.shake(ctx, t) })
	var acked sync.Map // names of what was answered
	var written atomic.Int64
	for w := range 6 {
		going.Go(func() {
			s.write(ctx, w, func(name string) bool { acked.Store(name, true); return written.Add(1) < want })
		})
	}
	seen, last := map[string]int{}, int64(0)
	for at := 0; ; at++ {
		next, err := follow(ctx, s.urls[at%len(s.urls)], last, 40, func(id int64, made string) {
			if id != last+1 {
				t.Fatalf("event %d follows %d", id, last)
			}
			last = id
			seen[made]++
		})
		if err == nil && next == 0 && written.Load() >= want && s.isLast(ctx, last) {
			break
		}
		if ctx.Err() != nil || t.Failed() {
			t.Fatal("the reader was ended")
		}
	}
	stop()
	going.Wait()
	missing, doubled := 0, 0
	acked.Range(func(did, _ any) bool {
		switch seen[did.(string)] {
		case 0:
			missing++
		case 1:
		default:
			doubled++
		}
		return true
	})
	if missing > 0 || doubled > 0 {
		t.Errorf("of %d twins that were answered %d are not in the log, and %d twice", written.Load(), missing, doubled)
	}
	t.Logf("%d events in order, %d kills", last, s.kills.Load())
	if hook != nil {
		hook.judge(t, s, &acked)
	}
}

// judge waits for what was made during kills, and makes more without any.
func (h *hooked) judge(t *testing.T, s *shaky, made *sync.Map) {
	t.Helper()
	first := h.await(t, made)
	var calm sync.Map
	var n atomic.Int64
	s.write(t.Context(), 100, func(name string) bool { calm.Store(name, true); return n.Add(1) < calmWrites })
	again := h.await(t, &calm)
	t.Logf("a webhook was sent %d of them twice or more during kills, and %d of %d after", first, again, calmWrites)
	if again > 0 {
		t.Error("events were sent twice although no node was killed")
	}
}

// calmWrites are made once no node is killed any more.
const calmWrites = 200

// hooked counts what a webhook was sent, by the twin that was made.
type hooked struct {
	mu   sync.Mutex
	sent map[string]int
}

// hook makes a webhook for twins that are made, and receives what it is sent.
func (s *shaky) hook(t *testing.T) *hooked {
	t.Helper()
	h := &hooked{sent: map[string]int{}}
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			Subject string `json:"subject"`
		}
		if err := json.UnmarshalRead(r.Body, &e); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sent[e.Subject]++
	}))
	t.Cleanup(at.Close)
	c := s.seats[0].running.Client(1)
	defer c.Close()
	call(t, c, 201, "POST /v1/webhooks", object{"url": at.URL, "events": []string{"entity.created"}})
	return h
}

// await waits until all names were sent, and tells how many of them more than once.
func (h *hooked) await(t *testing.T, names *sync.Map) (doubled int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); ; {
		missing := 0
		doubled = 0
		h.mu.Lock()
		names.Range(func(name, _ any) bool {
			switch h.sent[name.(string)] {
			case 0:
				missing++
			case 1:
			default:
				doubled++
			}
			return true
		})
		h.mu.Unlock()
		if missing == 0 {
			return doubled
		}
		if time.Now().After(end) {
			t.Fatalf("%d events were never sent to the webhook", missing)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// isLast reports whether a node knows of nothing after an event. That a stream was silent for
// a while says less: on a busy machine the reader is far behind the writers. Each node is
// asked: the one whose stream has just ended is often the one that was just killed.
func (s *shaky) isLast(ctx context.Context, event int64) bool {
	for _, url := range s.urls {
		c := &server.Client{URL: url, Key: server.OwnerKey, HTTP: &http.Client{Timeout: 20 * time.Second}}
		got, err := c.Do(ctx, "GET", fmt.Sprintf("/v1/changes?after=%d&limit=1", event), nil)
		var page struct {
			Items []object `json:"items"`
		}
		if err == nil && got.Status == http.StatusOK && got.JSON(&page) == nil {
			return len(page.Items) == 0
		}
	}
	return false
}

// write makes twins, each once: what was not answered is sent again with its key, to the
// next node.
func (s *shaky) write(ctx context.Context, writer int, acked func(did string) bool) {
	client := &http.Client{Timeout: 20 * time.Second}
	for i := 0; ctx.Err() == nil; i++ {
		for try := 0; ; try++ {
			c := &server.Client{URL: s.urls[(writer+i+try)%len(s.urls)], Key: server.OwnerKey, HTTP: client}
			got, err := c.Do(ctx, "POST", "/v1/entities", object{"type": "Network", "protocol": "did:ixo:protocol/network", "properties": object{"name": fmt.Sprint(writer, " ", i)}},
				"Idempotency-Key", fmt.Sprintf("writer-%d-%d", writer, i))
			if ctx.Err() != nil {
				return
			}
			if err == nil && got.Status == http.StatusCreated {
				var made struct {
					DID string `json:"did"`
				}
				if got.JSON(&made) != nil || !acked(made.DID) {
					return
				}
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// follow reads the stream of a node after an event until some came or none comes for a
// while, and tells how many came. each gets the number of an event, and the twin that it says
// was made.
func follow(ctx context.Context, url string, after int64, most int, each func(id int64, made string)) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/v1/events?after=%d", url, after), http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+server.OwnerKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the stream is answered %d", res.StatusCode)
	}
	lines, id, typ := bufio.NewScanner(res.Body), int64(0), ""
	lines.Buffer(nil, 1<<20)
	for n < most && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			if id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return n, err
			}
		case "event":
			typ = value
		case "data":
			made := ""
			if typ == "entity.created" {
				_, rest, _ := strings.Cut(value, `"subject":"`)
				made, _, _ = strings.Cut(rest, `"`)
			}
			each(id, made)
			n++
		}
	}
	return n, nil
}
