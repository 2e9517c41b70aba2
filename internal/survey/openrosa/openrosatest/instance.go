// Package openrosatest simulates a device that fills in XForms: it makes answers and
// writes them as ODK Collect would send them.
package openrosatest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// Submission is what a device sends besides the answers.
type Submission struct {
	FormID, Version string
	InstanceID      string
	Deprecated      string
	Audit           string // name of the log of the interview
	Household       string
	Device          string
	Start, End      string
	// Name returns the file name of an attachment by its hash; nil: the hash itself.
	Name func(hash string) string
}

// Instance writes answers, as POST /v1/responses takes them, as an instance of
// the XForm of a template.
func Instance(t *form.Template, answers jsontext.Value, s Submission) []byte {
	w := &writer{s: s}
	w.open("data", pair{"id", s.FormID}, pair{"version", s.Version})
	for _, m := range []pair{{"hearth_meta_start", s.Start}, {"hearth_meta_end", s.End}, {"hearth_meta_deviceid", s.Device}, {"hearth_household", s.Household}} {
		if m.value != "" {
			w.leaf(m.name, m.value)
		}
	}
	all := object(answers)
	for i := range t.Sections {
		sec := &t.Sections[i]
		w.open(sec.ID)
		w.questions(sec.Questions, object(all[sec.ID]))
		w.close(sec.ID)
	}
	w.open("meta")
	w.leaf("instanceID", s.InstanceID)
	if s.Audit != "" {
		w.leaf("audit", s.Audit)
	}
	if s.Deprecated != "" {
		w.leaf("deprecatedID", s.Deprecated)
	}
	w.close("meta")
	w.close("data")
	return w.out.Bytes()
}

type pair struct{ name, value string }

type writer struct {
	out bytes.Buffer
	s   Submission
}

func (w *writer) open(name string, attrs ...pair) {
	w.out.WriteString("<" + name)
	for _, a := range attrs {
		w.out.WriteString(" " + a.name + `="` + escape(a.value) + `"`)
	}
	w.out.WriteString(">")
}

func (w *writer) close(name string) { w.out.WriteString("</" + name + ">") }

func (w *writer) leaf(name, text string) {
	w.open(name)
	w.out.WriteString(escape(text))
	w.close(name)
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

func object(v jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	if len(v) > 0 && v.Kind() == '{' {
		_ = json.Unmarshal(v, &out)
	}
	return out
}

func (w *writer) questions(qs []form.Question, answers map[string]jsontext.Value) {
	for i := range qs {
		w.question(&qs[i], answers[qs[i].ID])
	}
}

func (w *writer) question(q *form.Question, v jsontext.Value) {
	k := form.KindOf(q.Type)
	silent, other := special(v)
	switch {
	case k.Repeated:
		w.repeat(q, v)
	case k.Nested:
		w.open(q.ID)
		w.questions(q.Questions, object(v))
		w.close(q.ID)
	case k.Rows:
		w.open(q.ID)
		given := object(v)
		for i, name := range xlsform.RowNames(q.Rows) {
			w.leaf(name, w.text(q, given[q.Rows[i].Value]))
		}
		w.close(q.ID)
	case k.Units:
		w.open(q.ID)
		given := object(v)
		w.leaf("value", w.text(q, given["value"]))
		unit := w.text(&form.Question{Options: units(q)}, given["unit"])
		if len(q.Units) == 0 {
			unit = q.Unit
		}
		w.leaf("unit", unit)
		w.close(q.ID)
	case silent != "":
		w.leaf(q.ID, "")
	default:
		w.leaf(q.ID, w.text(q, v))
	}
	if q.Other {
		w.leaf(q.ID+"_other", other)
	}
	if q.DontKnow || q.Refuse {
		w.leaf(q.ID+"_noanswer", silent)
	}
}

func units(q *form.Question) []form.Option {
	var out []form.Option
	for _, u := range q.Units {
		out = append(out, form.Option{Value: u})
	}
	return out
}

// Counted reports whether an XForm asks how many elements a repeat has.
func Counted(q *form.Question) bool {
	return q.MinRepeats > 0 || q.MaxRepeats > 0 || !q.Required.IsZero() || strings.HasPrefix(q.Constraint, "count(")
}

func (w *writer) repeat(q *form.Question, v jsontext.Value) {
	var elements []jsontext.Value
	if v.Kind() == '[' {
		_ = json.Unmarshal(v, &elements)
	}
	if Counted(q) {
		text := ""
		if len(v) > 0 {
			text = strconv.Itoa(len(elements))
		}
		w.leaf(q.ID+"_count", text)
	}
	for _, e := range elements {
		w.open(q.ID)
		w.questions(q.Questions, object(e))
		w.close(q.ID)
	}
}

// special splits an answer that is not a plain value.
func special(v jsontext.Value) (silent, other string) {
	var all []jsontext.Value
	if len(v) > 0 && v.Kind() == '[' {
		_ = json.Unmarshal(v, &all)
	} else {
		all = []jsontext.Value{v}
	}
	for _, one := range all {
		var o struct{ NoAnswer, Other string }
		if len(one) > 0 && one.Kind() == '{' {
			_ = json.Unmarshal(one, &o, json.MatchCaseInsensitiveNames(true))
		}
		silent, other = silent+o.NoAnswer, other+o.Other
	}
	return silent, other
}

// text returns an answer as a device writes it.
func (w *writer) text(q *form.Question, v jsontext.Value) string {
	_, names := xlsform.Spell(q.Options)
	spell := func(s string) string {
		if name, ok := names[s]; ok {
			return name
		}
		return s
	}
	if len(v) == 0 {
		return ""
	}
	switch v.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(v, &s)
		if hash, ok := strings.CutPrefix(s, "sha256:"); ok && w.s.Name != nil {
			return w.s.Name(hash)
		}
		if q.Type == form.Time {
			s += ".000+00:00" // as devices write it: to the millisecond, with a time zone
		}
		return spell(s)
	case '[':
		var all []jsontext.Value
		_ = json.Unmarshal(v, &all)
		var out []string
		for _, one := range all {
			out = append(out, w.text(q, one))
		}
		return strings.Join(out, " ")
	case '{':
		var m map[string]any
		_ = json.Unmarshal(v, &m)
		if _, ok := m["other"]; ok {
			return "other"
		}
		if m["lat"] == nil {
			return ""
		}
		return fmt.Sprint(m["lat"], " ", m["lon"], " ", orZero(m["altitude"]), " ", orZero(m["accuracy"]))
	case 'n':
		return ""
	}
	return string(v)
}

func orZero(v any) any {
	if v == nil {
		return 0
	}
	return v
}
