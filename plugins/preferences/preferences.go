// Package preferences is the plugin user-preferences: how a user wants the oracle
// to talk. Users set it with PUT /user-preferences or by asking the oracle, and
// the model is told in every answer.
//
// Preferences belong to one user and are removed with an erasure. The model
// receives them as the user's own words: they change no rule and give no right.
package preferences

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

// name is what the preferences are kept under.
const name = "preferences"

// formalities are how formal an answer may be.
var formalities = []string{"casual", "friendly", "neutral", "semi-formal", "professional", "formal", "technical", "academic"}

// Plugin is the plugin user-preferences.
type Plugin struct {
	store plugin.Store
	now   func() time.Time
}

var (
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
		Name: "user-preferences", Version: "1.0.0", Title: "Preferences of users", Summary: "Knows how a user wants to be addressed and answered.",
		WhenToUse:    []string{"The user says how they want to be called or answered from now on."},
		WhenNotToUse: []string{"A wish for one answer only."},
		Examples:     []plugin.Example{{User: "Call me Amina", Tool: "set_user_preferences", Args: `{"userName":"Amina"}`}},
		Tags:         []string{"preferences"}, Visibility: plugin.Always,
	}
}

// Start keeps the host's store.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.store = host.Store
	return nil
}

// Prompt tells the model the user's preferences.
func (p *Plugin) Prompt(ctx context.Context, _ plugin.Turn) (string, error) {
	found, err := p.read(ctx)
	if err != nil || found == nil {
		return "", err
	}
	found.UpdatedAt = time.Time{}
	return plugin.Data("How the user wants to be addressed and answered, in the user's own words", found)
}

// schema is what set_user_preferences takes.
const schema = `{"type":"object","additionalProperties":false,"minProperties":1,"properties":{` +
	`"agentName":{"type":["string","null"],"maxLength":80,"description":"What the user calls you."},` +
	`"userName":{"type":["string","null"],"maxLength":80,"description":"What you call the user."},` +
	`"language":{"type":["string","null"],"maxLength":20,"description":"Language of your answers, such as sw."},` +
	`"tone":{"type":["string","null"],"maxLength":80},` +
	`"formality":{"enum":["casual","friendly","neutral","semi-formal","professional","formal","technical","academic",null]},` +
	`"customInstructions":{"type":["string","null"],"maxLength":2000,"description":"What else the user wants of every answer."}}}`

// known is what get_user_preferences gives.
const known = `{"type":"object","properties":{"agentName":{"type":"string"},"userName":{"type":"string"},"language":{"type":"string"},"tone":{"type":"string"},"formality":{"type":"string"},` +
	`"customInstructions":{"type":"string"},"updatedAt":{"type":"string","format":"date-time"},"note":{"type":"string"}}}`

// unknown is the output when there are none.
type unknown struct {
	Note string `json:"note"`
}

// Tools are the tools of the model.
func (p *Plugin) Tools() []plugin.Tool {
	return []plugin.Tool{
		{
			Name: "get_user_preferences", Description: "Read how the user wants to be addressed and answered.", ReadOnly: true, Output: known,
			Run: func(ctx context.Context, _ plugin.Call) (any, error) {
				found, err := p.read(ctx)
				if err != nil || found == nil {
					return unknown{"The user has said nothing about it."}, err
				}
				return found, nil
			},
		},
		{
			Name: "set_user_preferences", Schema: schema,
			Description: "Remember how the user wants to be addressed and answered from now on. Members that are not given stay, null takes one back. Only when the user asks for it.",
			Run:         p.set,
		},
	}
}

// set changes some of the preferences.
func (p *Plugin) set(ctx context.Context, call plugin.Call) (any, error) {
	var given map[string]json.RawMessage
	if err := call.Read(&given); err != nil {
		return nil, err
	}
	found, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = &api.UserPreferences{}
	}
	if err := fill(found, given); err != nil {
		return nil, err
	}
	kept, err := p.write(ctx, found)
	if err == nil && kept == nil {
		return "Nothing is remembered any more.", nil
	}
	return kept, err
}

// Routes are the routes for programs.
func (p *Plugin) Routes() []plugin.Route {
	return []plugin.Route{
		{
			Method: "GET", Path: "/user-preferences", Personal: true, Summary: "Read how you want to be addressed and answered", Answer: &api.UserPreferences{},
			Description: "The answer is null when nothing is set.",
			Serve:       func(r *plugin.Request) (any, error) { return p.read(r.Context()) },
		},
		{
			Method: "PUT", Path: "/user-preferences", Personal: true, Summary: "Set how you want to be addressed and answered", Answer: &api.UserPreferences{},
			Description: "They replace the earlier ones; an empty object removes all, and the answer is null.",
			Body:        api.UserPreferences{UserName: "Amina", Language: "sw", Formality: "friendly"},
			Serve: func(r *plugin.Request) (any, error) {
				var given map[string]json.RawMessage
				if err := r.Read(&given); err != nil {
					return nil, err
				}
				said := &api.UserPreferences{}
				if err := fill(said, given); err != nil {
					return nil, err
				}
				return p.write(r.Context(), said)
			},
		},
	}
}

// read finds what the user of ctx has said; nil: nothing.
func (p *Plugin) read(ctx context.Context) (*api.UserPreferences, error) {
	shelf, err := p.store.User(ctx)
	if err != nil {
		return nil, err
	}
	text, err := shelf.Get(ctx, name)
	if err != nil || text == nil {
		return nil, err
	}
	found := &api.UserPreferences{}
	return found, json.Unmarshal(text, found)
}

// write stores what the user has said, and gives it back; nil when nothing is left.
func (p *Plugin) write(ctx context.Context, said *api.UserPreferences) (*api.UserPreferences, error) {
	shelf, err := p.store.User(ctx)
	if err != nil {
		return nil, err
	}
	said.UpdatedAt = time.Time{}
	if *said == (api.UserPreferences{}) {
		return nil, shelf.Delete(ctx, name)
	}
	said.UpdatedAt = p.now().UTC().Truncate(time.Millisecond)
	text, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	return said, shelf.Put(ctx, name, text)
}

// fill sets members of preferences; null removes one. The error names
// everything that is wrong, in the form of the oracle's other routes.
func fill(into *api.UserPreferences, given map[string]json.RawMessage) error {
	fields := map[string]struct {
		to    *string
		limit int
	}{
		"agentName": {&into.AgentName, 80}, "userName": {&into.UserName, 80}, "language": {&into.Language, 20}, "tone": {&into.Tone, 80},
		"formality": {&into.Formality, 80}, "customInstructions": {&into.CustomInstructions, 2000},
	}
	var wrong []string
	for member, raw := range given {
		if member == "updatedAt" {
			continue // what a GET has given
		}
		field, known := fields[member]
		if !known {
			wrong = append(wrong, "property "+cut(member)+" should not exist")
			continue
		}
		var text *string
		if err := json.Unmarshal(raw, &text); err != nil {
			wrong = append(wrong, member+" must be a string")
			continue
		}
		if text == nil {
			text = new(string)
		}
		if why := bad(member, *text, field.limit); why != "" {
			wrong = append(wrong, why)
		}
		*field.to = *text
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return &plugin.Error{Status: http.StatusBadRequest, Message: "The preferences are not valid", Details: wrong[:min(len(wrong), 20)]}
}

// bad says what is wrong with a text.
func bad(member, text string, limit int) string {
	control := func(r rune) bool { return unicode.IsControl(r) && (member != "customInstructions" || r != '\n') }
	switch {
	case utf8.RuneCountInString(text) > limit:
		return fmt.Sprintf("%s must be shorter than or equal to %d characters", member, limit)
	case strings.ContainsFunc(text, control):
		return member + " must not hold control characters"
	case member == "formality" && text != "" && !slices.Contains(formalities, text):
		return "formality must be one of the following values: " + strings.Join(formalities, ", ")
	}
	return ""
}

// cut truncates a user's text.
func cut(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
