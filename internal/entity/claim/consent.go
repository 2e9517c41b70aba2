package claim

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	insertConsent = `INSERT INTO evaluation_consents (oracle, principal, ws, at) VALUES ($1, $2, $3, $4) ON CONFLICT (oracle, principal) DO NOTHING`
	listConsents  = `SELECT principal, at FROM evaluation_consents WHERE oracle = $1 ORDER BY at, principal`
	dropConsent   = `DELETE FROM evaluation_consents WHERE oracle = $1 AND principal = $2`
	dropConsents  = `DELETE FROM evaluation_consents WHERE oracle = $1`
)

// consent is the agreement of an oracle's controller that the Engine acts for them.
type consent struct {
	principal string
	at        int64
}

func consents(ctx context.Context, q db.Querier, oracle int64) ([]consent, error) {
	rows, err := q.Query(ctx, listConsents, oracle)
	return db.Collect(rows, err, "list consents", func(c *consent, from db.Row) error { return from.Scan(&c.principal, &c.at) })
}

// handed ends the consents of a controller that a twin has lost: a former controller of
// an oracle must consent again if control comes back.
func (l *Ledger) handed(ctx context.Context, tx *db.Tx, next *entity.Row) error {
	all, err := consents(ctx, tx, next.NID)
	if err != nil || len(all) == 0 {
		return err
	}
	now, err := next.Entity()
	if err != nil {
		return err
	}
	for _, c := range all {
		if slices.Contains(now.Controllers, c.principal) {
			continue
		}
		if _, err := tx.Exec(ctx, dropConsent, next.NID, c.principal); err != nil {
			return db.Wrap("end consent", err)
		}
		if err := l.tellConsent(ctx, tx, "claim.consent_ended", next); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) tellConsent(ctx context.Context, tx *db.Tx, typ string, oracle *entity.Row) error {
	return l.Events.Append(ctx, tx, event.Event{Workspace: oracle.Workspace, Type: typ, Subject: oracle.DID})
}

// Consents lists who has agreed that the Engine acts for them as an oracle, and whether
// it does now. Faults: ENTITY_NOT_FOUND, NOT_AN_ORACLE.
func (e *Engine) Consents(ctx context.Context, id string) (*api.EvaluationConsents, error) {
	var out *api.EvaluationConsents
	err := e.s.db.View(ctx, func(q db.Querier) error {
		r, err := e.s.cfg.Entities.Find(ctx, q, id)
		if err != nil {
			return err
		}
		out, err = e.consented(ctx, q, r)
		return err
	})
	return out, err
}

func (e *Engine) consented(ctx context.Context, q db.Querier, r *entity.Row) (*api.EvaluationConsents, error) {
	oracle, err := oracleOf(r)
	if err != nil {
		return nil, err
	}
	all, err := consents(ctx, q, r.NID)
	if err != nil {
		return nil, err
	}
	out := &api.EvaluationConsents{Oracle: r.DID, Items: []api.EvaluationConsent{}}
	for _, c := range all {
		able, err := e.able(ctx, q, c.principal)
		if err != nil {
			return nil, err
		}
		counts := able && oracle.Status == entity.StatusActive && slices.Contains(oracle.Controllers, c.principal)
		out.Items = append(out.Items, api.EvaluationConsent{Principal: c.principal, At: time.UnixMilli(c.at).UTC(), Counts: counts})
	}
	return out, nil
}

func oracleOf(r *entity.Row) (*entity.Entity, error) {
	if r.DomainType != "oracle" {
		return nil, fault.New(fault.Conflict, "NOT_AN_ORACLE", "The server evaluates claims for oracles. This twin is not an oracle.")
	}
	return r.Entity()
}

// Consent records that the caller, who controls an oracle, lets the Engine act for them;
// repeating it changes nothing. Faults: ENTITY_NOT_FOUND, NOT_AN_ORACLE, NOT_CONTROLLER,
// KEY_RESTRICTED.
func (e *Engine) Consent(ctx context.Context, id string) (web.Reply[*api.EvaluationConsents], error) {
	return e.agree(ctx, id, func(tx *db.Tx, r *entity.Row) (int64, string, error) {
		c := web.CallerFrom(ctx)
		oracle, err := oracleOf(r)
		switch {
		case err != nil:
			return 0, "", err
		case !slices.Contains(oracle.Controllers, c.DID): // control through a group is not enough: the Engine acts for a named controller
			return 0, "", fault.New(fault.Forbidden, "NOT_CONTROLLER", "Only a controller that the oracle names can give this consent, and only for themselves.")
		case len(c.Projects) > 0:
			return 0, "", fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects, and the oracle evaluates claims of all projects. Use a key without that limit.")
		}
		n, err := tx.Exec(ctx, insertConsent, r.NID, c.DID, r.Workspace, e.now())
		return n, "claim.consented", db.Wrap("store consent", err)
	})
}

// Retract withdraws the consent of the caller; without one it changes nothing. Faults:
// ENTITY_NOT_FOUND, NOT_AN_ORACLE.
func (e *Engine) Retract(ctx context.Context, id string) (web.Reply[*api.EvaluationConsents], error) {
	return e.agree(ctx, id, func(tx *db.Tx, r *entity.Row) (int64, string, error) {
		n, err := tx.Exec(ctx, dropConsent, r.NID, web.CallerFrom(ctx).DID)
		return n, "claim.consent_ended", db.Wrap("end consent", err)
	})
}

// agree locks an oracle, so that its controllers cannot change meanwhile, lets f change a
// consent and appends an event if it has changed one.
func (e *Engine) agree(ctx context.Context, id string, f func(tx *db.Tx, r *entity.Row) (n int64, event string, err error)) (web.Reply[*api.EvaluationConsents], error) {
	return once.Do(ctx, e.s.cfg.Idem, func(tx *db.Tx) (none web.Reply[*api.EvaluationConsents], err error) {
		r, err := e.s.cfg.Entities.FindForUpdate(ctx, tx, id)
		if err != nil {
			return none, err
		}
		n, typ, err := f(tx, r)
		if err == nil && n > 0 {
			err = e.s.cfg.Ledger.tellConsent(ctx, tx, typ, r)
		}
		if err != nil {
			return none, err
		}
		out, err := e.consented(ctx, tx, r)
		return web.Reply[*api.EvaluationConsents]{Value: out, Status: http.StatusOK}, err
	})
}
