package openrosa

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Submission is the part of an instance besides its answers.
type Submission struct {
	InstanceID, Deprecated string
	Household, Device      string
	Start, End             time.Time
}

// Instance writes the answers of a response as an instance of the form: what a
// device would have sent. Files have their hashes as names.
func (f *Form) Instance(answers jsontext.Value, s Submission) []byte {
	w := &instanceWriter{meta: map[string]string{startName: written(s.Start), endName: written(s.End), deviceName: s.Device, householdName: s.Household}}
	w.out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<" + rootName + ` id="` + escape(f.ID) + `" version="` + escape(f.Version) + `">`)
	w.nodes(f.root.kids, members(answers))
	w.out.WriteString("<meta>")
	w.leaf("instanceID", s.InstanceID)
	if s.Deprecated != "" {
		w.leaf("deprecatedID", s.Deprecated)
	}
	w.out.WriteString("</meta></" + rootName + ">\n")
	return w.out.Bytes()
}

func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

type instanceWriter struct {
	out  bytes.Buffer
	meta map[string]string
}

func (w *instanceWriter) leaf(name, text string) {
	w.out.WriteString("<" + name + ">" + escape(text) + "</" + name + ">")
}

// members are those of an object; none of anything else.
func members(v jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	if len(v) > 0 && v.Kind() == '{' && json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

// elements returns those of an array; any other value is its own only element.
func elements(v jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	if len(v) == 0 || v.Kind() == '[' && json.Unmarshal(v, &out) == nil {
		return out
	}
	return []jsontext.Value{v}
}

func (w *instanceWriter) nodes(items []*item, answers map[string]jsontext.Value) {
	for _, i := range items {
		if i.name != "meta" || i.role != ours {
			w.node(i, answers)
		}
	}
}

func (w *instanceWriter) node(i *item, answers map[string]jsontext.Value) {
	within := func(v jsontext.Value) {
		w.out.WriteString("<" + i.name + ">")
		w.nodes(i.kids, members(v))
		w.out.WriteString("</" + i.name + ">")
	}
	switch i.role {
	case ours:
		if text, ok := w.meta[i.name]; ok {
			w.leaf(i.name, text)
		}
	case section, nested, rows, amount:
		within(answers[i.id])
	case repeated:
		for _, e := range elements(answers[i.q.ID]) {
			within(e)
		}
	case counter:
		text := ""
		if v := answers[i.q.ID]; len(v) > 0 {
			text = strconv.Itoa(len(elements(v)))
		}
		w.leaf(i.name, text)
	case other, silence:
		said, silent := aside(answers[i.q.ID])
		if i.role == silence {
			said = silent
		}
		w.leaf(i.name, said)
	default:
		w.leaf(i.name, i.text(answers[i.id]))
	}
}

// aside splits off answers in other words, and the reason for a missing answer.
func aside(v jsontext.Value) (said, silent string) {
	for _, one := range elements(v) {
		var o struct {
			NoAnswer string `json:"noAnswer"`
			Other    string `json:"other"`
		}
		if one.Kind() == '{' && json.Unmarshal(one, &o) == nil {
			said, silent = said+o.Other, silent+o.NoAnswer
		}
	}
	return said, silent
}

// text is an answer as a device writes it.
func (i *item) text(v jsontext.Value) string {
	var out []string
	for _, one := range elements(v) {
		switch one.Kind() {
		case '"':
			var s string
			if json.Unmarshal(one, &s) == nil {
				out = append(out, i.spelled(s))
			}
		case '{':
			var m map[string]any
			if json.Unmarshal(one, &m) != nil {
				continue
			}
			if m["other"] != nil {
				out = append(out, otherValue)
			} else if m["lat"] != nil {
				out = append(out, fmt.Sprint(m["lat"], " ", m["lon"], " ", or(m["altitude"]), " ", or(m["accuracy"])))
			}
		case 'n':
		default:
			out = append(out, string(one))
		}
	}
	return strings.Join(out, " ")
}

func or(v any) any {
	if v == nil {
		return 0
	}
	return v
}

// spelled is the name of an option by its value.
func (i *item) spelled(value string) string {
	if form.KindOf(i.q.Type).Media {
		return strings.TrimPrefix(value, "sha256:")
	}
	for name, v := range i.values {
		if v == value {
			return name
		}
	}
	return value
}
