package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Limits of one map, and of the search for it.
const (
	maxMarks  = 5000   // places that are given one by one
	maxMapped = 20_000 // twins that are looked at; their records are bounded by maxScanned
	gridCells = 40     // of a grid, in each direction
)

const mapping = "For maps: where twins say they are (properties.location or metadata.location, as `near` of /v1/entities reads it), without names. " +
	"There is no index of places: the server reads the newest 20,000 twins (at most 32 MiB of records) that match `type`, `status` and `project`, however many there are. `truncated` is true when there are older ones that it has not read. " +
	"Up to 5,000 places are given one by one in `items`; when more are found, `items` is empty and `clusters` count them in each cell of a grid over `bbox`. " +
	"Without the scope entities:pii all coordinates are rounded to 0.01 degrees (about 1 km), and `bbox` is compared with the rounded ones, so that nobody can find a household by asking for smaller and smaller boxes. " +
	"A key that is limited to projects gets the places of their twins only."

type pointsInput struct {
	Type    term `query:"type" example:"Household"`
	Status  term `query:"status" enum:"draft,active,suspended,completed,deactivated"`
	Project term `query:"project" doc:"DID of the project twins belong to."`
	BBox    term `query:"bbox" doc:"West, south, east and north in degrees, edges included. A west that is more than east crosses the date line." example:"33.5,-1.5,35.5,0.5"`
}

func (s *Service) servePoints(ctx context.Context, in *pointsInput) (api.Points, error) {
	query := entity.Query{Type: string(in.Type), Status: string(in.Status), Project: string(in.Project)}
	at, err := readBox(string(in.BBox))
	if err != nil {
		return api.Points{}, err
	}
	return s.Points(ctx, s.cfg.DB, query, at)
}

// Box is a part of the globe. If West is more than East it crosses the date line.
type Box struct{ West, South, East, North float64 }

// readBox reads bbox=; nil without one.
func readBox(text string) (*Box, error) {
	if text == "" {
		return nil, nil
	}
	var c fault.Checks
	at, wrong := parseBox(text)
	if wrong != "" {
		c.Add("query/bbox", "invalid", wrong)
	}
	return at, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// parseBox reads a box, or says what is wrong with it.
func parseBox(text string) (at *Box, wrong string) {
	parts := strings.Split(text, ",")
	if len(parts) != 4 {
		return nil, "The value must be west, south, east and north in degrees, with commas between them: 33.5,-1.5,35.5,0.5."
	}
	var n [4]float64
	for i, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		most := 180.0
		if i%2 == 1 {
			most = 90
		}
		if err != nil || math.IsNaN(v) || math.Abs(v) > most {
			name := []string{"West", "South", "East", "North"}[i]
			return nil, name + " must be a number of degrees from " + strconv.Itoa(-int(most)) + " to " + strconv.Itoa(int(most)) + "."
		}
		n[i] = v
	}
	if n[1] > n[3] {
		return nil, "South must not be more than north. The order is west, south, east, north."
	}
	return &Box{West: n[0], South: n[1], East: n[2], North: n[3]}, ""
}

// width is how many degrees of longitude a box has.
func (b *Box) width() float64 { return b.east(b.East) }

// east is the distance of a longitude to the east of the box's edge.
func (b *Box) east(lon float64) float64 {
	if lon < b.West {
		lon += 360
	}
	return lon - b.West
}

func (b *Box) has(lat, lon float64) bool {
	if b.West > b.East {
		return lat >= b.South && lat <= b.North && (lon >= b.West || lon <= b.East)
	}
	return lat >= b.South && lat <= b.North && lon >= b.West && lon <= b.East
}

// Points returns where the twins are that the caller of ctx may see, inside a box
// if one is given. Faults: INVALID_PARAMETER.
func (s *Service) Points(ctx context.Context, q db.Querier, query entity.Query, in *Box) (api.Points, error) {
	p, err := s.prepare(ctx, q, query)
	if err != nil {
		return api.Points{}, err
	}
	p.budget = budget{candidates: s.mapped, rows: s.mapped}
	for _, path := range append(places(), rql.Path{"did"}, rql.Path{"type"}, rql.Path{"status"}) {
		p.want.add(path)
	}
	out := api.Points{Items: []api.Point{}, Clusters: []api.PointCluster{}, Rounded: !p.sight.All()}
	whole, err := p.visit(ctx, q, func(c candidate) {
		at, ok := pointOf(p.want.decode(c.body))
		if out.Rounded {
			at.Lat, at.Lon = hundredth(at.Lat), hundredth(at.Lon)
		}
		if ok && (in == nil || in.has(at.Lat, at.Lon)) {
			out.Items = append(out.Items, at)
		}
	})
	out.Truncated = !whole
	if len(out.Items) > s.marks {
		out.Items, out.Clusters = []api.Point{}, cluster(out.Items, in)
	}
	return out, err
}

// visit calls fn with every twin that fits, as far as the budget goes, and reports
// whether these are all.
func (p *plan) visit(ctx context.Context, q db.Querier, fn func(candidate)) (whole bool, err error) {
	next, budget, err := p.source(ctx, q)
	if err != nil {
		return false, err
	}
	p.limit = budget // so that steps are as large as memory allows
	var seen tally
	for budget > 0 && seen.bytes < maxScanned {
		n := min(budget, p.step(0, seen))
		some, err := next(ctx, q, n)
		if err != nil {
			return false, err
		}
		if err := p.fill(ctx, q, some); err != nil {
			return false, err
		}
		for _, c := range some {
			seen.add(c)
			if p.fits(c) {
				fn(c)
			}
		}
		if len(some) < n {
			return true, nil
		}
		budget -= n
	}
	some, err := next(ctx, q, 1)
	return len(some) == 0, err
}

// pointOf reads where a record says its twin is; ok is false when it does not, or
// when the place is not on the globe.
func pointOf(doc map[string]any) (at api.Point, ok bool) {
	at.DID, _ = doc["did"].(string)
	at.Type, _ = doc["type"].(string)
	at.Status, _ = doc["status"].(string)
	for _, path := range places() {
		var v any = doc
		for _, name := range path {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		if at.Lat, at.Lon, ok = rql.PlaceOf(v); ok && math.Abs(at.Lat) <= 90 && math.Abs(at.Lon) <= 180 {
			return at, true
		}
	}
	return at, false
}

// hundredth rounds as the evidence of verifiers is rounded.
func hundredth(v float64) float64 { return math.Round(v*100)/100 + 0 } // -0 is 0

// cluster counts points in the cells of a grid over a box, or over the points
// themselves.
func cluster(points []api.Point, in *Box) []api.PointCluster {
	if in == nil {
		in = boxOf(points)
	}
	// Neither of them is zero: all points may lie on one line.
	wide, high := max(in.width(), 1e-6)/gridCells, max(in.North-in.South, 1e-6)/gridCells
	type sum struct {
		lat, east float64
		n         int
	}
	cells := map[[2]int]sum{}
	for _, p := range points {
		east := in.east(p.Lon)
		at := [2]int{min(int((p.Lat-in.South)/high), gridCells-1), min(int(east/wide), gridCells-1)}
		c := cells[at]
		cells[at] = sum{c.lat + p.Lat, c.east + east, c.n + 1}
	}
	out := make([]api.PointCluster, 0, len(cells))
	for _, c := range cells {
		lon := in.West + c.east/float64(c.n)
		if lon > 180 {
			lon -= 360
		}
		out = append(out, api.PointCluster{Lat: fine(c.lat / float64(c.n)), Lon: fine(lon), N: c.n})
	}
	slices.SortFunc(out, func(a, b api.PointCluster) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Lat, b.Lat), cmp.Compare(a.Lon, b.Lon))
	})
	return out
}

// fine keeps five decimals, about a metre: more would be an accident of the mean.
func fine(v float64) float64 { return math.Round(v*1e5)/1e5 + 0 }

// boxOf is the least box that has all points and does not cross the date line.
func boxOf(points []api.Point) *Box {
	b := &Box{West: 180, South: 90, East: -180, North: -90}
	for _, p := range points {
		b.West, b.East = min(b.West, p.Lon), max(b.East, p.Lon)
		b.South, b.North = min(b.South, p.Lat), max(b.North, p.Lat)
	}
	return b
}
