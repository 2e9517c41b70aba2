package bulk

import (
	"bytes"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// geoJSON is a format of exports alone: a feature for each twin, where its
// location is, with its record as properties.
const geoJSON sheet.Format = "geojson"

// recordWriter writes the twins of an export.
type recordWriter interface {
	Write(record jsontext.Value) error
	Flush() error
	Close() error
}

// featureWriter writes GeoJSON. It can be resumed after any twin.
type featureWriter struct {
	out   io.Writer
	begun bool          // there is a feature before the next
	lines *sheet.Writer // leaves out what no column is for
	line  bytes.Buffer
}

// newFeatureWriter begins a file, or resumes one that has some features.
func newFeatureWriter(out io.Writer, o sheet.WriterOptions, written int64) (*featureWriter, error) {
	w := &featureWriter{out: out, begun: written > 0}
	if !o.Continue {
		if _, err := io.WriteString(out, `{"type":"FeatureCollection","features":[`); err != nil {
			return nil, err
		}
	}
	var err error
	w.lines, err = sheet.NewWriter(sheet.NDJSON, &w.line, o)
	return w, err
}

// Write adds a twin.
func (w *featureWriter) Write(record jsontext.Value) error {
	var twin struct {
		DID        string  `json:"did"`
		Properties located `json:"properties"`
		Metadata   located `json:"metadata"`
	}
	if err := json.Unmarshal(record, &twin); err != nil {
		return err
	}
	w.line.Reset()
	if err := w.lines.Write(record); err != nil {
		return err
	}
	if err := w.lines.Flush(); err != nil {
		return err
	}
	var b []byte
	if w.begun {
		b = append(b, ',')
	}
	w.begun = true
	b, err := jsontext.AppendQuote(append(b, "\n{\"type\":\"Feature\",\"id\":"...), twin.DID)
	if err != nil {
		return err
	}
	b = appendPoint(append(b, `,"geometry":`...), twin.Properties, twin.Metadata)
	b = append(append(b, `,"properties":`...), bytes.TrimSuffix(w.line.Bytes(), []byte("\n"))...)
	_, err = w.out.Write(append(b, '}'))
	return err
}

// located is the part of a record that may say where the twin is.
type located struct {
	Location any `json:"location"`
}

// appendPoint writes the first place there is, its longitude first, or null.
func appendPoint(b []byte, all ...located) []byte {
	for _, l := range all {
		inner, _ := l.Location.(map[string]any)
		for _, v := range []any{l.Location, inner["coordinates"]} {
			if lat, lon, ok := rql.PlaceOf(v); ok {
				b = strconv.AppendFloat(append(b, `{"type":"Point","coordinates":[`...), lon, 'f', -1, 64)
				return append(strconv.AppendFloat(append(b, ','), lat, 'f', -1, 64), "]}"...)
			}
		}
	}
	return append(b, "null"...)
}

// Flush does nothing: all is written.
func (w *featureWriter) Flush() error { return nil }

// Close ends the file.
func (w *featureWriter) Close() error {
	_, err := io.WriteString(w.out, "\n]}\n")
	return err
}
