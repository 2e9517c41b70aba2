package bulk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// decided are the members of a record that the server decides. A file may have
// them, for it may be an export. Those that follow from the rest, or are about
// the record alone, are not looked at; see said for the others.
var decided = []string{
	"class", "domainType", "owner", "project", "moreRelationships", "missingRelationships", "verifiableCredential", "moreCredentials", "linkedClaims", "status", "statusCode",
	"verification", "relayerNode", "revision", "created", "updated", "createdBy", "updatedBy", "statedBy", "links", "withheld",
}

// fixed are the members of a draft that an update of a twin leaves alone.
var fixed = []string{"did", "protocol", "protocolVersion", "relationships", "groups"}

// row is a record of a file in the two forms it can be stored in.
type row struct {
	draft   entity.Draft
	members map[string]jsontext.Value // of the draft, as the file has them
	merge   []byte                    // with upsert, for an existing twin: what the file says about it

	status entity.Status             // the file says of it; "" when it says none
	said   map[string]jsontext.Value // members that are not taken from a file, see uncarried
	notes  []fault.Field             // warnings that are known before it is stored

	targets []target      // what the cells of a table name
	found   []foundTarget // those of them that were looked up

	late   bool                   // it refers to later rows
	stage  int                    // in which its twin ends
	after  []entity.RelationDraft // relationships of a twin that is to stay a draft
	groups []string               // DIDs of groups that become part of it
}

// read returns the next record. It skips rows of a table whose cells are all
// empty, because spreadsheets write such rows below the last one. blank counts
// them.
func (p *importJob) read(in *sheet.Reader) (rec sheet.Record, blank int64, err error) {
	for {
		rec, err := in.Next()
		if err != nil || p.Format == sheet.NDJSON || len(rec.Errs) > 0 || string(rec.JSON) != "{}" {
			return rec, blank, err
		}
		blank++
	}
}

// rowOf reads a record of a file. The fault names all that is wrong with its
// form.
func (p *importJob) rowOf(record jsontext.Value) (*row, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	r := &row{members: members, said: map[string]jsontext.Value{}}
	if err := r.readStatus(); err != nil {
		return nil, err
	}
	for name := range uncarried {
		if v, ok := members[name]; ok {
			r.said[name] = v
		}
	}
	for _, name := range decided {
		delete(members, name)
	}
	fill(members, "type", p.Type)
	fill(members, "protocol", p.Protocol)
	for _, name := range []string{"startDate", "endDate"} {
		if v, ok := members[name]; ok && len(v) == len(`"2006-01-02"`) {
			members[name] = jsontext.Value(string(v[:len(v)-1]) + `T00:00:00Z"`)
		}
	}
	if err := p.readTargets(r); err != nil {
		return nil, err
	}
	if err := cleanRelations(members); err != nil {
		return nil, err
	}
	text, err := web.Encode(members)
	if err != nil {
		return nil, err
	}
	if err := web.DecodeStrict(text, &r.draft, false); err != nil {
		return r, err
	}
	if _, ok := r.said["project"]; ok && r.placed() {
		delete(r.said, "project")
	}
	return r, nil
}

// fill gives a member a value unless it has one.
func fill(members map[string]jsontext.Value, name, value string) {
	if _, ok := members[name]; ok || value == "" {
		return
	}
	if text, err := jsontext.AppendQuote(nil, value); err == nil {
		members[name] = text
	}
}

// mergeOf is the part of a record that changes a twin, in the form in which
// records are written: the same file twice changes nothing the second time.
func (r *row) mergeOf() ([]byte, error) {
	members := r.members
	text, err := web.Encode(&r.draft)
	if err != nil {
		return nil, err
	}
	var drafted map[string]jsontext.Value
	if err := json.Unmarshal(text, &drafted); err != nil {
		return nil, fmt.Errorf("read draft: %w", err)
	}
	for name, v := range members {
		if d, ok := drafted[name]; ok {
			members[name] = d
		} else {
			members[name] = v // null takes a value away
		}
	}
	maps.DeleteFunc(members, func(name string, _ jsontext.Value) bool { return slices.Contains(fixed, name) })
	return web.Encode(members)
}

// cleanRelations removes members of relationships that only records have.
// Relationships that the other end holds stay: the end that comes later in the
// file makes them.
func cleanRelations(members map[string]jsontext.Value) error {
	text, ok := members["relationships"]
	if !ok || !strings.Contains(string(text), `"source"`) {
		return nil
	}
	var list []entity.Relationship
	if err := web.DecodeStrict(text, &list, false); err != nil {
		return check.Moved(err, "", "/relationships")
	}
	drafts := make([]entity.RelationDraft, len(list))
	for i, r := range list {
		drafts[i] = entity.RelationDraft{Role: r.Role, Target: r.Target, Since: r.Since, Until: r.Until, Unconfirmed: r.Unconfirmed}
	}
	clean, err := web.Encode(drafts)
	members["relationships"] = clean
	return err
}

// kinds tells a table what its columns hold: what the protocol says about a
// property, or all protocols that declare it. In an undeclared column a number
// is a number; exports write a text that looks like one as a JSON string.
func (s *Service) kinds(ctx context.Context, p *importJob) func(path string) string {
	ws := web.CallerFrom(ctx).Workspace
	return func(path string) string {
		parts := sheet.SplitPath(path)
		switch {
		case len(parts) == 1:
			return memberKinds[path]
		case parts[0] == "externalIds" || parts[0] == "relationships":
			return "text"
		case parts[0] == "properties" && len(parts) == 2:
			if kind := protocol.Cell(s.propertyKind(ctx, ws, p, parts[1])); kind != "" {
				return kind
			}
		}
		return "any"
	}
}

// memberKinds are the members of a draft that are no text.
var memberKinds = map[string]string{
	"properties": "object", "metadata": "object", "externalIds": "object", "startDate": "date-time", "endDate": "date-time",
	"controllers": "array", "services": "array", "relationships": "array", "linkedResources": "array", "linkedEntities": "array",
	"accordedRights": "array", "accounts": "array", "alsoKnownAs": "array", "groups": "array",
	"did": "text", "type": "text", "protocol": "text", "protocolVersion": "text", "controller": "text",
}

func (s *Service) propertyKind(ctx context.Context, ws string, p *importJob, name string) string {
	if p.Protocol != "" {
		id, version, _ := strings.Cut(p.Protocol, "@")
		if made, err := s.cfg.Protocols.FindAny(ctx, ws, id, version); err == nil {
			return made.Kind(name)
		}
		return ""
	}
	declared, _, err := s.cfg.Protocols.Declaring(ctx, ws, name)
	if err != nil || len(declared) == 0 {
		return ""
	}
	kind := declared[0].Kind
	for _, d := range declared {
		if d.Kind != kind {
			return ""
		}
	}
	return kind
}
