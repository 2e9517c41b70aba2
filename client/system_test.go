package client_test

import (
	"net/http"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1" {
			t.Errorf("request = %s %s, want GET /v1", r.Method, r.URL.Path)
		}
		_, _ = w.Write([]byte(`{"name":"Hearth","capabilities":[{"name":"entities","href":"/v1/entities"}],"limits":{"pageItems":{"default":50,"max":1000},"batchItems":{"/v1/entities:batch":1000}},"deprecations":[]}`))
	})
	x, err := c.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x.Capabilities[0].Href != "/v1/entities" || x.Limits.PageItems.Max != 1000 || x.Limits.BatchItems["/v1/entities:batch"] != 1000 {
		t.Errorf("Index = %+v", x)
	}
}

// The filter of a stream is asked for again when it is opened again.
func TestStreamFilter(t *testing.T) {
	t.Parallel()
	connections := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		connections++
		if got := r.URL.Query().Get("filter"); got != "eq(subject,a)" {
			t.Errorf("filter = %q, want the one that was given", got)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if connections == 1 {
			_, _ = w.Write([]byte("retry: 1\nid: 40\n\n")) // passed over, then cut off
			return
		}
		if got := r.Header.Get("Last-Event-ID"); got != "40" {
			t.Errorf("Last-Event-ID = %q, want 40, past what was left out", got)
		}
		_, _ = w.Write([]byte("id: 41\nevent: a.b\ndata: {\"seq\":41,\"type\":\"a.b\",\"subject\":\"a\"}\n\n"))
	})
	for ev, err := range c.Events.Stream(t.Context(), client.StreamQuery{Filter: "eq(subject,a)"}) {
		if err != nil || ev.Seq != 41 {
			t.Errorf("Stream = %+v, %v, want event 41", ev, err)
		}
		break
	}
}
