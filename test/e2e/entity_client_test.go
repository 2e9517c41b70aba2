package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// placeholder stands for every text a method of the client takes, and for every
// number.
const placeholder = "987654321"

// calls notes what is sent and answers nothing.
type calls struct {
	mu   sync.Mutex
	seen map[string]bool
}

var errNoted = errors.New("noted")

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // every GET answers it
	}
	c.seen[method+" "+strings.ReplaceAll(r.URL.Path, placeholder, "{}")] = true
	return nil, errNoted
}

// TestEntityRoutesAreInClient calls every method of the client, and compares
// the routes it knows with those the server says it has.
func TestEntityRoutesAreInClient(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Env: []string{
		"HEARTH_PUBLIC_URL=https://twins.example.org", "HEARTH_PLUGIN_CREDITS_ENABLED=true",
		"HEARTH_PLUGIN_SLACK_ENABLED=true", "HEARTH_PLUGIN_SLACK_SIGNING_SECRET=secret", "HEARTH_PLUGIN_SLACK_BOT_TOKEN=token",
	}})
	var doc struct {
		Paths map[string]map[string]struct {
			Tags []string `json:"tags"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(must(owner(t, s).OpenAPI(t.Context()))(t), &doc); err != nil {
		t.Fatal(err)
	}
	known := clientRoutes(t)
	parameter := regexp.MustCompile(`\{[^}]+\}`)
	routes := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			route := strings.ToUpper(method) + " " + parameter.ReplaceAllString(path, "{}")
			routes[route] = true
			about := slices.Contains(op.Tags, "reference") || slices.Contains(op.Tags, "operations") || path == "/livez"
			// Gateways call area C, Slack the plugin for it, and D has clients of its own.
			other := slices.Contains(op.Tags, "ussd") || slices.Contains(op.Tags, "oracle") || path == "/slack/events"
			if !known[route] && !about && !other {
				t.Errorf("%s has no method in the client", route)
			}
		}
	}
	for route := range known {
		if !routes[route] {
			t.Errorf("the client calls %s, which is no route", route)
		}
	}
}

// clientRoutes calls every exported method of the client and of its groups
// with placeholders, and gives the requests they sent.
func clientRoutes(t *testing.T) map[string]bool {
	t.Helper()
	seen := &calls{seen: map[string]bool{}}
	c, err := client.New(client.Config{BaseURL: "http://x", HTTP: &http.Client{Transport: seen}, Retry: client.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	callAll(t, reflect.ValueOf(c))
	groups := reflect.ValueOf(c).Elem()
	for i := range groups.NumField() {
		if groups.Type().Field(i).IsExported() {
			callAll(t, groups.Field(i))
		}
	}
	return seen.seen
}

func callAll(t *testing.T, v reflect.Value) {
	for i := range v.NumMethod() {
		m := v.Method(i)
		var in []reflect.Value
		for n := range m.Type().NumIn() {
			if m.Type().IsVariadic() && n == m.Type().NumIn()-1 {
				break
			}
			in = append(in, argument(t, m.Type().In(n)))
		}
		if out := m.Call(in)[0]; out.Kind() == reflect.Func && !out.IsNil() { // a list, which asks when it is walked
			stop := reflect.MakeFunc(out.Type().In(0), func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(false)} })
			out.Call([]reflect.Value{stop})
		}
	}
}

// argument is something of a type to call a method with.
func argument(t *testing.T, typ reflect.Type) reflect.Value {
	switch {
	case typ == reflect.TypeFor[context.Context]():
		return reflect.ValueOf(t.Context())
	case typ == reflect.TypeFor[io.Reader]():
		return reflect.ValueOf(strings.NewReader("{}"))
	case typ.Kind() == reflect.String:
		return reflect.ValueOf(placeholder)
	case typ == reflect.TypeFor[client.RubricName](): // names that stand in the path
		return reflect.ValueOf(client.RubricName{Protocol: placeholder, Version: placeholder, Kind: placeholder})
	case typ == reflect.TypeFor[int64]():
		return reflect.ValueOf(int64(987654321))
	case typ == reflect.TypeFor[int]():
		return reflect.ValueOf(987654321)
	}
	return reflect.Zero(typ)
}
