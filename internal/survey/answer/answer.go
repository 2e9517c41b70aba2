// Package answer keeps the answers of responses as typed rows in the table
// answers: numbers, choices and dates, one row for each. Statistics and filters
// read them by question; the response keeps the answers as they were given.
//
// Sealed answers, free text and the numbers on things never become rows. A row is
// removed when the response is corrected, replaced, excluded or erased. The
// columns:
//
//   - qid: the question in its survey, Question(survey, path...). A row of a
//     matrix is a question of its own. The reason why there is no answer is at the
//     path with the step NoAnswer, as the code dont_know or refused. A repeat that
//     was answered with nothing has a row at its own path, with the code None.
//   - code: the option that was chosen, "other" for one in other words, "true" or
//     "false", the unit of a quantity; "" for numbers and dates. Several options
//     are several rows.
//   - num: the number; 1 for true; the place from 1 in a rank; milliseconds since
//     1970 for a day or moment; seconds since midnight for a time of day; 0 for an
//     option.
//   - nid: the response.
//   - item: the element of the innermost repeat, counted from 0 through the whole
//     response, so that rows of one element have the same item; 0 outside of
//     repeats.
package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Row is one typed answer of a response.
type Row struct {
	QID  int64
	Code string
	Num  float64
	Item int64
}

// NoAnswer is the last step of the path to the reason why a question has no
// answer. Neither questions nor rows of a matrix can have this name.
const NoAnswer = "noAnswer"

// None is the code of a repeat that was answered with zero elements.
const None = "none"

// Other is the code of an option that was given in other words.
const Other = "other"

// Question is the number of a question in a survey. Readers compare the survey
// of the response as well.
func Question(survey int64, path ...string) int64 {
	return hash(strings.Join(path, "\x1f")) ^ survey
}

// hash has 63 bits, cut from SHA-256 so that nobody can construct collisions.
func hash(path string) int64 {
	sum := sha256.Sum256([]byte(path))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

// form says how an answer becomes rows; a question has one or two.
type form uint16

const (
	number  form = 1 << iota // 5
	boolean                  // true
	option                   // "wood", or {"other": …}
	several                  // ["wood", {"other": …}]
	rank                     // ["wood", "gas"], in this order
	day                      // "2026-01-31"
	moment                   // "2026-01-31T14:05:00Z"
	clock                    // "14:05"
	amount                   // {"unit": "kg", "value": 5}
	nothing                  // [], of a repeat

	anything = 1<<iota - 1
)

// place is a step of the paths to answers.
type place struct {
	path string
	id   int64
	form form
	open bool // it has any kids, and answers of any form
	kids map[string]*place
}

func (p *place) below(name string) *place {
	if p.path != "" {
		name = p.path + "\x1f" + name
	}
	return &place{path: name, id: hash(name), kids: map[string]*place{}}
}

// kid is the step after p, nil when nothing is kept below it.
func (p *place) kid(name string) *place {
	k := p.kids[name]
	if k == nil && p.open {
		k = p.below(name)
		k.open, k.form = true, anything
		p.kids[name] = k
	}
	return k
}

// reader makes rows of the answers of one response.
type reader struct {
	survey   int64
	rows     []Row
	elements map[*place]int64 // of repeats, seen so far
}

// usual is how many rows a response has room for without asking for more.
const usual = 32

// read gives the rows of answers as a response has them for everybody.
func (p *place) read(survey int64, answers []byte) ([]Row, error) {
	r := &reader{survey: survey, rows: make([]Row, 0, usual)}
	if s := (scanner{r, answers}); !p.open && s.object(p) && len(s.text) == 0 {
		return r.rows, nil
	}
	r = &reader{survey: survey}
	var doc map[string]any
	if err := json.Unmarshal(answers, &doc); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	r.members(p, doc, 0)
	return r.rows, nil
}

// Any returns all rows that answers can have made, whatever their form was, and
// more. It is for removing them.
func Any(survey int64, answers []byte) ([]Row, error) {
	return (&place{open: true, form: anything, kids: map[string]*place{}}).read(survey, answers)
}

func (r *reader) add(p *place, as form, code string, num float64, item int64) {
	if p.form&as != 0 {
		r.rows = append(r.rows, Row{QID: p.id ^ r.survey, Code: code, Num: num, Item: item})
	}
}

func (r *reader) value(p *place, v any, item int64) {
	switch v := v.(type) {
	case float64:
		r.add(p, number, "", v, item)
	case bool:
		code, num := flag(v)
		r.add(p, boolean, code, num, item)
	case string:
		r.add(p, option, v, 0, item)
		for _, as := range times {
			if num, ok := p.form.time(as, v); ok {
				r.add(p, as, "", num, item)
			}
		}
	case []any:
		r.list(p, v, item)
	case map[string]any:
		r.object(p, v, item)
	}
}

func (r *reader) members(p *place, doc map[string]any, item int64) {
	for name, v := range doc {
		if k := p.kid(name); k != nil {
			r.value(k, v, item)
		}
	}
}

// list reads the elements of a repeat, or options.
func (r *reader) list(p *place, list []any, item int64) {
	if len(list) == 0 {
		r.add(p, nothing, None, 0, item)
	}
	for i, v := range list {
		switch v := v.(type) {
		case string:
			r.add(p, several, v, 0, item)
			r.add(p, rank, v, float64(i+1), item)
		case map[string]any:
			if _, ok := v[Other]; ok {
				r.add(p, several, Other, 0, item)
			}
			if r.elements == nil {
				r.elements = map[*place]int64{}
			}
			n := r.elements[p]
			r.elements[p]++
			r.members(p, v, n)
		}
	}
}

// object reads a group, a matrix, an amount, an option in other words, or the
// reason for no answer.
func (r *reader) object(p *place, doc map[string]any, item int64) {
	if _, ok := doc[Other]; ok {
		r.add(p, option, Other, 0, item)
	}
	unit, named := doc["unit"].(string)
	if num, ok := doc["value"].(float64); ok && named {
		r.add(p, amount, unit, num, item)
	}
	r.members(p, doc, item)
}

func flag(v bool) (code string, num float64) {
	if v {
		return "true", 1
	}
	return "false", 0
}

// times are the forms that mean a point in time.
var times = []form{day, moment, clock}

// time reads a text as one of the times that f has.
func (f form) time(as form, text string) (float64, bool) {
	if f&as == 0 {
		return 0, false
	}
	if as == clock {
		t, err := time.Parse(time.TimeOnly, text)
		if err != nil {
			t, err = time.Parse("15:04", text)
		}
		return float64(t.Hour()*3600 + t.Minute()*60 + t.Second()), err == nil
	}
	layout := time.RFC3339
	if as == day {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, text)
	return float64(t.UnixMilli()), err == nil
}
