package openrosa

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// Log is the content of an interview's log (audit.csv).
type Log struct {
	Active time.Duration // that questions were on the screen; 0 when it does not say
	Place  *Place        // the most exact one of where it was filled in
}

// Place is where a device was.
type Place struct{ Lat, Lon, Accuracy float64 }

// Unsure is the accuracy of a place for which the log gives none.
const Unsure = 100_000

// maxLogged is how many events of a log are read.
const maxLogged = 100_000

// ReadLog reads the log of an interview as Collect writes it. It skips lines that
// cannot be read: a log is not an answer, and nobody can repair it.
func ReadLog(raw []byte) Log {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	head, err := r.Read()
	if err != nil {
		return Log{}
	}
	at := map[string]int{}
	for i, name := range head {
		at[strings.TrimSpace(name)] = i + 1
	}
	var out Log
	var shown []span
	for range maxLogged {
		row, err := r.Read()
		if err != nil {
			break
		}
		cell := func(name string) string {
			if i := at[name]; i > 0 && i <= len(row) {
				return row[i-1]
			}
			return ""
		}
		if s, ok := spanOf(cell("event"), cell("start"), cell("end")); ok {
			shown = append(shown, s)
		}
		if p := placeOf(cell("latitude"), cell("longitude"), cell("accuracy")); p != nil && (out.Place == nil || p.Accuracy < out.Place.Accuracy) {
			out.Place = p
		}
	}
	out.Active = covered(shown)
	return out
}

// span is a time in milliseconds.
type span struct{ from, to int64 }

// spanOf is the time that questions were on the screen in one event.
func spanOf(event, start, end string) (span, bool) {
	if !slices.Contains([]string{"question", "group questions"}, event) {
		return span{}, false
	}
	from, err := strconv.ParseInt(start, 10, 64)
	to, err2 := strconv.ParseInt(end, 10, 64)
	return span{from, to}, err == nil && err2 == nil && from > 0 && to > from && to-from <= (24*time.Hour).Milliseconds()
}

// covered is the time that some of the spans take; where they overlap it counts
// once.
func covered(all []span) time.Duration {
	order.Sort(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var sum, end int64
	for _, s := range all {
		if s.to > end {
			sum += s.to - max(s.from, end)
			end = s.to
		}
	}
	return time.Duration(sum) * time.Millisecond
}

// placeOf parses a place; nil when the texts are not one.
func placeOf(lat, lon, accuracy string) *Place {
	y, err := strconv.ParseFloat(lat, 64)
	x, err2 := strconv.ParseFloat(lon, 64)
	a, err3 := strconv.ParseFloat(accuracy, 64)
	if err != nil || err2 != nil || !(y >= -90 && y <= 90 && x >= -180 && x <= 180) {
		return nil
	}
	if err3 != nil || !(a >= 0 && a < Unsure) {
		a = Unsure
	}
	return &Place{y, x, a}
}
