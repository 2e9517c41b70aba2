package xlsform

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// The cells of our own columns. A value that cannot be read is an error of its
// cell. Headers are given as they are written; the reader has them in lower
// case.

func (r *row) ours(header string) string { return r.get(strings.ToLower(header)) }

func (r *row) words(header string) []string { return splitList(r.ours(header)) }

func (r *row) yes(header string) bool {
	yes, ok := form.YesNo(r.ours(header))
	if !ok {
		r.item(strings.ToLower(header), Error, "invalid", "The cell must be true or false.")
	}
	return yes
}

func (r *row) count(header string) int {
	text := r.ours(header)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		r.item(strings.ToLower(header), Error, "invalid", "The cell must be a whole number.")
	}
	return n
}

func (r *row) float(header string) *float64 {
	text := r.ours(header)
	if text == "" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		r.item(strings.ToLower(header), Error, "invalid", "The cell must be a number.")
		return nil
	}
	return &f
}

// json reads a JSON value, nil when there is none.
func (r *row) json(header, text string) jsontext.Value {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	v := jsontext.Value(text)
	if !v.IsValid() {
		r.item(strings.ToLower(header), Error, "invalid", "The cell must hold JSON.")
		return nil
	}
	return v
}
