package form

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// places are the kinds whose answer is where something is.
var places = []*Kind{
	{
		Type: Geo, Members: Members{NoAnswer: true}, Place: true,
		Parts: []Part{
			{Name: "lat", Suffix: "/lat", Type: Number, Unit: "degrees"},
			{Name: "lon", Suffix: "/lon", Type: Number, Unit: "degrees"},
			{Name: "accuracy", Suffix: "/accuracy", Type: Number, Unit: "m", Detail: true},
			{Name: "altitude", Suffix: "/altitude", Type: Number, Unit: "m", Detail: true},
		},
		read: (*answering).notObject, object: (*answering).place, value: compound, Parse: parsePlace,
		XLSForm: XLSForm{Word: "geopoint", Reads: []string{"geopoint"}},
		XForm:   XForm{Type: "geopoint", Control: "input", Read: readPlace},
	},
}

// geoMembers are the members of a place in canonical order.
var geoMembers = [...]string{"accuracy", "altitude", "lat", "lon"}

// place reads {"lat", "lon", "accuracy"?, "altitude"?}.
func (a *answering) place(list []member) {
	var values [len(geoMembers)]*float64
	for _, m := range list {
		i := slices.Index(geoMembers[:], m.name)
		switch {
		case i < 0:
			a.wrong("/"+check.Escape(m.name), "unknown", "A place has no such member.")
			continue
		case m.value.Kind() == 'n' && i < 2:
			continue // accuracy or altitude that the device does not know
		case m.value.Kind() != '0':
			a.wrong("/"+m.name, "wrong_type", "The value must be a JSON number.")
			continue
		}
		f, err := strconv.ParseFloat(string(m.value), 64)
		if err != nil || !within(m.name, f) {
			a.wrong("/"+m.name, "out_of_range", "The value is out of range: lat -90 to 90, lon -180 to 180, accuracy not negative, all in degrees and metres.")
			continue
		}
		values[i] = &f
	}
	for i, name := range geoMembers {
		if i >= 2 && values[i] == nil && !slices.ContainsFunc(list, func(m member) bool { return m.name == name }) {
			a.wrong("/"+name, "required", "A place needs this member.")
		}
	}
	if a.failed {
		return
	}
	sep := byte('{')
	for i, v := range values {
		if v != nil {
			a.ev.arena = append(quote(append(a.ev.arena, sep), geoMembers[i]), ':')
			a.ev.arena = number(a.ev.arena, *v)
			sep = ','
		}
	}
	a.ev.arena = append(a.ev.arena, '}')
}

// within reports whether a coordinate exists.
func within(name string, f float64) bool {
	switch name {
	case "lat":
		return math.Abs(f) <= 90
	case "lon":
		return math.Abs(f) <= 180
	case "accuracy":
		return f >= 0 && f <= 1e8
	}
	return math.Abs(f) <= 1e6
}

// parsePlace reads latitude and longitude, with a space between them.
func parsePlace(text string, _ func(string) string) (any, bool) {
	parts := strings.Fields(text)
	if len(parts) < 2 {
		return nil, false
	}
	lat, err1 := strconv.ParseFloat(parts[0], 64)
	lon, err2 := strconv.ParseFloat(parts[1], 64)
	return map[string]float64{"lat": lat, "lon": lon}, err1 == nil && err2 == nil
}

// readPlace reads a place as a device writes it: latitude, longitude, altitude and
// accuracy. The device writes 0 for what it does not know; an accuracy of 0 means
// none.
func readPlace(text string) (any, bool) {
	parts := strings.Fields(text)
	if len(parts) < 2 || len(parts) > 4 {
		return nil, false
	}
	place := map[string]float64{}
	for i, name := range []string{"lat", "lon", "altitude", "accuracy"}[:len(parts)] {
		f, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		if i < 2 || f != 0 {
			place[name] = f
		}
	}
	return place, true
}
