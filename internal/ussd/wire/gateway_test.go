package wire_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// gatewayCase is one request and its answers, as a gateway's documents show
// them.
type gatewayCase struct {
	Name, Gateway string
	JSON          jsontext.Value `json:"json"`
	Form, Query   string
	Want          *struct {
		SessionID               string `json:"sessionId"`
		Phone, Code, Text, Kind string
		Mode                    string
	}
	Continue, End jsontext.Value
	Refused       bool
}

func (c gatewayCase) request() (*http.Request, []byte) {
	switch {
	case c.Query != "":
		return httptest.NewRequest("GET", "/api/ussd/"+c.Gateway+"?"+c.Query, nil), nil
	case c.Form != "":
		return post(formType, c.Form), []byte(c.Form)
	}
	return post(jsonType, string(c.JSON)), c.JSON
}

func TestGateways(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/gateways.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []gatewayCase
	if err := json.Unmarshal(data, &cases, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, c := range cases {
		tested[c.Gateway] = tested[c.Gateway] || c.Continue != nil && c.End != nil
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.check(t, set.Get(c.Gateway))
		})
	}
	for _, g := range set.List() {
		if !tested[g.Name] {
			t.Errorf("gateway %s has no case with both answers", g.Name)
		}
	}
}

func (c gatewayCase) check(t *testing.T, g *wire.Gateway) {
	r, body := c.request()
	q, err := wire.Read(r, body, g)
	if c.Refused {
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("Read() = %+v, %v, want it refused", q, err)
		}
		return
	}
	want := wire.Request{
		Gateway: c.Gateway, SessionID: c.Want.SessionID, Phone: c.Want.Phone, ServiceCode: c.Want.Code, Text: c.Want.Text,
		Kind: wire.Kind(c.Want.Kind), Mode: wire.Mode(c.Want.Mode),
	}
	if err != nil || !same(q, want) {
		t.Fatalf("Read() = %+v, %v, want %+v", q, err, want)
	}
	checkReply(t, g, q, wire.Reply{Text: "Welcome\n1. Know More"}, c.Continue)
	checkReply(t, g, q, wire.Reply{Text: "Goodbye", End: true}, c.End)
}

// checkReply compares an answer with a JSON object, or a string for text.
func checkReply(t *testing.T, g *wire.Gateway, q wire.Request, a wire.Reply, want jsontext.Value) {
	t.Helper()
	if want == nil {
		return
	}
	w := httptest.NewRecorder()
	g.Write(w, q, a)
	got, wantType := jsontext.Value(w.Body.Bytes()), "application/json; charset=utf-8"
	if want.Kind() == '"' {
		quoted, err := json.Marshal(w.Body.String())
		if err != nil {
			t.Fatal(err)
		}
		got, wantType = quoted, "text/plain; charset=utf-8"
	}
	if err := got.Compact(); err != nil {
		t.Fatalf("answer %s: %v", got, err)
	}
	_ = want.Compact() // it was parsed with the file
	if w.Code != 200 || w.Header().Get("Content-Type") != wantType || w.Header().Get("Cache-Control") != "no-store" || string(got) != string(want) {
		t.Errorf("answer = %d %v %s, want 200 %s %s", w.Code, w.Header(), got, wantType, want)
	}
}

func TestTakes(t *testing.T) {
	t.Parallel()
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{"": {false, true}, "get": {true, true}, "hubtel": {false, true}, "africastalking": {false, true}} {
		g := set.Get(name)
		if got := [2]bool{g.Takes("GET"), g.Takes("POST")}; got != want || g.Takes("PUT") {
			t.Errorf("%q takes GET, POST: %v, want %v", name, got, want)
		}
	}
	if set.Get("none") != nil || set.Get("debug") != nil {
		t.Error("Get() of no gateway is not nil")
	}
	for _, name := range []string{"nalo", "arkesel"} {
		if !set.Get(name).Unverified {
			t.Errorf("%s is not marked as unverified", name)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	at := set.Get("africastalking")
	full := "date=2026-11-15+10%3A00%3A00&sessionId=ATUid_1&serviceCode=*384%23&networkCode=63902&phoneNumber=%2B254700000001&status=Failed&cost=KES+1.50" +
		"&durationInMillis=41250&hopsCount=7&input=2*1*C1A2B3C4D*48213&lastAppResponse=CON+Enter+PIN&errorMessage=User+timed+out"
	e, err := wire.ReadEvent(post(formType, full), []byte(full), at)
	want := wire.Event{
		Gateway: "africastalking", SessionID: "ATUid_1", Phone: "+254700000001", ServiceCode: "*384#", Network: "63902", Status: "Failed",
		Cost: "KES 1.50", Duration: 41250 * time.Millisecond, Hops: 7, Error: "User timed out", At: "2026-11-15 10:00:00",
	}
	if err != nil || e != want {
		t.Errorf("ReadEvent() = %+v, %v, want %+v", e, err, want)
	}
	for body, ok := range map[string]bool{
		"sessionId=1&status=Success":                                       true,
		"sessionId=1&status=Success&durationInMillis=-5&hopsCount=many":    true,
		"sessionId=1&status=Success&durationInMillis=99999999999999999999": true,
		"sessionId=1":                                    false,
		"status=Success":                                 false,
		"sessionId=1&status=a%00":                        false,
		"sessionId=1&status=a&status=b":                  false,
		"sessionId=1&status=a&phoneNumber=5":             false,
		"sessionId=1&status=" + strings.Repeat("x", 201): false,
		"": false,
	} {
		e, err := wire.ReadEvent(post(formType, body), []byte(body), at)
		if (err == nil) != ok || e.Duration != 0 || e.Hops != 0 {
			t.Errorf("ReadEvent(%q) = %+v, %v, want ok %v", body, e, err, ok)
		}
	}
	if _, err := wire.ReadEvent(post(formType, full), []byte(full), set.Get("hubtel")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("ReadEvent() of a gateway without = %v, want invalid", err)
	}
	if !at.HasEvents() || set.Get("hubtel").HasEvents() {
		t.Error("HasEvents() is wrong")
	}
}

const minimal = "gateway: mine\nrequest:\n  format: json\n  session: s\n  phone: p\n  code: c\n  text: t\nreply:\n  format: text\n"

func TestParseProblems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"fine":            {minimal, ""},
		"syntax":          {"gateway: [", "f:1:"},
		"empty":           {"# nothing\n", "f:1:1: holds no gateway"},
		"unknown field":   {minimal + "colour: red\n", "f:10:1: colour: is not known here; want one of gateway, title,"},
		"name":            {strings.Replace(minimal, "mine", "My Gateway", 1), "f:1:10: gateway: want a name"},
		"reserved":        {strings.Replace(minimal, "mine", "debug", 1), "f:1:10: gateway: \"debug\" is a route"},
		"mode":            {minimal + "mode: both\n", "f:10:7: mode: want accumulated or latest"},
		"format":          {strings.Replace(minimal, "json", "xml", 1), "f:3:11: request.format: want json, form or query"},
		"no phone":        {strings.Replace(minimal, "  phone: p\n", "", 1), "request.phone: is needed"},
		"no session":      {strings.Replace(minimal, "  session: s\n", "", 1), "request.session: is needed"},
		"no code":         {strings.Replace(minimal, "  code: c\n", "", 1), "request.code: is needed"},
		"max text":        {minimal + "maxText: 5\n", "f:10:10: maxText: want 20"},
		"limits":          {minimal + "limits: {gsm7: 500}\n", "limits.gsm7: want 40 to 182"},
		"wrong type":      {minimal + "maxText: many\n", "f:10:10: "},
		"reply format":    {strings.Replace(minimal, "format: text", "format: html", 1), "f:9:11: reply.format: want text or json"},
		"text with body":  {minimal + "  body: {a: b}\n", "reply: a text reply"},
		"json incomplete": {strings.Replace(minimal, "format: text", "format: json", 1), "f:8:1: reply.continue: is needed"},
		"unknown slot": {
			strings.Replace(minimal, "format: text", "format: json\n  continue: 1\n  end: 0\n  body: {a: \"{text} {next} {name}\"}", 1),
			"f:12:13: reply.body.a: {name} is not known",
		},
		"echo not read": {
			strings.Replace(minimal, "format: text", "format: json\n  continue: 1\n  end: 0\n  body: {a: \"{text}\", b: \"{next}\", c: \"{echo.x}\"}", 1),
			"\"x\" is not in request.echo",
		},
		"start text":     {strings.Replace(minimal, "reply:", "  startText: d\nreply:", 1), "request.startText: needs request.kind"},
		"kind twice":     {strings.Replace(minimal, "reply:", "  kind: {field: k, start: [a, b], input: B}\nreply:", 1), "request.kind.input: \"b\" stands in two lists"},
		"no start":       {strings.Replace(minimal, "reply:", "  kind: {field: k, input: B}\nreply:", 1), "f:8:3: request.kind.start: is needed"},
		"country":        {strings.Replace(minimal, "reply:", "  numbers: {country: \"+254\"}\nreply:", 1), "request.numbers.country: want a country code"},
		"default code":   {strings.Replace(minimal, "reply:", "  default: {code: 384}\nreply:", 1), "request.default.code: want a service code"},
		"default id":     {strings.Replace(minimal, "reply:", "  default: {session: date}\nreply:", 1), "request.default.session: want phone"},
		"events":         {minimal + "events: {format: form, session: s}\n", "events.status: is needed"},
		"second is bad":  {minimal + "---\ngateway: 5x\n", "f:11:10: gateway: want a name"},
		"names of a map": {strings.Replace(minimal, "text: t", "text: {a: b}", 1), "want a word or a list of words"},
	} {
		list, err := wire.Parse("f", []byte(tt.in))
		if tt.want == "" {
			if err != nil || len(list) != 1 || list[0].Name != "mine" {
				t.Errorf("%s: Parse() = %v, %v", name, list, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Parse() = %v, want %q", name, err, tt.want)
		}
	}
}

// TestParseTellsAllAtOnce: every mistake of every document has a line of its
// own, at its place in the file, and none is told twice.
func TestParseTellsAllAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"three documents": {
			`gateway: one
mode: both
colour: red
request:
  format: xml
  phone: {a: b}
  text: t
  shape: x
reply: {format: text}
---
title: Two
maxText: many
unverified: perhaps
request: {format: json, session: s, phone: p, code: c}
reply:
  format: json
  body: word
---
gateway: three
request: [1]
`, `f:2:7: mode: want accumulated or latest
f:3:1: colour: is not known here; want one of gateway, title, unverified, mode, maxText, limits, request, reply, signature, events
f:4:1: request.session: is needed
f:4:1: request.code: is needed
f:5:11: request.format: want json, form or query
f:6:3: request.phone: want a word or a list of words
f:8:3: request.shape: is not known here; want one of format, session, phone, code, text, startText, dialled, step, echo, kind, numbers, default
f:11:1: gateway: is needed
f:12:10: maxText: want a whole number
f:13:13: unverified: want true or false
f:14:1: request.text: is needed
f:15:1: reply.continue: is needed
f:15:1: reply.end: is needed
f:17:9: reply.body: want members, each with its name
f:19:1: reply: is needed
f:20:10: request: want members, each with its name`,
		},
		"one member":      {"colour: red\n", "f:1:1: colour: is not known here; want one of gateway, title, unverified, mode, maxText, limits, request, reply, signature, events\nf:1:1: gateway: is needed\nf:1:1: request: is needed\nf:1:1: reply: is needed"},
		"no members":      {"word\n", "f:1:1: want members, each with its name"},
		"given twice":     {minimal + "mode: latest\nmode: both\nmaxText: 5\n", "f:11:1: mode: is given twice\nf:12:10: maxText: want 20 to 4000 characters"},
		"two of a name":   {minimal + "---\n" + minimal + "maxText: 5\n", "f:11:10: gateway: there are two gateways \"mine\"\nf:20:10: maxText: want 20 to 4000 characters"},
		"list in a list":  {strings.Replace(minimal, "text: t", "text: [a, [b]]", 1), "f:7:9: request.text: want a word or a list of words"},
		"what hides more": {"gateway: [\n---\nmode: both\n", "f:1:10: sequence end token ']' not found; the rest could not be looked at until this is mended"},
	} {
		if _, err := wire.Parse("f", []byte(tt.in)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: Parse() =\n%v\nwant\n%s", name, err, tt.want)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := file("one.yaml", minimal+"---\n"+strings.Replace(minimal, "mine", "hubtel", 1))
	for _, path := range []string{one, dir} {
		set, err := wire.Open(path)
		if err != nil || set.Get("mine") == nil || set.Get("hubtel").ContentType() != "text/plain; charset=utf-8" || set.Get("moolre") == nil {
			t.Errorf("Open(%s) = %v, want the shipped ones, mine and another hubtel", path, err)
		}
	}
	file("two.yml", strings.Replace(minimal, "mine", "Mine", 1))
	file("three.yaml", minimal)
	_, err := wire.Open(dir)
	for _, want := range []string{"two.yml:1:10: gateway: want a name", "three.yaml:1:10: gateway: there are two gateways \"mine\""} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open() = %v, want %q in it", err, want)
		}
	}
	if _, err := wire.Open(filepath.Join(dir, "none.yaml")); err == nil {
		t.Error("Open() of no file is no error")
	}
}
