// Package memory is the plugin memory: what a user has asked the oracle to remember
// across all conversations. The model writes, finds and forgets memories with tools, and
// is told the newest before each answer; users see and delete them with GET and DELETE
// /memory.
//
// Memories belong to one user, are sealed and are removed with an erasure. The model
// receives them as data: they change no rule and give no right. A search reads the
// memories of one user, whose number is bounded, and nothing else.
package memory

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Limits of the plugin.
const (
	maxText  = 500 // characters of a memory
	maxKept  = 500 // memories of a user
	maxQuery = 200 // characters of a query
	maxPage  = 100
	usual    = 20   // memories of a page, and of those told to the model before an answer
	maxTold  = 6000 // bytes of the latter
)

// Plugin is the plugin memory.
type Plugin struct {
	store plugin.Store
	box   plugin.Box
	now   func() time.Time
}

var (
	_ plugin.Seals   = (*Plugin)(nil)
	_ plugin.Starts  = (*Plugin)(nil)
	_ plugin.Prompts = (*Plugin)(nil)
	_ plugin.Tools   = (*Plugin)(nil)
	_ plugin.Routes  = (*Plugin)(nil)
)

// New makes the plugin.
func New() *Plugin { return &Plugin{now: time.Now} }

// Manifest describes the plugin.
func (p *Plugin) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "memory", Version: "1.0.0", Title: "Memory", Summary: "Remembers what a user wants it to, over all conversations.",
		WhenToUse:    []string{"The user asks to remember or to forget something.", "A question may be answered by what the user said in an earlier conversation."},
		WhenNotToUse: []string{"What this conversation holds already.", "How the user wants to be addressed: those are preferences."},
		Examples:     []plugin.Example{{User: "Remember that the pilot is in Kitui", Tool: "remember", Args: `{"text":"The pilot is in Kitui."}`}},
		Tags:         []string{"memory"}, Visibility: plugin.Always,
	}
}

// SetBox sets the box that seals memories.
func (p *Plugin) SetBox(b plugin.Box) { p.box = b }

// Start keeps the host's store.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.store = plugin.Sealed(host.Store, p.box)
	return nil
}

// Prompt tells the model the newest memories.
func (p *Plugin) Prompt(ctx context.Context, _ plugin.Turn) (string, error) {
	found, err := p.read(ctx, "", usual+1)
	if err != nil || len(found) == 0 {
		return "", err
	}
	about := "What the user has asked you to remember, newest first"
	if len(found) > usual {
		found, about = found[:usual], about+"; there is more, which recall finds"
	}
	var texts []string
	size := 0
	for _, m := range found {
		if size += len(m.Text); size > maxTold {
			break
		}
		texts = append(texts, m.Text)
	}
	return plugin.Data(about, texts)
}

// Tools are the tools of the model.
func (p *Plugin) Tools() []plugin.Tool {
	return []plugin.Tool{
		{
			Name: "remember", Run: p.remember,
			Description: "Remember something for all later conversations with this user, as one sentence that can be understood by itself. Only when the user asks for it.",
			Schema:      `{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string","minLength":1,"maxLength":500}}}`,
		},
		{
			Name: "recall", Run: p.recall, ReadOnly: true, Output: pageSchema,
			Description: "Find what the user has asked you to remember, by words. The best come first.",
			Schema:      `{"type":"object","additionalProperties":false,"required":["query"],"properties":{"query":{"type":"string","minLength":1,"maxLength":200},"limit":{"type":"integer","minimum":1,"maximum":100}}}`,
		},
		{
			Name: "list_memories", Run: p.list, ReadOnly: true, Output: pageSchema,
			Description: "List what the user has asked you to remember, newest first, a page at a time.",
			Schema:      `{"type":"object","additionalProperties":false,"properties":{"cursor":{"type":"string","maxLength":40,"description":"nextCursor of the page before."},"limit":{"type":"integer","minimum":1,"maximum":100}}}`,
		},
		{
			Name: "forget", Run: p.forget,
			Description: "Forget memories by the ids that recall and list_memories give. Only when the user asks for it.",
			Schema:      `{"type":"object","additionalProperties":false,"required":["ids"],"properties":{"ids":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","maxLength":40}}}}`,
		},
	}
}

// Routes are the routes for programs.
func (p *Plugin) Routes() []plugin.Route {
	return []plugin.Route{
		{
			Method: "GET", Path: "/memory", Personal: true, Summary: "List what the oracle remembers of you", Answer: api.Page[api.Memory]{},
			Description: "The newest come first; with `query` the best matches come first, and there is only one page.",
			Query: []plugin.Param{
				{Name: "query", Doc: "Words to look for, at most 200 characters."},
				{Name: "limit", Doc: "Memories in a page, 1 to 100; 20 by default.", Example: "20"},
				{Name: "cursor", Doc: "nextCursor of the page before."},
			},
			Serve: p.serveList,
		},
		{
			Method: "DELETE", Path: "/memory/{memoryId}", Personal: true, Summary: "Make the oracle forget one of your memories", Answer: api.Forgotten{},
			Serve: func(r *plugin.Request) (any, error) {
				n, err := p.drop(r.Context(), []string{r.PathValue("memoryId")})
				if err == nil && n == 0 {
					err = &plugin.Error{Status: http.StatusNotFound, Message: "Memory not found"}
				}
				return api.Forgotten{Forgotten: n}, err
			},
		},
	}
}

// kept is a memory as stored.
type kept struct {
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// read finds memories behind one, newest first.
func (p *Plugin) read(ctx context.Context, after string, limit int) ([]api.Memory, error) {
	shelf, err := p.store.User(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := shelf.Entries(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]api.Memory, 0, len(entries))
	for _, e := range entries {
		var k kept
		if err := json.Unmarshal(e.Value, &k); err != nil {
			return nil, fmt.Errorf("memory %s: %w", e.Name, err)
		}
		out = append(out, api.Memory{ID: e.Name, Text: k.Text, CreatedAt: k.At})
	}
	return out, nil
}

// remember stores a text, unless it exists.
func (p *Plugin) remember(ctx context.Context, call plugin.Call) (any, error) {
	var in struct {
		Text string `json:"text"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	text := strings.Join(strings.Fields(in.Text), " ")
	switch {
	case text == "" || utf8.RuneCountInString(text) > maxText:
		return nil, plugin.Invalid("text must have 1 to %d characters", maxText)
	case strings.ContainsFunc(text, unicode.IsControl):
		return nil, plugin.Invalid("text must not hold control characters")
	}
	all, err := p.read(ctx, "", maxKept)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if strings.EqualFold(m.Text, text) {
			return m, nil
		}
	}
	if len(all) == maxKept {
		return nil, plugin.Invalid("%d things are remembered, which is the most. Forget some first.", maxKept)
	}
	return p.keep(ctx, text)
}

func (p *Plugin) keep(ctx context.Context, text string) (api.Memory, error) {
	shelf, err := p.store.User(ctx)
	if err != nil {
		return api.Memory{}, err
	}
	m := api.Memory{Text: text, CreatedAt: p.now().UTC().Truncate(time.Millisecond)}
	m.ID = newID(m.CreatedAt)
	value, err := json.Marshal(kept{m.Text, m.CreatedAt})
	if err != nil {
		return api.Memory{}, err
	}
	return m, shelf.Put(ctx, m.ID, value)
}

// newID makes an id that sorts before those of older memories.
func newID(at time.Time) string {
	const end = 1<<48 - 1
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%012x%s", end-at.UnixMilli(), hex.EncodeToString(b[:]))
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{20}$`)

// drop forgets memories, and says how many there were.
func (p *Plugin) drop(ctx context.Context, ids []string) (int, error) {
	shelf, err := p.store.User(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, id := range ids {
		if !idPattern.MatchString(id) {
			continue
		}
		value, err := shelf.Get(ctx, id)
		if err != nil {
			return n, err
		}
		if value == nil {
			continue
		}
		if err := shelf.Delete(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (p *Plugin) forget(ctx context.Context, call plugin.Call) (any, error) {
	var in struct {
		IDs []string `json:"ids"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	n, err := p.drop(ctx, in.IDs)
	if err == nil && n == 0 {
		err = plugin.Invalid("Nothing is remembered by these ids.")
	}
	return api.Forgotten{Forgotten: n}, err
}
