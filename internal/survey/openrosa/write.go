package openrosa

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// writer writes the document.
type writer struct {
	b     *builder
	f     *Form
	out   bytes.Buffer
	texts []text // that stand in several languages
}

// text is a text of the form.
type text struct {
	id    string
	words form.Text
	at    *xlsform.Named
}

const head = `<?xml version="1.0" encoding="UTF-8"?>
<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:ev="http://www.w3.org/2001/xml-events" xmlns:xsd="http://www.w3.org/2001/XMLSchema" ` +
	`xmlns:jr="http://openrosa.org/javarosa" xmlns:orx="http://openrosa.org/xforms" xmlns:odk="http://www.opendatakit.org/xforms" xmlns:hearth="` + Namespace + `"`

func (w *writer) write(root *item) []byte {
	var body bytes.Buffer
	w.out = bytes.Buffer{}
	w.body(root.kids)
	body, w.out = w.out, bytes.Buffer{}
	w.lists()
	lists := w.out
	w.out = bytes.Buffer{}
	w.binds(root.kids)
	binds := w.out
	w.out = bytes.Buffer{}
	names, version := "", ""
	if w.b.t.Entity != nil {
		names, version = ` xmlns:entities="`+entitiesNamespace+`"`, ` entities:entities-version="`+entitiesVersion+`"`
	}
	w.put(head + names + ">\n")
	w.put("<h:head><h:title>" + escape(w.f.Title) + "</h:title>\n<model odk:xforms-version=\"1.0.0\"" + version + ">\n")
	w.itext()
	w.put("<instance><" + rootName)
	w.attrs(pair{"id", w.f.ID}, pair{"version", w.f.Version}, pair{"hearth:template", w.b.t.TemplateID}, pair{"hearth:survey", w.b.o.Survey})
	w.put(">")
	w.instance(root.kids)
	w.put("</" + rootName + "></instance>\n")
	w.out.Write(lists.Bytes())
	w.out.Write(binds.Bytes())
	w.put("</model></h:head>\n<h:body>\n")
	w.out.Write(body.Bytes())
	w.put("</h:body></h:html>\n")
	return w.out.Bytes()
}

func (w *writer) put(s string) { w.out.WriteString(s) }

func (w *writer) attrs(all ...pair) {
	for _, a := range all {
		if a.value != "" {
			w.put(" " + a.name + `="` + escape(a.value) + `"`)
		}
	}
}

// instance writes the nodes that answers go into. A repeat begins with no
// element.
func (w *writer) instance(items []*item) {
	for _, i := range items {
		w.put("<" + i.name)
		if i.role == repeated {
			w.put(` jr:template=""`)
		}
		for _, a := range i.fields {
			w.put(" " + a.name + `="` + escape(a.value) + `"`)
		}
		w.put(">" + escape(i.value))
		w.instance(i.kids)
		w.put("</" + i.name + ">")
	}
}

func (w *writer) binds(items []*item) {
	for _, i := range items {
		if len(i.bind) > 0 {
			w.put(`<bind nodeset="` + i.path + `"`)
			w.attrs(i.bind...)
			if len(i.wrong) > 0 {
				w.attrs(pair{"jr:constraintMsg", w.message(i.path+":jr:constraintMsg", i.wrong)})
			}
			w.put("/>\n")
		}
		if i.set != "" {
			w.put(`<setvalue ref="` + i.path + `" event="odk-instance-first-load"`)
			w.attrs(pair{"value", i.set})
			w.put("/>\n")
		}
		w.binds(i.fields)
		w.binds(i.kids)
	}
}

// message is a text where XML has no elements.
func (w *writer) message(id string, t form.Text) string {
	if !w.several() {
		return w.said(t, w.language())
	}
	w.texts = append(w.texts, text{id: id, words: t})
	return "jr:itext('" + id + "')"
}

// several reports whether the form has a choice of languages.
func (w *writer) several() bool { return len(w.b.tags) > 1 }

// language is the one of a form that has no other.
func (w *writer) language() string {
	if len(w.b.tags) > 0 {
		return w.b.tags[0]
	}
	return w.b.t.Language()
}

func (w *writer) said(t form.Text, tag string) string {
	return t.In(tag, w.b.t.Language())
}

// lists writes the options.
func (w *writer) lists() {
	for _, l := range w.b.order {
		w.put(`<instance id="` + l.id + `"`)
		if l.src != "" {
			w.attrs(pair{"src", l.src})
			w.put("/>\n")
			continue
		}
		w.put("><root>")
		for n, o := range l.options {
			for _, data := range rowsOf(o) {
				w.put("<item>")
				name := o.Value
				if s, ok := l.spelled[o.Value]; ok {
					name = s
				}
				w.put("<name>" + escape(name) + "</name>")
				label := o.Label
				if len(label) == 0 {
					label = form.Plain(o.Value)
				}
				if w.several() {
					id := fmt.Sprintf("%s-%d", l.id, n)
					w.put("<itextId>" + id + "</itextId>")
					w.texts = append(w.texts, text{id: id, words: label})
				} else {
					w.put("<label>" + escape(w.said(label, w.language())) + "</label>")
				}
				for _, c := range data {
					w.put("<" + c.name + ">" + escape(c.value) + "</" + c.name + ">")
				}
				w.put("</item>")
			}
		}
		w.put("</root></instance>\n")
	}
}

// itext writes the texts in every language.
func (w *writer) itext() {
	if !w.several() {
		return
	}
	w.put("<itext>\n")
	for n, tag := range w.b.tags {
		w.put("<translation")
		w.attrs(pair{"lang", xlsform.LanguageName(tag)})
		if n == 0 {
			w.put(` default="true()"`)
		}
		w.put(">\n")
		seen := map[string]bool{}
		for _, t := range w.texts {
			if seen[t.id] {
				continue
			}
			seen[t.id] = true
			w.put(`<text id="` + escape(t.id) + `"><value>`)
			w.spoken(w.said(t.words, tag), t.at)
			w.put("</value></text>\n")
		}
		w.put("</translation>\n")
	}
	w.put("</itext>\n")
}

// spoken writes a text with the answers that it names.
func (w *writer) spoken(s string, at *xlsform.Named) {
	from := 0
	for _, m := range form.Reference.FindAllStringSubmatchIndex(s, -1) {
		path := ""
		if at != nil {
			path = w.b.names.Spoken(s[m[2]:m[3]], at)
		}
		if path == "" {
			continue
		}
		w.put(escape(s[from:m[0]]) + `<output value="` + escape(path) + `"/>`)
		from = m[1]
	}
	w.put(escape(s[from:]))
}

// words writes a label or a hint.
func (w *writer) words(element string, i *item, t form.Text) {
	switch {
	case len(t) == 0:
	case w.several():
		id := i.path + ":" + element
		w.texts = append(w.texts, text{id, t, i.at})
		w.put("<" + element + ` ref="jr:itext('` + id + `')"/>`)
	default:
		w.put("<" + element + ">")
		w.spoken(w.said(t, w.language()), i.at)
		w.put("</" + element + ">")
	}
}

// body writes the controls.
func (w *writer) body(items []*item) {
	together := 0
	for _, i := range items {
		if i.screen {
			w.put(`<group appearance="field-list">` + "\n")
			together = i.beside + 1
		}
		w.control(i)
		if together > 0 {
			if together--; together == 0 {
				w.put("</group>\n")
			}
		}
	}
}

func (w *writer) control(i *item) {
	switch i.control {
	case "":
		return
	case "group":
		w.put(`<group ref="` + i.path + `">`)
		w.words("label", i, i.label)
		w.put("\n")
		w.body(i.kids)
		w.put("</group>\n")
		return
	case "repeat":
		w.put(`<group ref="` + i.path + `">`)
		w.words("label", i, i.label)
		w.put("\n" + `<repeat nodeset="` + i.path + `"`)
		if i.count != "" {
			w.attrs(pair{"jr:count", i.count}, pair{"jr:noAddRemove", "true()"})
		}
		w.put(">\n")
		w.body(i.kids)
		w.put("</repeat></group>\n")
		return
	}
	w.put("<" + i.control + ` ref="` + i.path + `"`)
	w.attrs(i.attrs...)
	w.put(">")
	w.words("label", i, i.label)
	w.words("hint", i, i.hint)
	w.items(i.choices)
	w.put("</" + i.control + ">\n")
}

// items writes which options a control offers.
func (w *writer) items(c *choices) {
	if c == nil {
		return
	}
	nodes := "instance('" + c.list.id + "')" + xlsform.Items
	if c.filter != "" {
		nodes += "[" + c.filter + "]"
	}
	label := c.label
	if c.list.src == "" && w.several() {
		label = "jr:itext(itextId)"
	}
	w.put("<itemset")
	w.attrs(pair{"nodeset", nodes})
	w.put(`><value ref="` + c.value + `"/><label ref="` + label + `"/></itemset>`)
}

// rowsOf are what filters look at, for each row of an option.
func rowsOf(o form.Option) [][]pair {
	if len(o.Data) == 0 {
		return [][]pair{nil}
	}
	var out [][]pair
	for _, data := range o.Data {
		var row []pair
		for _, name := range sortedKeys(data) {
			if !strings.EqualFold(name, "name") && !strings.EqualFold(name, "label") && name != "itextId" {
				row = append(row, pair{name, data[name]})
			}
		}
		out = append(out, row)
	}
	return out
}
