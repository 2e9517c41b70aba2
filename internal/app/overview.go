package app

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/console"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// overview asks the areas that are served here.
func (a *App) overview() *console.Overview {
	c := console.OverviewConfig{DB: a.DB, Cursors: a.cursors}
	if a.cfg.HasArea("a") {
		c.Twin, c.Timeline = a.twins.number, a.timeline()
		c.Names = append(c.Names, a.twins.search.Names, a.twins.protocols.Names)
		c.Finders = append(c.Finders, a.twins.search.Starting, a.twins.groups.Known)
	}
	if a.cfg.HasArea("b") {
		c.Finders = append(c.Finders, a.surveys.surveys.Starting, a.surveys.responses.Starting)
	}
	c.Names = append(c.Names, a.Auth.Names, a.oracleName)
	c.Finders = append(c.Finders, a.Auth.Starting)
	return console.NewOverview(c)
}

// oracleName is the name of this server's own oracle, where no twin has one.
func (a *App) oracleName(_ context.Context, ids []string) ([]api.Name, error) {
	if self := a.identity.DID.String(); slices.Contains(ids, self) {
		return []api.Name{{DID: self, Kind: "agent", Name: a.cfg.Oracle.Name}}, nil
	}
	return nil, nil
}

// timeline lists the sources of happenings of twins.
func (a *App) timeline() []console.Source {
	joined := relationship.Timeline{DB: a.DB}
	twins, devices := needs("entities:read", ""), needs("devices:read", "")
	out := []console.Source{
		{Name: "relationships.began.in", Look: joined.BeganIn, May: twins},
		{Name: "relationships.began.out", Look: joined.BeganOut, May: twins},
		{Name: "relationships.ended.in", Look: joined.EndedIn, May: twins},
		{Name: "relationships.ended.out", Look: joined.EndedOut, May: twins},
		{Name: "revisions.1", Look: a.twins.history.Now, May: twins},
		{Name: "revisions.2", Look: a.twins.history.Earlier, May: twins},
		{Name: "readings.home", Look: a.twins.devices.AtHome, May: devices},
		{Name: "readings.own", Look: a.twins.devices.Own, May: devices},
		{Name: "readings.stove", Look: a.twins.devices.AtStove, May: devices},
	}
	if a.cfg.HasArea("b") {
		out = append(out, console.Source{Name: "interviews", Look: a.surveys.responses.Timeline, May: needs("responses:read", privacy.PII)})
	}
	if a.line != nil {
		called := ussd.Timeline{DB: a.DB}
		out = append(out,
			console.Source{Name: "line.home", Look: a.line.accounts.Registered, May: operators},
			console.Source{Name: "line.person", Look: a.line.accounts.Joined, May: operators},
			console.Source{Name: "line.calls.home", Look: called.OfHome, May: callers},
			console.Source{Name: "line.calls.person", Look: called.OfPerson, May: callers})
	}
	return out
}

// needs makes a source require a scope, and another one to be read as a whole.
func needs(some, all string) func(web.Caller) (bool, bool) {
	return func(c web.Caller) (bool, bool) {
		may := c.May(some)
		return may, may && (all == "" || c.May(all))
	}
}

// callers are operators who may also know whose number it is that called.
func callers(c web.Caller) (some, all bool) {
	may, _ := operators(c)
	may = may && c.May(mask.Scope)
	return may, may
}

// operators may read the USSD line: those of the operator, with a key that is not
// limited to projects.
func operators(c web.Caller) (some, all bool) {
	may := c.May("ussd:read") && c.Workspace == auth.OperatorWorkspace && len(c.Projects) == 0
	return may, may
}
