package graph

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
)

// audited is a twin according to its columns.
type audited struct {
	nid                               int64
	did, kind, class, domain, project string
	version
	status   entity.Status
	revision int64
	hash     []byte
	before   []byte // hash of the previous revision; nil when there is none
	props    []prop // what the index should hold
	misses   bool   // relationships, and its record says so
	verified bool
	shown    string // how others show a credential
}

// prop is a row of the property index.
type prop struct {
	pid  int64
	val  string
	nid  int64
	name string
}

// record is what the audit reads of a body.
type record struct {
	DID             string         `json:"did"`
	Type            string         `json:"type"`
	Class           string         `json:"class"`
	DomainType      string         `json:"domainType"`
	Protocol        string         `json:"protocol"`
	ProtocolVersion string         `json:"protocolVersion"`
	Project         string         `json:"project"`
	Properties      map[string]any `json:"properties"`
	Missing         []string       `json:"missingRelationships"`
	Status          entity.Status  `json:"status"`
	Revision        int64          `json:"revision"`
	CreatedBy       string         `json:"createdBy"`
	StatedBy        string         `json:"statedBy"`
	judged
}

// judged is what a record says about its verification and its credentials.
type judged struct {
	Verification entity.Verification `json:"verification"`
	Credentials  []entity.Credential `json:"verifiableCredential"`
}

func (j judged) verified() bool { return j.Verification.Status == verdict.Verified }

// batch is the twins the audit looks at together.
type batch struct {
	*audit
	known map[version]*protocol.Protocol
	twins []*audited
}

func (b *batch) nids(keep func(*audited) bool) []int64 {
	var nids []int64
	for _, t := range b.twins {
		if keep(t) {
			nids = append(nids, t.nid)
		}
	}
	return nids
}

func everyone(*audited) bool { return true }

// read reads the next twins and checks each alone. Bodies are not kept.
func (b *batch) read(ctx context.Context, q db.Querier, size int) (n int, err error) {
	var t audited
	var body string
	rows, err := q.Query(ctx, selectAudited, b.caller.Workspace, b.at.Twin, size)
	err = eachRow(rows, err, func() error {
		n++
		b.at.Twin = t.nid
		b.work -= len(body) + 256*int(min(t.revision, maxAuditWork/256))
		if !b.caller.Sees(t.project) {
			return nil
		}
		own := t
		own.hash, own.before = bytes.Clone(t.hash), bytes.Clone(t.before)
		b.twins = append(b.twins, &own)
		b.record(&own, twin.Body(body))
		return nil
	}, &t.nid, &t.did, &t.kind, &t.class, &t.domain, &t.protocol, &t.version.version, &t.project, &t.status, &t.revision, &t.hash, &t.before, &body)
	return n, err
}

// record holds the body of a twin against its columns, its hash and its state.
func (b *batch) record(t *audited, body []byte) {
	chain := sha256.New()
	chain.Write(t.before)
	chain.Write(body)
	if t.revision == 1 && t.before != nil || !bytes.Equal(chain.Sum(nil), t.hash) {
		b.note(t, "hash_mismatch", "The hash of the newest revision is not that of its record and the revision before.")
	}
	var r record
	if err := json.Unmarshal(body, &r); err != nil {
		b.note(t, "record_mismatch", "The record cannot be read.")
		return
	}
	for _, pair := range []struct{ name, column, member string }{
		{"did", t.did, r.DID},
		{"type", t.kind, r.Type},
		{"class", t.class, r.Class},
		{"domainType", t.domain, r.DomainType},
		{"protocol", t.protocol, r.Protocol},
		{"protocolVersion", t.version.version, r.ProtocolVersion},
		{"project", t.project, r.Project},
		{"status", string(t.status), string(r.Status)},
		{"revision", fmt.Sprint(t.revision), fmt.Sprint(r.Revision)},
	} {
		if pair.column != pair.member {
			b.note(t, "record_mismatch", "The record and the index of the store differ in "+pair.name+".")
		}
	}
	if t.misses = len(r.Missing) > 0; t.misses && t.status == entity.StatusActive {
		b.note(t, "active_misses_relationships", fmt.Sprintf("It is active and %d required relationships are missing.", len(r.Missing)))
	}
	t.verified = r.verified()
	t.shown = verdict.Status(t.status, r.Verification.Status)
	if t.domain == "claim" && t.verified {
		b.verdict(t, &r)
	}
	b.expect(t, r.Properties)
}

// verdict holds the verdict about a verified claim against the rules of one.
func (b *batch) verdict(t *audited, r *record) {
	by := []string{r.Verification.Verifier}
	for _, a := range r.Verification.Approvals {
		by = append(by, a.Verifier)
	}
	if slices.Contains(by, r.CreatedBy) || r.StatedBy != "" && slices.Contains(by, r.StatedBy) {
		b.note(t, "claim_verified_by_claimant", "It is verified by the person who made it or last changed its content.")
	}
	if r.Verification.Missing > 0 || verdict.Repeats(r.Verification) {
		b.note(t, "claim_without_quorum", "It is verified by fewer oracles, or people, than its protocol asked for.")
	}
}

// expect lists what the property index should hold of a twin.
func (b *batch) expect(t *audited, values map[string]any) {
	p, ok := b.known[t.version]
	switch {
	case !ok: // it got this protocol a moment ago
		b.unknown = append(b.unknown, t.version)
		b.report.Unproven = append(b.report.Unproven, Violation{Rule: "index_incomplete", Subject: t.did, Detail: "Its protocol changed meanwhile.", nid: t.nid})
		return
	case p == nil:
		b.note(t, "protocol_missing", "No protocol has the DID and version it was made from.")
		return
	}
	for _, x := range p.Indexed() {
		if text, ok := entity.IndexText(x.Kind, values[x.Name]); ok {
			t.props = append(t.props, prop{pid: entity.PropID(b.caller.Workspace, t.protocol, x.Name), val: text, nid: t.nid, name: x.Name})
		}
	}
}

// history requires every earlier revision, once.
func (b *batch) history(ctx context.Context, q db.Querier) error {
	found := map[int64][3]int64{}
	var nid, n, first, last int64
	rows, err := q.Query(ctx, countHistory, places(b.nids(everyone))...)
	err = eachRow(rows, err, func() error {
		found[nid] = [3]int64{n, first, last}
		return nil
	}, &nid, &n, &first, &last)
	for _, t := range b.twins {
		want := [3]int64{t.revision - 1, 1, t.revision - 1}
		if t.revision == 1 {
			want = [3]int64{}
		}
		if got := found[t.nid]; err == nil && got != want {
			b.note(t, "history_incomplete", fmt.Sprintf("Revision %d should have %d before it; %d are kept.", t.revision, t.revision-1, got[0]))
		}
	}
	return err
}

// groups requires an active group in every organisation that is in use.
func (b *batch) groups(ctx context.Context, q db.Querier) error {
	for _, t := range b.twins {
		if t.domain != "organisation" || t.status == entity.StatusDeactivated {
			continue
		}
		ok, err := relationship.HasOtherGroup(ctx, q, t.nid, nobody)
		if err != nil {
			return err
		}
		if !ok {
			b.note(t, "organisation_without_group", "It contains no active membership group.")
		}
	}
	return nil
}

// parents requires the parents of active projects, assets, groups, claims and
// credentials, the verifiers of claims, and that no twin is above itself.
func (b *batch) parents(ctx context.Context, q db.Querier) error {
	known, err := b.above(ctx, q, b.nids(everyone))
	if err != nil {
		return err
	}
	if err := b.named(ctx, q, known); err != nil {
		return err
	}
	for _, t := range b.twins {
		if lone(t, known.words[t.nid]) {
			b.orphan(t, known.cut[t.nid])
		}
		if t.domain == "claim" && t.verified && t.status != entity.StatusDeactivated && !known.words[t.nid][relationship.Verifies] {
			b.absent(t, "claim_without_oracle", "It is verified and no oracle verifies it.", known.cut[t.nid])
		}
	}
	b.circles(known)
	return b.claims(ctx, q, known)
}

// roles requires that the required roles of active twins are filled: by twins
// in use, or by confirmed DIDs of others.
func (b *batch) roles(ctx context.Context, q db.Querier) error {
	for _, t := range b.twins {
		p := b.known[t.version]
		if p == nil || t.status != entity.StatusActive || t.misses {
			continue
		}
		for _, role := range p.Roles() {
			if role.RequiredFor != "active" || role.Min == 0 || role.Min == 1 && role.Name == relationship.Required(t.domain) { // see parents
				continue
			}
			filled, err := relationship.NeedOf(role.Name, b.now).Targets(ctx, q, t.nid, role.Min)
			if err != nil {
				return err
			}
			if len(filled) < role.Min {
				b.note(t, "active_role_unfilled", "It is active and its role "+role.Name+" is not filled: what it names is deactivated, unconfirmed or over.")
			}
		}
	}
	return nil
}

// claims requires that every claim of an active credential is verified, and
// that twins show a credential in its present state.
func (b *batch) claims(ctx context.Context, q db.Querier, known *circles) error {
	var nids []int64
	for _, t := range b.twins {
		if t.status != entity.StatusDraft {
			nids = append(nids, known.claims[t.nid]...)
		}
	}
	slices.Sort(nids)
	seen, read := map[int64]bool{}, map[int64]judged{}
	for some := range slices.Chunk(slices.Compact(nids), chunk) {
		if b.work <= 0 {
			break
		}
		var nid int64
		var body []byte
		rows, err := q.Query(ctx, bodiesOf, places(some, b.caller.Workspace)...)
		err = eachRow(rows, err, func() error {
			b.work -= len(body)
			var r judged
			if seen[nid] = true; json.Unmarshal(body, &r) == nil {
				read[nid] = r
			}
			return nil
		}, &nid, &body)
		if err != nil {
			return err
		}
	}
	for _, t := range b.twins {
		if slices.ContainsFunc(known.claims[t.nid], func(nid int64) bool { return read[nid].misshows(t) }) {
			b.note(t, "credential_status_stale", "It is "+t.shown+", and a claim it became of shows it as something else.")
		}
		i := slices.IndexFunc(known.claims[t.nid], func(nid int64) bool { return !read[nid].verified() })
		if i >= 0 && t.status == entity.StatusActive {
			b.absent(t, "credential_of_unverified_claim", "It is active and became of a claim that is not verified.", !seen[known.claims[t.nid][i]])
		}
	}
	return nil
}

// once requires that no claim is counted in two credentials.
func (b *batch) once(ctx context.Context, q db.Querier) error {
	nids := b.nids(func(t *audited) bool { return t.domain == "claim" })
	if len(nids) == 0 {
		return nil
	}
	var claim int64
	n, became := 0, map[int64]int{}
	rows, err := q.Query(ctx, becameOf, places(nids, b.caller.Workspace, maxParents)...)
	err = eachRow(rows, err, func() error {
		n++
		became[claim]++
		return nil
	}, &claim)
	if err != nil {
		return err
	}
	for _, t := range b.twins {
		if became[t.nid] > 1 || t.domain == "claim" && n == maxParents {
			b.absent(t, "claim_of_many_credentials", "It has become more than one credential that is not deactivated.", became[t.nid] < 2)
		}
	}
	return nil
}

// misshows reports whether a record shows a credential wrongly.
func (j judged) misshows(t *audited) bool {
	return slices.ContainsFunc(j.Credentials, func(c entity.Credential) bool { return c.ID == t.did && c.Status != t.shown })
}

// named adds the parents that twins name themselves, where one is wanted.
func (b *batch) named(ctx context.Context, q db.Querier, known *circles) error {
	nids := b.nids(func(t *audited) bool { return lone(t, known.words[t.nid]) })
	if len(nids) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, namedBy, places(nids, b.caller.Workspace, maxParents, b.now)...)
	_, err = known.load(rows, err, nids)
	return err
}

// lone reports whether a twin needs a parent and has no edge by one of words.
func lone(t *audited, words map[string]bool) bool {
	child := relationship.Required(t.domain)
	if child == "" || t.status != entity.StatusActive {
		return false
	}
	rule, _, _ := relationship.Of(child)
	return !words[rule.Role] && !words[child] && !(child == relationship.GeneratedBy && words[relationship.Project])
}

// orphan notes a twin without the parent it needs; cut says that not all its
// edges were read.
func (b *batch) orphan(t *audited, cut bool) {
	rule, detail := "group_without_parent", "It is active and part of no organisation or group."
	switch t.domain {
	case "project":
		rule, detail = "project_without_organisation", "It is active and no organisation that is in use implements it."
	case "asset":
		rule, detail = "asset_without_project", "It is active and no project that is in use generates it."
	case "claim":
		rule, detail = "claim_without_producer", "It is active and no asset, device or household produces it."
	case "credential":
		rule, detail = "credential_without_claim", "It is active and became of no claim that is in use."
	}
	b.absent(t, rule, detail, cut)
}

// absent notes that something is not there; cut says that not all was looked
// at.
func (b *batch) absent(t *audited, rule, detail string, cut bool) {
	v := Violation{Rule: rule, Subject: t.did, Detail: detail, nid: t.nid}
	if cut {
		b.report.Unproven = append(b.report.Unproven, v)
		return
	}
	b.report.Violations = append(b.report.Violations, v)
}

// index requires a row for each indexed property. A superfluous row does no
// harm, because readers compare with the record.
func (b *batch) index(ctx context.Context, q db.Querier) error {
	var all []prop
	for _, t := range b.twins {
		all = append(all, t.props...)
	}
	for some := range slices.Chunk(all, propsTogether) {
		err := absentProps(ctx, q, some, func(pid, nid int64) {
			i := slices.IndexFunc(b.twins, func(t *audited) bool { return t.nid == nid })
			at := slices.IndexFunc(some, func(p prop) bool { return p.pid == pid && p.nid == nid })
			if detail := "The property " + some[at].name + " is not in the index."; !b.noted(nid, detail) {
				b.note(b.twins[i], "index_incomplete", detail)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noted reports whether a broken rule is kept already.
func (a *audit) noted(nid int64, detail string) bool {
	return slices.ContainsFunc(a.report.Violations, func(v Violation) bool { return v.nid == nid && v.Detail == detail })
}

// circles requires that no twin contains or generates itself.
func (b *batch) circles(known *circles) {
	round := known.round()
	for _, t := range b.twins {
		switch {
		case round[t.nid]:
			b.note(t, "cycle", "It is part of itself through contains or generates relationships.")
		case known.beyond(t.nid):
			b.report.Unproven = append(b.report.Unproven, Violation{Rule: "cycle", Subject: t.did, Detail: "Too many twins contain it to rule out a circle.", nid: t.nid})
		}
	}
}
