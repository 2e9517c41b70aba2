package extend_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// bell is a plugin with events of a known form.
type bell struct {
	sample
	typed []plugin.Event
}

var _ plugin.TypedEvents = (*bell)(nil)

func (b *bell) TypedEvents() []plugin.Event { return b.typed }

func TestTypedEvents(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]plugin.Event{
		"there is no description": {Name: "x", Schema: `{"type":"object"}`},
		"event y: ":               {Name: "y", Description: "d", Schema: `[]`},
	} {
		if _, err := extend.New(extend.Config{Plugins: []plugin.Plugin{&bell{sample{about: about("a")}, []plugin.Event{e}}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() = %v, want %q in it", err, want)
		}
	}
	var host plugin.Host
	rung := plugin.Event{Name: "bell.rung", Description: "Somebody has rung.", Schema: `{"type":"object","additionalProperties":false,"required":["times"],"properties":{"times":{"type":"integer"}}}`}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{&bell{sample{about: about("a"), events: []string{"loose"}, start: func(h plugin.Host) error { host = h; return nil }}, []plugin.Event{rung}}}})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Events(), " "); got != "loose bell.rung" {
		t.Errorf("the catalogue is %s", got)
	}
	var sent []string
	ctx := tool.With(t.Context(), tool.Context{User: "did:key:a", SessionID: "$1", Emit: func(event string, _ any) { sent = append(sent, event) }})
	for _, tt := range []struct {
		event   string
		payload any
		want    string
	}{
		{"bell.rung", map[string]any{"times": 2}, ""},
		{"bell.rung", map[string]any{"times": "two"}, "event bell.rung: the payload: The arguments do not fit the schema: /times: got string, want integer."},
		{"bell.rung", map[string]any{"times": 2, "who": "x"}, "additional properties"},
		{"loose", map[string]any{"anything": true}, ""},
	} {
		err := host.Emit(ctx, tt.event, tt.payload)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Emit(%s, %v) = %v, want %q", tt.event, tt.payload, err, tt.want)
		}
	}
	if strings.Join(sent, " ") != "bell.rung loose" {
		t.Errorf("the pages heard %v", sent)
	}
	doc, err := web.ChannelDocument("x", "1", web.Channel{Name: "sockets", Sent: s.Messages()})
	page := string(web.ChannelPage(web.Channel{Name: "sockets", Sent: s.Messages()}))
	if err != nil || !strings.Contains(string(doc), `"times":{"type":"integer"}`) || !strings.Contains(string(doc), `"sessionId"`) || !strings.Contains(page, "`requestId`, `sessionId`, `times`") {
		t.Errorf("the reference says %s, %v\n%s", doc, err, page)
	}
}
