package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/plugin"
)

// HelpDesk is a plugin that knows when people answer the phone.
type HelpDesk struct {
	phone         string
	opens, closes time.Duration // since midnight
	zone          *time.Location
	now           func() time.Time
	host          plugin.Host
}

// Everything the plugin can do is one of these interfaces. A misspelt method name
// does not compile.
var (
	_ plugin.Settings    = (*HelpDesk)(nil)
	_ plugin.Starts      = (*HelpDesk)(nil)
	_ plugin.Prompts     = (*HelpDesk)(nil)
	_ plugin.Tools       = (*HelpDesk)(nil)
	_ plugin.Routes      = (*HelpDesk)(nil)
	_ plugin.Agents      = (*HelpDesk)(nil)
	_ plugin.AroundTools = (*HelpDesk)(nil)
)

// NewHelpDesk returns the plugin. Start gives it its settings.
func NewHelpDesk() *HelpDesk { return &HelpDesk{now: time.Now} }

// Manifest describes the plugin. Its tool is loaded on demand: most conversations
// do not need it.
func (h *HelpDesk) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "help-desk", Version: "1.0.0", Title: "Help desk", Summary: "Knows when the help desk is open, and its number.",
		WhenToUse:    []string{"The user wants to talk to a person, or asks when somebody can be reached."},
		WhenNotToUse: []string{"Questions that the other tools can answer."},
		Examples:     []plugin.Example{{User: "Can I call somebody now?", Tool: "help_desk_hours", Args: `{}`}},
		Tags:         []string{"support"},
	}
}

// Settings returns what an operator can set, such as plugins.help-desk.phone in
// hearth.yaml or HEARTH_PLUGIN_HELP_DESK_PHONE. hearth config check knows them.
func (h *HelpDesk) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "phone", Doc: "Number of the help desk; empty: there is none."},
		{Name: "opens", Kind: plugin.Duration, Default: "8h", Doc: "When it opens, after midnight."},
		{Name: "closes", Kind: plugin.Duration, Default: "17h", Doc: "When it closes, after midnight."},
		{Name: "zone", Default: "UTC", Doc: "Its time zone, such as Africa/Nairobi."},
	}
}

// Start reads the settings and checks what only the plugin can check. An error
// stops the server and names the plugin.
func (h *HelpDesk) Start(_ context.Context, host plugin.Host) error {
	h.host = host
	set := host.Settings
	h.phone, h.opens, h.closes = set.Text("phone"), set.Duration("opens"), set.Duration("closes")
	var err error
	if h.zone, err = time.LoadLocation(set.Text("zone")); err != nil {
		return fmt.Errorf("zone: %w", err)
	}
	if h.opens >= h.closes || h.closes > 24*time.Hour {
		return fmt.Errorf("opens: want a time before closes, which is %s", h.closes)
	}
	return nil
}

// Prompt returns a sentence that the model reads before each answer.
func (h *HelpDesk) Prompt(context.Context, plugin.Turn) (string, error) {
	if h.phone == "" {
		return "", nil
	}
	return "People can be reached at the help desk: load the capability help-desk for its hours.", nil
}

// Hours is the answer of the tool and the route.
type Hours struct {
	Phone  string `json:"phone"`
	Open   bool   `json:"open"`
	Opens  string `json:"opens"` // in the zone of the user, or of the help desk
	Closes string `json:"closes"`
	Zone   string `json:"zone"`
}

// Tools returns the tools the model can call. The user's time zone comes with the
// call.
func (h *HelpDesk) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "help_desk_hours", Description: "Tell whether the help desk is open now, its hours in the user's time zone, and its phone number.", ReadOnly: true,
		Run: func(_ context.Context, call plugin.Call) (any, error) { return h.hours(call.Timezone) },
	}}
}

// Routes returns the routes that programs can call: one is public, the other knows
// its caller.
func (h *HelpDesk) Routes() []plugin.Route {
	return []plugin.Route{
		{
			Method: "GET", Path: "/help-desk", Public: true, Summary: "Tell whether the help desk is open", Answer: Hours{},
			Query: []plugin.Param{{Name: "zone", Doc: "Time zone of the answer.", Example: "Africa/Nairobi"}},
			Serve: func(r *plugin.Request) (any, error) { return h.hours(r.URL.Query().Get("zone")) },
		},
		{
			Method: "POST", Path: "/help-desk/calls", Summary: "Ask to be called back", Body: Callback{}, Answer: Callback{},
			Serve: h.serveCall,
		},
	}
}

// Callback asks the help desk to call the user.
type Callback struct {
	Phone string `json:"phone"`
	User  string `json:"user,omitempty"` // DID of the user who asked; only in answers
}

func (h *HelpDesk) serveCall(r *plugin.Request) (any, error) {
	var in Callback
	if err := r.Read(&in); err != nil {
		return nil, err
	}
	if len(in.Phone) < 4 || len(in.Phone) > 20 {
		return nil, &plugin.Error{Status: 400, Message: "Bad Request", Details: []string{"phone must be a number of 4 to 20 digits"}}
	}
	in.User = r.User // never taken from the body
	return in, nil
}

func (h *HelpDesk) hours(zone string) (Hours, error) {
	if h.phone == "" {
		return Hours{}, plugin.Unavailable("This programme has no help desk.")
	}
	where := h.zone
	if zone != "" {
		var err error
		if where, err = time.LoadLocation(zone); err != nil {
			return Hours{}, plugin.Invalid("zone must be a time zone such as Africa/Nairobi")
		}
	}
	now := h.now().In(h.zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, h.zone)
	opens, closes := midnight.Add(h.opens), midnight.Add(h.closes)
	return Hours{
		Phone: h.phone, Open: !now.Before(opens) && now.Before(closes), Zone: where.String(),
		Opens: opens.In(where).Format("15:04"), Closes: closes.In(where).Format("15:04"),
	}, nil
}
