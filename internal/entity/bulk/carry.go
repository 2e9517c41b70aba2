package bulk

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// carrier makes twins from the rows of a file, and changes existing ones.
type carrier struct {
	db        *db.DB
	entities  *entity.Service
	protocols *protocol.Service
	p         *importJob
	reason    string // for the history
	// seen are the names the rows so far have taken: a dry run stores nothing
	// that a row could clash with or refer to, and must say what the real one
	// says.
	seen *takenNames
	// lines are the places of rows that name a DID, by the hash of it: a file
	// may have a million.
	lines   map[uint64]int64
	seed    maphash.Seed
	foreign map[string]bool // known results about lists of controllers, see control
	twins   map[string]bool // whether twins are held here, see doubt
}

// uncarried are members of a record that state something about a twin and are
// not taken from a file, with what happens to them. A row whose twin differs
// has a warning.
var uncarried = map[string]string{
	"owner":                "The file names another owner. A new twin belongs to whoever imports it, until it is transferred.",
	"verification":         "What a verifier has said is not taken from a file. Verify the twin here.",
	"verifiableCredential": "Credentials are not taken from a file.",
	"linkedClaims":         "Claims are not taken from a file.",
	"project":              `The project is not taken from the file, so the twin is not in it. A relationship puts a twin into a project: relationships [{"role":"project","target":"did:…"}], in a table a column relationships.project with the DID.`,
}

// placed reports whether the row names no project, or has the relationship that
// puts its twin into the one it names, now or once later rows are stored.
func (r *row) placed() bool {
	project := r.said["project"]
	if k := project.Kind(); k == 'n' || k == '"' && text(project) == "" {
		return true
	}
	return slices.ContainsFunc(r.draft.Relationships, func(d entity.RelationDraft) bool {
		return d.Target == text(project) && relationship.Belongs(d.Role, "project")
	})
}

// readStatus reads the status a record has.
func (r *row) readStatus() error {
	v, ok := r.members["status"]
	if !ok || v.Kind() == 'n' {
		return nil
	}
	var text string
	if v.Kind() == '"' {
		if err := json.Unmarshal(v, &text); err != nil {
			return fmt.Errorf("read status: %w", err)
		}
	}
	if r.status = entity.Status(text); r.status.Code() >= 0 {
		return nil
	}
	return fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").
		With(fault.Field{Pointer: "/status", Code: "not_allowed", Detail: "The value must be draft, active, suspended, completed or deactivated."})
}

// warn names what a row says and the record of its twin does not. A status that
// waits for the end of the file is not among it.
func (r *row) warn(body []byte) []fault.Field {
	out := slices.Clone(r.notes)
	if len(r.said) == 0 && r.status == "" {
		return out
	}
	var held map[string]jsontext.Value
	if json.Unmarshal(body, &held) != nil { // it is a record
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(r.said)) {
		if !check.SameJSON(r.said[name], held[name]) {
			out = append(out, fault.Field{Pointer: "/" + name, Code: "not_carried_over", Detail: uncarried[name]})
		}
	}
	var status string
	if json.Unmarshal(held["status"], &status) != nil || r.status == "" || status == string(r.status) || r.waits() {
		return out
	}
	detail := "The twin is " + status + "."
	if status == string(entity.StatusDraft) {
		detail = "The twin is a draft: relationships it needs are missing or unconfirmed."
	}
	return append(out, fault.Field{Pointer: "/status", Code: "not_carried_over", Detail: detail})
}

// waits reports whether the status of a new twin is settled by a later pass.
func (r *row) waits() bool { return r.late || r.status == entity.StatusDeactivated }

// control makes the caller an additional controller of a twin whose row names
// only controllers that are not held here: otherwise nobody could change it,
// not even the caller, who may have to complete it after later rows.
func (ca *carrier) control(ctx context.Context, r *row) error {
	if r.draft.Controller == "" && len(r.draft.Controllers) == 0 {
		return nil
	}
	named := r.draft.Entity().Controllers
	name := strings.Join(named, " ")
	foreign, known := ca.foreign[name]
	if !known {
		var err error
		if foreign, err = ca.areForeign(ctx, named); err != nil {
			return err
		}
		if len(ca.foreign) >= maxForeign {
			clear(ca.foreign)
		}
		ca.foreign[name] = foreign
	}
	if !foreign {
		return nil
	}
	r.draft.Controllers = append(named, web.CallerFrom(ctx).DID)
	if _, ok := r.members["controllers"]; !ok {
		r.members["controllers"] = nil // what the draft says
	}
	r.notes = append(r.notes, fault.Field{Pointer: "/controllers", Code: "added", Detail: "None of the controllers is held here, so you control the twin too."})
	return nil
}

// maxForeign is how many lists of controllers an import remembers.
const maxForeign = 1000

// areForeign says that the caller does not control what these controllers do,
// and that none of them is a twin that was here before the file.
func (ca *carrier) areForeign(ctx context.Context, named []string) (bool, error) {
	body, err := web.Encode(map[string]any{"controllers": named})
	if err != nil {
		return false, err
	}
	// Nobody but the controllers of a record is asked about.
	err = ca.entities.MayUpdate(ctx, ca.db, &entity.Row{Workspace: web.CallerFrom(ctx).Workspace, Body: body})
	if fault.CodeOf(err) != "NOT_CONTROLLER" {
		return false, err
	}
	for _, id := range named {
		if _, ok := ca.lines[maphash.String(ca.seed, id)]; ok {
			continue
		}
		if _, err := ca.entities.Find(ctx, ca.db, id); fault.KindOf(err) != fault.NotFound {
			return false, err
		}
	}
	return true, nil
}

// make prepares the twin of a row. An organisation that contains groups gets no
// additional one; a twin that is to stay a draft gets its relationships once it
// is stored, because a complete one would be active.
func (ca *carrier) make(ctx context.Context, r *row) (*entity.Prepared, error) {
	if r.status == entity.StatusDraft {
		r.after, r.draft.Relationships = r.draft.Relationships, nil
		return ca.entities.Prepare(ctx, r.draft)
	}
	var groups []string
	for _, d := range r.draft.Relationships {
		if d.Role == relationship.Contains {
			groups = append(groups, d.Target)
		}
	}
	if len(groups) == 0 || len(r.draft.Groups) > 0 || ca.domainOf(ctx, r) != "organisation" {
		return ca.entities.Prepare(ctx, r.draft)
	}
	r.groups = groups
	return ca.entities.PrepareWithGroups(ctx, r.draft)
}

// wrongValues says what is wrong with the properties of a row that changes a
// twin from an earlier row, which a dry run has not stored.
func (ca *carrier) wrongValues(ctx context.Context, r *row) *fault.Error {
	p := ca.protocolOf(ctx, r)
	var values map[string]any
	if p == nil || r.draft.Properties.IsZero() || json.Unmarshal(r.draft.Properties.Value, &values) != nil {
		return nil
	}
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == nil }) // it takes a value away
	// The earlier row may have what this one lacks.
	fields := slices.DeleteFunc(p.Check(values), func(f fault.Field) bool { return f.Code == "required" })
	if len(fields) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.").With(fields...)
}

// domainOf is the domain type of the twin of a row; "" when its protocol is not
// to be had.
func (ca *carrier) domainOf(ctx context.Context, r *row) string {
	if p := ca.protocolOf(ctx, r); p != nil {
		return p.DomainType()
	}
	return ""
}

// protocolOf finds the protocol of a row; nil when there is none, which making
// the twin reports.
func (ca *carrier) protocolOf(ctx context.Context, r *row) *protocol.Protocol {
	d := entity.Draft{Protocol: r.draft.Protocol, ProtocolVersion: r.draft.ProtocolVersion}
	d.SplitVersion()
	p, err := ca.protocols.FindAny(ctx, web.CallerFrom(ctx).Workspace, d.Protocol, d.ProtocolVersion)
	if err != nil {
		return nil
	}
	return p
}

// plain reports whether storing a twin makes it exactly what its row says.
func (r *row) plain() bool {
	return len(r.after) == 0 && len(r.groups) == 0 && r.status != entity.StatusSuspended && r.status != entity.StatusCompleted
}

// finish completes a new twin with what its row says besides the draft.
func (ca *carrier) finish(ctx context.Context, tx *db.Tx, r *row, made *entity.Row) (*entity.Row, error) {
	if r.plain() {
		return made, nil
	}
	for _, d := range r.after {
		if _, err := ca.entities.RelateTx(ctx, tx, made.DID, d); err != nil {
			return nil, r.blame(d, err)
		}
	}
	// An organisation always has an active group: its groups have waited for it.
	for _, id := range r.groups {
		g, err := ca.entities.Find(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if g.Status == entity.StatusDraft {
			if _, err := ca.transition(ctx, tx, id, entity.StatusActive); err != nil {
				return nil, err
			}
		}
	}
	now, err := ca.entities.Find(ctx, tx, made.DID)
	if err != nil {
		return nil, err
	}
	return ca.settle(ctx, tx, r, now)
}

// settle takes an active twin to the status its row says, except to the end of
// its life: others may still refer to it.
func (ca *carrier) settle(ctx context.Context, tx *db.Tx, r *row, now *entity.Row) (*entity.Row, error) {
	if now.Status == entity.StatusActive && (r.status == entity.StatusSuspended || r.status == entity.StatusCompleted) {
		return ca.transition(ctx, tx, now.DID, r.status)
	}
	return now, nil
}

func (ca *carrier) transition(ctx context.Context, tx *db.Tx, id string, to entity.Status) (*entity.Row, error) {
	return ca.entities.TransitionTx(ctx, tx, id, "", entity.Transition{To: to, Reason: ca.reason})
}
