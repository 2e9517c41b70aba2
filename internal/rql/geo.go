package rql

import "math"

const (
	earth     = 6371008.8 // mean radius, metres
	maxRadius = 20100000  // metres; the whole earth is within it
)

// PlaceOf reads a place as near does: a GeoJSON point or a feature with one, or
// an object with lat and lon, lat and lng, or latitude and longitude. v is
// JSON, decoded into an any.
func PlaceOf(v any) (lat, lon float64, ok bool) {
	m, isObject := v.(map[string]any)
	if !isObject {
		return 0, 0, false
	}
	if inner, has := m["geometry"].(map[string]any); has {
		m = inner
	}
	if at, has := m["coordinates"].([]any); has {
		if m["type"] != "Point" || len(at) < 2 {
			return 0, 0, false
		}
		lon, ok1 := at[0].(float64)
		lat, ok2 := at[1].(float64)
		return lat, lon, ok1 && ok2
	}
	for _, names := range [][2]string{{"lat", "lon"}, {"lat", "lng"}, {"latitude", "longitude"}} {
		lat, ok1 := m[names[0]].(float64)
		lon, ok2 := m[names[1]].(float64)
		if ok1 && ok2 {
			return lat, lon, true
		}
	}
	return 0, 0, false
}

// distance is the way along the globe, in metres.
func distance(lat1, lon1, lat2, lon2 float64) float64 {
	const rad = math.Pi / 180
	sinLat, sinLon := math.Sin((lat2-lat1)*rad/2), math.Sin((lon2-lon1)*rad/2)
	h := sinLat*sinLat + math.Cos(lat1*rad)*math.Cos(lat2*rad)*sinLon*sinLon
	return 2 * earth * math.Asin(math.Min(1, math.Sqrt(h)))
}

// inBox reports whether a place is within latitudes and longitudes. A box whose
// least longitude is the larger one crosses the date line.
func inBox(lat, lon float64, box []float64) bool {
	if lat < box[0] || lat > box[2] {
		return false
	}
	if box[1] <= box[3] {
		return lon >= box[1] && lon <= box[3]
	}
	return lon >= box[1] || lon <= box[3]
}
