package app

import (
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/demo"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/ussd"
)

// Personal is the registry of personal data of all tables, whichever areas this
// server runs, because they share one store.
func Personal() (privacy.Registry, error) {
	return privacy.Join(
		erase.Personal(), auth.Personal(), survey.Personal(), ussd.Personal(), oracle.Personal(),
		demo.Personal(), event.Personal(), job.Personal(), once.Personal(), file.Personal(), exchange.Personal(), []privacy.Table{
			{Name: "schema_migrations", Rules: []privacy.Rule{privacy.None(privacy.Ours, "name checksum")}},
			{Name: "instances", Rules: []privacy.Rule{privacy.None(privacy.Ours, "id name version")}},
			{Name: "cache_versions", Rules: []privacy.Rule{privacy.None(privacy.Ours, "topic")}},
			{Name: "cache_confirmed", Rules: []privacy.Rule{privacy.None(privacy.Ours, "instance topic")}},
			{Name: "counts", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws kind part state")}},
		},
	)
}
