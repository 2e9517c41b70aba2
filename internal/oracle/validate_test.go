package oracle_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

// refused is a refusal as the published client reads it.
type refused struct {
	Status  int    `json:"statusCode"`
	Message any    `json:"message"`
	Error   string `json:"error"`
}

func readRefusal(t testing.TB, g got) refused {
	t.Helper()
	var r refused
	if err := json.Unmarshal([]byte(g.body), &r); err != nil {
		t.Fatalf("%d %s: %v", g.status, g.body, err)
	}
	if r.Status != g.status {
		t.Errorf("statusCode %d in the body of a %d", r.Status, g.status)
	}
	return r
}

func lines(message any) []string {
	var out []string
	list, _ := message.([]any)
	for _, one := range list {
		out = append(out, fmt.Sprint(one))
	}
	return out
}

// repeat is n copies of item in a JSON array.
func repeat(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// TestMessageTexts holds every text of a refused message. The session does not
// exist: a message that passes is refused with 404.
func TestMessageTexts(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	const file = `{"mxcUri":"mxc://a/b","filename":"f","mimetype":"m"}`
	for _, tt := range []struct {
		body string
		want []string // nothing: it passes
	}{
		{`{"message":"hi"}`, nil},
		{`{"message":" "}`, nil},
		{`{}`, []string{"message should not be empty", "message must be a string"}},
		{`{"message":""}`, []string{"message should not be empty"}},
		{`{"message":null}`, []string{"message should not be empty", "message must be a string"}},
		{`{"message":5}`, []string{"message must be a string"}},
		{`{"message":"x","foo":1}`, []string{"property foo should not exist"}},
		{`{"message":"x","b":1,"a":1}`, []string{"property a should not exist", "property b should not exist"}},
		{`{"Message":"x"}`, []string{"property Message should not exist", "message should not be empty", "message must be a string"}},
		{`{"message":"x","stream":"yes"}`, []string{"stream must be a boolean value"}},
		{`{"message":"x","stream":1,"returnAllMessages":"no"}`, []string{"stream must be a boolean value", "returnAllMessages must be a boolean value"}},
		{`{"message":"x","stream":null,"model":null,"tools":null,"metadata":null}`, nil},
		{`{"message":"x","model":5}`, []string{"model must be a string"}},
		{`{"message":"x","timezone":1,"homeServer":[]}`, []string{"timezone must be a string", "homeServer must be a string"}},
		{`{"message":"x","metadata":"m"}`, []string{"metadata must be an object"}},
		{`{"message":"x","metadata":[]}`, []string{"metadata must be an object"}},
		{`{"message":"x","metadata":{"editorRoomId":"!r","anything":[1]}}`, nil},
		{`{"message":"x","tools":{}}`, []string{"tools must be an array"}},
		{`{"message":"x","tools":[1]}`, []string{"each value in nested property tools must be either object or array"}},
		{`{"message":"x","tools":[{"name":"a","description":"d","schema":"s"}]}`, []string{"tools.0.schema must be an object"}},
		{`{"message":"x","tools":[{"name":"a","description":"d","schema":{}}]}`, nil},
		{`{"message":"x","tools":[{"name":"a","description":"d","schema":{"$schema":"http://json-schema.org/draft-07/schema#"}}]}`, nil},
		{`{"message":"x","tools":[{"name":"a","description":"d","schema":{}},{}]}`, []string{
			"tools.1.name should not be empty", "tools.1.name must be a string", "tools.1.description should not be empty",
			"tools.1.description must be a string", "tools.1.schema should not be empty", "tools.1.schema must be an object",
		}},
		{`{"message":"x","tools":[{"name":"a","description":"d","schema":{},"hasRender":true}]}`, []string{"tools.0.property hasRender should not exist"}},
		{`{"message":"x","agActions":[{"name":"a","description":"d","schema":{},"hasRender":true}]}`, nil},
		{`{"message":"x","tools":[{"name":"a b","description":"d","schema":{"a":1}}],"agActions":[{"name":"a_b","description":"d","schema":{}}]}`, []string{`agActions.0.name is taken by another tool: a_b`}},
		{`{"message":"x","agActions":[{"name":"","description":"","schema":[],"hasRender":"y"}]}`, []string{
			"agActions.0.name should not be empty", "agActions.0.description should not be empty",
			"agActions.0.schema must be an object", "agActions.0.hasRender must be a boolean value",
		}},
		{`{"message":"x","attachments":` + repeat(10, file) + `}`, nil},
		{`{"message":"x","attachments":` + repeat(11, file) + `}`, []string{"attachments must contain no more than 10 elements"}},
		{`{"message":"x","attachments":[{"filename":"f","mimetype":"m"}]}`, []string{"attachments.0.Either mxcUri or eventId must be provided"}},
		{`{"message":"x","attachments":[{"eventId":"$e","filename":"f","mimetype":"m","size":5}]}`, nil},
		{`{"message":"x","attachments":[{"mxcUri":"https://h/x","filename":"f","mimetype":"m"}]}`, nil},
		{`{"message":"x","attachments":[{"mxcUri":"ftp://h/x","filename":"f","mimetype":"m"}]}`, []string{"attachments.0.mxcUri must match ^(mxc|https?)://.+ regular expression"}},
		{`{"message":"x","attachments":[{"eventId":"e","filename":"f","mimetype":"m"}]}`, []string{`attachments.0.eventId must match ^\$.+ regular expression`}},
		{`{"message":"x","attachments":[{"eventId":"$e","filename":"` + strings.Repeat("é", 256) + `","mimetype":"m"}]}`, []string{"attachments.0.filename must be shorter than or equal to 255 characters"}},
		{`{"message":"x","attachments":[{"eventId":"$e","size":"5"}]}`, []string{
			"attachments.0.filename should not be empty", "attachments.0.filename must be a string", "attachments.0.mimetype should not be empty",
			"attachments.0.mimetype must be a string", "attachments.0.size must be a number conforming to the specified constraints",
		}},
		{`{"message":"x","mcpInvocations":[]}`, []string{"mcpInvocations must be an object"}},
		{`{"message":"x","mcpInvocations":{"a":1}}`, []string{"mcpInvocations.a must be a string"}},
		{`{"message":"x","mcpInvocations":{"a":"x"}}`, []string{"mcpInvocations.a must be a base64 encoded CAR of a UCAN invocation"}},
		{`{"message":"x","mcpInvocations":{}}`, nil},
		{`{"message":5,"stream":5,"foo":5}`, []string{"property foo should not exist", "message must be a string", "stream must be a boolean value"}},
	} {
		t.Run(tt.body[:min(len(tt.body), 60)], func(t *testing.T) {
			t.Parallel()
			g := h.do(u, "POST", "/messages/$nowhere", tt.body)
			r := readRefusal(t, g)
			if tt.want == nil {
				if g.status != http.StatusNotFound || r.Message != "Session not found" || r.Error != "Not Found" {
					t.Errorf("got %d %s, want it to pass", g.status, g.body)
				}
				return
			}
			if have := lines(r.Message); g.status != http.StatusBadRequest || !slices.Equal(have, tt.want) || r.Error != "Bad Request" {
				t.Errorf("got %d %q\nwant %q", g.status, have, tt.want)
			}
		})
	}
}

func TestManyUnknownMembers(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	var b strings.Builder
	b.WriteString(`{"message":"x"`)
	for i := range 2000 {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	g := h.do(u, "POST", "/messages/x", b.String()+`,"`+strings.Repeat("n", 9000)+`":1}`)
	if g.status != 400 || len(g.body) > 4000 {
		t.Errorf("got %d with %d bytes", g.status, len(g.body))
	}
}

// TestBodies: what comes before everything else, with tokens and without.
func TestBodies(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	deep := `{"message":"x","metadata":` + strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70) + "}"
	for _, tt := range []struct {
		name, media, body string
		who               *user
		status            int
		want              string
	}{
		{"broken JSON before 401", "application/json", `{"message":`, nil, 400, `{"message":"Unexpected end of JSON input","error":"Bad Request","statusCode":400}`},
		{"no JSON", "application/json", `hello`, u, 400, `"error":"Bad Request"`},
		{"a text", "application/json", `"hello"`, u, 400, `The body must be a JSON object`},
		{"a list", "application/json", `[]`, u, 400, `The body must be a JSON object`},
		{"null", "application/json", `null`, u, 400, `The body must be a JSON object`},
		{"twice", "application/json", `{"message":"a","message":"b"}`, u, 400, `appears twice`},
		{"twice inside", "application/json", `{"message":"a","metadata":{"x":1,"x":2}}`, u, 400, `appears twice`},
		{"trailing", "application/json", `{"message":"a"} x`, u, 400, `not valid JSON at position`},
		{"bad UTF-8", "application/json", "{\"message\":\"\xff\"}", u, 400, `not valid JSON`},
		{"a zero character", "application/json", `{"message":"a\u0000"}`, u, 400, `U+0000`},
		{"too deep", "application/json", deep, u, 400, `deeper than 64 levels`},
		{"too large before 401", "application/json", `{"message":"` + strings.Repeat("x", 102400) + `"}`, nil, 413, `{"message":"request entity too large","statusCode":413}`},
		{"as large as can be", "application/json", `{"message":"` + strings.Repeat("x", 102400-14) + `"}`, u, 404, `Session not found`},
		{"a form", "application/x-www-form-urlencoded", `message=hi`, u, 404, `Session not found`},
		{"a form with a flag", "application/x-www-form-urlencoded", `message=hi&stream=true`, u, 400, `["stream must be a boolean value"]`},
		{"a broken form", "application/x-www-form-urlencoded", `message=%zz`, u, 400, `The form cannot be read`},
		{"a form that is no text", "application/x-www-form-urlencoded", `message=%ff`, u, 400, `not valid UTF-8`},
		{"plain text counts as nothing", "text/plain", `{"message":"hi"}`, u, 400, `["Content-Type must be application/json","message should not be empty","message must be a string"]`},
		{"no type", "", `{"message":"hi"}`, u, 400, `["Content-Type must be application/json",`},
		{"no type that can be read", "json/", `{"message":"hi"}`, u, 400, `["Content-Type must be application/json",`},
		{"plain text without anything", "text/plain", ` `, u, 400, `"message":["message should not be empty"`},
		{"nothing", "application/json", ``, u, 400, `message should not be empty`},
		{"another charset", "application/json; charset=latin1", `{"message":"hi"}`, u, 415, `unsupported charset`},
		{"the usual charset", "application/json; charset=UTF-8", `{"message":"hi"}`, u, 404, `Session not found`},
		{"good body without tokens", "application/json", `{"message":"hi"}`, nil, 401, `Missing UCAN authentication`},
		{"bad values without tokens", "application/json", `{"message":5}`, nil, 401, `Missing UCAN authentication`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := h.do(tt.who, "POST", "/messages/$nowhere", tt.body, "Content-Type", tt.media)
			if g.status != tt.status || !strings.Contains(g.body, tt.want) {
				t.Errorf("got %d %s, want %d %s", g.status, g.body, tt.status, tt.want)
			}
			readRefusal(t, g)
		})
	}
}

func TestOtherTexts(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	s := h.session(u)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/messages/abort", `{}`, 400, `["sessionId should not be empty","sessionId must be a string"]`},
		{"POST", "/messages/abort", `{"sessionId":""}`, 400, `["sessionId should not be empty"]`},
		{"POST", "/messages/abort", `{"sessionId":5}`, 400, `["sessionId must be a string"]`},
		{"POST", "/messages/abort", `{"sessionId":"x","y":1}`, 400, `["property y should not exist"]`},
		{"POST", "/messages/abort", `{"sessionId":"x"}`, 200, `{"success":false}`},
		{"POST", "/delegation", `{}`, 400, `["raw should not be empty","raw must be a string"]`},
		{
			"POST", "/delegation", `{"raw":"x","expiration":"soon","issuer":1,"audience":1,"z":1}`, 400,
			`["property z should not exist","issuer must be a string","audience must be a string","expiration must be a number conforming to the specified constraints"]`,
		},
		{"POST", "/delegation", `{"raw":"not-a-ucan","expiration":4102444800}`, 400, `["raw must be a base64 encoded CAR of a UCAN delegation"]`},
		{"GET", "/sessions?limit=abc", "", 400, `["limit must be an integer number"]`},
		{"GET", "/sessions?limit=-1", "", 400, `["limit must not be less than 1"]`},
		{"GET", "/sessions?limit=1.5&offset=-2", "", 400, `["limit must be an integer number","offset must not be less than 0"]`},
		{"GET", "/sessions?limit=1001", "", 400, `["limit must not be greater than 1000"]`},
		{"GET", "/sessions?limit=99999999999999999999", "", 400, `["limit must be an integer number"]`},
		{"GET", "/sessions?limit=0&offset=", "", 200, `"total":1`},
		{"GET", "/sessions?limit=1000", "", 200, `"total":1`},
		{"GET", "/sessions/" + s + "/messages?limit=101", "", 400, `["limit must not be greater than 100"]`},
		{"GET", "/sessions/" + s + "/messages?before=1&after=1", "", 400, `before and after must not be given together`},
		{"GET", "/sessions/" + s + "/messages?before=zz", "", 400, `"statusCode":400`},
		{"GET", "/runs/run_x?after=x", "", 400, `["after must be an integer number"]`},
		{"GET", "/runs/run_x?after=-1", "", 400, `["after must be an integer number"]`},
		{"GET", "/runs/run_x", "", 404, `{"message":"Run not found","error":"Not Found","statusCode":404}`},
	} {
		g := h.do(u, tt.method, tt.path, tt.body)
		if g.status != tt.status || !strings.Contains(g.body, tt.want) {
			t.Errorf("%s %s %s:\ngot %d %s\nwant %d %s", tt.method, tt.path, tt.body, g.status, g.body, tt.status, tt.want)
		}
	}
	for _, path := range []string{"/delegation", "/messages/abort"} {
		g := h.do(u, "POST", path, `{"raw":"x","sessionId":"x"}`, "Content-Type", "text/plain")
		if g.status != 400 || !strings.Contains(g.body, `["Content-Type must be application/json",`) {
			t.Errorf("POST %s of plain text: got %d %s", path, g.status, g.body)
		}
	}
	if g := h.do(u, "GET", "/runs/run_x", "", "Last-Event-ID", "x"); g.status != 400 || !strings.Contains(g.body, "Last-Event-ID must be an integer number") {
		t.Errorf("bad Last-Event-ID: got %d %s", g.status, g.body)
	}
	if g := h.do(u, "POST", "/messages/"+s, `{"message":"x"}`, "Idempotency-Key", strings.Repeat("k", 256)); g.status != 400 {
		t.Errorf("long Idempotency-Key: got %d %s", g.status, g.body)
	}
}
