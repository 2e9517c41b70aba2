package web_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

type said struct {
	Text string         `json:"text" doc:"The words."`
	More jsontext.Value `json:"more,omitzero"`
}

var talk = web.Channel{
	Name: "talk", Address: "/talk/{id}", Title: "Talk", About: "Words.",
	Sent:  []web.Message{{Name: "said", About: "Somebody spoke.", Payload: said{}}, {Name: "status", About: "How it is."}},
	Taken: []web.Message{{Name: "status", About: "Ask how it is."}},
}

// TestChannelDocument follows every reference of the document, and wants both
// sides of a name that both use.
func TestChannelDocument(t *testing.T) {
	t.Parallel()
	text, err := web.ChannelDocument("Test", "1", talk)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	follow(t, root, root)
	for _, want := range []string{
		`"asyncapi":"3.0.0"`, `"talk.send"`, `"talk.receive"`, `"talk.status"`, `"talk.client.status"`, `"parameters":{"id":{}}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %s: %s", want, text)
		}
	}
}

// follow looks for what every $ref below n points to.
func follow(t *testing.T, root, n any) {
	t.Helper()
	switch v := n.(type) {
	case []any:
		for _, one := range v {
			follow(t, root, one)
		}
	case map[string]any:
		if to, is := v["$ref"].(string); is {
			at := root
			for name := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
				object, _ := at.(map[string]any)
				at = object[name]
			}
			if at == nil {
				t.Errorf("%s points to nothing", to)
			}
		}
		for _, one := range v {
			follow(t, root, one)
		}
	}
}

// TestChannelCheck shows that the check of the tests finds what differs from
// the document.
func TestChannelCheck(t *testing.T) {
	t.Parallel()
	c := webtest.NewChannel(t, talk)
	for _, tt := range []struct {
		name, payload string
		ok            bool
	}{
		{"said", `{"text":"a","more":[1]}`, true},
		{"said", `{"text":"a"}`, true},
		{"status", `[1,2]`, true},
		{"said", `{}`, false},
		{"said", `{"text":1}`, false},
		{"said", `{"text":"a","secret":"b"}`, false},
		{"shouted", `{"text":"a"}`, false},
	} {
		if err := c.Check(tt.name, []byte(tt.payload)); (err == nil) != tt.ok {
			t.Errorf("%s %s: %v, want ok %v", tt.name, tt.payload, err, tt.ok)
		}
	}
}

func TestChannelPage(t *testing.T) {
	t.Parallel()
	got := string(web.ChannelPage(talk))
	for _, want := range []string{"## Talk", "| `said` | Somebody spoke. | `more`?, `text` (The words) |", "### Clients send", "| `status` | Ask how it is. | anything |"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}
