package device_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

// sent is a file, and who sends it as what.
type sent struct{ role, media, query, body string }

// file sends a file of readings.
func (e *env) file(t *testing.T, id string, f sent) (device.Outcome, *httptest.ResponseRecorder) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/devices/"+url.PathEscape(id)+"/readings/file"+f.query, strings.NewReader(f.body))
	r.Header.Set("Authorization", "Bearer ws "+f.role)
	r.Header.Set("Content-Type", f.media)
	w := httptest.NewRecorder()
	e.h.ServeHTTP(w, r)
	var out device.Outcome
	if w.Code == 200 {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out, w
}

// A file of readings is a batch: good rows are stored once, others named by
// their line.
func TestReadingsFromAFile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{DID: "did:ixo:device/a", Controllers: []string{"did:key:device"}})
		const table = "timestamp,temperature,cookingEvent,duration,values.power\n" +
			"2024-02-20T08:00:00Z,80.5,true,300,\n" +
			"2024-02-20T08:05:00Z,hot,,,\n" +
			"2024-02-20T08:10:00Z,81,false,,1.5\n" +
			"soon,20,,,\n" +
			"2024-02-20T08:15:00Z,,,,\n" +
			"2024-02-20T08:20:00Z,,TRUE,600,\n"
		out, w := e.file(t, id, sent{"device", "text/csv", "", table})
		if w.Code != 200 || out.Accepted != 3 || out.RefusedCount != 3 || len(out.Refused) != 3 || out.Contradictions != 1 {
			t.Fatalf("file = %d %s, want 3 accepted and 3 refused", w.Code, w.Body)
		}
		for i, want := range []string{"3 /lines/3/temperature", "5 /lines/5/timestamp", "6 /lines/6"} {
			if got := fmt.Sprintf("%d %s", out.Refused[i].Index, out.Refused[i].Errors[0].Pointer); got != want {
				t.Errorf("refused %s, want %s", got, want)
			}
		}
		if out, w := e.file(t, id, sent{"device", "text/csv", "", table}); w.Code != 200 || out.Accepted != 0 || out.Duplicates != 3 {
			t.Errorf("the same file again = %d %s, want 3 duplicates", w.Code, w.Body)
		}
		out, w = e.file(t, id, sent{"owner", "text/csv", "?mapping=" + url.QueryEscape(`{"Zeit":"timestamp","°C":"temperature","x":""}`), "Zeit;x;°C\n2024-02-20T08:00:00Z;;81\n2024-02-20T09:00:00Z;1;20\n"})
		if w.Code != 200 || out.Accepted != 1 || len(out.Conflicts) != 1 || out.Conflicts[0].Index != 2 || *out.Conflicts[0].Stored.Temperature != 80.5 {
			t.Errorf("with other names = %d %s, want one accepted and line 2 in conflict", w.Code, w.Body)
		}
		got := all[device.Reading](t, e, "/v1/devices/did:ixo:device%2Fa/readings?limit=10")
		if len(got) != 4 || got[1].Values["power"] != 1.5 || !*got[0].CookingEvent || got[2].Temperature != nil || *got[2].Duration != 600 {
			t.Errorf("readings = %+v, want what the table has", got)
		}
	})
}

// What is larger than a batch is stored in several.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		var b strings.Builder
		b.WriteString("timestamp,temperature\n")
		from := today.Add(-60 * 24 * time.Hour)
		for i := range 12_345 {
			fmt.Fprintf(&b, "%s,%d\n", from.Add(time.Duration(i)*5*time.Minute).Format(time.RFC3339), 20+i%70)
		}
		b.WriteString("2024-02-20T08:00:00.5Z,9999\n")
		out, w := e.file(t, id, sent{"owner", "text/csv", "", b.String()})
		if w.Code != 200 || out.Accepted != 12_345 || out.RefusedCount != 1 || out.Refused[0].Index != 12_347 || e.stored(t) != 12_345 {
			t.Errorf("file = %d %.300s with %d stored, want 12345 and the last line refused", w.Code, w.Body, e.stored(t))
		}
	})
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	id := e.register(t, device.Draft{})
	for _, tt := range []struct {
		sent
		want int
		says string
	}{
		{sent{"owner", "application/json", "", "{}"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{sent{"owner", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "", "x"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{sent{"owner", "text/csv", "?mapping=x", "timestamp\n"}, 400, "query/mapping"},
		{sent{"owner", "text/csv", "", ""}, 400, "READINGS_INVALID"},
		{sent{"owner", "text/csv", "", "timestamp,temperature\n"}, 400, "READINGS_INVALID"},
		{sent{"owner", "text/csv", "", "timestamp,temperature\nx,1\n"}, 400, "/lines/2/timestamp"},
		{sent{"owner", "text/csv", "", "Time,temperature\n2024-02-20T08:00:00Z,1\n"}, 400, `mapping={\"Time\":\"timestamp\"}`},
		{sent{"owner", "text/csv", "?mapping=" + url.QueryEscape(`{"Time":"timestamp"}`), "Time,temperature\n2024-02-20T07:00:00Z,1\n"}, 200, `"accepted":1`},
		{sent{"owner", "text/csv", "", "timestamp,heat\n2024-02-20T08:00:00Z,1\n"}, 400, "/lines/2/heat"},
		{sent{"owner", "application/x-ndjson", "", `{"timestamp":"2024-02-20T08:00:00Z","temperature":5}`}, 200, `"accepted":1`},
		{sent{"thief", "text/csv", "", "timestamp,temperature\n"}, 404, "ENTITY_NOT_FOUND"},
		{sent{"writer", "text/csv", "", "timestamp,temperature\n"}, 403, "NOT_CONTROLLER"},
		{sent{"auditor", "text/csv", "", "timestamp,temperature\n"}, 403, "SCOPE_MISSING"},
	} {
		if _, w := e.file(t, id, tt.sent); w.Code != tt.want || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s %s %q = %d %s, want %d with %s", tt.role, tt.media, tt.body, w.Code, w.Body, tt.want, tt.says)
		}
	}
}

// A file is held in memory while it arrives: a workspace sends two at once, and
// the third is told to wait.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	id := e.register(t, device.Draft{})
	const text = "timestamp,temperature\n2024-02-20T08:00:00Z,20\n"
	var writers []*io.PipeWriter
	answers := make(chan int)
	for range 2 {
		r, w := io.Pipe()
		writers = append(writers, w)
		go func() {
			req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/devices/"+url.PathEscape(id)+"/readings/file", r)
			req.Header.Set("Authorization", "Bearer ws owner")
			req.Header.Set("Content-Type", "text/csv")
			w := httptest.NewRecorder()
			e.h.ServeHTTP(w, req)
			answers <- w.Code
		}()
		if _, err := w.Write([]byte(text[:10])); err != nil { // it is being read, so it has its place
			t.Fatal(err)
		}
	}
	if _, w := e.file(t, id, sent{"owner", "text/csv", "", text}); w.Code != 429 || !strings.Contains(w.Body.String(), "TOO_MANY_FILES") || w.Header().Get("Retry-After") == "" {
		t.Errorf("a third file = %d %s, want 429", w.Code, w.Body)
	}
	for _, w := range writers {
		if _, err := w.Write([]byte(text[10:])); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if code := <-answers; code != 200 {
			t.Errorf("a file that was being sent = %d, want 200", code)
		}
	}
	if _, w := e.file(t, id, sent{"owner", "text/csv", "", text}); w.Code != 200 {
		t.Errorf("a file later = %d %s, want 200", w.Code, w.Body)
	}
}
