package app

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/overview"
)

// overview asks the areas that are served here.
func (a *App) overview() *overview.Service {
	c := overview.Config{DB: a.DB}
	if a.cfg.HasArea("a") {
		c.Names = append(c.Names, a.twins.search.Names, a.twins.protocols.Names)
		c.Finders = append(c.Finders, a.twins.search.Starting, a.twins.groups.Known)
	}
	if a.cfg.HasArea("b") {
		c.Finders = append(c.Finders, a.surveys.surveys.Starting, a.surveys.responses.Starting)
	}
	c.Names = append(c.Names, a.Auth.Names, a.oracleName)
	c.Finders = append(c.Finders, a.Auth.Starting)
	return overview.New(c)
}

// oracleName is what this server's own oracle is called, where no twin tells.
func (a *App) oracleName(_ context.Context, ids []string) ([]api.Name, error) {
	if self := a.identity.DID.String(); slices.Contains(ids, self) {
		return []api.Name{{DID: self, Kind: "agent", Name: a.cfg.Oracle.Name}}, nil
	}
	return nil, nil
}
