package schema

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// placeTypes are places, as GeoJSON has them.
func placeTypes() []Type {
	return []Type{{
		Name: "geo", Doc: map[string]any{"type": "object", "format": "geojson", "required": []any{"type"}}, Compares: rql.Object, Cell: "object",
		Valid: func(v any) bool { return geoJSON(v) == nil }, Hint: "a GeoJSON object",
	}}
}

// maxGeoDepth is how deep collections of geometries may nest.
const maxGeoDepth = 4

// wrongGeo says what is wrong with a GeoJSON object.
type wrongGeo string

func (w wrongGeo) Error() string { return string(w) }

// What can be wrong with a GeoJSON object.
const (
	wrongType     wrongGeo = "its type is Point, LineString or Polygon, each also with Multi before it, GeometryCollection, Feature or FeatureCollection"
	wrongFeature  wrongGeo = "a Feature has properties and a geometry, which may be null"
	wrongFeatures wrongGeo = "features are an array of Features"
	wrongNesting  wrongGeo = "geometries are an array of geometries, collections in it at most 4 deep"
	wrongArray    wrongGeo = "its coordinates are arrays as deep as its type asks for"
	wrongPosition wrongGeo = "a position is a longitude from -180 to 180, a latitude from -90 to 90 and perhaps a height"
	wrongLine     wrongGeo = "a line has at least 2 positions"
	wrongRing     wrongGeo = "a ring has at least 4 positions and ends where it begins"
)

// geoJSON checks an object of RFC 7946. Other types have no format.
func geoJSON(v any) error {
	o, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if wrong := geoObject(o, 0); wrong != "" {
		return wrong
	}
	return nil
}

func geoObject(o map[string]any, depth int) wrongGeo {
	switch o["type"] {
	case "Feature":
		_, described := o["properties"]
		at, given := o["geometry"]
		if !described || !given {
			return wrongFeature
		}
		if at == nil {
			return ""
		}
		g, ok := at.(map[string]any)
		if !ok {
			return wrongFeature
		}
		return geometry(g, depth+1)
	case "FeatureCollection":
		return all(o["features"], wrongFeatures, func(item any) wrongGeo {
			f, ok := item.(map[string]any)
			if !ok || f["type"] != "Feature" {
				return wrongFeatures
			}
			return geoObject(f, depth+1)
		})
	}
	return geometry(o, depth)
}

func geometry(o map[string]any, depth int) wrongGeo {
	at := o["coordinates"]
	switch o["type"] {
	case "Point":
		return position(at)
	case "MultiPoint":
		return all(at, wrongArray, position)
	case "LineString":
		return line(at)
	case "MultiLineString":
		return all(at, wrongArray, line)
	case "Polygon":
		return polygon(at)
	case "MultiPolygon":
		return all(at, wrongArray, polygon)
	case "GeometryCollection":
		if depth >= maxGeoDepth {
			return wrongNesting
		}
		return all(o["geometries"], wrongNesting, func(item any) wrongGeo {
			g, ok := item.(map[string]any)
			if !ok {
				return wrongNesting
			}
			return geometry(g, depth+1)
		})
	}
	return wrongType
}

// all checks each item of an array; otherwise is the error for any other value.
func all(v any, otherwise wrongGeo, check func(any) wrongGeo) wrongGeo {
	list, ok := v.([]any)
	if !ok {
		return otherwise
	}
	for _, item := range list {
		if wrong := check(item); wrong != "" {
			return wrong
		}
	}
	return ""
}

// position is longitude, latitude and perhaps height.
func position(v any) wrongGeo {
	p, ok := v.([]any)
	if !ok || len(p) < 2 || len(p) > 4 {
		return wrongPosition
	}
	for i, part := range p {
		n, ok := part.(float64)
		if !ok || i == 0 && math.Abs(n) > 180 || i == 1 && math.Abs(n) > 90 {
			return wrongPosition
		}
	}
	return ""
}

func line(v any) wrongGeo {
	if list, ok := v.([]any); ok && len(list) < 2 {
		return wrongLine
	}
	return all(v, wrongArray, position)
}

func polygon(v any) wrongGeo { return all(v, wrongArray, ring) }

// ring ends where it begins.
func ring(v any) wrongGeo {
	list, _ := v.([]any)
	if wrong := all(v, wrongArray, position); wrong != "" {
		return wrong
	}
	if len(list) < 4 {
		return wrongRing
	}
	first, _ := list[0].([]any)
	last, _ := list[len(list)-1].([]any)
	if first[0] != last[0] || first[1] != last[1] {
		return wrongRing
	}
	return ""
}
