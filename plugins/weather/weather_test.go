package weather_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins/weather"
)

// sky answers as Open-Meteo does.
func sky(t *testing.T, asked *atomic.Int64) map[string]string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		q := r.URL.Query()
		switch {
		case r.URL.Path == "/search" && strings.EqualFold(q.Get("name"), "nairobi"):
			fmt.Fprint(w, `{"results":[{"name":"Nairobi","latitude":-1.28333,"longitude":36.81667,"country":"Kenya"}],"generationtime_ms":1}`)
		case r.URL.Path == "/search" && q.Get("name") == "Broken":
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/search":
			fmt.Fprint(w, `{"generationtime_ms":1}`)
		case q.Get("latitude") == "-1.28333" && q.Get("longitude") == "36.81667" && q.Get("temperature_unit") == "celsius":
			fmt.Fprint(w, `{"current":{"temperature_2m":21.4,"weather_code":2}}`)
		default:
			t.Errorf("asked for %s", r.URL)
		}
	}))
	t.Cleanup(s.Close)
	return map[string]string{"source": "open-meteo", "geocodingUrl": s.URL + "/search", "forecastUrl": s.URL + "/now"}
}

func start(t *testing.T, given map[string]string) *weather.Plugin {
	t.Helper()
	p := weather.New()
	set, err := plugin.Read(p.Settings(), given)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), plugin.Host{Settings: set, HTTP: http.DefaultClient}); err != nil {
		t.Fatal(err)
	}
	return p
}

func now(t *testing.T, p *weather.Plugin, query string) string {
	t.Helper()
	v, err := p.Routes()[0].Serve(&plugin.Request{Request: httptest.NewRequest("GET", "/weather/now"+query, nil)})
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNow(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	given := sky(t, &asked)
	given["units"] = "°C"
	p := start(t, given)
	for _, tt := range []struct {
		query, want string
		asked       int64 // questions to the source, all in all
	}{
		{"", `{"ok":false,"error":"Missing required query param: city"}`, 0},
		{"?city=%20", `{"ok":false,"error":"Missing required query param: city"}`, 0},
		{"?city=Nairobi", `{"ok":true,"city":"Nairobi","temp_c":21.4,"units":"°C","conditions":"partly cloudy","latitude":-1.28333,"longitude":36.81667}`, 2},
		{"?city=%20nairobi", `{"ok":true,"city":"Nairobi"`, 2},
		{"?city=Atlantis", `{"ok":false,"error":"Could not find weather for \"Atlantis\"."}`, 3},
		{"?city=atlantis", `Could not find`, 3},
		{"?city=Broken", "The source of the weather does not answer.", 4},
		{"?city=Broken", "The source of the weather does not answer.", 5},
		{"?city=" + strings.Repeat("x", 101), `at most 100 characters and no control characters`, 5},
		{"?city=a%00b", `{"ok":false`, 5},
	} {
		if got := now(t, p, tt.query); !strings.Contains(got, tt.want) || asked.Load() != tt.asked {
			t.Errorf("%s = %s after %d questions, want %s after %d", tt.query, got, asked.Load(), tt.want, tt.asked)
		}
	}
}

// Without a source nothing is made up, and nobody is asked.
func TestNoSource(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	if got := now(t, p, "?city=Nairobi"); got != `{"ok":false,"error":"Could not find weather for \"Nairobi\"."}` {
		t.Errorf("without a source: %s", got)
	}
}

// The source is asked only so often, whoever asks us for whatever.
func TestFlood(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	given := sky(t, &asked)
	given["perMinute"] = "3"
	p := start(t, given)
	for i := range 10 {
		got := now(t, p, fmt.Sprintf("?city=City%d", i))
		if busy := strings.Contains(got, "Too many requests"); busy != (i >= 3) {
			t.Errorf("question %d = %s", i, got)
		}
	}
	if asked.Load() != 3 {
		t.Errorf("the source was asked %d times, want 3", asked.Load())
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	run := start(t, sky(t, &asked)).Tools()[0].Run
	got, err := run(t.Context(), plugin.Call{Args: []byte(`{"city":"Nairobi"}`)})
	if text, _ := json.Marshal(got); err != nil || !strings.Contains(string(text), `"temp_c":21.4,"units":"celsius"`) {
		t.Errorf("the tool answers %s, %v", text, err)
	}
	if _, err := run(t.Context(), plugin.Call{Args: []byte(`{"city":"Atlantis"}`)}); err == nil || err.Error() != `Could not find weather for "Atlantis".` {
		t.Errorf("the tool answers %v", err)
	}
}
