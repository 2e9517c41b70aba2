package llm_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

func offlineTools() []tool.Spec {
	return []tool.Spec{
		{Name: "search_twins", Description: "Searches.", Schema: jsontext.Value(`{"type":"object","properties":{"query":{},"type":{},"name":{},"status":{},"in":{},"next":{}}}`)},
		{Name: "count_twins", Description: "Counts.", Schema: jsontext.Value(`{"type":"object","properties":{"type":{},"status":{},"in":{},"by":{}}}`)},
		{Name: "list_surveys", Description: "Lists.", Schema: jsontext.Value(`{"type":"object","properties":{"status":{}}}`)},
		{Name: "read_twin", Description: "Reads.", Schema: jsontext.Value(`{"type":"object","properties":{"did":{"type":"string"}}}`)},
		{Name: "fleet_usage", Description: "Adds up.", Schema: jsontext.Value(`{"type":"object","properties":{"project":{},"in":{}}}`)},
		{Name: "survey_statistics", Description: "Figures.", Schema: jsontext.Value(`{"type":"object","properties":{"survey":{"type":"string"},"question":{"type":"string"}}}`)},
		{Name: "sample_size", Description: "Sizes.", Schema: jsontext.Value(`{"type":"object","properties":{"population":{"type":"number"}}}`)},
		{Name: "survey_progress", Description: "Counts.", Schema: jsontext.Value(`{"type":"object","properties":{"survey":{"type":"string"}}}`)},
	}
}

func offline(t *testing.T, messages ...llm.Message) (heard, error) {
	t.Helper()
	var h heard
	err := llm.Offline{}.Stream(t.Context(), llm.Request{Messages: messages, Tools: offlineTools()}, h.take)
	return h, err
}

// Customers read nothing of models, tools or settings, and have no commands.
func TestOfflineForCustomers(t *testing.T) {
	t.Parallel()
	failed := llm.Message{Role: llm.Tool, ToolName: "count_twins", Content: "You have no right to see this.", Failed: true}
	for _, tt := range []struct {
		lang string
		last llm.Message
		want string
	}{
		{"en", llm.Message{Role: llm.User, Content: "/tool count_twins {}"}, "I cannot answer that here."},
		{"sw", llm.Message{Role: llm.User, Content: "/echo x"}, "Siwezi kujibu swali hilo hapa."},
		{"sw-KE", llm.Message{Role: llm.User, Content: "msaada"}, "Unaweza kuuliza: Onyesha majiko / Kuna majiko mangapi? / Majiko yanatumika kiasi gani?"},
		{"fr", llm.Message{Role: llm.User, Content: "help"}, "You can ask: List stoves / How many stoves are there? / How much are the stoves used?"},
		{"en", failed, "I could not look that up. Please try again later, or ask your agent."},
		{"sw", failed, "Sikuweza kupata jibu hilo. Tafadhali jaribu tena baadaye, au muulize wakala wako."},
		{"en", llm.Message{Role: llm.Tool, ToolName: "x", Content: "There are 7."}, "There are 7."},
	} {
		var h heard
		err := llm.Offline{}.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "x"}, tt.last}, Tools: offlineTools(), Customer: tt.lang}, h.take)
		if err != nil || !strings.HasPrefix(h.text, tt.want) || strings.Contains(h.text, "model") || len(h.calls) != 0 {
			t.Errorf("%s, %q: %+v, %v, want %q", tt.lang, tt.last.Content, h, err, tt.want)
		}
	}
	var bare heard
	if err := (llm.Offline{}).Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "Msaada!"}}, Customer: "sw"}, bare.take); err != nil || !strings.HasPrefix(bare.text, "Siwezi kujibu") {
		t.Errorf("help where there is nothing to ask: %+v, %v", bare, err)
	}
	var h heard
	if err := (llm.Offline{}).Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "Kuna kaya ngapi katika Kitui?"}}, Tools: offlineTools(), Customer: "sw"}, h.take); err != nil || len(h.calls) != 1 {
		t.Errorf("a plain question: %+v, %v", h, err)
	}
}

// TestOfflineCommands: capitals do not matter, as telephones set them, and what is no
// command is called that.
func TestOfflineCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ said, want string }{
		{"/Echo Hello", "Hello"},
		{"/echo\nHello", "Hello"},
		{"/tool\n", "Write /tool name {json}."},
		{"/weather Nairobi", "There is no command \"/weather\".\n\n"},
		{"/help", "I am the built-in offline model"},
		{"/", "There is no command \"/\".\n\n"},
	} {
		h, err := offline(t, llm.Message{Role: llm.User, Content: tt.said})
		if err != nil || !strings.HasPrefix(h.text, tt.want) {
			t.Errorf("%q: %q, %v, want %q", tt.said, h.text, err, tt.want)
		}
	}
}

func TestOfflineIntents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ said, call string }{
		{"list twins", `search_twins{}`},
		{"Please list all my twins.", `search_twins{}`},
		{"find twins named Amina", `search_twins{"name":"Amina"}`},
		{"Show me the stove twins", `search_twins{"type":"stove"}`},
		{"search for entities about clean cooking?", `search_twins{"name":"clean cooking"}`},
		{"list households", `search_twins{"type":"households"}`},
		{"Show me all active stoves in Kitui.", `search_twins{"in":"Kitui","status":"active","type":"stoves"}`},
		{"find stoves named Jiko", `search_twins{"name":"Jiko","type":"stoves"}`},
		{"how many stoves are active in Kitui?", `count_twins{"in":"Kitui","status":"active","type":"stoves"}`},
		{"How many twins are there?", `count_twins{}`},
		{"how many active households in Machakos County", `count_twins{"in":"Machakos County","status":"active","type":"households"}`},
		{"count twins by type", `count_twins{"by":"type"}`},
		{"count households by district", `count_twins{"by":"district","type":"households"}`},
		{"list surveys", `list_surveys{}`},
		{"show me the active surveys", `list_surveys{"status":"active"}`},
		{"more", ""},
		{"What is did:ixo:entity:0123456789abcdef0123456789abcdef?", `read_twin{"did":"did:ixo:entity:0123456789abcdef0123456789abcdef"}`},
		{"What does the survey baseline-2026 say about daily use?", `survey_statistics{"question":"daily use","survey":"baseline-2026"}`},
		{"show me the figures of survey north for fuel.", `survey_statistics{"question":"fuel","survey":"north"}`},
		{"How large a sample do I need for 5,000 households?", `sample_size{"population":5000}`},
		{"how big must a sample be for 120?", `sample_size{"population":120}`},
		{"progress of survey baseline-2026", `survey_progress{"survey":"baseline-2026"}`},
		{"What is the status of the campaign named north?", `survey_progress{"survey":"north"}`},
		{`/tool anything {"a": 1}`, `anything{"a": 1}`},
		{`/tool anything`, `anything{}`},
		{`/tools [{"name":"a","args":{"x":1}},{"name":"b"}]`, `a{"x":1} b{}`},
		{"help", ""},
		{"what is love", ""},
		{"/nonsense", ""},
		{"/tool", ""},
		{"/tools x", ""},
		{"", ""},
	} {
		h, err := offline(t, llm.Message{Role: llm.User, Content: tt.said})
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		for _, c := range h.calls {
			calls = append(calls, c.Name+string(c.Args))
		}
		if got := strings.Join(calls, " "); got != tt.call {
			t.Errorf("%q calls %q, want %q", tt.said, got, tt.call)
		}
		if tt.call == "" && h.text == "" {
			t.Errorf("%q gets no answer", tt.said)
		}
	}
}

// A table has no two columns of the same heading: one that says nothing else is left
// out, and one that does says what it is of.
func TestTableHeadings(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"twins":[{"did":"did:x:1","name":"Amina","properties":{"name":"Amina"}},{"did":"did:x:2","name":"Baraka"}]}`:        "| Name ",
		`{"twins":[{"did":"did:x:1","name":"Amina","properties":{"name":"Amina K."}},{"did":"did:x:2","name":"Baraka"}]}`:     "| Properties name |",
		`{"twins":[{"did":"did:x:1","a":{"size":"1"},"b":{"size":"2"}},{"did":"did:x:2","a":{"size":"1"},"b":{"size":"2"}}]}`: "| B size |",
	} {
		h, err := offline(t, llm.Message{Role: llm.User, Content: "list twins"}, llm.Message{Role: llm.Tool, ToolName: "search_twins", Content: content})
		head, _, _ := strings.Cut(h.text[max(strings.Index(h.text, "|"), 0):], "\n")
		if err != nil || !strings.Contains(head, want) || strings.Count(head, "| Name ") > 1 || strings.Count(head, "| Size ") > 1 {
			t.Errorf("%s\nhas the columns %s, %v, want %q", content, head, err, want)
		}
	}
}

func TestOfflineSaysWhatItIs(t *testing.T) {
	t.Parallel()
	h, err := offline(t, llm.Message{Role: llm.System, Content: "x"}, llm.Message{Role: llm.User, Content: "hello"})
	if err != nil || !strings.Contains(h.text, "offline model") || !strings.Contains(h.text, "not a language model") || !strings.Contains(h.text, "search_twins") {
		t.Errorf("heard %q, %v", h.text, err)
	}
	if words := len(strings.SplitAfter(h.text, " ")); h.deltas != words+1 {
		t.Errorf("%d deltas, want one for each of %d words and the end", h.deltas, words)
	}
	again, _ := offline(t, llm.Message{Role: llm.System, Content: "x"}, llm.Message{Role: llm.User, Content: "hello"})
	if again.text != h.text {
		t.Error("the same question got another answer")
	}
	h, err = offline(t, llm.Message{Role: llm.User, Content: "/tools"}, llm.Message{Role: llm.Assistant},
		llm.Message{Role: llm.Tool, ToolName: "a", Content: "found 3"}, llm.Message{Role: llm.Tool, ToolName: "b", Content: "no such twin", Failed: true})
	if err != nil || !strings.Contains(h.text, "a answered:\nfound 3") || !strings.Contains(h.text, "b failed: no such twin") {
		t.Errorf("heard %q, %v", h.text, err)
	}
}

func TestOfflineGoesOn(t *testing.T) {
	t.Parallel()
	h, err := offline(t, llm.Message{Role: llm.User, Content: "list households"},
		llm.Message{Role: llm.Assistant, ToolCalls: []tool.Call{{ID: "c1", Name: "search_twins", Args: jsontext.Value(`{"type":"households"}`)}}},
		llm.Message{Role: llm.Tool, ToolCallID: "c1", ToolName: "search_twins", Content: `{"twins":[],"more":true,"next":"42"}`},
		llm.Message{Role: llm.Assistant, Content: "…"}, llm.Message{Role: llm.User, Content: "More!"})
	if err != nil || len(h.calls) != 1 || h.calls[0].Name != "search_twins" || string(h.calls[0].Args) != `{"next":"42","type":"households"}` {
		t.Errorf("calls = %v, %v; want the same search from 42", h.calls, err)
	}
}

// When the last answer was whole, or there was none, more is none.
func TestOfflineHasNoMore(t *testing.T) {
	t.Parallel()
	for _, before := range [][]llm.Message{
		nil,
		{
			{Role: llm.User, Content: "list households"},
			{Role: llm.Assistant, ToolCalls: []tool.Call{{ID: "c1", Name: "search_twins", Args: jsontext.Value(`{}`)}}},
			{Role: llm.Tool, ToolCallID: "c1", ToolName: "search_twins", Content: `{"twins":[],"more":false}`},
			{Role: llm.Assistant, Content: "…"},
		},
	} {
		h, err := offline(t, append(before, llm.Message{Role: llm.User, Content: "more"})...)
		if err != nil || len(h.calls) != 0 || !strings.HasPrefix(h.text, "There is nothing more to show") {
			t.Errorf("after %d messages: heard %q, %v, %v", len(before), h.text, h.calls, err)
		}
	}
}

func TestOfflineShowsTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, want string }{
		{"no object", "found 3", "found 3"},
		{"count", `{"count":10000,"moreThan":true,"how":"all twins"}`, "More than 10000 (all twins)."},
		{"groups", `{"count":3,"how":"x","groups":[{"value":"Stove","count":2},{"value":"Household","count":1}]}`, "3 (x).\n\nGroups:\n\n" +
			"| Value     | Count |\n| --------- | ----- |\n| Stove     | 2     |\n| Household | 1     |"},
		{"twins", `{"more":true,"next":"7","twins":[{"did":"did:ixo:entity:0123456789abcdef0123456789abcdef","properties":{"name":"A|B"}}]}`, "Twins:\n\n" +
			"| Name | DID                                             |\n| ---- | ----------------------------------------------- |\n| A/B  | did:ixo:entity:0123456789abcdef0123456789abcdef |\n\n" + `There are more: say "more".`},
		{"figures", `{"cookingHours":0.5,"links":{"self":"/x"},"services":[],"byStratum":{"Kitui":{"drawn":4}}}`, "- Cooking hours: 0.5\n\nBy stratum:\n\n| What  | Drawn |\n| ----- | ----- |\n| Kitui | 4     |"},
	} {
		h, err := offline(t, llm.Message{Role: llm.User, Content: "x"}, llm.Message{Role: llm.Assistant}, llm.Message{Role: llm.Tool, ToolName: "a", Content: tt.content})
		if err != nil || !strings.HasPrefix(h.text, tt.want+"\n\nLooked up with a ") {
			t.Errorf("%s: heard %q, %v, want first %q", tt.name, h.text, err, tt.want)
		}
	}
}

func TestOfflineSaysWhatItDidNotUnderstand(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{"what is love": true, "help": false, "Help!": false, "": false} {
		h, err := offline(t, llm.Message{Role: llm.User, Content: said})
		if err != nil || strings.HasPrefix(h.text, "I did not understand "+strconv.Quote(said)) != want {
			t.Errorf("%q: heard %q, %v, want that it was not understood: %v", said, h.text, err, want)
		}
	}
}

// The questions that the console suggests are understood in both its languages.
func TestOfflineUnderstandsKiswahili(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Utafiti umefika wapi?":                                 "survey_progress {}",
		"Utafiti demo-monitoring unasema nini kuhusu matumizi?": `survey_statistics {"question":"matumizi","survey":"demo-monitoring"}`,
		"Ninahitaji sampuli ya kaya ngapi kati ya 5000?":        `sample_size {"population":5000}`,

		"Majiko yanatumika kiasi gani?":   `fleet_usage {}`,
		"Kuna kaya ngapi?":                `count_twins {"type":"households"}`,
		"majiko ngapi yapo katika Kitui?": `count_twins {"in":"Kitui","type":"stoves"}`,
		"Orodhesha tafiti":                "list_surveys {}",
		"Onyesha kaya zote huko Kwale":    `search_twins {"in":"Kwale","type":"households"}`,
		"Kuna majiko mangapi?":            `count_twins {"type":"stoves"}`,
		"Kuna mapenzi ngapi?":             "",
	} {
		h, err := offline(t, llm.Message{Role: llm.User, Content: said})
		got := ""
		if len(h.calls) == 1 {
			got = h.calls[0].Name + " " + string(h.calls[0].Args)
		}
		if err != nil || got != want {
			t.Errorf("%s: called %q, said %q, %v; want %q", said, got, h.text, err, want)
		}
	}
	if h, err := offline(t, llm.Message{Role: llm.User, Content: "Msaada"}); err != nil || !strings.HasPrefix(h.text, "Mimi ni modeli") || !strings.HasSuffix(h.text, ".") || !strings.Contains(h.text, "Zana: ") || strings.Contains(h.text, "I understand") {
		t.Errorf("heard %q, %v", h.text, err)
	}
}

func TestOfflineTitlesAndSummaries(t *testing.T) {
	t.Parallel()
	var title, summary heard
	said := []llm.Message{{Role: llm.User, Content: strings.Repeat("How many stoves are there? ", 10)}}
	if err := (llm.Offline{}).Stream(t.Context(), llm.Request{Messages: said, Purpose: llm.Title}, title.take); err != nil {
		t.Fatal(err)
	}
	if n := len([]rune(title.text)); n > 60 || !strings.HasPrefix(title.text, "How many stoves") {
		t.Errorf("title = %q", title.text)
	}
	if err := (llm.Offline{}).Stream(t.Context(), llm.Request{Messages: said, Purpose: llm.Summary}, summary.take); err != nil || !strings.Contains(summary.text, "left out") {
		t.Errorf("summary = %q, %v", summary.text, err)
	}
}

func TestOfflineSlowCanBeStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		var h heard
		err := llm.Offline{}.Stream(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "/slow 100ms 50"}}}, h.take)
		if !errors.Is(err, context.DeadlineExceeded) || h.text != "word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 " {
			t.Errorf("heard %q, %v", h.text, err)
		}
	})
}

func TestOfflineFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  string
		shown llm.Kind
		again bool
	}{
		{"rate_limit", llm.RateLimit, true},
		{"server", llm.Server, true},
		{"network", llm.Network, true},
		{"timeout", llm.Timeout, true},
		{"billing", llm.Unknown, false},
		{"auth", llm.Unknown, false},
		{"x", llm.Unknown, false},
	} {
		_, err := offline(t, llm.Message{Role: llm.User, Content: "/fail " + tt.kind})
		if f := llm.Explain(err); f.Kind != tt.shown || f.Retryable != tt.again || f.Text == "" || f.Detail == "" {
			t.Errorf("%s is explained as %+v", tt.kind, f)
		}
	}
	if f := llm.Explain(errors.New("pq: password authentication failed")); f.Kind != llm.Unknown || strings.Contains(f.Text+f.Detail, "pq") {
		t.Errorf("an unknown error is explained as %+v", f)
	}
	if f := llm.Explain(context.DeadlineExceeded); f.Kind != llm.Timeout {
		t.Errorf("a deadline is explained as %+v", f)
	}
}
