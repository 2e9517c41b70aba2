package oracle

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The words of a refusal, as clients of this protocol know them.
const (
	mustBeText    = " must be a string"
	mustBeFull    = " should not be empty"
	mustBeFlag    = " must be a boolean value"
	mustBeObject  = " must be an object"
	mustBeList    = " must be an array"
	mustBeNumber  = " must be a number conforming to the specified constraints"
	mustNotExist  = " should not exist"
	mustBeJSON    = "Content-Type must be application/json"
	mustBeNested  = " must be either object or array"
	maxWrongNames = 20 // members a refusal names that should not be there
)

// object reads the members of one object and notes every one that is wrong. An
// optional member that is null counts as absent.
type object struct {
	path string // of the object, "" or "tools.0."
	have members
	bad  *fault.Checks
}

// newObject begins with what should not be there, or with why nothing is.
func newObject(path string, have members, bad *fault.Checks, known ...string) *object {
	o := &object{path: path, have: have, bad: bad}
	if have == nil {
		o.bad.Add("header/Content-Type", "type", mustBeJSON)
	}
	wrong := 0
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if slices.Contains(known, name) {
			continue
		}
		if wrong++; wrong > maxWrongNames {
			break
		}
		o.bad.Add("/"+name, "unknown", path+"property "+fault.Echo(name)+mustNotExist)
	}
	return o
}

func (o *object) wrong(name, code, text string) { o.bad.Add("/"+name, code, o.path+text) }

// get is the value of a member, nothing when it is absent or null.
func (o *object) get(name string) jsontext.Value {
	v := o.have[name]
	if v.Kind() == 'n' {
		return nil
	}
	return v
}

// text is a member that must be a text, and not empty when it is required.
func (o *object) text(name string, required bool) string {
	v := o.get(name)
	switch {
	case v == nil && !required:
		return ""
	case required && (v == nil || string(v) == `""`):
		o.wrong(name, "required", name+mustBeFull)
	}
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		o.wrong(name, "type", name+mustBeText)
	}
	return s
}

func (o *object) flag(name string) bool {
	v := o.get(name)
	if v != nil && v.Kind() != 't' && v.Kind() != 'f' {
		o.wrong(name, "type", name+mustBeFlag)
	}
	return v.Kind() == 't'
}

// number is a member that must be a number; given is false without one.
func (o *object) number(name string) (n float64, given bool) {
	v := o.get(name)
	if v == nil {
		return 0, false
	}
	if v.Kind() != '0' || json.Unmarshal(v, &n) != nil || math.IsInf(n, 0) {
		o.wrong(name, "type", name+mustBeNumber)
	}
	return n, true
}

// object is a member that must be an object.
func (o *object) object(name string, required bool) jsontext.Value {
	v := o.get(name)
	if v == nil && required {
		o.wrong(name, "required", name+mustBeFull)
	}
	if v == nil && !required || v.Kind() == '{' {
		return v
	}
	o.wrong(name, "type", name+mustBeObject)
	return nil
}

// list is a member that must be a list of objects, at most most of them.
func (o *object) list(name string, most int, known ...string) []*object {
	v := o.get(name)
	if v == nil {
		return nil
	}
	var items []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &items) != nil {
		o.wrong(name, "type", name+mustBeList)
		return nil
	}
	if len(items) > most {
		o.wrong(name, "too_many", name+" must contain no more than "+strconv.Itoa(most)+" elements")
		return nil
	}
	out := make([]*object, 0, len(items))
	for i, item := range items {
		var m members
		if item.Kind() != '{' || json.Unmarshal(item, &m) != nil {
			o.wrong(name, "type", "each value in nested property "+name+mustBeNested)
			return nil
		}
		out = append(out, newObject(o.path+name+"."+strconv.Itoa(i)+".", m, o.bad, known...))
	}
	return out
}

// matches requires that a member fits a pattern.
func (o *object) matches(name, value string, pattern *regexp.Regexp) {
	if !pattern.MatchString(value) {
		o.wrong(name, "pattern", name+" must match "+pattern.String()+" regular expression")
	}
}

// shorter requires at most most characters.
func (o *object) shorter(name, value string, most int) {
	if utf8.RuneCountInString(value) > most {
		o.wrong(name, "too_long", name+" must be shorter than or equal to "+strconv.Itoa(most)+" characters")
	}
}

// err is the fault with all mistakes.
func (o *object) err() error { return o.bad.Err("VALIDATION_FAILED", "The request is not valid.") }

// bounds are the bounds of a number in a query; a missing number, and zero,
// mean the usual one.
type bounds struct{ usual, least, most int }

// counted reads a number out of a query.
func counted(bad *fault.Checks, name, text string, b bounds) int {
	if text = strings.TrimSpace(text); text == "" {
		return b.usual
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		bad.Add("query/"+name, "type", name+" must be an integer number")
	case n == 0:
		return b.usual
	case n < b.least:
		bad.Add("query/"+name, "too_small", name+" must not be less than "+strconv.Itoa(b.least))
	case n > b.most:
		bad.Add("query/"+name, "too_large", name+" must not be greater than "+strconv.Itoa(b.most))
	}
	return n
}
