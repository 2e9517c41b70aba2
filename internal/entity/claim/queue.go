package claim

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Lease is how long a claim is kept for the reviewer who has taken it.
const Lease = 10 * time.Minute

const (
	maxLeases  = 20  // claims one reviewer can lease at once
	queueLook  = 100 // claims read at once
	maxWeighed = 200 // claims whose right to judge a page checks

	// The claims that wait for people: pending or flagged, and the engine is done with
	// them or has put them off. A claim that another one sums is decided with that one.
	listWaiting = `SELECT c.nid, c.ws, c.did, c.cid, c.project, c.type, c.kind, c.subject, c.subject_did, c.claimant, c.starts, c.ends, c.amount, c.unit, c.status, c.approved, c.summed, c.submitted_at, c.document, c.facts, c.protocol, c.version, c.collection, c.due
		FROM claims c WHERE c.ws = $1 AND c.nid > $2 AND c.status IN ('pending', 'flagged') AND c.summed = 0 AND (c.due = 0 OR c.due > $3)
		AND NOT EXISTS (SELECT 1 FROM claim_leases l WHERE l.claim = c.nid AND l.until > $3 AND l.holder <> $4) ORDER BY c.nid LIMIT $5`
	selectLease = `SELECT holder, until FROM claim_leases WHERE claim = $1 AND until > $2`
	takeLease   = `INSERT INTO claim_leases (claim, ws, holder, until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (claim) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE claim_leases.until <= $5 OR claim_leases.holder = excluded.holder`
	dropLease    = `DELETE FROM claim_leases WHERE claim = $1`
	dropOwnLease = `DELETE FROM claim_leases WHERE claim = $1 AND holder = $2`
	dropEnded    = `DELETE FROM claim_leases WHERE ws = $1 AND until <= $2`
	countLeases  = `SELECT COUNT(*) FROM claim_leases WHERE ws = $1 AND holder = $2 AND claim <> $3`
)

// Queue is the claims that wait for people, and their leases.
type Queue struct {
	cfg Config
	db  *db.DB
}

// NewQueue makes the Queue for the claims of a Service.
func NewQueue(s *Service) *Queue { return &Queue{s.cfg, s.db} }

func (u *Queue) now() int64 { return u.cfg.Ledger.Now().UnixMilli() }

// List reads waiting claims that the caller may judge, the oldest first, numbered above
// after, and returns where the list continues: 0 at its end. Claims that somebody else
// has taken are left out. A page may be short.
func (u *Queue) List(ctx context.Context, f Filter, after int64, limit int) (out []*api.QueuedClaim, next int64, err error) {
	c, now, weighed := web.CallerFrom(ctx), u.now(), 0
	for looked := 0; looked < maxLooked; looked += queueLook {
		rows, err := u.db.Query(ctx, listWaiting, c.Workspace, after, now, c.DID, queueLook)
		all, err := db.Collect(rows, err, "list what waits", (*row).scan)
		if err != nil {
			return nil, 0, err
		}
		for i := range all {
			r := &all[i]
			if !f.fits(c, r) {
				after = r.nid
				continue
			}
			if len(out) == limit || weighed == maxWeighed {
				return out, after, nil
			}
			weighed++
			item, err := u.offer(ctx, r)
			if err != nil {
				return nil, 0, err
			}
			if after = r.nid; item != nil {
				out = append(out, item)
			}
		}
		if len(all) < queueLook {
			return out, 0, nil
		}
	}
	return out, after, nil
}

// may refuses a caller who may not decide about a claim.
func (u *Queue) may(ctx context.Context, q db.Querier, r *row) error {
	twin, err := u.cfg.Entities.Find(ctx, q, r.did)
	if err != nil {
		return err
	}
	_, err = u.cfg.Entities.MayJudge(ctx, q, twin, entity.Verdict{})
	if fault.CodeOf(err) == "ENTITY_INVALID" { // only the reason is missing, which comes with the verdict
		return nil
	}
	return err
}

// offer renders a waiting claim for the API; nil for one that the caller may not judge.
func (u *Queue) offer(ctx context.Context, r *row) (*api.QueuedClaim, error) {
	if err := u.may(ctx, u.db, r); mayNot(err) {
		return nil, nil //nolint:nilnil // it waits for somebody else
	} else if err != nil {
		return nil, err
	}
	return u.item(ctx, r)
}

// mayNot reports whether an error of may means that others decide, or nobody yet.
func mayNot(err error) bool {
	return slices.Contains([]fault.Kind{fault.Forbidden, fault.Conflict, fault.NotFound}, fault.KindOf(err))
}

// item renders a waiting claim for the API.
func (u *Queue) item(ctx context.Context, r *row) (*api.QueuedClaim, error) {
	v, err := r.view(false)
	if err != nil {
		return nil, err
	}
	out := &api.QueuedClaim{Claim: *v}
	if out.ClaimedElsewhere, err = r.elsewhere(ctx, u.db); err != nil {
		return nil, err
	}
	_, until, err := lease(ctx, u.db, r.nid, u.now())
	if until > 0 {
		out.LeasedUntil = time.UnixMilli(until).UTC()
	}
	return out, err
}

// lease returns who has taken a claim, and until when; 0 when nobody has.
func lease(ctx context.Context, q db.Querier, nid, now int64) (holder string, until int64, err error) {
	err = q.QueryRow(ctx, selectLease, nid, now).Scan(&holder, &until)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	return holder, until, db.Wrap("find lease", err)
}

// free refuses a caller while somebody else has taken a claim. The fault is
// CLAIM_LEASED.
func free(ctx context.Context, q db.Querier, nid, now int64) error {
	holder, until, err := lease(ctx, q, nid, now)
	if err != nil || until == 0 || holder == web.CallerFrom(ctx).DID {
		return err
	}
	return leased(until)
}

func leased(until int64) error {
	return fault.New(fault.Conflict, "CLAIM_LEASED", "Somebody else has taken the claim to decide about it. Wait until they have, or until their lease ends.").
		With(fault.Field{Code: "leased", Detail: "It ends at " + time.UnixMilli(until).UTC().Format(time.RFC3339) + " unless they renew it."})
}

// Take reserves a claim for the caller for a while, or renews that. Faults:
// CLAIM_NOT_FOUND, CLAIM_DECIDED, CLAIM_DISPUTED, CLAIM_NOT_WAITING, CLAIM_LEASED,
// CLAIM_LEASES_MANY, and those of a verdict.
func (u *Queue) Take(ctx context.Context, id string) (web.Reply[*api.ClaimLease], error) {
	return once.Do(ctx, u.cfg.Idem, func(tx *db.Tx) (none web.Reply[*api.ClaimLease], err error) {
		found, err := find(ctx, tx, id)
		if err != nil {
			return none, err
		}
		r, err := held(ctx, tx, found.ws, found.nid)
		if err != nil {
			return none, err
		}
		now := u.now()
		switch {
		case r == nil:
			return none, notFound()
		case over(r.status) || r.summed != 0:
			return none, decided(r)
		case r.status == Disputed:
			return none, disputed()
		case r.due != 0 && r.due <= now:
			return none, fault.New(fault.Conflict, "CLAIM_NOT_WAITING", "The server is about to evaluate the claim by itself. Look again in a minute.")
		}
		if err := u.may(ctx, tx, r); err != nil {
			return none, err
		}
		until, err := u.keep(ctx, tx, r, now)
		return web.Reply[*api.ClaimLease]{Value: &api.ClaimLease{Claim: r.did, Until: time.UnixMilli(until).UTC()}, Status: http.StatusOK}, err
	})
}

// keep stores a lease of the caller.
func (u *Queue) keep(ctx context.Context, tx *db.Tx, r *row, now int64) (until int64, err error) {
	c := web.CallerFrom(ctx)
	if _, err := tx.Exec(ctx, dropEnded, r.ws, now); err != nil {
		return 0, db.Wrap("drop leases", err)
	}
	var n int
	if err := tx.QueryRow(ctx, countLeases, r.ws, c.DID, r.nid).Scan(&n); err != nil {
		return 0, db.Wrap("count leases", err)
	}
	if n >= maxLeases {
		return 0, fault.New(fault.Conflict, "CLAIM_LEASES_MANY", "You have taken 20 claims already. Decide about one of them, or release it.")
	}
	until = now + Lease.Milliseconds()
	took, err := tx.Exec(ctx, takeLease, r.nid, r.ws, c.DID, until, now)
	if err != nil {
		return 0, db.Wrap("take lease", err)
	}
	if took == 0 {
		_, theirs, err := lease(ctx, tx, r.nid, now)
		if err != nil {
			return 0, err
		}
		return 0, leased(theirs)
	}
	return until, nil
}

// Release returns a claim of the caller to the queue. Releasing a claim that the
// caller has not taken changes nothing. The fault is CLAIM_NOT_FOUND.
func (u *Queue) Release(ctx context.Context, id string) (*api.ClaimLease, error) {
	var out *api.ClaimLease
	err := u.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		out = &api.ClaimLease{Claim: r.did}
		_, err = tx.Exec(ctx, dropOwnLease, r.nid, web.CallerFrom(ctx).DID)
		return db.Wrap("release claim", err)
	})
	return out, err
}
