package export

// mapWriter writes GeoJSON: a feature for each response, at the place of the
// interview or of the first answer that is one, and without a geometry when
// there is neither. Its properties are the columns of the wide table.
type mapWriter struct {
	l      *Layout
	places []position
	before int64 // features that are in the file already
	rows
}

// position are the columns of a latitude and a longitude.
type position struct{ lat, lon int }

func newMapWriter(l *Layout, about About) *mapWriter {
	w := &mapWriter{l: l, before: about.Written}
	lat := -1
	for i := range l.columns {
		switch c := &l.columns[i]; {
		case c.part == "lat":
			lat = i
		case c.part == "lon" && lat >= 0:
			w.places = append(w.places, position{lat, i})
		}
	}
	return w
}

// Begin opens the collection.
func (w *mapWriter) Begin(b []byte) ([]byte, error) {
	return append(b, `{"type":"FeatureCollection","features":[`...), nil
}

// Add writes the feature of a response.
func (w *mapWriter) Add(b []byte, r *Response) ([]byte, error) {
	if err := w.l.fill(r); err != nil {
		return b, err
	}
	if w.before+w.Rows() > 0 {
		b = append(b, ',')
	}
	w.rows++
	b = w.l.row[0].appendJSON(append(b, "\n{\"type\":\"Feature\",\"id\":"...))
	b = w.geometry(append(b, `,"geometry":`...))
	b = append(b, `,"properties":{`...)
	for i := range w.l.row {
		if c := &w.l.row[i]; c.kind != empty {
			b = c.appendJSON(member(b, w.l.columns[i].Name))
		}
	}
	return append(b, "}}"...), nil
}

// geometry writes the first place of the row. Longitude comes first.
func (w *mapWriter) geometry(b []byte) []byte {
	for _, p := range w.places {
		lat, lon := &w.l.row[p.lat], &w.l.row[p.lon]
		if lat.kind != number || lon.kind != number {
			continue
		}
		b = append(append(b, `{"type":"Point","coordinates":[`...), lon.s...)
		return append(append(append(b, ','), lat.s...), "]}"...)
	}
	return append(b, "null"...)
}

// End closes the collection.
func (w *mapWriter) End(b []byte) ([]byte, bool, error) {
	return append(b, "\n]}\n"...), false, nil
}
