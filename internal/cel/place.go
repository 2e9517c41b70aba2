package cel

import (
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// placeFunctions measure lines and areas. Both are a text as questionnaires
// write it, "lat lon altitude accuracy;…", or a list of places.
func placeFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		function("area", cel.DoubleType, 1, func(a []ref.Val) ref.Val { return types.Double(cents(area(pointsOf(a[0])))) }),
		function("distance", cel.DoubleType, 1, func(a []ref.Val) ref.Val {
			points := pointsOf(a[0])
			if len(points) < 2 {
				return types.Double(math.NaN())
			}
			return types.Double(cents(distance(points)))
		}),
		function("inside", cel.BoolType, 2, func(a []ref.Val) ref.Val {
			at, shape := pointsOf(a[0]), pointsOf(a[1])
			return types.Bool(len(at) == 1 && len(shape) > 3 && inside(at[0], shape))
		}),
	}
}

// earthRadius is the radius of a sphere, in metres, that all clients of forms
// use.
const earthRadius = 6_378_100

// point is a place in radians.
type point struct{ lat, lon float64 }

// pointsOf are the places in a value; none if any part is not a place.
func pointsOf(v ref.Val) []point {
	switch v := v.(type) {
	case types.String:
		return parsePoints(string(v))
	case *Record:
		lat, lon, ok := v.place()
		if !ok {
			return nil
		}
		return []point{{radians(lat), radians(lon)}}
	case traits.Lister:
		all, _ := Elements(v)
		var out []point
		for _, e := range all {
			if e == Null {
				continue
			}
			p := pointsOf(e)
			if len(p) == 0 {
				return nil
			}
			out = append(out, p...)
		}
		return out
	}
	return nil
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// place is a record with the members lat and lon.
func (r *Record) place() (lat, lon float64, ok bool) {
	i, hasLat := r.Shape.index["lat"]
	j, hasLon := r.Shape.index["lon"]
	if !hasLat || !hasLon {
		return 0, 0, false
	}
	lat, lon = asNumber(r.Members.Member(i)), asNumber(r.Members.Member(j))
	return lat, lon, !math.IsNaN(lat) && !math.IsNaN(lon)
}

func parsePoints(text string) []point {
	var out []point
	for part := range strings.SplitSeq(strings.TrimRight(strings.TrimSpace(text), "; "), ";") {
		words := strings.Fields(part)
		if len(words) < 2 {
			return nil
		}
		lat, err := strconv.ParseFloat(words[0], 64)
		lon, err2 := strconv.ParseFloat(words[1], 64)
		if err != nil || err2 != nil || !(math.Abs(lat) <= 90) || !(math.Abs(lon) <= 180) {
			return nil
		}
		out = append(out, point{radians(lat), radians(lon)})
	}
	return out
}

// area is the area inside a line, which is closed if it is not, in square
// metres.
func area(p []point) float64 {
	if len(p) < 3 {
		return 0
	}
	if p[0] != p[len(p)-1] {
		p = append(p[:len(p):len(p)], p[0])
	}
	total := 0.0
	for i := 1; i < len(p); i++ {
		total += (p[i].lon - p[i-1].lon) * (2 + math.Sin(p[i].lat) + math.Sin(p[i-1].lat))
	}
	return math.Abs(total) * earthRadius * earthRadius / 2
}

// distance is the length of a line in metres.
func distance(p []point) float64 {
	total := 0.0
	for i := 1; i < len(p); i++ {
		a, b := p[i-1], p[i]
		cos := math.Sin(a.lat)*math.Sin(b.lat) + math.Cos(a.lat)*math.Cos(b.lat)*math.Cos(a.lon-b.lon)
		total += math.Acos(min(max(cos, -1), 1)) * earthRadius
	}
	return total
}

// inside reports whether a place is in an area: whether a line from it to the
// east crosses the border an odd number of times.
func inside(at point, shape []point) bool {
	in := false
	for i := 1; i < len(shape); i++ {
		a, b := shape[i-1], shape[i]
		if (a.lat > at.lat) != (b.lat > at.lat) && at.lon < (b.lon-a.lon)*(at.lat-a.lat)/(b.lat-a.lat)+a.lon {
			in = !in
		}
	}
	return in
}

// cents rounds to two digits.
func cents(f float64) float64 { return math.Round(f*100) / 100 }
