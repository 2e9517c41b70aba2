package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const listing = "Everything that is given must hold; newest twins come first. Follow `hasMore`: what no index answers is compared one by one, " +
	"at most 1,000 twins a page, so a page may be short or empty although the list goes on. " +
	"Without the scope entities:pii, twins you do not control come without their personal properties (withheld names them), and nobody filters or sorts by a property, or asks near, " +
	"where a protocol marks it as personal (403): name a protocol that does not.\n\n" +
	"`filter` combines `and(…)`, `or(…)`, `not(…)` with `eq`, `ne`, `lt`, `le`, `gt`, `ge` (field, value), `in` (field, values), `like` (field, pattern with * and ?), " +
	"`exists` (field), `near` ([field,] latitude, longitude, metres) and `within` ([field,] least latitude, least longitude, most latitude, most longitude). " +
	"A field is a member of the record, with dots or as a JSON pointer: `properties.serial`, `/properties/serial`. Values with commas, brackets or blanks stand in quotes. " +
	"ne is the opposite of eq, so it is true where there is no value; lists match when one of their elements does. At most 2,000 characters, 50 comparisons, 16 levels. " +
	"An unknown field is an error, never an empty list, and so is a status, class, domainType or verification.status that there is not. A parameter that is given is not empty. Properties a protocol marks as indexed are found at once, also in `in` and `or` of up to 20 values; " +
	"ranges and `like(x,\"abc*\")` are, when the list is sorted by that property.\n\n" +
	"`sort` by a property gives only twins that have it. A twin that changes while you follow `sort=-updated` moves to the front, where you have been; `sort=updated`, the default with updatedSince, misses none."

// Routes adds the list and the map of twins to a.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/entities", s.serveList, web.Doc{
		Summary: "Find twins", Scope: "entities:read", Tag: "entities", Description: listing,
		Codes: []string{"INVALID_PARAMETER", "INVALID_FILTER", "UNKNOWN_FIELD", "INVALID_CURSOR", "SCOPE_MISSING"},
	})
	web.Get(a, "/v1/entities:points", s.servePoints, web.Doc{
		Summary: "Where twins are", Scope: "entities:read", Tag: "entities", Description: mapping,
		Codes: []string{"INVALID_PARAMETER"},
	})
}

// Item is a twin in a list, in its stored form.
type Item struct{ jsontext.Value }

// Schema describes an item in the API reference.
func (Item) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[entity.Entity](), true, "Entity")
}

// term is a parameter that narrows the list. An empty one is refused: it is
// probably a missing value, and would give all twins.
type term string

// UnmarshalText reads the parameter.
func (t *term) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty")
	}
	*t = term(text)
	return nil
}

type listInput struct {
	DID          term   `query:"did" doc:"DID of one twin."`
	ExternalID   term   `query:"externalId" doc:"A name another system has for it: any value of externalIds." example:"SN123"`
	Type         term   `query:"type" example:"Device"`
	Class        term   `query:"class" enum:"physical,cognitive,system,oracle"`
	Protocol     term   `query:"protocol" doc:"DID of the protocol." example:"did:ixo:protocol/template"`
	Status       term   `query:"status" enum:"draft,active,suspended,completed,deactivated"`
	Project      term   `query:"project" doc:"DID of the project twins belong to."`
	ProjectID    term   `query:"projectId" doc:"Another name of project."`
	UpdatedSince term   `query:"updatedSince" doc:"Changed at that moment or later; RFC 3339." example:"2026-01-31T08:00:00Z"`
	Near         term   `query:"near" doc:"Latitude, longitude and metres: where properties.location or metadata.location is, or the member coordinates of either. Such a place is a GeoJSON point, or has lat and lon, lat and lng, or latitude and longitude." example:"-1.28,36.8,5000"`
	Filter       term   `query:"filter" doc:"See above." example:"and(eq(type,Device),exists(properties.metricOne))"`
	Sort         string `query:"sort" doc:"created, updated, or an indexed property of the protocol that is given; - in front turns the order round. -created by default, updated with updatedSince." example:"-created"`
	Fields       string `query:"fields" doc:"Only these members, with commas between them; did is always there, and withheld when something is." example:"did,type,properties.serial"`
	Expand       string `query:"expand" doc:"relationships, protocol, or both: adds what they point to. At most 100 items then." example:"relationships"`
	web.Paging
}

// position is what a cursor holds. The place of a restricted key is sealed: it
// may be that of a twin it may not see.
type position struct {
	entity.Place
	Sealed []byte `json:"s,omitzero"`
}

// sealing is what the key of sealed places is for.
const sealing = "entity list place"

func (s *Service) serveList(ctx context.Context, in *listInput) (web.Reply[web.Page[Item]], error) {
	var none web.Reply[web.Page[Item]]
	query, err := in.query()
	if err != nil {
		return none, err
	}
	var at position
	if query.Limit, err = in.Begin(ctx, s.cfg.Cursors, &at); err != nil {
		return none, err
	}
	if query.After, err = s.open(ctx, in.Cursor, at); err != nil {
		return none, err
	}
	keep, err := wanted(in.Fields, s.fields(ctx, web.CallerFrom(ctx).Workspace, false))
	if err != nil {
		return none, err
	}
	if _, err := expansions(in.Expand); err != nil {
		return none, err
	}
	f, err := s.List(ctx, db.Reader(ctx, s.cfg.DB), query)
	if err != nil {
		return none, err
	}
	items := f.Bodies()
	if keep != nil {
		for i, b := range items {
			items[i] = keep.keep(nil, string(b))
		}
	}
	if items, err = s.expand(ctx, db.Reader(ctx, s.cfg.DB), f.Rows, items, in.Expand); err != nil {
		return none, err
	}
	hint, err := s.meant(ctx, query, f)
	if err != nil {
		return none, err
	}
	return s.answer(ctx, query.Limit, items, f.Next, hint)
}

// query reads the parameters and names all that are wrong.
func (in *listInput) query() (entity.Query, error) {
	q := entity.Query{
		DID: string(in.DID), ExternalID: string(in.ExternalID), Type: string(in.Type), Class: string(in.Class), Protocol: string(in.Protocol),
		Status: string(in.Status), Project: string(in.Project), Near: string(in.Near), Filter: string(in.Filter), Sort: in.Sort,
	}
	var c fault.Checks
	if q.Project == "" {
		q.Project = string(in.ProjectID)
	} else if in.ProjectID != "" && string(in.ProjectID) != q.Project {
		c.Add("query/projectId", "invalid", "This differs from project. Give one of the two.")
	}
	if in.UpdatedSince != "" {
		// A plus sign in a query means a space; in a time a space can only have
		// been a plus.
		t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(string(in.UpdatedSince), " ", "+"))
		if err != nil {
			c.Add("query/updatedSince", "invalid", "The value must be a time such as 2026-01-31T08:00:00Z.")
		}
		q.UpdatedSince = t
	}
	size := in.Size(&c)
	if in.Expand != "" && in.Limit.Given && size > maxExpanded {
		c.Add("query/limit", "out_of_range", fmt.Sprintf("With expand the value must be 1 to %d.", maxExpanded))
	}
	return q, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// open reads the place of a cursor.
func (s *Service) open(ctx context.Context, cursor string, at position) (*entity.Place, error) {
	if cursor == "" {
		return nil, nil
	}
	if at.Sealed == nil {
		return &at.Place, nil
	}
	text, err := s.cfg.Key.Open(sealing, web.CallerFrom(ctx).Workspace, at.Sealed)
	if err == nil {
		err = json.Unmarshal(text, &at.Place)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "INVALID_CURSOR", "The cursor does not belong to this list. Start again without it.").Wrap(err)
	}
	return &at.Place, nil
}

// answer renders the page from stored records.
func (s *Service) answer(ctx context.Context, limit int, items [][]byte, next *entity.Place, hint string) (web.Reply[web.Page[Item]], error) {
	var place any
	if next != nil {
		at := position{Place: *next}
		if c := web.CallerFrom(ctx); len(c.Projects) > 0 {
			text, err := json.Marshal(*next)
			if err != nil {
				return web.Reply[web.Page[Item]]{}, err
			}
			at = position{Sealed: s.cfg.Key.Seal(sealing, c.Workspace, text)}
		}
		place = at
	}
	r, err := web.PageOf[Item](ctx, s.cfg.Cursors, limit, nil, place)
	if err != nil {
		return r, err
	}
	r.Value.Page.Hint = hint
	info, err := web.Encode(r.Value.Page)
	if err != nil {
		return r, err
	}
	r.Raw = render(items, info)
	return r, nil
}

// render writes a page without reading its items again.
func render(items [][]byte, info []byte) []byte {
	size := 32 + len(info)
	for _, b := range items {
		size += len(b) + 1
	}
	out := append(make([]byte, 0, size), `{"items":[`...)
	for i, b := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	out = append(out, `],"page":`...)
	out = append(out, info...)
	return append(out, '}')
}
