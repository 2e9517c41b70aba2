package app

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// vouchers makes the service of vouchers.
func vouchers(a *App, t *twins) *credential.Vouchers {
	return credential.NewVouchers(credential.VouchersConfig{
		DB: a.DB, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Certificate: t.certificate, Stands: t.stands, Controls: t.controls,
	})
}

// certificate gives the project of a credential that stands.
func (t *twins) certificate(ctx context.Context, q db.Querier, did string) (string, error) {
	r, err := t.entities.Find(ctx, q, did)
	if fault.KindOf(err) == fault.NotFound || err == nil && r.DomainType != "credential" {
		return "", fault.New(fault.NotFound, "CERTIFICATE_NOT_FOUND", "No credential that you may see has this DID.").
			With(fault.Field{Pointer: "/emissionCertificateId", Code: "not_found", Detail: "Name a credential of this workspace."})
	}
	if err != nil {
		return "", err
	}
	e, err := r.Entity()
	if err != nil {
		return "", err
	}
	return r.Project, standing(r.Status, e.Verification.Status)
}

// stands says why a credential is no longer valid, for any caller.
func (t *twins) stands(ctx context.Context, q db.Querier, ws, did string) error {
	_, err := t.certificate(web.WithCaller(ctx, web.Caller{Workspace: ws}), q, did)
	if fault.KindOf(err) == fault.NotFound {
		return notStanding("not here any more")
	}
	return err
}

// standing says why nothing is promised from a credential, by the status of its twin
// and of the verdict about it.
func standing(status entity.Status, verification string) error {
	switch {
	case verification == verdict.Revoked, verification == verdict.Expired:
		return notStanding(verification)
	case status == entity.StatusSuspended:
		return notStanding("suspended")
	case status == entity.StatusCompleted:
		return notStanding("retired")
	case status != entity.StatusActive:
		return notStanding("revoked")
	}
	return nil
}

func notStanding(state string) error {
	next := "Name a valid one."
	if state == "suspended" {
		next = "Name a valid one, or have this one reinstated first."
	}
	return fault.New(fault.Conflict, "CERTIFICATE_REVOKED", "The credential is not valid: it is "+state+".").
		With(fault.Field{Pointer: "/emissionCertificateId", Code: "revoked", Detail: "The credential is " + state + ". " + next})
}

// controls reports whether the caller is a DID or controls its twin.
func (t *twins) controls(ctx context.Context, q db.Querier, did string) (bool, error) {
	c := web.CallerFrom(ctx)
	if c.DID == did {
		return true, nil
	}
	r, err := t.entities.Find(ctx, q, did)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	} else if err != nil {
		return false, err
	}
	e, err := r.Entity()
	if err != nil {
		return false, err
	}
	as, err := group.ControlsAs(ctx, q, c)
	return slices.ContainsFunc(append(as, c.DID), func(id string) bool { return slices.Contains(e.Controllers, id) }), err
}

// menuVouchers is the vouchers of the customer who has logged in to a menu.
type menuVouchers struct{ of func() *credential.Vouchers }

var _ fetch.Vouchers = menuVouchers{}

// Held lists the vouchers of a customer.
func (m menuVouchers) Held(ctx context.Context, did string) ([]*credential.Voucher, error) {
	return m.of().Held(ctx, auth.OperatorWorkspace, did)
}

// Pay redeems one of them at its supplier.
func (m menuVouchers) Pay(ctx context.Context, did, key string, d credential.RedemptionDraft) (*credential.Redemption, error) {
	return m.of().Pay(web.WithCaller(ctx, web.Caller{Workspace: auth.OperatorWorkspace, DID: did}), did, key, d)
}
