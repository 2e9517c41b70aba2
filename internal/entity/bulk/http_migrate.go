package bulk

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type migrationIn struct {
	DID  string `path:"did" doc:"DID of the protocol."`
	Body MigrationDraft
}

func (s *Service) serveMigration(ctx context.Context, in *migrationIn) (web.Reply[Accepted], error) {
	var none web.Reply[Accepted]
	if err := exchange.MayAll(ctx, "entities:write"); err != nil {
		return none, err
	}
	ws, p := web.CallerFrom(ctx).Workspace, migrationJob{Protocol: in.DID, MigrationDraft: in.Body}
	target, err := s.target(ctx, &p)
	if err != nil {
		return none, err
	}
	if p.From != "" {
		if _, err := s.cfg.Protocols.FindAny(ctx, ws, p.Protocol, p.From); err != nil {
			return none, err
		}
	}
	if err := p.validate(target); err != nil {
		return none, err
	}
	p.To = target.Version
	if err := s.tryQuery(ctx, entity.Query{Protocol: p.Protocol, Filter: p.Filter, Sort: "created"}); err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Accepted], error) {
		j, err := s.cfg.Exchange.Begin(ctx, tx, exchange.Order{Kind: kindMigrate, Path: "/v1/migrations/{id}"}, p)
		return accepted(kindMigrate, j, err)
	})
}

// Migration is a migration as its readers see it.
type Migration struct {
	Common
	Protocol string      `json:"protocol"`
	From     string      `json:"from,omitzero"`
	To       string      `json:"to"`
	DryRun   bool        `json:"dryRun"`
	Counts   Counts      `json:"counts"`
	Links    ReportLinks `json:"links"`
}

func (s *Service) serveMigrationOne(ctx context.Context, in *oneIn) (Migration, error) {
	var p migrationJob
	var n Counts
	j, o, err := s.find(ctx, kindMigrate, in.ID)
	if err == nil {
		err = o.Read(&p, &n)
	}
	if err != nil {
		return Migration{}, err
	}
	return Migration{Common: commonOf(j), Protocol: p.Protocol, From: p.From, To: p.To, DryRun: p.DryRun, Counts: n, Links: reportLinks("migrations", in.ID)}, nil
}

func (s *Service) serveMigrationRows(ctx context.Context, in *rowsIn) (web.Reply[web.Page[ReportRow]], error) {
	return s.rows(ctx, kindMigrate, in)
}
