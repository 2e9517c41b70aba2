package entity

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// reader finds twins for callers, hides what they may not see and decides what
// they may change.
type reader struct {
	db         *db.DB
	records    *records
	mask       *mask.Mask
	controlsAs func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	issuerOf   func(ctx context.Context, q db.Querier, credential int64) (int64, error)
}

// Find reads a twin of the caller's workspace and projects. For any other twin
// the fault is that of one that never existed: ENTITY_NOT_FOUND.
func (rd *reader) Find(ctx context.Context, q db.Querier, id string) (*Row, error) {
	caller := web.CallerFrom(ctx)
	r, err := find(ctx, q, caller.Workspace, id)
	return visible(caller, r, err)
}

// FindForUpdate is Find for a twin that tx is about to change: until tx ends
// nobody else changes it.
func (rd *reader) FindForUpdate(ctx context.Context, tx *db.Tx, id string) (*Row, error) {
	caller := web.CallerFrom(ctx)
	r, err := findForUpdate(ctx, tx, caller.Workspace, id)
	return visible(caller, r, err)
}

func visible(c web.Caller, r *Row, err error) (*Row, error) {
	if err == nil && !inside(c, r.Project) {
		return nil, notFound()
	}
	return r, err
}

// Read returns the record of a twin as the caller may see it, and its revision.
// The fault is ENTITY_NOT_FOUND.
func (rd *reader) Read(ctx context.Context, id string) ([]byte, int64, error) {
	r, err := rd.read(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	body, err := rd.mask.Record(ctx, rd.db, r.protocol, r.body)
	return body, r.revision, err
}

// read is Find for callers who need only the record.
func (rd *reader) read(ctx context.Context, id string) (cached, error) {
	caller := web.CallerFrom(ctx)
	name := recordName{caller.Workspace, id}
	found, evicted, ok := rd.records.get(name)
	if !ok {
		r, err := find(ctx, rd.db, caller.Workspace, id)
		if err != nil {
			return cached{}, err
		}
		found = r.cached()
		rd.records.put(name, found, evicted)
	}
	if !inside(caller, found.project) {
		return cached{}, notFound()
	}
	return found, nil
}

// See returns the view that the caller of ctx has of twins: every record that
// leaves the server passes through it.
func (rd *reader) See(ctx context.Context) *mask.Sight { return rd.mask.See(ctx) }

// Answer is the record of a twin as it is sent to the caller of ctx.
func (rd *reader) Answer(ctx context.Context, q db.Querier, r *Row) (web.Reply[*Entity], error) {
	body, err := rd.mask.Record(ctx, q, r.Protocol, r.Body)
	return web.Reply[*Entity]{Raw: body, ETag: web.ETag(r.Revision)}, err
}

// Made reports whether this server generated the DID of a twin, so that nobody
// else has it. A client may have chosen any other.
func (rd *reader) Made(ctx context.Context, q db.Querier, r *Row) (bool, error) {
	chosen, err := findChosen(ctx, q, r.NID)
	return !chosen, err
}

// MayUpdate is nil when the caller controls the twin, as itself or through a group,
// else the fault NOT_CONTROLLER. A credential is controlled by the controllers of
// the oracle that issued it, whoever made its twin. The route checks the scope
// entities:write.
func (rd *reader) MayUpdate(ctx context.Context, q db.Querier, r *Row) error {
	ruling, err := rd.ruling(ctx, q, r)
	if err != nil {
		return err
	}
	controllers, err := twin.ControllersOf(ruling.Body)
	if err != nil {
		return err
	}
	caller := web.CallerFrom(ctx)
	if caller.DID != "" && slices.Contains(controllers, caller.DID) {
		return nil
	}
	as, err := rd.controlsAs(ctx, q, caller)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(as, func(d string) bool { return slices.Contains(controllers, d) }) {
		return nil
	}
	return fault.New(fault.Forbidden, "NOT_CONTROLLER", "Only a controller of the entity may change it. controllers lists them; a caller with entities:transfer can hand it over: POST /v1/entities/{did}/transfer.")
}

// ruling is the twin whose controllers control r: for a signed credential its issuer.
func (rd *reader) ruling(ctx context.Context, q db.Querier, r *Row) (*Row, error) {
	if r.DomainType != "credential" {
		return r, nil
	}
	issuer, err := rd.issuerOf(ctx, q, r.NID)
	if err != nil || issuer == 0 {
		return r, err
	}
	return findByNID(ctx, q, r.Workspace, issuer)
}

// mayChange is MayUpdate for a twin that is still in use.
func (rd *reader) mayChange(ctx context.Context, q db.Querier, r *Row) error {
	if err := rd.MayUpdate(ctx, q, r); err != nil {
		return err
	}
	if r.Status == StatusDeactivated {
		return deactivated()
	}
	return nil
}

// Summary describes a twin in a few words.
func Summary(r *Row) Brief {
	return Brief{DID: r.DID, Type: r.Type, Class: r.Class, DomainType: r.DomainType, Status: r.Status, Name: r.Name}
}
