package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/program"
)

func TestFits(t *testing.T) {
	if err := program.Check(NewHelpDesk()); err != nil {
		t.Fatal(err)
	}
}

// started is the plugin at a time of a working day.
func started(t *testing.T, at string, given map[string]string) (*HelpDesk, error) {
	t.Helper()
	h := NewHelpDesk()
	now, err := time.Parse(time.DateOnly+" 15:04", "2026-03-02 "+at)
	if err != nil {
		t.Fatal(err)
	}
	h.now = func() time.Time { return now }
	values, err := plugin.Read(h.Settings(), given)
	if err != nil {
		t.Fatal(err)
	}
	return h, h.Start(t.Context(), plugin.Host{Settings: values})
}

func TestTool(t *testing.T) {
	for at, want := range map[string]bool{"07:59": false, "08:00": true, "16:59": true, "17:00": false} {
		h, err := started(t, at, map[string]string{"phone": "+254700000001"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Tools()[0].Run(t.Context(), plugin.Call{Turn: plugin.Turn{Timezone: "Asia/Tokyo"}})
		if hours, ok := got.(Hours); err != nil || !ok || hours.Open != want || hours.Opens != "17:00" || hours.Zone != "Asia/Tokyo" {
			t.Errorf("at %s the tool answers %+v, %v", at, got, err)
		}
	}
}

func TestRoutes(t *testing.T) {
	h, err := started(t, "12:00", map[string]string{"phone": "+254700000001"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ target, body, want string }{
		{"/help-desk", "", ""},
		{"/help-desk?zone=Nowhere", "", "zone must be a time zone"},
		{"/help-desk/calls", `{"phone":"+254700000002","user":"somebody else"}`, ""},
		{"/help-desk/calls", `{"phone":"1"}`, "phone must be a number"},
		{"/help-desk/calls", `{"fax":"1"}`, "there is no member /fax"},
	} {
		route := h.Routes()[0]
		if tt.body != "" {
			route = h.Routes()[1]
		}
		got, err := route.Serve(&plugin.Request{Request: httptest.NewRequest(route.Method, tt.target, nil), User: "did:key:z6Mk", Content: []byte(tt.body)})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s = %v, %v, want %q", tt.target, tt.body, got, err, tt.want)
		}
		if call, ok := got.(Callback); ok && call.User != "did:key:z6Mk" {
			t.Errorf("the call is for %q", call.User)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	for name, given := range map[string]map[string]string{"opens": {"opens": "18h"}, "zone": {"zone": "Nowhere"}} {
		if _, err := started(t, "12:00", given); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v = %v, want a word about %s", given, err, name)
		}
	}
}

// The plugin stands around the call and gives it a number without spaces; other calls
// are not its business.
func TestAroundTool(t *testing.T) {
	h := NewHelpDesk()
	for _, tt := range []struct{ tool, args, want string }{
		{"ask_for_call", `{"phone":"+254 700 000 001"}`, `{"phone":"+254700000001"}`},
		{"help_desk_hours", `{ }`, `{ }`},
	} {
		call := plugin.ToolCall{Tool: tt.tool, Call: plugin.Call{Args: []byte(tt.args)}}
		out, err := h.AroundTool(t.Context(), call, func(args json.RawMessage) (plugin.Output, error) { return plugin.Output{Content: string(args)}, nil })
		if err != nil || out.Content != tt.want {
			t.Errorf("AroundTool(%s %s) = %+v, %v", tt.tool, tt.args, out, err)
		}
	}
}

// The sub-agent reads a stove with the rights of whoever asks.
func TestStoveRecord(t *testing.T) {
	h, err := started(t, "12:00", nil)
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/entities/did:ixo:entity:1" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"status":404,"code":"ENTITY_NOT_FOUND","message":"No twin has this DID."}`))
			return
		}
		_, _ = w.Write([]byte(`{"did":"did:ixo:entity:1","type":"Device","status":"active","properties":{"fuel":"ethanol"}}`))
	}))
	defer api.Close()
	target, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	h.host.API = func(context.Context) *http.Client { return &http.Client{Transport: to(*target)} }
	for did, want := range map[string]string{"did:ixo:entity:1": "ethanol", "did:ixo:entity:2": "No twin has this DID."} {
		out, err := h.Agents()[0].Tools[0].Run(t.Context(), plugin.Call{Args: []byte(`{"did":"` + did + `"}`)})
		if got := fmt.Sprint(out, err); !strings.Contains(got, want) {
			t.Errorf("stove_record %s = %s, want %s", did, got, want)
		}
	}
}

// to sends every request to one server.
type to url.URL

func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Scheme, r.URL.Host = t.Scheme, t.Host
	return http.DefaultTransport.RoundTrip(r)
}
