package claim

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The states of a collection. The last is final.
const (
	open   = "open"
	paused = "paused"
	closed = "closed"
)

const (
	collectionID = "col_"
	maxQuota     = 1_000_000_000

	badCollection = "COLLECTION_INVALID"
)

// Triggers on claims maintain the counters of a collection, in the statement that
// changes a claim: nothing else writes them.
const (
	insertCollection = `INSERT INTO claim_collections (nid, ws, project, name, description, protocol, version, state, quota, starts, ends, revision, created_at, updated_at, actor)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $12, $12, $13)`
	selectCollection = `SELECT nid, ws, project, name, description, protocol, version, state, quota, starts, ends, revision, created_at, updated_at, actor,
		pending, flagged, disputed, approved, rejected, invalidated, withdrawn FROM claim_collections WHERE nid = $1 AND ws = $2`
	lockCollectionPostgres = selectCollection + ` FOR UPDATE`
	listCollections        = `SELECT nid, ws, project, name, description, protocol, version, state, quota, starts, ends, revision, created_at, updated_at, actor,
		pending, flagged, disputed, approved, rejected, invalidated, withdrawn FROM claim_collections WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	updateCollection = `UPDATE claim_collections SET name = $2, description = $3, state = $4, quota = $5, starts = $6, ends = $7, revision = $8, updated_at = $9 WHERE nid = $1`
)

// collection is a stored one.
type collection struct {
	nid, starts, ends          int64 // ms; the widest bounds where it has none
	ws, project, name, about   string
	protocol, version          string
	state, actor               string
	quota                      int64
	revision, created, updated int64
	counts                     api.CollectionCounts
}

func (c *collection) scan(from db.Row) error {
	n := &c.counts
	err := from.Scan(&c.nid, &c.ws, &c.project, &c.name, &c.about, &c.protocol, &c.version, &c.state, &c.quota, &c.starts, &c.ends, &c.revision, &c.created, &c.updated, &c.actor,
		&n.Pending, &n.Flagged, &n.Disputed, &n.Approved, &n.Rejected, &n.Invalidated, &n.Withdrawn)
	n.Taken = n.Pending + n.Flagged + n.Disputed + n.Approved
	n.Submitted = n.Taken + n.Rejected + n.Invalidated + n.Withdrawn
	return err
}

func collectionName(nid int64) string { return collectionID + strconv.FormatInt(nid, 10) }

// numberOf parses the number in the id of a collection. The fault is
// COLLECTION_NOT_FOUND.
func numberOf(id string) (int64, error) {
	digits, ok := strings.CutPrefix(id, collectionID)
	nid, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || collectionName(nid) != id {
		return 0, noCollection()
	}
	return nid, nil
}

func collectionAddress(id string) string { return "/v1/collections/" + url.PathEscape(id) }

// view renders a collection for the API.
func (c *collection) view() *api.Collection {
	id := collectionName(c.nid)
	out := &api.Collection{
		ID: id, Name: c.name, Description: c.about, ProjectID: c.project, Protocol: c.protocol, Version: c.version, State: c.state, Quota: c.quota, Counts: c.counts, Revision: c.revision,
		CreatedAt: time.UnixMilli(c.created).UTC(), UpdatedAt: time.UnixMilli(c.updated).UTC(), CreatedBy: c.actor,
		Links: api.CollectionLinks{Self: collectionAddress(id), Claims: "/v1/claims?collection=" + url.QueryEscape(id)},
	}
	if c.starts != always {
		out.StartsAt = time.UnixMilli(c.starts).UTC()
	}
	if c.ends != never {
		out.EndsAt = time.UnixMilli(c.ends).UTC()
	}
	return out
}

// rules are the parts of a collection that can be changed.
type rules struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Quota       int64     `json:"quota"`
	StartsAt    time.Time `json:"startsAt,omitzero"`
	EndsAt      time.Time `json:"endsAt,omitzero"`
}

// check names everything that is wrong.
func (r *rules) check(c *fault.Checks) {
	check.Line(c, "/name", r.Name, 200)
	check.Optional(c, "/description", r.Description, 1000)
	if r.Quota < 0 || r.Quota > maxQuota {
		c.Add("/quota", "out_of_range", "The value must be a whole number from 0, which is no limit, to 1,000,000,000.")
	}
	for at, t := range map[string]time.Time{"/startsAt": r.StartsAt, "/endsAt": r.EndsAt} {
		if !t.IsZero() {
			check.Years(c, at, t, firstYear, lastYear)
		}
	}
	if !r.StartsAt.IsZero() && !r.EndsAt.IsZero() && !r.EndsAt.After(r.StartsAt) {
		c.Add("/endsAt", "out_of_range", "The end must be after the start.")
	}
}

// put stores rules in the collection.
func (c *collection) put(r rules) {
	c.name, c.about, c.quota, c.starts, c.ends = r.Name, r.Description, r.Quota, always, never
	if !r.StartsAt.IsZero() {
		c.starts = r.StartsAt.UnixMilli()
	}
	if !r.EndsAt.IsZero() {
		c.ends = r.EndsAt.UnixMilli()
	}
}

func noCollection() error {
	return fault.New(fault.NotFound, "COLLECTION_NOT_FOUND", "There is no such collection. GET /v1/collections lists those you may see.")
}

// collectionOf reads a collection that the caller sees. With held it locks it until
// the transaction ends. The fault is COLLECTION_NOT_FOUND.
func collectionOf(ctx context.Context, q db.Querier, ws, id string, held bool) (*collection, error) {
	nid, err := numberOf(id)
	if err != nil {
		return nil, err
	}
	c, from := new(collection), q.QueryRow
	if tx, in := q.(*db.Tx); held && in && tx.Dialect() == db.Postgres {
		err = c.scan(from(ctx, lockCollectionPostgres, nid, ws))
	} else {
		err = c.scan(from(ctx, selectCollection, nid, ws))
	}
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && !sees(web.CallerFrom(ctx), c.project):
		return nil, noCollection()
	case err != nil:
		return nil, db.Wrap("find collection", err)
	}
	return c, nil
}

// admits refuses a claim that a collection does not take. The caller has locked the
// collection, so that two claims do not take its last place.
func (c *collection) admits(now int64) error {
	const at = "/properties/data/collection"
	switch {
	case c.state != open:
		return fault.New(fault.Conflict, "COLLECTION_NOT_OPEN", "The collection is "+c.state+" and takes no claims.").
			With(fault.Field{Pointer: at, Code: c.state, Detail: "A caller with collections:write can open a paused collection. A closed one stays closed."})
	case now < c.starts:
		return fault.New(fault.Conflict, "COLLECTION_NOT_STARTED", "The collection takes no claims yet.").
			With(fault.Field{Pointer: at, Code: "too_early", Detail: "It takes claims from " + time.UnixMilli(c.starts).UTC().Format(time.RFC3339) + " on."})
	case now >= c.ends:
		return fault.New(fault.Conflict, "COLLECTION_ENDED", "The collection has ended.").
			With(fault.Field{Pointer: at, Code: "too_late", Detail: "It took claims before " + time.UnixMilli(c.ends).UTC().Format(time.RFC3339) + "."})
	case c.quota > 0 && c.counts.Taken >= c.quota:
		return fault.New(fault.Conflict, "COLLECTION_QUOTA_REACHED", "The collection is full.").
			With(fault.Field{Pointer: at, Code: "quota_reached", Detail: "It takes " + strconv.FormatInt(c.quota, 10) + ". A claim that is rejected, withdrawn or invalidated frees its place."})
	}
	return nil
}

// enlist locks the collection of a claim and refuses the claim unless the collection
// takes it. This is the last lock of a submission: every transaction locks a claim
// before its collection.
func (l *Ledger) enlist(ctx context.Context, tx *db.Tx, r *row) error {
	if r.collection == 0 {
		return nil
	}
	c, err := collectionOf(ctx, tx, r.ws, collectionName(r.collection), true)
	if err != nil {
		return err
	}
	return c.admits(r.submitted)
}

// pin lets the collection of a claim, if it was submitted to one, decide which version
// of the protocol applies. Faults: COLLECTION_NOT_FOUND, COLLECTION_MISMATCH.
func (l *Ledger) pin(ctx context.Context, q db.Querier, r *row, id string) error {
	if id == "" {
		return nil
	}
	c, err := collectionOf(ctx, q, r.ws, id, false)
	if err != nil {
		if f := fault.As(err); f != nil {
			err = f.With(fault.Field{Pointer: "/properties/data/collection", Code: "not_found", Detail: "No collection has this id."})
		}
		return err
	}
	detail := ""
	switch {
	case c.protocol != r.protocol:
		detail = "It takes claims about twins of the protocol " + c.protocol + "."
	case c.project != "" && c.project != r.project:
		detail = "It takes claims of another project."
	default:
		r.collection, r.version = c.nid, c.version
		return nil
	}
	return fault.New(fault.Conflict, "COLLECTION_MISMATCH", "The collection does not accept this claim.").With(fault.Field{Pointer: "/properties/data/collection", Code: "mismatch", Detail: detail})
}

// Collections is the use cases of collections, to which claims are submitted.
type Collections struct {
	cfg Config
	db  *db.DB
}

// Create makes a collection. Faults: COLLECTION_INVALID, KEY_RESTRICTED,
// PROTOCOL_NOT_FOUND, PROTOCOL_NOT_PUBLISHED, PROTOCOL_VERSION_RETIRED.
func (s *Collections) Create(ctx context.Context, d api.CollectionDraft) (web.Reply[*api.Collection], error) {
	var none web.Reply[*api.Collection]
	caller, now := web.CallerFrom(ctx), s.cfg.Ledger.Now().UnixMilli()
	set := rules{d.Name, d.Description, d.Quota, d.StartsAt, d.EndsAt}
	var wrong fault.Checks
	set.check(&wrong)
	check.DID(&wrong, "/protocol", d.Protocol)
	check.OneOf(&wrong, "/state", d.State, open, paused)
	if d.ProjectID != "" {
		check.DID(&wrong, "/projectId", d.ProjectID)
	}
	if err := wrong.Err(badCollection, "The collection is not valid."); err != nil {
		return once.Refuse[*api.Collection](ctx, s.cfg.Idem, err)
	}
	if d.ProjectID == "" && len(caller.Projects) > 0 {
		return none, fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects. Name one of them in projectId.")
	}
	p, err := s.cfg.Ledger.Protocols.Find(ctx, caller.Workspace, d.Protocol, d.Version)
	if err != nil {
		return none, protocol.At(err, "/protocol", d.Protocol, d.Version)
	}
	made := &collection{
		nid: s.cfg.Ledger.NewNID(), ws: caller.Workspace, project: d.ProjectID, protocol: p.DID, version: p.Version, state: open, revision: 1, created: now, updated: now, actor: caller.DID,
	}
	if d.State == paused {
		made.state = paused
	}
	made.put(set)
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.Collection], error) {
		if err := s.projectIs(ctx, tx, d.ProjectID); err != nil {
			return none, err
		}
		if _, err := tx.Exec(ctx, insertCollection, made.nid, made.ws, made.project, made.name, made.about, made.protocol, made.version, made.state, made.quota, made.starts, made.ends,
			made.created, made.actor); err != nil {
			return none, db.Wrap("insert collection", err)
		}
		out := collectionReply(made)
		out.Status, out.Location = http.StatusCreated, out.Value.Links.Self
		return out, s.tell(ctx, tx, "collection.created", made)
	})
}

// projectIs refuses a DID that is not a project the caller sees.
func (s *Collections) projectIs(ctx context.Context, tx *db.Tx, id string) error {
	if id == "" {
		return nil
	}
	r, err := s.cfg.Entities.Find(ctx, tx, id)
	if err == nil && r.DomainType == "project" {
		return nil
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	return fault.New(fault.Invalid, badCollection, "The collection is not valid.").With(fault.Field{Pointer: "/projectId", Code: "not_found", Detail: "No project has this DID."})
}

func collectionReply(c *collection) web.Reply[*api.Collection] {
	return web.Reply[*api.Collection]{Value: c.view(), ETag: web.ETag(c.revision)}
}

// tell appends an event about a collection.
func (s *Collections) tell(ctx context.Context, tx *db.Tx, typ string, c *collection) error {
	return s.cfg.Ledger.Events.Append(ctx, tx, event.Event{Workspace: c.ws, Type: typ, Subject: collectionName(c.nid), Data: map[string]any{"state": c.state, "protocol": c.protocol, "version": c.version}})
}

// Get reads a collection with its counts. The fault is COLLECTION_NOT_FOUND.
func (s *Collections) Get(ctx context.Context, id string) (web.Reply[*api.Collection], error) {
	c, err := collectionOf(ctx, s.db, web.CallerFrom(ctx).Workspace, id, false)
	if err != nil {
		return web.Reply[*api.Collection]{}, err
	}
	// What a claim does to the counts makes no new revision: no ETag, or caches would
	// show old counts.
	return web.Reply[*api.Collection]{Value: c.view()}, nil
}

// List reads collections numbered below before, newest first, and returns where
// the list continues: 0 at its end. A page may be short.
func (s *Collections) List(ctx context.Context, project string, before int64, limit int) (out []*api.Collection, next int64, err error) {
	caller := web.CallerFrom(ctx)
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.db.Query(ctx, listCollections, caller.Workspace, before, maxLooked)
	all, err := db.Collect(rows, err, "list collections", (*collection).scan)
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		if len(out) == limit {
			return out, before, nil
		}
		before = all[i].nid
		if sees(caller, all[i].project) && (project == "" || project == all[i].project) {
			out = append(out, all[i].view())
		}
	}
	if len(all) < maxLooked {
		before = 0
	}
	return out, before, nil
}

// alter locks a collection, lets f change it and stores it with an event, unless f
// changes nothing. Faults: COLLECTION_NOT_FOUND, COLLECTION_CLOSED.
func (s *Collections) alter(ctx context.Context, tx *db.Tx, id string, f func(*collection) (event string, err error)) (web.Reply[*api.Collection], error) {
	var none web.Reply[*api.Collection]
	c, err := collectionOf(ctx, tx, web.CallerFrom(ctx).Workspace, id, true)
	if err != nil {
		return none, err
	}
	typ, err := f(c)
	if err != nil {
		return none, err
	}
	if typ == "" {
		return collectionReply(c), nil
	}
	c.revision, c.updated = c.revision+1, s.cfg.Ledger.Now().UnixMilli()
	if _, err := tx.Exec(ctx, updateCollection, c.nid, c.name, c.about, c.state, c.quota, c.starts, c.ends, c.revision, c.updated); err != nil {
		return none, db.Wrap("change collection", err)
	}
	return collectionReply(c), s.tell(ctx, tx, typ, c)
}

// Update applies a merge patch. Faults: those of alter and web.CheckMatch,
// COLLECTION_INVALID, COLLECTION_QUOTA_BELOW_COUNT.
func (s *Collections) Update(ctx context.Context, id, ifMatch string, patch []byte) (out web.Reply[*api.Collection], err error) {
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		out, err = s.alter(ctx, tx, id, func(c *collection) (string, error) {
			if err := web.CheckMatch(ifMatch, c.revision); err != nil {
				return "", err
			}
			if c.state == closed {
				return "", isClosed()
			}
			return "collection.updated", c.merge(patch)
		})
		return err
	})
	return out, err
}

// merge applies a merge patch to the parts of a collection that can be changed.
func (c *collection) merge(patch []byte) error {
	shown := c.view()
	doc, err := json.Marshal(rules{c.name, c.about, c.quota, shown.StartsAt, shown.EndsAt})
	if err != nil {
		return db.Wrap("encode collection", err)
	}
	if doc, err = web.MergePatch(doc, patch); err != nil {
		return err
	}
	var set rules
	if err := web.DecodeStrict(doc, &set, false); err != nil {
		return err
	}
	var wrong fault.Checks
	set.check(&wrong)
	if err := wrong.Err(badCollection, "The collection is not valid."); err != nil {
		return err
	}
	if set.Quota != c.quota && set.Quota > 0 && set.Quota < c.counts.Taken {
		return fault.New(fault.Conflict, "COLLECTION_QUOTA_BELOW_COUNT", "The quota is below the number of claims in the collection.").
			With(fault.Field{Pointer: "/quota", Code: "out_of_range", Detail: "It has " + strconv.FormatInt(c.counts.Taken, 10) + "."})
	}
	c.put(set)
	return nil
}

func isClosed() error {
	return fault.New(fault.Conflict, "COLLECTION_CLOSED", "The collection is closed, which is final. Make another one.")
}

// Step opens, pauses or closes a collection; repeating a step changes nothing.
// The fault is COLLECTION_CLOSED.
func (s *Collections) Step(ctx context.Context, id, state string) (web.Reply[*api.Collection], error) {
	events := map[string]string{open: "collection.opened", paused: "collection.paused", closed: "collection.closed"}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.Collection], error) {
		return s.alter(ctx, tx, id, func(c *collection) (string, error) {
			switch {
			case c.state == state:
				return "", nil
			case c.state == closed:
				return "", isClosed()
			}
			c.state = state
			return events[state], nil
		})
	})
}
