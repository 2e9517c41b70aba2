// Package erase takes a person or a household out of the store in one call: what their
// twin says and ever said, what it is found by, the groups it is in, and what other
// areas keep about it.
//
// What others rely on stays: the DID and the type, that the twin existed and when it
// changed, the hashes of its revisions, and its place among projects and devices, since
// an auditor counts who took part, and with what. Relationships between people and
// households end, because who lives with whom is nobody's business any more, unless an
// active twin cannot do without one; that they existed stays, as DIDs. Device readings
// stay; without the household they belong to nobody. Text elsewhere that mentions the
// person stays too, such as the reason for a change of their project. The certificate
// says what was done and holds nothing that was erased.
//
// The other areas forget a person or household without a twin in the same way, such as
// a household that only answered surveys.
//
// It promises that once there is a certificate nothing in the tables can be read by
// anybody. Copies of records, such as files of exports and stored answers, and on
// SQLite old bytes in the files of the store, are removed in the background: an erasure
// takes as long as the data it erases, however large the store is. The certificate says
// when they are gone; if a process dies, the next one continues. Backups and the copies
// made before migrations are older than the erasure and are not touched; PostgreSQL
// overwrites the space of old rows when it needs it.
package erase

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Eraser is what one part of the product does to forget a person. Erase removes
// what that part keeps about a DID of a workspace and returns how many items
// there were, 0 when there is nothing (any more). It runs in the transaction
// that makes the certificate, so it must be quick.
type Eraser struct {
	Name string // in the counts of the certificate: "memberships"
	// May can refuse an erasure before anything has changed; nil refuses none.
	May   func(ctx context.Context, q db.Querier, ws, id string) error
	Erase func(ctx context.Context, tx *db.Tx, ws, id string) (int64, error)
}

// Certificate says that a person's data was erased.
type Certificate struct {
	ID       string           `json:"id" example:"erasure_7310428377145344"`
	Subject  string           `json:"subject" doc:"DID of the twin that was erased."`
	ErasedAt time.Time        `json:"erasedAt"`
	By       string           `json:"by" doc:"DID of whoever asked for it."`
	Reason   string           `json:"reason"`
	With     []string         `json:"with,omitzero" doc:"DIDs of twins that were made for it and were erased with it, each with a certificate of its own: the household of a registration over USSD. Where others are linked to that household, it stays without telephone number and customer id."`
	Counts   map[string]int64 `json:"counts" doc:"How many things were erased: revisions of the twin, events that held data, relationships that were ended or removed, conversations with the oracle that were removed or blanked, and what other parts kept. The certificate of each twin in with counts what was erased under that twin."`
	Bytes    Bytes            `json:"bytes,omitzero" doc:"Where the bytes of what was erased are. Read the certificate again until the state is gone or released."`
	Stays    []string         `json:"stays,omitzero" doc:"What is kept, as sentences: of the twin, of each part of the server that has erased something, and of copies made before. Absent in certificates of earlier versions." example:"[\"Backups made before the erasure stay as they are: erase again after restoring one.\"]"`
}

// Draft asks for an erasure.
type Draft api.ErasureDraft

// Validate names every wrong member at once, in a fault ERASURE_INVALID.
func (d Draft) Validate() error {
	var c fault.Checks
	c.Require(d.Subject != "", "/subject")
	if d.Subject != "" && !did.Valid(d.Subject) {
		c.Add("/subject", "not_a_did", "The value must be a DID.")
	}
	check.Reason(&c, "/reason", d.Reason, true)
	return c.Err("ERASURE_INVALID", "The request for an erasure is not valid.")
}

// blank removes everything from a record that its makers put in.
func blank(e *entity.Entity) {
	e.Properties, e.Metadata = empty(), empty()
	e.Services, e.LinkedResources, e.LinkedClaims, e.LinkedEntities = nil, nil, nil, nil
	e.AccordedRights, e.Accounts, e.AlsoKnownAs, e.VerifiableCredential = nil, nil, nil, nil
	e.ExternalIDs = map[string]string{}
	e.Relationships = slices.DeleteFunc(e.Relationships, func(r entity.Relationship) bool { return r.External })
	e.Verification.Evidence = ""
	e.StartDate, e.EndDate = time.Time{}, time.Time{}
	e.Status = entity.StatusDeactivated
}

func empty() entity.Object { return entity.Object{Value: jsontext.Value("{}")} }

// isBlank reports whether blank would change nothing.
func isBlank(e *entity.Entity) bool {
	listed := len(e.Services) + len(e.LinkedResources) + len(e.LinkedClaims) + len(e.LinkedEntities) + len(e.AccordedRights) +
		len(e.Accounts) + len(e.AlsoKnownAs) + len(e.VerifiableCredential) + len(e.ExternalIDs)
	return listed == 0 && bare(e.Properties) && bare(e.Metadata) && e.Verification.Evidence == "" && e.StartDate.IsZero() && e.EndDate.IsZero() &&
		e.Status == entity.StatusDeactivated && !slices.ContainsFunc(e.Relationships, func(r entity.Relationship) bool { return r.External })
}

func bare(o entity.Object) bool { return o.IsZero() || string(o.Value) == "{}" }

const idPrefix = "erasure_"

func idOf(nid int64) string { return idPrefix + strconv.FormatInt(nid, 10) }

// parseID reads the number of a certificate, 0 when the text is not the id of
// one.
func parseID(id string) int64 {
	digits, ok := strings.CutPrefix(id, idPrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n <= 0 || idOf(n) != id {
		return 0
	}
	return n
}
