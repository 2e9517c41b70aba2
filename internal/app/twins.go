package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/entity/history"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// twins is area A.
type twins struct {
	db        *db.DB
	protocols *protocol.Service
	entities  *entity.Service
	search    *search.Service
	history   *history.Service
	graph     *graph.Service
	groups    *group.Service
	speakers  *group.Speakers
	erase     *erase.Service
	resolve   *resolve.Service
	devices   *device.Service
	claims    *claim.Service
	issued    *credential.Service
	vouchers  *credential.Vouchers
	bulk      *bulk.Service
}

// buildTwins makes the services of area A, lowest first.
func (a *App) buildTwins() (err error) {
	t := &twins{db: a.DB}
	t.protocols = protocol.New(protocol.Config{
		DB: a.DB, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Log: a.log,
		Lease: a.changes.Lease(), Taken: relationship.Held,
	})
	a.changes.Follow(protocol.Topic, t.protocols)
	masked := mask.New(t.protocols, group.ControlsAs)
	t.search = search.New(search.Config{DB: a.DB, Protocols: t.protocols, Cursors: a.cursors, Key: a.Key, Mask: masked})
	t.speakers = &group.Speakers{
		Held: a.Auth.HeldBy, Voices: []group.Voice{chat.Voice, account.Voice}, Minted: a.Auth.Minted, RightsOf: a.Auth.RightsOf, RightsChanged: a.Auth.RightsChanged,
		Oracle: a.identity.DID.String(), Now: a.DB.Now,
	}
	ledger := claim.NewLedger(claim.Ledger{Protocols: t.protocols, Events: a.Events, NewNID: a.DB.NewNID, Now: a.DB.Now, Issue: issueLater(a.Jobs), Standing: credential.Standing})
	issuer := credential.NewIssuer(credential.IssuerConfig{Key: a.Key, Events: a.Events, NewNID: a.DB.NewNID, Now: a.DB.Now, PublicURL: a.cfg.Server.PublicURL})
	t.entities = entity.New(entity.Config{
		DB: a.DB, Protocols: t.protocols, Events: a.Events, Idem: a.Idem, Jobs: a.Jobs, Cursors: a.cursors, Log: a.log,
		Relayer: a.identity.DID.String(), StrictRefs: a.cfg.Server.StrictRefs, ControlsAs: group.ControlsAs, KnownAs: t.speakers.JudgesAs,
		Speakers: t.speakers, GroupChanged: a.Auth.RightsChanged,
		Moved:  func(ctx context.Context, tx *db.Tx, r *entity.Row) error { return t.devices.Moved(ctx, tx, r) },
		Claims: ledger, Certified: issuer.Follow, IssuerOf: credential.IssuerOf,
		At: history.At, Fields: t.search.Fields, Expand: t.search.Expand,
	})
	t.history = history.New(history.Config{DB: a.DB, Entities: t.entities, Cursors: a.cursors, Key: a.Key})
	t.graph = graph.New(graph.Config{DB: a.DB, Protocols: t.protocols, Cursors: a.cursors, Mask: masked})
	t.groups = group.New(group.Config{
		DB: a.DB, Entities: t.entities, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Speakers: t.speakers,
		Published: a.publishedKeys, Changed: a.Auth.RightsChanged,
	})
	t.devices = device.New(device.Config{DB: a.DB, Entities: t.entities, Protocols: t.protocols, Events: a.Events, Cursors: a.cursors, Idem: a.Idem})
	t.issued = credential.New(credential.Config{DB: a.DB, Entities: t.entities, Issuer: issuer, Idem: a.Idem, Cursors: a.cursors})
	t.claims = claim.New(claim.Config{DB: a.DB, Entities: t.entities, Ledger: ledger, Idem: a.Idem, Cursors: a.cursors, Credentials: t.issued, Exchange: a.exchange, Evidence: reports{a}.evidence, Rights: a.Auth.RightsOf})
	t.vouchers = vouchers(a, t)
	t.bulk = bulk.New(bulk.Config{
		DB: a.DB, Entities: t.entities, Protocols: t.protocols, Search: t.search, Events: a.Events, Exchange: a.exchange, Idem: a.Idem,
		Cursors: a.cursors,
	})
	personal, err := Personal()
	if err != nil {
		return fmt.Errorf("registry of personal data: %w", err)
	}
	a.twins = t
	t.erase = erase.New(erase.Config{
		DB: a.DB, Entities: t.entities, Protocols: t.protocols, Events: a.Events, Cursors: a.cursors, Personal: personal,
		Erasers:    a.erasers(),
		Companions: companions(a.customers), Certified: vault.NoteErasure, Names: a.surveys.responses.NamesOf, Log: a.log,
		Condemn: a.exchange.Condemn,
		Copies:  a.copies(),
	})
	t.resolve, err = resolve.New(resolve.Config{
		DB: a.DB, Entities: t.entities, Log: a.log, PublicURL: a.cfg.Server.PublicURL, Oracle: a.identity.DID.String(), Address: a.address,
		Keys: oracleKeys(a.identity), Issuing: credential.Published, At: history.At, Web: fetchDocument(a.outbound),
	})
	if err != nil {
		return fmt.Errorf("build resolver: %w", err)
	}
	return nil
}

// erasers lists what all parts do to forget a person. Keys come first, because
// whether they may end depends on what the groups give.
func (a *App) erasers() []erase.Eraser {
	return slices.Concat([]erase.Eraser{
		{Name: "keys", Erase: a.Auth.Forget, May: a.Auth.MayForget},
		{Name: "memberships", Erase: a.twins.groups.Forget},
		{Name: "vouchers", Erase: a.twins.vouchers.Erase},
		{Name: "credentials", Erase: a.twins.issued.Erase},
		{Name: "claims", Erase: claim.Erase},
	}, a.surveys.erasers(), lineErasers(a.customers), mindErasers(a))
}

// copies remove what may hold copies of records about a person: files, stored
// answers, deleted conversations, and conversations from before their DIDs were
// noted.
func (a *App) copies() []func(context.Context, string, []string) (bool, error) {
	return []func(context.Context, string, []string) (bool, error){
		func(ctx context.Context, ws string, _ []string) (bool, error) { return a.exchange.Forget(ctx, ws) },
		func(ctx context.Context, ws string, _ []string) (bool, error) { return a.surveys.media.Sweep(ctx, ws) },
		func(ctx context.Context, ws string, names []string) (bool, error) {
			return false, a.Idem.Forget(ctx, ws, names)
		},
		func(ctx context.Context, _ string, _ []string) (bool, error) {
			chats := a.chats()
			return false, errors.Join(drain(ctx, chats.Backfill), drain(ctx, chats.Sweep))
		},
	}
}

// drain works off what there is, a chunk at a time.
func drain(ctx context.Context, some func(ctx context.Context, limit int) (int, error)) error {
	for {
		if n, err := some(ctx, sweepRows); n == 0 || err != nil {
			return err
		}
	}
}

// sweepRows is how many rows of deleted conversations go in one transaction, and
// how many of those of before are looked at together.
const sweepRows = 100

// routes enters area A into a table.
func (t *twins) routes(api *web.API) {
	t.protocols.Routes(api)
	t.entities.Routes(api)
	t.search.Routes(api)
	t.history.Routes(api)
	t.graph.Routes(api)
	t.groups.Routes(api)
	t.devices.Routes(api)
	t.claims.Routes(api)
	t.issued.Routes(api)
	t.vouchers.Routes(api)
	t.bulk.Routes(api)
	t.erase.Routes(api)
	t.resolve.Routes(api)
}

// kindDays is the job that recomputes the days of devices that wait for it, and
// appends the postponed events about readings.
const kindDays = "device.days"

// kindProcess is the job that evaluates claims that are due.
const kindProcess = "claim.process"

// jobs adds the jobs of area A.
func (t *twins) jobs(c *job.RunnerConfig) {
	maps.Copy(c.Handlers, t.entities.Handlers())
	c.Handlers[kindDays] = func(ctx context.Context, r *job.Run) error {
		n, err := t.devices.Catch(ctx)
		r.Progress(int64(n), 0, "")
		_, untold := t.devices.Tell(ctx)
		return errors.Join(err, untold)
	}
	c.Handlers[kindIssue] = t.issueApproved
	c.Handlers[kindProcess] = func(ctx context.Context, r *job.Run) error {
		n, err := claim.NewEngine(t.claims).Run(ctx)
		r.Progress(n, 0, "")
		return err
	}
	c.Every = append(c.Every, job.Every{Kind: kindDays, Interval: 5 * time.Minute}, job.Every{Kind: kindProcess, Interval: time.Minute}, job.Every{Kind: entity.KindRename, Interval: 24 * time.Hour})
}

// retentions are what area A keeps for a while: results of batches as long as
// other answers to an Idempotency-Key.
func (t *twins) retentions(e config.Events) []retention {
	return []retention{
		{"results of batches", e.IdempotencyRetention, t.bulk.ExpireBatches},
		{"readings", e.ReadingRetention, t.devices.Expire},
	}
}

// actsFor lists the DIDs the caller of ctx is known by and the groups these
// belong to, whatever the groups give and whatever its key sees. Not their
// organisations: one group of it may well judge what another does.
func (t *twins) actsFor(ctx context.Context) ([]string, error) {
	c := web.CallerFrom(ctx)
	own, others, err := t.speakers.KnownAs(ctx, t.db, c)
	if err != nil {
		return nil, err
	}
	out := slices.Concat(own, others)
	for _, id := range own {
		groups, err := group.Of(ctx, t.db, c.Workspace, id)
		if err != nil {
			return nil, err
		}
		out = append(out, groups...)
	}
	return out, nil
}

// number is the number of a twin that the caller of ctx may read.
func (t *twins) number(ctx context.Context, id string) (int64, error) {
	r, err := t.entities.Find(ctx, t.db, id)
	if err != nil {
		return 0, err
	}
	return r.NID, nil
}

// keys are the keys of a twin: the did:keys it is also known as. Only twins of
// the operator's workspace count, with a DID generated by this server: a DID
// that a client has chosen may be somebody else's.
func (t *twins) keys(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	ctx = web.WithCaller(ctx, web.Caller{Workspace: auth.OperatorWorkspace})
	r, err := t.entities.Find(ctx, t.db, id.String())
	if fault.KindOf(err) == fault.NotFound {
		return nil, ucan.ErrUnknownDID
	} else if err != nil {
		return nil, err
	}
	made, err := t.entities.Made(ctx, t.db, r)
	if err != nil {
		return nil, err
	}
	if !made {
		return nil, ucan.ErrUnknownDID
	}
	e, err := r.Entity()
	if err != nil {
		return nil, err
	}
	names, err := group.Speaking(ctx, t.db, r.Workspace, r.DID, e.Keys())
	if err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	for _, name := range names {
		key, err := did.DID(name).Ed25519()
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || e.Status == entity.StatusDeactivated {
		return nil, ucan.ErrUnknownDID
	}
	return keys, nil
}
