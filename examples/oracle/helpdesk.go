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

// Everything the plugin can do is one of these. A name that is misspelt does not
// compile.
var (
	_ plugin.Settings    = (*HelpDesk)(nil)
	_ plugin.Starts      = (*HelpDesk)(nil)
	_ plugin.Prompts     = (*HelpDesk)(nil)
	_ plugin.Tools       = (*HelpDesk)(nil)
	_ plugin.Routes      = (*HelpDesk)(nil)
	_ plugin.Agents      = (*HelpDesk)(nil)
	_ plugin.AroundTools = (*HelpDesk)(nil)
)

// NewHelpDesk makes the plugin. It gets its settings when it is started.
func NewHelpDesk() *HelpDesk { return &HelpDesk{now: time.Now} }

// Manifest says what the plugin is. Its tool is loaded on demand: most
// conversations do not need it.
func (h *HelpDesk) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "help-desk", Version: "1.0.0", Title: "Help desk", Summary: "Knows when the help desk is open, and its number.",
		WhenToUse:    []string{"The user wants to talk to a person, or asks when somebody can be reached."},
		WhenNotToUse: []string{"Questions that the other tools can answer."},
		Examples:     []plugin.Example{{User: "Can I call somebody now?", Tool: "help_desk_hours", Args: `{}`}},
		Tags:         []string{"support"},
	}
}

// Settings are what an operator decides, such as plugins.help-desk.phone in
// hearth.yaml or HEARTH_PLUGIN_HELP_DESK_PHONE. hearth config check knows them.
func (h *HelpDesk) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "phone", Doc: "Number of the help desk; empty: there is none."},
		{Name: "opens", Kind: plugin.Duration, Default: "8h", Doc: "When it opens, after midnight."},
		{Name: "closes", Kind: plugin.Duration, Default: "17h", Doc: "When it closes, after midnight."},
		{Name: "zone", Default: "UTC", Doc: "Its time zone, such as Africa/Nairobi."},
	}
}

// Start takes the settings. What only the plugin can check, it checks here: an
// error stops the server, with the name of the plugin.
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

// Prompt tells the model one sentence at the beginning of each answer.
func (h *HelpDesk) Prompt(context.Context, plugin.Turn) (string, error) {
	if h.phone == "" {
		return "", nil
	}
	return "People can be reached at the help desk: load the capability help-desk for its hours.", nil
}

// Hours is what the tool and the route answer.
type Hours struct {
	Phone  string `json:"phone"`
	Open   bool   `json:"open"`
	Opens  string `json:"opens"` // in the zone of the user, or of the help desk
	Closes string `json:"closes"`
	Zone   string `json:"zone"`
}

// Tools are what the model can call. The time zone of the user comes with the
// call.
func (h *HelpDesk) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "help_desk_hours", Description: "Tell whether the help desk is open now, its hours in the user's time zone, and its phone number.", ReadOnly: true,
		Run: func(_ context.Context, call plugin.Call) (any, error) { return h.hours(call.Timezone) },
	}}
}

// Routes are what programs can call: one is for everybody, the other one knows its
// caller.
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

// Callback asks the help desk to call.
type Callback struct {
	Phone string `json:"phone"`
	User  string `json:"user,omitempty"` // DID of whoever asked; the answer has it
}

func (h *HelpDesk) serveCall(r *plugin.Request) (any, error) {
	var in Callback
	if err := r.Read(&in); err != nil {
		return nil, err
	}
	if len(in.Phone) < 4 || len(in.Phone) > 20 {
		return nil, &plugin.Error{Status: 400, Message: "Bad Request", Details: []string{"phone must be a number of 4 to 20 digits"}}
	}
	in.User = r.User // never what the body says
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
